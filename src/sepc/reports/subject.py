"""Subject of a report: a fitted classifier, and test records whose labels are known."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from sepc.common.errors import InputError, SepcWarning
from sepc.common.frames import FrameMaker, plain
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import known_labels
from sepc.estimators.base import TrustClassifier
from sepc.explanations.vocabulary import Vocabulary, Word
from sepc.landscapes.findings import Finding
from sepc.model.acceptance import PROMISE
from sepc.model.assessment import Assessment
from sepc.model.fitted_model import FittedModel
from sepc.promises.parts import GROUP, GROUPS


@dataclass(frozen=True, eq=False)
class Subject:
    """A classifier and its verdicts on test records.

    `clf` is as it was passed, `classifier` the one that has the model. `X` are the n test records as they were
    passed, with the names `columns` and `ids` of columns and rows; `points` are the same in the units of `model`.
    `labels` are the classes, and after them true labels that training never had; `truth` and `predicted` are their
    numbers, shape (n,). `promised` are refusals by the promise that `clf` has signed, shape (n,), None where it does
    not decide.
    """

    clf: Any
    classifier: TrustClassifier
    X: Any
    columns: list[str]
    ids: list[int | str]
    points: FloatArray
    labels: list[str]
    truth: IntArray
    predicted: IntArray
    proba: FloatArray
    verdicts: Assessment
    promised: NDArray[np.object_] | None = None

    @classmethod
    def of(cls, clf: Any, X: Any, y: Any) -> "Subject":
        """Assess the test records; X and y are checked."""
        classifier = _classifier_of(clf)
        X = _with_a_shape(X)
        true_labels = known_labels(X, y, "test")
        verdicts = clf.assess(X)
        known = {label: code for code, label in enumerate(classifier.classes_.tolist())}
        _require_a_known_label(true_labels, list(known))
        codes = dict(known)
        for label in true_labels:
            codes.setdefault(label, len(codes))
        names = getattr(clf, "feature_names_in_", None)
        return cls(
            clf=clf,
            classifier=classifier,
            X=X if names is None or not hasattr(X, "columns") else _safe_indexing(X, names.tolist(), axis=1),
            columns=[f"x{j}" for j in range(X.shape[1])] if names is None else [str(name) for name in names],
            ids=_ids(X),
            points=classifier.by_regions.model_.units(_numbers(clf, X)),
            labels=[str(label) for label in codes],
            truth=np.array([codes[label] for label in true_labels]),
            predicted=np.array([known[label] for label in verdicts.label.tolist()]),
            proba=clf.predict_proba(X),
            verdicts=verdicts,
        )

    @property
    def model(self) -> FittedModel:
        """The fitted model; around another one that of the regions, with the same class priors and costs."""
        model, whole = self.classifier.by_regions.model_, self.classifier.model_
        return model if model is whole else model.under(whole.policy)

    @property
    def is_around(self) -> bool:
        """Whether the classifier is one around another model."""
        return self.classifier.by_regions is not self.classifier

    @property
    def name(self) -> str:
        """Class of the classifier, and of the model that it is around."""
        name = type(self.classifier).__name__
        if not self.is_around:
            return name
        return f"{name} around {self.clf.model_name}".replace("the model", "a given model")

    @property
    def training(self) -> tuple[FloatArray, IntArray]:
        """Training points in the units of the model, and their classes; none if the model was saved without them."""
        records = self.model.records
        if records is None:
            return np.empty((0, len(self.model.features))), np.empty(0, dtype=np.int64)
        return records.points, records.codes

    @property
    def trust(self) -> FloatArray:
        """Trust in the predicted labels, shape (n,)."""
        return self.verdicts.trust

    @property
    def right(self) -> BoolArray:
        """True where the predicted label is the true one, shape (n,)."""
        return np.asarray(self.truth == self.predicted)

    @property
    def known_truth(self) -> IntArray:
        """Numbers of the true labels, -1 for those that training never had, shape (n,)."""
        return np.where(self.truth < self.n_classes, self.truth, -1)

    @property
    def rival(self) -> IntArray:
        """Numbers of the likeliest other labels, shape (n,)."""
        others = self.proba.copy()
        others[np.arange(len(others)), self.predicted] = -1.0
        return np.asarray(others.argmax(axis=1))

    @property
    def vocabulary(self) -> Vocabulary:
        """Names and values of the columns that the model looks at."""
        if self.clf.table_encoder is None:
            return Vocabulary(self.model.features)
        from sepc.tables.table_vocabulary import TableVocabulary  # needs pandas, as the encoder does

        return TableVocabulary.of_no_record(self.clf.table_encoder.columns_)

    @property
    def words(self) -> tuple[Word, ...]:
        """Columns that the model looks at, and which features belong to each."""
        return self.vocabulary.words

    @property
    def dates(self) -> list[str]:
        """Columns of dates."""
        if self.clf.table_encoder is None:
            return []
        from sepc.tables.columns import date_columns  # needs pandas, as the encoder does

        return date_columns(self.clf.table_encoder.columns_)

    @property
    def findings_on_texts(self) -> tuple[Finding, ...]:
        """Findings on the texts of the training table."""
        return () if self.clf.table_encoder is None else tuple(self.clf.table_encoder.findings_)

    def named(self, features: IntArray) -> list[str]:
        """Return the columns that some features, given by number, belong to."""
        return [word.name for word in self.words if np.any((features >= word.at.start) & (features < word.at.stop))]

    @property
    def n_classes(self) -> int:
        """Number of classes that can be predicted."""
        return len(self.classifier.classes_)

    @property
    def has_costs(self) -> bool:
        """Whether errors have costs, which then decide on acceptance."""
        return self.model.policy is not None and self.model.policy.costs is not None

    @property
    def can_review(self) -> bool:
        """Whether a review has a price."""
        return self.model.policy is not None and self.model.policy.asking is not None

    def accepted(self, min_trust: float) -> BoolArray:
        """Return which labels are accepted, shape (n,)."""
        return np.array([why is None for why in self.refusals(min_trust)], dtype=bool)

    def refusals(self, min_trust: float) -> NDArray[np.object_]:
        """Return why labels are not accepted, None where they are, shape (n,)."""
        with warnings.catch_warnings():
            # `report` has warned once if the typicality is not known.
            warnings.simplefilter("ignore", SepcWarning)
            found = self.verdicts.refusals(min_trust)
            return found if self.promised is None else np.where(self.promised == None, found, self.promised)  # noqa: E711

    def by_promise(self, groups: Any) -> "Subject":
        """Return the same subject by the rule of the signed promise: it accepts nothing where groups are unknown."""
        if groups is None and self.clf.promise.is_kept and getattr(self.clf.promise, "by", "") in (GROUP, GROUPS):
            return replace(self, promised=np.full(len(self.truth), PROMISE, dtype=object))
        return replace(self, promised=self.verdicts.refusals(groups=groups))

    def records(self, rows: IntArray) -> Any:
        """Return some test records, of the same type as `X`."""
        return _safe_indexing(self.X, rows.tolist())

    def units(self, record: dict[str, Any]) -> FloatArray:
        """Return a record, given by its columns, in the units of the model, shape (d,)."""
        one = FrameMaker().frame({name: [record.get(name)] for name in self.columns})
        named = one if hasattr(self.clf, "feature_names_in_") else np.asarray(one, dtype=np.float64)
        return np.asarray(self.model.units(_numbers(self.clf, named))[0])

    @cached_property
    def cells(self) -> list[list[Any]]:
        """Values of the test records, column by column, ready for JSON."""
        if hasattr(self.X, "iloc"):
            columns = [self.X.iloc[:, j].tolist() for j in range(self.X.shape[1])]
        elif hasattr(self.X, "to_series"):
            columns = [self.X.to_series(j).to_list() for j in range(self.X.shape[1])]
        else:
            columns = self.X.T.tolist()
        return [[as_json(value) for value in column] for column in columns]

    def values(self, row: int) -> list[Any]:
        """Return the values of one test record, ready for JSON."""
        return [column[row] for column in self.cells]


def as_json(value: Any) -> Any:
    """Return a value as a number, a text or None, ready for JSON."""
    value = plain(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return None if type(value).__name__ in ("NAType", "NaTType") else str(value).removesuffix(" 00:00:00")


def short(value: Any) -> Any:
    """Return a number with the digits that a reader needs; anything else as `as_json` does."""
    value = as_json(value)
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _classifier_of(clf: Any) -> TrustClassifier:
    classifier = getattr(clf, "core", clf)
    able = all(hasattr(clf, name) for name in ("assess", "explain", "regions"))
    if not isinstance(classifier, TrustClassifier) or not able:
        raise InputError("report-clf", type=type(clf).__name__)
    return classifier


def _numbers(clf: Any, X: Any) -> FloatArray:
    """Return records as features: encoded if they are of a raw table, or as the regions around a model take them."""
    if hasattr(clf, "features"):
        return np.asarray(clf.features(X))
    return np.asarray(X if clf.table_encoder is None else clf.table_encoder.transform(X), dtype=np.float64)


def _with_a_shape(X: Any) -> Any:
    if type(X).__module__.split(".")[0] == "pyarrow":
        return X.to_pandas()
    return X if hasattr(X, "shape") else np.array(X, dtype=object)


def _ids(X: Any) -> list[int | str]:
    if not hasattr(X, "iloc"):
        return list(range(X.shape[0]))
    return [name if type(name) is int else str(name) for name in X.index.tolist()]


def _require_a_known_label(true_labels: list[Any], classes: list[Any]) -> None:
    if not set(true_labels) & set(classes):
        raise InputError("report-labels-unknown", label=true_labels[0], classes=classes[:5])
