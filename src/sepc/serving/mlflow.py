"""A classifier as an MLflow model: saved, logged and loaded in the project's own format, without pickle."""

import os
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

import sepc
from sepc.common.errors import SepcError
from sepc.common.frames import plain
from sepc.model.acceptance import as_share
from sepc.persist import load, save
from sepc.reports.how_to_serve import example_record

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.models import ModelSignature
    from mlflow.models.model import ModelInfo

__all__ = ["load_model", "log_model", "save_model"]

FLAVOR, _MIN_TRUST = "sepc", "min_trust"


def save_model(
    clf: Any,
    path: str | os.PathLike[str],
    *,
    input_example: Any = None,
    signature: "ModelSignature | None" = None,
    min_trust: float | None = None,
    training_rows: bool = True,
    **options: Any,
) -> None:
    """Write a fitted classifier to a folder, as a model of MLflow.

    The folder holds the file of `sepc.save`, nothing is pickled. ``mlflow.pyfunc.load_model`` returns a model whose
    ``predict(frame, params={"min_trust": 0.9})`` returns the assessment as a pandas frame: the columns of
    `Assessment.to_frame`, ``accepted``, ``refusal``, and ``probability of LABEL`` for each label.

    Parameters
    ----------
    clf : SEPClassifier, SEPEnsembleClassifier, TrustedClassifier or TablePipeline
        Fitted. A `TrustedClassifier` must work from its file alone, as it does where the answers of the other model
        are columns.
    path : path-like
        A folder that is empty or not there.
    input_example : frame or array of shape (n, n_columns), optional
        Records that are stored with the model; by default one in the middle of the training data.
    signature : ModelSignature, optional
        By default the columns that the model reads, with the types of `input_example`, those of the frame that comes
        out, and `min_trust`. Without an example numbers are doubles, for which MLflow refuses a column of ``int64``.
    min_trust : float, optional
        Trust from which labels are accepted unless a call says otherwise. By default the promise that was signed;
        without one 0 with costs, which then decide, else 0.95.
    training_rows : bool, default=True
        As for `sepc.save`.
    **options
        ``conda_env``, ``pip_requirements``, ``metadata`` and others of ``mlflow.pyfunc.save_model``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(clf, f"{folder}/served")
    ...     load_model(f"{folder}/served").predict([[0.5], [8.0]]).tolist()
    ['low', 'high']
    """
    mlflow = _mlflow()
    config = {_MIN_TRUST: None if min_trust is None else as_share(min_trust, _MIN_TRUST)}
    model = options.pop("mlflow_model", None) or mlflow.models.Model()
    promise = None if clf.promise is None else clf.promise.to_dict()
    told = {"classes": list(map(plain, clf.classes_)), "sepc_version": sepc.__version__, "promise": promise}
    metadata = told | (model.metadata or {}) | (options.pop("metadata", None) or {})
    if not {"conda_env", "pip_requirements"} & options.keys():
        options["pip_requirements"] = [f"sepc[mlflow]=={sepc.__version__}"]
    with TemporaryDirectory() as folder:
        file = Path(folder, "model.sepc")
        save(clf, file, training_rows=training_rows)
        # What was saved is asked, not `clf`: it may lack the estimator that it needs.
        served = _Served(load(file), min_trust)
        example = _example(served.clf, input_example)
        answer = served.predict(example)
        model.add_flavor(FLAVOR, data=f"data/{file.name}", kind=type(clf).__name__)
        mlflow.pyfunc.save_model(
            path=os.fspath(path),
            loader_module=__name__,
            data_path=str(file),
            mlflow_model=model,
            signature=_signature(example, answer) if signature is None else signature,
            input_example=example,
            model_config=config,
            metadata=metadata,
            **options,
        )


def log_model(clf: Any, name: str = "model", **options: Any) -> "ModelInfo":
    """Log a fitted classifier as a model of the active run of MLflow, or of a new one.

    Parameters
    ----------
    clf : SEPClassifier, SEPEnsembleClassifier, TrustedClassifier or TablePipeline
        Fitted.
    name : str, default="model"
    **options
        As for `save_model`, and ``registered_model_name``, ``tags``, ``params`` and others of
        ``mlflow.models.Model.log``.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its `model_uri` is what `load_model` and ``mlflow.pyfunc.load_model`` take.

    Examples
    --------
    >>> info = log_model(clf, registered_model_name="diagnosis")  # doctest: +SKIP
    >>> mlflow.pyfunc.load_model(info.model_uri).predict(table)  # doctest: +SKIP
    """
    log, flavor = _mlflow().models.Model.log, sys.modules[__name__]
    return log(None, flavor, name=name, clf=clf, **options)  # type: ignore[no-any-return]


