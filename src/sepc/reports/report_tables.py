"""Tables and scores as plain data, with the meanings of their titles, and numbers as text."""

from collections.abc import Sequence
from typing import Any

from sepc.common.text import in_words, percent

NOTHING = "–"  # noqa: RUF001  (a dash where there is no number)

_SCORES = {
    "balanced accuracy": "balanced_accuracy",
    "AURC": "aurc",
    "E-AURC": "e_aurc",
    "AUGRC": "augrc",
    "calibration error (ECE)": "ece",
    "Brier score": "brier",
}
# By the title of a score, or of a column of a table.
MEANINGS = {
    "AURC": "area under the risk-coverage curve: the labels are accepted in the order of their trust, and the share of "
    "errors among those accepted is averaged over all coverages, from the surest label alone to all of them; 0 is best",
    "E-AURC": "what of the AURC an order of trust that puts all right labels first would avoid",
    "AUGRC": "area under the generalised risk-coverage curve: the share of all records that are accepted and wrong, "
    "averaged over all coverages; 0 is best",
    "balanced accuracy": "mean over the true labels of the share that is right, so that a rare label counts as much as "
    "a frequent one",
    "calibration error (ECE)": "mean distance between the trust and the share of right labels, over 15 bins of the "
    "trust; 0 if a trust of 90 % is right 9 times in 10",
    "Brier score": "squared error of the probabilities, added up over the labels: 0 is best, 2 is worst",
    "log loss": "mean of the negative logarithm of the probability of the true label; small is good, and a label that "
    "was held for impossible and is true costs most",
    "coverage": "share of the records whose label is accepted",
    "recall": "share of the records with this true label that got it",
    "precision": "share of the records that got this label whose true label it is",
    "AUC": "area under the ROC curve: the chance that of two records, one with the label and one without, the first "
    "has the higher probability of it; 0.5 says nothing, 1 is best",
    "labels given": "records that got this label, right or wrong",
    "mean trust": "what the share of right labels should be if the trust is calibrated",
    "expected right": "mean trust, which needs no true label: the share of right labels if the trust is calibrated; "
    "with a probability of 95 % it is then at least and at most what stands beside it",
    "shaped by": "training records that the ellipsoid was put around",
    "purity": "share of the region's own label among the training records that it holds",
    "others": "training records of other labels that it holds, too",
    "trust": "how far to trust the label, from 0 to 100 %",
    "weight": "how much the opinion of the region's member counts",
    "component": "what explanations call the region; those with the same name, ending with a +, are merged into one "
    "local distribution",
    "in words": "the columns in which the region differs most from the rest of its class and from other labels",
    "typicality": "share of the training records, each judged unseen, that are at least as strange",
    "stability": "share of the partitions without a part of the training records that give the same label",
    "where it lies": "inside one ellipsoid, in the overlap of several, outside of all; incomplete where that depends "
    "on missing values; contested, strange, in disagreement or without any value whatever the place",
    "records in the ellipsoids of both": "training records of these two classes that lie in the smallest ellipsoids "
    "around both of them",
    "likeness (OVL)": "overlap coefficient: the area under both of two normal distributions fitted to the classes; 0 "
    "if they are apart, 1 if they are the same",
    "a hyperplane separates them": "whether a weighted sum of the features tells the two classes apart without error",
    "share of all terms": "mean size of the column's term, as a share of the sum over all columns",
    "mean size of its term": "by how much the column moves the log odds of the label against its strongest rival, up "
    "or down; 0.7 doubles or halves the odds, 2.3 makes them ten times as large or as small",
    "speaks for the label": "share of the test records where the term is for the label that is given",
    "deciding region": "the region that gives the label most of its probability",
    "region of the label": "the region that gives the label most of its probability, where the regions alone are asked",
    "values": "from the least to the largest one, or the most frequent ones",
    "by true label": "the median of each label's records, or how many of them have the most frequent value",
    "beyond training": "test records with a value outside of the range of all training records",
    "records tested": "test records in the region that the search for it has not seen; what follows is of these",
    "of all errors": "share of all wrong labels that is in the region",
    "95 % interval": "Clopper and Pearson's exact limits: what the share may be by chance, given so few records",
}


def table(columns: Sequence[tuple[str, str, str]], rows: list[list[Any]], explained: bool = True) -> dict[str, Any]:
    """Return a table of rows that are ready for JSON, with the meanings of the titles where `explained`.

    Columns are (key, title, kind), the kind one of "text", "label" (of the data), "count", "share", "meter" (a share
    that is drawn, too), "number" and "exact" (with all its digits).
    """
    known = MEANINGS if explained else {}
    titled = [{"key": key, "title": name, "kind": kind, "meaning": known.get(name, "")} for key, name, kind in columns]
    return {"columns": titled, "rows": rows}


def cell(value: Any, kind: str) -> str:
    """Return a value of a table as text."""
    if value is None:
        return NOTHING
    if kind in ("share", "meter"):
        return percent(value)
    if kind == "count":
        return f"{value:,}"
    if kind == "exact":
        return exact(value)
    return number(value) if kind == "number" else str(value)


def number(value: Any) -> str:
    """Return a number with four significant digits; an integer with all of them."""
    if value is None:
        return NOTHING
    rounded = f"{value:.4g}" if isinstance(value, float) else ""
    return rounded if rounded and "e+" not in rounded else in_words(value)


def exact(value: float) -> str:
    """Return a number with all its digits."""
    return repr(value).removesuffix(".0")


def scores(results: dict[str, Any]) -> list[dict[str, str]]:
    """Return the scores besides the accuracy: title, value and meaning."""
    return [
        {
            "title": title,
            "value": percent(results[key]) if key == "balanced_accuracy" else number(results[key]),
            "meaning": MEANINGS[title],
        }
        for title, key in _SCORES.items()
    ]


def plain_methods(content: dict[str, Any]) -> dict[str, Any] | None:
    """Return a table of the model and the plain methods that learned from the same records; None if there are none."""
    result = content["results"]
    if not result["baselines"]:
        return None
    columns = [
        ("name", "method", "text"),
        ("n_right", "right", "count"),
        ("accuracy", "accuracy", "share"),
        ("interval", "95 % interval", "text"),
        ("log_loss", "log loss", "number"),
    ]
    own = {**result, "name": content["card"]["model"]}
    return table(columns, [_row(one) for one in (own, *result["baselines"])])


def _row(one: dict[str, Any]) -> list[Any]:
    low, high = (percent(end) for end in one["accuracy_interval"])
    return [one["name"], one["n_right"], one["accuracy"], f"{low} to {high}", one["log_loss"]]
