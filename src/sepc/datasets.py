"""Data sets of the paper, and generators of small ones.

Iris and WDBC come with scikit-learn, none with this package. Adult and Vertebral Column are read from the folder that
the environment variable ``SEPC_DATA`` names, or else fetched from OpenML; rows and labels are counted first.
"""

import csv
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError, SepcError
from sepc.common.typing import FloatArray

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "SEPC_DATA"

_ADULT_COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship"),
    *("race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "label"),
)
_ADULT_NUMBERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
_STRATUM = {
    "workclass": "Private",
    "education": "HS-grad",
    "marital_status": "Married-civ-spouse",
    "occupation": "Craft-repair",
    "relationship": "Husband",
    "race": "White",
    "sex": "Male",
    "native_country": "United-States",
}
_CODED = "Each value is its rank among the distinct ones of its column over all 30162 rows, numbers too."
_VERTEBRAL_COLUMNS = (
    *("pelvic_incidence", "pelvic_tilt", "lumbar_lordosis_angle", "sacral_slope"),
    *("pelvic_radius", "degree_spondylolisthesis"),
)

Table = list[list[str]]
Columns = dict[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False, slots=True)
class DataSet:
    """Labelled data with their source.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        Labels.
    feature_names : tuple of str
    name : str
    source : str
        The file, package or site that it was read from.
    notes : tuple of str
        What was done to the data, in sentences.

    Examples
    --------
    >>> data = load_iris(("sepal length (cm)", "petal length (cm)"))
    >>> data.X.shape, data.counts
    ((150, 2), {'setosa': 50, 'versicolor': 50, 'virginica': 50})
    """

    X: FloatArray
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    name: str
    source: str
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[Any, int]:
        """Number of rows of each label."""
        return dict(sorted(Counter(self.y.tolist()).items()))


def load_adult(categories: bool = False, coded: bool = False) -> DataSet:
    """Load the training part of the Adult (census income) data: rows without missing values, numeric features.

    Parameters
    ----------
    categories : bool, default=False
        Whether the 8 categories come along, numbered in alphabetical order.
    coded : bool, default=False
        Whether each of the 14 columns, numbers too, is label-encoded by rank, from 0, as in the paper.

    Returns
    -------
    DataSet
        30162 rows and 6 features, or 14 with categories or coded; 22654 labels ``<=50K`` and 7508 ``>50K``.

    Examples
    --------
    >>> load_adult().X.shape  # doctest: +SKIP
    (30162, 6)
    >>> load_adult(coded=True).X.max(axis=0)[:4]  # doctest: +SKIP
    array([   71.,     6., 20262.,    15.])
    """
    columns, source = _adult()
    names: tuple[str, ...] = _ADULT_NUMBERS
    how = "The 8 features that are no numbers are left out."
    if coded:
        names, how = _ADULT_COLUMNS[:-1], _CODED
    elif categories:
        names, how = (*names, *_STRATUM), "The 8 features that are no numbers are numbered in alphabetical order."
    X = _adult_values(columns, names, coded)
    return DataSet(X, np.array(columns["label"]), names, "Adult", source, ("Rows with a gap are left out.", how))


def load_adult_stratum(coded: bool = False) -> DataSet:
    """Load the largest stratum of the Adult data: the rows that share the commonest values of all 8 categories.

    Parameters
    ----------
    coded : bool, default=False
        Whether values are ranks among the distinct ones of all 30162 rows, as for `load_adult`.

    Returns
    -------
    DataSet
        803 rows and the 5 numeric features that vary; 548 labels ``<=50K`` and 255 ``>50K`` (the paper counts 547 and
        256).

    Examples
    --------
    >>> load_adult_stratum().counts  # doctest: +SKIP
    {'<=50K': 548, '>50K': 255}
    """
    columns, source = _adult()
    rows = np.logical_and.reduce([np.array(columns[name]) == value for name, value in _STRATUM.items()])
    values = _adult_values(columns, _ADULT_NUMBERS, coded)[rows]
    varies = np.ptp(values, axis=0) > 0
    features = tuple(name for name, one in zip(_ADULT_NUMBERS, varies, strict=True) if one)
    data = DataSet(
        X=values[:, varies],
        y=np.array(columns["label"])[rows],
        feature_names=features,
        name="Adult, largest stratum",
        source=source,
        notes=(
            f"The rows with {', '.join(_STRATUM.values())}.",
            "Of the numeric features, education_num is constant there and left out.",
            *((_CODED,) if coded else ()),
        ),
    )
    return _counted(data, {"<=50K": 548, ">50K": 255})