def load_model(model_uri: str) -> Any:
    """Return the classifier itself that was saved or logged; ``mlflow.pyfunc.load_model`` returns its assessments.

    Parameters
    ----------
    model_uri : str
        Such as ``models:/diagnosis/1``, ``runs:/RUN/model`` or a folder.

    Returns
    -------
    SEPClassifier, SEPEnsembleClassifier, TrustedClassifier or TablePipeline

    Examples
    --------
    >>> load_model("models:/diagnosis/1").explain(record)  # doctest: +SKIP
    """
    mlflow = _mlflow()
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=model_uri))
    return load(folder / mlflow.models.Model.load(str(folder)).flavors[FLAVOR]["data"])


def _load_pyfunc(path: str, model_config: dict[str, Any] | None = None) -> "_Served":
    """Return the model that ``mlflow.pyfunc.load_model`` asks."""
    return _Served(load(path), (model_config or {}).get(_MIN_TRUST))


class _Served:
    """A classifier whose predictions are assessments, as MLflow calls it."""

    def __init__(self, clf: Any, min_trust: float | None = None) -> None:
        self.clf, self.min_trust = clf, min_trust

    def predict(self, data: Any, params: dict[str, Any] | None = None) -> "pd.DataFrame":
        """Return the assessment of records: one row for each, with the index that they came with."""
        import pandas as pd

        asked = (params or {}).get(_MIN_TRUST)
        min_trust, column = self.min_trust if asked is None else asked, _group_column(self.clf)
        groups = data[column].astype(str).to_numpy(object) if column and min_trust is None else None
        a = self.clf.assess(data)
        refusals = a.refusals(min_trust, groups=groups)
        proba = zip(self.clf.classes_.tolist(), self.clf.predict_proba(data).T, strict=True)
        columns = {**a.shown(), "accepted": refusals == None, "refusal": refusals}  # noqa: E711
        columns |= {f"probability of {label}": share for label, share in proba}
        return pd.DataFrame(columns, index=getattr(data, "index", None))


def _example(clf: Any, given: Any) -> Any:
    """Return records as the model takes them, with the columns that it reads; without any that are given, one."""
    import pandas as pd

    record, column = example_record(clf), _group_column(clf)
    if column:
        record.setdefault(column, next(iter(clf.promise.parts)))
    if given is not None and not hasattr(given, "columns"):
        return np.asarray(given, dtype=np.float64)
    if given is not None:
        return given[[name for name in given if name in record]] if record else given
    if not hasattr(clf, "feature_names_in_"):
        return np.array([list(record.values())])
    columns = [] if clf.table_encoder is None else clf.table_encoder.columns_
    dates = {one.name: "datetime64[ns]" for one in columns if one.kind == "date"}
    return pd.DataFrame([record]).astype(dates)


def _group_column(clf: Any) -> str:
    """Return the column of the groups that the promise goes by; empty where there is none."""
    return str(getattr(clf.promise, "group_column", ""))


def _signature(example: Any, answer: "pd.DataFrame") -> "ModelSignature":
    """Return the signature of a model by what goes in and what comes out."""
    from mlflow.models import ModelSignature
    from mlflow.types import ParamSchema, ParamSpec, Schema, TensorSpec

    tensor = Schema([TensorSpec(np.dtype(np.float64), (-1, *np.shape(example)[1:]))])
    inputs = _schema(example) if hasattr(example, "columns") else tensor
    return ModelSignature(inputs, _schema(answer), ParamSchema([ParamSpec(_MIN_TRUST, "double", None)]))


def _schema(frame: "pd.DataFrame") -> Any:
    """Return the schema of a frame; categories of pandas may come as they are."""
    from mlflow.types import ColSpec, Schema
    from mlflow.types.schema import AnyType

    types = {"f": "double", "i": "long", "u": "long", "b": "boolean", "M": "datetime"}
    is_category = {name: str(dtype) == "category" for name, dtype in frame.dtypes.items()}
    kinds = [(name, types.get(dtype.kind, "string")) for name, dtype in frame.dtypes.items()]
    return Schema([ColSpec(AnyType() if is_category[name] else kind, str(name)) for name, kind in kinds])  # type: ignore[no-untyped-call]


def _mlflow() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of MLflow about itself
            import mlflow.pyfunc
    except ImportError as error:
        raise SepcError(
            "serving-not-installed", needed_for="an MLflow model", module=error.name, extra="mlflow"
        ) from error
    return mlflow
