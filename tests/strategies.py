"""Data for the laws, drawn so that a failure shrinks to a few small numbers; and families of larger point sets.

Arrays of a failing case are printed as literals that can be pasted into a test, to the last bit.
"""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.vendor.pretty import for_type_by_name

from sepc.geometry.ellipsoid import Ellipsoid

FAMILIES = ("gauss", "ball", "student", "clusters", "lattice")
REGIMES = ("lattice", "spread", "copies", "line", "flat", "scales")


def _print_array(array, printer, _):
    kind = "" if array.dtype in (np.float64, np.int64, np.bool_) and array.size else f", dtype={array.dtype.str!r}"
    printer.text(f"np.array({array.tolist()!r}{kind})")


def _print_ellipsoid(E, printer, _):
    printer.text("Ellipsoid(")
    for k, part in enumerate((E.center, E.axes, E.radii)):
        printer.text(", " if k else "")
        printer.pretty(part)
    printer.text(")")


for_type_by_name("numpy", "ndarray", _print_array)
for_type_by_name(Ellipsoid.__module__, "Ellipsoid", _print_ellipsoid)


def examples(n: int) -> settings:
    """Return settings with n examples, and in other profiles as many in proportion as these have of cheap laws."""
    return settings(max_examples=max(5, n * settings.default.max_examples // 100))


def seeds() -> st.SearchStrategy[int]:
    """Return seeds, for what takes a seed; data for a law are drawn by the strategies below."""
    return st.integers(0, 2**31)


def decimals(shape, most: int = 999) -> st.SearchStrategy[np.ndarray]:
    """Return arrays of numbers with two decimals, up to ``most / 100`` in size, that need not be distinct."""
    return hnp.arrays(np.int64, shape, elements=st.integers(-most, most), fill=st.nothing()).map(lambda k: k / 100.0)


@st.composite
def drawn_points(draw, d: int | None = None, min_size: int = 1, max_size: int = 25, regimes=REGIMES) -> np.ndarray:
    """Return points in one of the `REGIMES`: ties, copies, a line, a constant column, columns far apart in scale."""
    d, n = draw(st.integers(1, 3)) if d is None else d, draw(st.integers(min_size, max_size))
    regime = draw(st.sampled_from(regimes))
    if regime == "lattice":
        return draw(hnp.arrays(np.int64, (n, d), elements=st.integers(-3, 3))).astype(float)
    if regime == "copies":
        few = draw(decimals((draw(st.integers(1, 4)), d)))
        return few[draw(hnp.arrays(np.int64, n, elements=st.integers(0, len(few) - 1)))]
    if regime == "line":
        return draw(decimals((n, 1))) * draw(decimals((1, d))) + draw(decimals((1, d)))
    X = draw(decimals((n, d)))
    if regime == "flat":
        X[:, -1] = 0.5
    if regime == "scales":
        X = (X + 1e3) * 10.0 ** draw(hnp.arrays(np.int64, d, elements=st.integers(-6, 6)))
    return X


def is_solid(points: np.ndarray) -> bool:
    """Return whether points span their space with room: a flat set has a volume of rounding alone."""
    radii = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    reach = max(radii[0], 1e-9 * np.abs(points).max())
    return len(points) > points.shape[1] and radii[-1] > 1e-3 * reach


@st.composite
def labelled_points(draw, regimes=REGIMES) -> tuple[np.ndarray, np.ndarray, int]:
    """Return two small sets that overlap more or less, some points in both, and an impurity limit."""
    X = draw(drawn_points(min_size=2, max_size=45, regimes=regimes))
    n_first = draw(st.integers(1, len(X) - 1))
    A, B = X[:n_first], X[n_first:].copy()
    # Without the rounding, which would part points that are equal but for it.
    B = np.round(B + draw(st.sampled_from([0.0, 0.25, 1.0, 2.0])) * np.ptp(X, axis=0), 12)
    noise = min(draw(st.sampled_from([0, 0, 1, 3])), len(A), len(B))
    B[:noise] = A[:noise]
    return A, B, draw(st.integers(0, 3))


@st.composite
def classified_points(draw) -> tuple[np.ndarray, np.ndarray, int]:
    """Return points, their labels "a", "b" and at times "c", and an impurity limit."""
    A, B, n_imp = draw(labelled_points())
    y = np.repeat(["a", "b"], [len(A), len(B)])
    y[: draw(st.sampled_from([0, len(A) // 2]))] = "c"
    return np.vstack([A, B]), y, n_imp


@st.composite
def sets_of_points(draw, n_sets: int | None = None) -> tuple[list[np.ndarray], int]:
    """Return sets of a few features, three to five unless a number is given, none empty, and an impurity limit."""
    n_sets, d = draw(st.integers(3, 5)) if n_sets is None else n_sets, draw(st.integers(1, 3))
    centers = draw(st.sampled_from([0.1, 1.0, 3.0])) * draw(decimals((n_sets, d)))
    sets = [draw(drawn_points(d, max_size=20, regimes=("lattice", "spread"))) + center for center in centers]
    return sets, draw(st.integers(0, 3))


@st.composite
def ellipsoids(draw, d: int | None = None, least: int = 1, most: int = 8, ratio: float = 4.0) -> Ellipsoid:
    """Return an ellipsoid with radii between ``1 / ratio`` and 1 and a centre near the origin."""
    d = draw(st.integers(least, most)) if d is None else d
    axes = np.linalg.qr(np.eye(d) + draw(decimals((d, d))))[0]
    exponents = draw(hnp.arrays(np.int64, d, elements=st.integers(0, 100), fill=st.nothing())) / 100.0
    return Ellipsoid(draw(decimals(d, 200)), axes, ratio**-exponents)


def pairs_of_ellipsoids(least: int = 1, most: int = 8, ratio: float = 4.0) -> st.SearchStrategy:
    """Return two ellipsoids of one dimension."""
    return st.integers(least, most).flatmap(lambda d: st.tuples(ellipsoids(d, ratio=ratio), ellipsoids(d, ratio=ratio)))


@st.composite
def trusts_and_errors(draw, grid: int = 20, max_size: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Return trusts with many ties, and which labels are wrong: mostly those of low trust."""
    n, slope = draw(st.integers(1, max_size)), draw(st.floats(0, 0.4))
    trust = draw(hnp.arrays(np.int64, n, elements=st.integers(0, grid), fill=st.nothing())) / grid
    chance = draw(hnp.arrays(np.int64, n, elements=st.integers(1, 100), fill=st.nothing())) / 100.0
    return trust, chance <= slope * (1 - trust)


def weights(n: int) -> st.SearchStrategy[np.ndarray]:
    """Return weights above 0, with at most two decimals."""
    return hnp.arrays(np.int64, n, elements=st.integers(1, 400)).map(lambda k: k / 100.0)


@st.composite
def category_values(draw, sizes, n: int) -> np.ndarray:
    """Return the values of n records in categories of these sizes, as numbers from 0; some may never occur."""
    return np.column_stack([draw(hnp.arrays(np.int64, n, elements=st.integers(0, size - 1))) for size in sizes])


def orders(n: int) -> st.SearchStrategy[np.ndarray]:
    return st.permutations(range(n)).map(np.array)


def class_codes(*, in_order: bool = False) -> st.SearchStrategy[np.ndarray]:
    """Return classes of records, as numbers, some of them with one record only; mixed, or class after class."""
    sizes = st.lists(st.integers(1, 12), min_size=1, max_size=5)
    codes = sizes.map(lambda counts: np.repeat(np.arange(len(counts)), counts))
    return codes if in_order else codes.flatmap(lambda every: orders(len(every)).map(lambda order: every[order]))


def point_set(family: str, n: int, d: int, seed: int = 0) -> np.ndarray:
    """Return n points in d dimensions from one of `FAMILIES`."""
    rng = np.random.default_rng([seed, n, d, FAMILIES.index(family)])
    gauss = rng.standard_normal((n, d))
    if family == "ball":
        return gauss * (rng.random((n, 1)) ** (1 / d) / np.linalg.norm(gauss, axis=1, keepdims=True))
    if family == "student":
        return gauss / np.sqrt(rng.chisquare(2, size=(n, 1)) / 2)
    if family == "clusters":
        return 0.1 * gauss + 3 * rng.standard_normal((4, d))[rng.integers(4, size=n)]
    if family == "lattice":
        return np.round(1.5 * gauss)
    return gauss


def rotation(d: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def random_ellipsoid(
    d: int, rng: np.random.Generator, ratio: float = 4.0, size: float = 1.0, offset: float = 1.0
) -> Ellipsoid:
    """Return an ellipsoid with radii between ``size / ratio`` and `size`, about `offset` off the origin."""
    radii = size * ratio ** -rng.random(d)
    center = offset * rng.standard_normal(d) / np.sqrt(d)
    return Ellipsoid(center, rotation(d, rng), radii)


def touching_pair(
    d: int,
    rng: np.random.Generator,
    ratios: tuple[float, float] = (4.0, 4.0),
    sizes: tuple[float, float] = (1.0, 1.0),
) -> tuple[Ellipsoid, Ellipsoid, np.ndarray]:
    """Return two ellipsoids that touch at the origin, and the unit normal there, from first to second."""
    normal = rng.standard_normal(d)
    normal /= np.linalg.norm(normal)
    E, F = (random_ellipsoid(d, rng, r, s, offset=0.0) for r, s in zip(ratios, sizes, strict=True))
    return brought_together(E, F, normal)


def brought_together(E: Ellipsoid, F: Ellipsoid, normal: np.ndarray) -> tuple[Ellipsoid, Ellipsoid, np.ndarray]:
    """Return both moved to touch at the origin with this unit normal there, from first to second."""
    E, F = (Ellipsoid(np.zeros(G.dim), G.axes, G.radii) for G in (E, F))
    return (
        Ellipsoid(-support_point(E, normal), E.axes, E.radii),
        Ellipsoid(-support_point(F, -normal), F.axes, F.radii),
        normal,
    )


def support_point(E: Ellipsoid, normal: np.ndarray) -> np.ndarray:
    """Return the point of E that lies furthest along `normal`."""
    y = E.radii * (normal @ E.axes)
    return E.center + E.axes @ (E.radii * y) / np.linalg.norm(y)