def load_vertebral() -> DataSet:
    """Load the Vertebral Column data, two classes, rounded to two decimals as in the paper.

    Pelvic incidence is the sum of two other features, so that volumes depend on rounding in the sixth dimension.

    Returns
    -------
    DataSet
        310 rows and 6 features; 210 labels ``Abnormal`` and 100 ``Normal``.

    Examples
    --------
    >>> load_vertebral().counts  # doctest: +SKIP
    {'Abnormal': 210, 'Normal': 100}
    """
    table, source = _load(_VERTEBRAL)
    labels = np.array([row[-1] for row in table])
    data = DataSet(
        X=np.asarray(np.round(np.array([row[:-1] for row in table], dtype=np.float64), 2), dtype=np.float64),
        y=np.where(np.isin(labels, ("Normal", "NO")), "Normal", "Abnormal"),
        feature_names=_VERTEBRAL_COLUMNS,
        name="Vertebral Column",
        source=source,
        notes=("Rounded to two decimals, the copy that the paper's figures belong to.",),
    )
    return _counted(data, {"Abnormal": 210, "Normal": 100})


def load_wdbc() -> DataSet:
    """Load the Wisconsin diagnostic breast cancer data, which come with scikit-learn.

    Returns
    -------
    DataSet
        569 rows and 30 features; 357 labels ``benign`` and 212 ``malignant``.

    Examples
    --------
    >>> load_wdbc().counts
    {'benign': 357, 'malignant': 212}
    """
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    names = tuple(map(str, bunch.feature_names))
    return DataSet(bunch.data, bunch.target_names[bunch.target].astype(str), names, "WDBC", "scikit-learn")


def load_iris(features: Sequence[str] | None = None) -> DataSet:
    """Load Fisher's Iris data, which come with scikit-learn.

    Parameters
    ----------
    features : sequence of str, optional
        All four by default.

    Returns
    -------
    DataSet
        150 rows, 50 of each of 3 labels.

    Examples
    --------
    >>> load_iris().feature_names[2]
    'petal length (cm)'
    """
    from sklearn import datasets

    bunch = datasets.load_iris()
    names = tuple(bunch.feature_names)
    chosen = names if features is None else tuple(features)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise InputError("data-set-features", features=unknown, names=", ".join(map(repr, names)))
    X = bunch.data[:, [names.index(name) for name in chosen]]
    return DataSet(X, bunch.target_names[bunch.target].astype(str), chosen, "Iris", "scikit-learn")


def make_xor() -> DataSet:
    """Make the four points of the exclusive or.

    Examples
    --------
    >>> make_xor().y.tolist()
    ['0', '1', '1', '0']
    """
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    return DataSet(X, np.array(["0", "1", "1", "0"]), ("x1", "x2"), "XOR", "made here")


def make_circles(n: int = 100, noise: float = 0.05, factor: float = 0.5, seed: int = 0) -> DataSet:
    """Make n points on two concentric circles, labels ``outer`` and ``inner``, by `sklearn.datasets.make_circles`.

    Examples
    --------
    >>> make_circles(40).counts
    {'inner': 20, 'outer': 20}
    """
    from sklearn import datasets

    X, y = datasets.make_circles(n, noise=noise, factor=factor, random_state=seed)
    return DataSet(X, np.where(y == 0, "outer", "inner"), ("x1", "x2"), "Circles", "scikit-learn")


