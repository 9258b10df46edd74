"""Sets of labels as columns of a table, counted by their size."""

from collections import Counter
from itertools import count
from typing import Any, NamedTuple

from sepc.cli.console import note, say
from sepc.cli.model_inputs import classifier_of
from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.text import percent
from sepc.estimators.label_sets import PredictionSets


class HowToSet(NamedTuple):
    """Arguments of `predict_set`."""

    coverage: float
    per_class: bool


class LabelSetColumns:
    """Sets of labels that a calibrated model gives, as two columns: the labels, and how many.

    Labels of a set are written one after the other, with `between` between them, which is in none of the labels.

    Parameters
    ----------
    model : TablePipeline, SEPClassifier or SEPEnsembleClassifier
        Calibrated, as ``sepc fit`` does with rows that were held back.
    coverage : float
        Least probability that a set holds the true label.
    per_class : bool
        Whether that is to hold within each class.
    """

    def __init__(self, model: Any, coverage: float, per_class: bool) -> None:
        if classifier_of(model)._calibration is None:
            raise InputError(
                "the model was fitted without rows to calibrate sets of labels with; expected some that it has not "
                "learned from. Fit it with --holdout or --test."
            )
        self.how = HowToSet(coverage, per_class)
        labels = [str(plain(label)) for label in model.classes_]
        marks = ("|" * n for n in count(1))
        self.between = next(mark for mark in marks if not any(mark in label for label in labels))
        self.sizes: Counter[int] = Counter()
        self.always: tuple[Any, ...] = ()

    def columns(self, found: PredictionSets) -> tuple[list[str], list[int]]:
        """Return the labels of each set as a text, and their number."""
        sizes = found.size.tolist()
        self.sizes.update(sizes)
        self.always = found.always
        return [self.between.join(map(str, labels)) for labels in found.labels()], sizes

    def tell(self) -> None:
        """Say what was done."""
        within = "within each class" if self.how.per_class else "over all"
        several = sum(n for size, n in self.sizes.items() if size > 1)
        say(
            f"label sets that hold the true label in {percent(self.how.coverage)} of rows like those held back, "
            f"{within}: {self.sizes[1]:,} with one label, {several:,} with several, {self.sizes[0]:,} empty"
        )
        if self.always:
            named = ", ".join(map(str, self.always))
            note(f"too few rows were held back for such a promise, so that every set holds {named}.")

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, ready for JSON."""
        return {
            **self.how._asdict(),
            "between": self.between,
            "sizes": dict(sorted(self.sizes.items())),
            "always": list(map(plain, self.always)),
        }
