"""`save` and `load`: one file per fitted classifier."""

import os
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from sepc.around.completing import complete
from sepc.around.trusted_classifier import TrustedClassifier
from sepc.common.archive import Format
from sepc.common.errors import InputError, ModelFileError
from sepc.common.messages import message
from sepc.persist.named_arrays import ArrayReader, ArrayWriter, require
from sepc.persist.rules_in_words import versions
from sepc.persist.saved_classifier import pack_single, unpack_single
from sepc.persist.saved_common import pack_parameters, unpack_parameters
from sepc.persist.saved_ensemble import pack_ensemble, unpack_ensemble
from sepc.persist.saved_parts import Header
from sepc.persist.saved_trusted import pack_trusted, unpack_trusted

FORMAT = Format("sepc model", 1, "sepc.save", remedy=message("save-again"), error=ModelFileError)


def save(clf: Any, path: str | os.PathLike[str], *, training_rows: bool = True) -> None:
    """Write a fitted classifier to one file, whole or not at all.

    The file holds arrays and JSON, see the page on the model format, and can be checked and read without running
    anything from it. A classifier that is loaded gives the same results as the saved one, to the bit. Of a
    `TrustedClassifier` it holds all but the estimator and an encoder that is not ours, which `load` takes again.

    Parameters
    ----------
    clf : SEPClassifier, SEPEnsembleClassifier, TrustedClassifier or TablePipeline
        Fitted. Its calibration is saved, too; callbacks are not, nor is a `random_state` that is no number.
    path : path-like
        An existing file is replaced, once the new one is complete.
    training_rows : bool, default=True
        Whether the file holds the training records. Without them all labels, trust, counts and regions stay the same.
        Explanations no longer name the nearest records, and `landscape_`, `FeedbackMonitor` and `out_of_fold_proba_`
        need them. Some of the data stays: isolated records, each of which is a region of its own (the file has their
        number), and single values, not linked into records: the smallest and the largest of each feature, and quantiles
        of those with normal scores, in an ensemble of each one. The page on the model format lists them.

    See Also
    --------
    load : Read it.
    rules_dict : The regions and rules as plain values.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> with TemporaryDirectory() as folder:
    ...     save(clf, f"{folder}/model.sepc", training_rows=False)
    ...     load(f"{folder}/model.sepc").predict([[0.5], [8.0]]).tolist()
    ['low', 'high']
    """
    kind = _kind_of(clf, _KINDS)
    check_is_fitted(clf)
    writer = ArrayWriter()
    header = {"kind": kind, "versions": versions(), **_KINDS[kind].pack(writer, clf, bool(training_rows))}
    FORMAT.write(path, header, writer.arrays)


def load(path: str | os.PathLike[str], *, estimator: Any = None, encoder: Any = None) -> Any:
    """Return the classifier that was saved.

    Nothing in the file is executed. A file that is damaged or was altered is refused, and so is one that needs more
    memory than its size warrants.

    Parameters
    ----------
    path : path-like
    estimator : classifier, optional
        The fitted model that a saved `TrustedClassifier` goes around, which the file does not hold. It is checked by
        its answers on the few records that the file has for that. A `sepc.around.GivenScores` may take its place, for
        tables with its answers in columns. Without either the classifier assesses ``scores=`` that are given.
    encoder : transformer or callable, optional
        The fitted encoder of a `TrustedClassifier`, its `encoder_`, if that is neither ours nor None.

    Returns
    -------
    SEPClassifier, SEPEnsembleClassifier, TrustedClassifier or TablePipeline

    Raises
    ------
    ModelFileError
        For all that can be wrong with the file.
    InputError
        For another estimator or encoder than those that were saved, and for an encoder that is not there.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> with TemporaryDirectory() as folder:
    ...     save(clf, f"{folder}/model.sepc")
    ...     load(f"{folder}/model.sepc").explain([1.5]).neighbours[0].row
    1
    """
    header, arrays = FORMAT.read(path)
    try:
        clf = _KINDS[header["kind"]].unpack(ArrayReader(arrays), header)
    except Exception as error:  # a file of valid format may still hold no valid model
        raise FORMAT.damaged(path) from error
    if isinstance(clf.core, TrustedClassifier):
        complete(clf.core, estimator, encoder)
    elif estimator is not None or encoder is not None:
        raise InputError("load-without-estimator", path=str(path), kind=type(clf.core).__name__)
    return clf


def _kind_of(clf: Any, kinds: Collection[str]) -> str:
    kind = type(clf).__qualname__
    if kind in kinds and type(clf).__module__.startswith("sepc."):
        return kind
    raise InputError("clf-not-savable", clf=clf, kinds=" or ".join(kinds))


def _pack_pipeline(writer: ArrayWriter, pipeline: Any, training_rows: bool) -> Header:
    encoder, clf = (step for _, step in pipeline.steps)
    kind = _kind_of(clf, _CLASSIFIERS)
    inside = _KINDS[kind].pack(writer, clf, training_rows)
    if inside["training_rows"] and pipeline.row_numbers_ is not None:
        writer.put(_ROW_NUMBERS, pipeline.row_numbers_)
    return {
        "encoder": encoder.to_dict(),
        "parameters": pack_parameters({name: getattr(pipeline, name) for name in _own_parameters(pipeline)}),
        "classifier": {"kind": kind, **inside},
        **{name: inside[name] for name in ("training_rows", "isolated_points")},
    }


def _unpack_pipeline(reader: ArrayReader, header: Header) -> Any:
    from sepc.tables import TableEncoder, make_table_pipeline  # needs pandas

    inside = header["classifier"]
    require(inside["kind"] in _CLASSIFIERS, "kind of classifier")
    pipeline = make_table_pipeline(_KINDS[inside["kind"]].unpack(reader, inside))
    encoder = TableEncoder.from_dict(header["encoder"])
    pipeline.steps[0] = (pipeline.steps[0][0], encoder)
    features = encoder.get_feature_names_out().tolist()
    require(features == pipeline[-1].feature_names_in_.tolist(), "features of the encoder")
    pipeline.set_params(**unpack_parameters(header["parameters"], _own_parameters(pipeline)))
    if _ROW_NUMBERS in reader:
        n = int(pipeline[-1].model_.records.rows.max()) + 1
        pipeline.row_numbers_ = reader.integers(_ROW_NUMBERS, (None,), 1, 1 << 48)
        require(len(pipeline.row_numbers_) >= n, "row numbers")
    return pipeline


def _own_parameters(pipeline: Any) -> list[str]:
    return sorted(name for name in pipeline.get_params(deep=False) if name != "steps")


class _Kind(NamedTuple):
    """Functions for a class that can be saved, which is not imported for that."""

    pack: Callable[[ArrayWriter, Any, bool], Header]
    unpack: Callable[[ArrayReader, Header], Any]


_ROW_NUMBERS = "row_numbers"

# A file names one of these classes; nothing else is ever made from a file.
_KINDS = {
    "SEPClassifier": _Kind(pack_single, unpack_single),
    "SEPEnsembleClassifier": _Kind(pack_ensemble, unpack_ensemble),
    "TrustedClassifier": _Kind(pack_trusted, unpack_trusted),
    "TablePipeline": _Kind(_pack_pipeline, _unpack_pipeline),
}
_CLASSIFIERS = ("SEPClassifier", "SEPEnsembleClassifier", "TrustedClassifier")