def make_moons(n: int = 200, noise: float = 0.1, seed: int = 0) -> DataSet:
    """Make n points on two interleaving half circles, ``upper`` and ``lower``, by `sklearn.datasets.make_moons`.

    Examples
    --------
    >>> make_moons(40).counts
    {'lower': 20, 'upper': 20}
    """
    from sklearn import datasets

    X, y = datasets.make_moons(n, noise=noise, random_state=seed)
    return DataSet(X, np.where(y == 0, "upper", "lower"), ("x1", "x2"), "Moons", "scikit-learn")


def make_credit(n: int = 800, seed: int = 0) -> tuple["pd.DataFrame", NDArray[np.str_]]:
    """Make a table of loans as a bank might have it: numbers, categories, dates and missing values.

    A hidden score decides: monthly rate by income, savings, housing with years in the job, and purpose. 5 % of the
    labels are flipped.

    Parameters
    ----------
    n : int, default=800
        Loans.
    seed : int, default=0

    Returns
    -------
    table : pandas.DataFrame of shape (n, 9)
        Without the labels; 1/8 of the savings and 1/15 of the years in the job are missing.
    labels : ndarray of shape (n,)
        ``repaid`` or ``default``.

    Examples
    --------
    >>> table, labels = make_credit(5)
    >>> table.shape, sorted(set(labels.tolist()))
    ((5, 9), ['default', 'repaid'])
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    income = np.exp(rng.normal(7.8, 0.35, n))
    months = rng.choice([12, 18, 24, 36, 48, 60], n)
    amount = np.exp(rng.normal(8.6, 0.6, n))
    savings = np.where(rng.random(n) < 0.35, 0.0, np.exp(rng.normal(7.5, 1.1, n)))
    years_in_job = rng.gamma(1.5, 4.0, n)
    housing = rng.choice(["rent", "own", "free"], n, p=[0.5, 0.4, 0.1])
    purpose = rng.choice(["car", "furniture", "business", "education"], n, p=[0.4, 0.25, 0.2, 0.15])
    score = (
        12.0 * amount / months / income
        - 0.35 * np.log1p(savings / 100.0)
        + np.select([(housing == "rent") & (years_in_job < 3.0), housing == "own"], [1.6, -0.8], 0.0)
        + np.select([purpose == "business", purpose == "car"], [1.0, -0.4], 0.0)
    )
    fails = (score > np.quantile(score, 0.7)) ^ (rng.random(n) < 0.05)
    table = pd.DataFrame(
        {
            "age": np.clip(rng.normal(41, 12, n), 19, 80).astype(int),
            "income": income.round(-1).astype(int),
            "amount": amount.round(-2).astype(int),
            "months": months,
            "savings": np.where(rng.random(n) < 1 / 8, np.nan, savings.round(-1)),
            "years_in_job": np.where(rng.random(n) < 1 / 15, np.nan, years_in_job.round(1)),
            "housing": housing,
            "purpose": purpose,
            "opened": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
        }
    )
    return table, np.where(fails, "default", "repaid")


class _Remote(NamedTuple):
    """Data set that is not part of any package: its files, and its number at OpenML."""

    name: str
    files: tuple[str, ...]
    about_files: str
    openml: int
    read: Callable[[Iterable[str]], Table]
    of_frame: Callable[[Any], Table]


def _load(remote: _Remote) -> tuple[Table, str]:
    """Return the rows of a data set, from a local file if there is one, and their source."""
    folder = os.environ.get(FOLDER)
    for file in remote.files:
        path = Path(folder or "") / file
        if folder and path.is_file():
            with path.open(encoding="utf-8", newline="") as lines:
                return remote.read(lines), file
    return remote.of_frame(_fetched(remote, folder)), f"OpenML, data set {remote.openml}"


def _fetched(remote: _Remote, folder: str | None) -> Any:
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A network error", UserWarning)  # the error below says it better
            return fetch_openml(data_id=remote.openml, as_frame=True, n_retries=1).frame
    except (OSError, ValueError, ImportError) as error:  # no network, no such answer, no pandas
        place = f"{FOLDER} is {folder}, which has no such file" if folder else f"{FOLDER} is not set"
        raise SepcError(
            "data-set-missing",
            name=remote.name,
            place=place,
            error_type=type(error).__name__,
            reason=str(error),
            files=" or ".join(remote.files),
            variable=FOLDER,
            about_files=remote.about_files,
        ) from error


def _adult() -> tuple[Columns, str]:
    """Return the columns of Adult, without rows with missing values."""
    rows, source = _load(_ADULT)
    # Some files hold the test rows, too, and OpenML has them in front; 32,561 rows are the training part.
    parts = [rows] if len(rows) <= 32_561 else [rows[:32_561], rows[-32_561:]]
    for part in parts:
        full = [row for row in part if "?" not in row]
        counts = Counter(row[-1] for row in full)
        if counts == {"<=50K": 22654, ">50K": 7508}:
            return dict(zip(_ADULT_COLUMNS, zip(*full, strict=True), strict=True)), source
    raise InputError("adult-rows", source=source, n_rows=len(full), counts=dict(counts))


def _adult_rows(lines: Iterable[str]) -> Table:
    """Read UCI's own file, or one with names in the first line."""
    rows = [row for row in csv.reader(lines, skipinitialspace=True) if len(row) == len(_ADULT_COLUMNS)]
    return rows[1:] if rows and not rows[0][0].isdigit() else rows


