"""Random inputs for the laws, and the families of point sets that every solver must handle."""

import numpy as np
from hypothesis import strategies as st

from sepc.geometry.ellipsoid import Ellipsoid

FAMILIES = ("gauss", "ball", "student", "clusters", "lattice")


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


def seeds() -> st.SearchStrategy[int]:
    return st.integers(0, 2**31)


def class_codes(*, in_order: bool = False) -> st.SearchStrategy[np.ndarray]:
    """Return classes of records, as numbers, some of them with one record only; mixed, or class after class."""
    sizes = st.lists(st.integers(1, 12), min_size=1, max_size=5)
    codes = sizes.map(lambda counts: np.repeat(np.arange(len(counts)), counts))
    mixed = st.builds(lambda every, seed: np.random.default_rng(seed).permutation(every), codes, seeds())
    return codes if in_order else mixed


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
    return (
        Ellipsoid(-support_point(E, normal), E.axes, E.radii),
        Ellipsoid(-support_point(F, -normal), F.axes, F.radii),
        normal,
    )


def support_point(E: Ellipsoid, normal: np.ndarray) -> np.ndarray:
    """Return the point of E that lies furthest along `normal`."""
    y = E.radii * (normal @ E.axes)
    return E.center + E.axes @ (E.radii * y) / np.linalg.norm(y)


def labelled_points(seed, family=None):
    """Return two small labelled sets with overlap, duplicates, flats, ties and label noise."""
    rng = np.random.default_rng(seed)
    d, sizes = int(rng.integers(1, 4)), rng.integers(1, 40, size=2)
    A, B = rng.standard_normal((sizes[0], d)), rng.standard_normal((sizes[1], d)) + rng.choice([0.0, 1.0, 5.0])
    kind = rng.integers(5) if family is None else family
    if kind == 1:  # many ties and duplicates, within and between the labels
        A, B = np.round(A), np.round(B)
    elif kind == 2:  # one label flat
        A[:, -1] = 0.5
    elif kind == 3:  # label noise: some points of A among B, and the same point under both labels
        k = min(3, len(A), len(B))
        B[:k] = A[:k]
    elif kind == 4:  # columns on very different scales, far from the origin
        scale = 10.0 ** rng.integers(-6, 7, size=d)
        A, B = A * scale + 1e3 * scale, B * scale + 1e3 * scale
    return A, B, int(rng.integers(0, 4))