def _vertebral_rows(lines: Iterable[str]) -> Table:
    rows = [line.replace(",", " ").split() for line in lines]
    return [row for row in rows if len(row) == len(_VERTEBRAL_COLUMNS) + 1 and not row[0].isidentifier()]


def _vertebral_of_frame(frame: Any) -> Table:
    """Name the labels, which OpenML only numbers: the one of 100 rows is Normal."""
    rows = _texts(frame)
    counts = Counter(row[-1] for row in rows)
    return [[*row[:-1], "Normal" if counts[row[-1]] == 100 else "Abnormal"] for row in rows]


def _texts(frame: Any) -> Table:
    """Return a frame as texts: numbers with 17 digits at most, ``?`` for missing values as in UCI's files."""
    columns = [
        ["?" if value != value else f"{value:.17g}" if isinstance(value, float) else str(value) for value in column]
        for column in (frame[name].tolist() for name in frame.columns)
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _adult_values(columns: Columns, names: Sequence[str], coded: bool) -> FloatArray:
    """Return columns of Adult, shape (n, n_names): numbers as they are, or all as ranks among the distinct values."""

    def values(name: str) -> FloatArray:
        is_number = name in _ADULT_NUMBERS
        column = np.array(columns[name], dtype=np.float64 if is_number else str)
        if is_number and not coded:
            return column
        return np.unique(column, return_inverse=True)[1].astype(np.float64)

    return np.column_stack([values(name) for name in names])


def _counted(data: DataSet, expected: dict[str, int]) -> DataSet:
    """Return the data if the number of each label is as expected."""
    if data.counts == expected:
        return data
    raise InputError("data-set-labels", source=data.source, counts=data.counts, expected=expected, name=data.name)


_ADULT = _Remote(
    "Adult",
    ("adult_train_clean.csv", "adult.data"),
    "adult.data is UCI's file (data set 2, Adult).",
    1590,
    _adult_rows,
    _texts,
)
_VERTEBRAL = _Remote(
    "Vertebral Column",
    ("vertebral_2c.csv", "column_2C.dat"),
    "column_2C.dat is UCI's file (data set 212, Vertebral Column).",
    1524,
    _vertebral_rows,
    _vertebral_of_frame,
)
