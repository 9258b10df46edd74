"""Compiled kernels of the minimum-volume ellipsoid: passes over the points, and the way back to their units."""

import numpy as np

from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry._compile import kernel
from sepc.geometry._design_kernels import design_shape, interior_point

__all__ = [
    "candidates",
    "design_shape",
    "gauge_noise",
    "interior_point",
    "leverages",
    "lift",
    "measure",
    "raw_factor",
    "rows_svd",
]

# Rows per block of a pass: the block and its image stay in the first-level cache.
BLOCK = 128

EPS = np.finfo(np.float64).eps


@kernel
def typical_row(X: FloatArray) -> FloatArray:
    """Return, for each column, the median of a few evenly spaced rows.

    A value that occurs in the column: a constant column minus it is exactly 0. Far from no bulk of the points:
    what is summed after subtracting it keeps its digits.
    """
    N, d = X.shape
    count = min(N, 31)
    values = np.empty(count)
    origin = np.empty(d)
    for j in range(d):
        for i in range(count):
            x = X[i * N // count, j]
            at = i
            while at > 0 and values[at - 1] > x:
                values[at] = values[at - 1]
                at -= 1
            values[at] = x
        origin[j] = values[count // 2]
    return origin


@kernel
def moments(X: FloatArray, origin: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean (relative to `origin`) and the covariance of the rows of X in one pass."""
    N, d = X.shape
    rows = np.zeros((BLOCK, d))
    columns = np.zeros((d, BLOCK))
    product = np.empty((d, d))
    mean = np.zeros(d)
    gram = np.zeros((d, d))
    for start in range(0, N, BLOCK):
        size = min(BLOCK, N - start)
        for i in range(size):
            for j in range(d):
                x = X[start + i, j] - origin[j]
                rows[i, j] = x
                columns[j, i] = x
                mean[j] += x
        for i in range(size, BLOCK):
            for j in range(d):
                rows[i, j] = 0.0
                columns[j, i] = 0.0
        np.dot(columns, rows, product)
        for i in range(d):
            for j in range(d):
                gram[i, j] += product[i, j]
    for j in range(d):
        mean[j] /= N
    for i in range(d):
        for j in range(d):
            gram[i, j] = gram[i, j] / N - mean[i] * mean[j]
    return mean, gram


@kernel
def rows_svd(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return U' and s of the singular value decomposition ``U diag(s) V'``, by rotating pairs of rows; largest first.

    One-sided Jacobi: rows of very different length are combined with tiny angles that are found to full relative
    precision, so that small singular values and small entries of U survive beside large ones.
    """
    d, m = matrix.shape
    R = matrix.copy()
    U = np.zeros((d, d))  # its rows are the left singular vectors
    for i in range(d):
        U[i, i] = 1.0
    rounding = 1e-16 * (m + 8)
    for _ in range(40):
        rotated = False
        for i in range(d - 1):
            for j in range(i + 1, d):
                a = 0.0
                b = 0.0
                c = 0.0
                for k in range(m):
                    a += R[i, k] * R[i, k]
                    b += R[j, k] * R[j, k]
                    c += R[i, k] * R[j, k]
                if abs(c) <= rounding * np.sqrt(a) * np.sqrt(b):
                    continue
                rotated = True
                zeta = (b - a) / (2.0 * c)
                if abs(zeta) > 1e150:
                    t = 0.5 / zeta
                else:
                    t = 1.0 / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                    if zeta < 0.0:
                        t = -t
                cosine = 1.0 / np.sqrt(1.0 + t * t)
                sine = cosine * t
                for k in range(m):
                    x = R[i, k]
                    y = R[j, k]
                    R[i, k] = cosine * x - sine * y
                    R[j, k] = sine * x + cosine * y
                for k in range(d):
                    x = U[i, k]
                    y = U[j, k]
                    U[i, k] = cosine * x - sine * y
                    U[j, k] = sine * x + cosine * y
        if not rotated:
            break
    s = np.zeros(d)
    for i in range(d):
        for k in range(m):
            s[i] += R[i, k] * R[i, k]
        s[i] = np.sqrt(s[i])
    for i in range(d - 1):
        longest = i
        for j in range(i + 1, d):
            if s[j] > s[longest]:
                longest = j
        if longest != i:
            s[i], s[longest] = s[longest], s[i]
            for k in range(d):
                U[i, k], U[longest, k] = U[longest, k], U[i, k]
    return U, s


@kernel
def measure(
    X: FloatArray, unit: FloatArray, flat: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, int, FloatArray, FloatArray]:
    """Find the principal directions of the points; one pass.

    `unit` holds the units of length, or nothing for the points' own.

    Returns
    -------
    origin, center : a row to subtract first, and the mean relative to it
    unit : (d,) units of length
    directions, spread : (d, d) orthonormal rows in these units, longest first, and the RMS spread along each
    rank : how many directions spread by at least `flat`
    columns, offset : the frame in which the uniform design of the points has the identity for its moment matrix
    """
    d = X.shape[1]
    origin = typical_row(X)
    center, covariance = moments(X, origin)
    length = np.ones(d)
    if len(unit):
        for j in range(d):
            length[j] = unit[j]
    else:
        largest = 0.0
        for j in range(d):
            largest = max(largest, covariance[j, j])
        if largest > 0.0:
            for j in range(d):
                length[j] = np.sqrt(covariance[j, j] if covariance[j, j] > 0.0 else largest)
    for i in range(d):
        for j in range(d):
            covariance[i, j] /= length[i] * length[j]
    directions, spread = rows_svd(covariance)
    rank = 0
    for j in range(d):
        spread[j] = np.sqrt(spread[j])
        if spread[j] >= flat:
            rank += 1
    columns = np.zeros((d, rank + 1))
    offset = np.zeros(rank + 1)
    offset[rank] = 1.0
    for i in range(d):
        for j in range(rank):
            columns[i, j] = directions[j, i] / (length[i] * spread[j])
    return origin, center, length, directions, spread, rank, columns, offset


@kernel
def raw_factor(
    middle: FloatArray,
    shape: FloatArray,
    reach: float,
    origin: FloatArray,
    center: FloatArray,
    unit: FloatArray,
    directions: FloatArray,
    spread: FloatArray,
    thickness: float,
) -> tuple[FloatArray, FloatArray]:
    """Return centre and factor, in the units of the data, of the ellipsoid ``middle + reach * shape @ ball``.

    `middle` and `shape` are in the hull coordinates of `measure`; `thickness` is the radius of the flat directions
    in units of length.
    """
    d = len(unit)
    rank = len(middle)
    position = center.copy()
    factor = np.zeros((d, d))
    for i in range(d):
        for k in range(rank):
            stretch = unit[i] * directions[k, i] * spread[k]
            position[i] += stretch * middle[k]
            for j in range(k + 1):
                factor[i, j] += reach * stretch * shape[k, j]
        for j in range(rank, d):
            factor[i, j] = unit[i] * directions[j, i] * thickness
        position[i] += origin[i]
    return position, factor


@kernel
def gauge_noise(center: FloatArray, axes_t: FloatArray, radii: FloatArray) -> tuple[float, float]:
    """Bound the rounding error of a gauge near 1, and the error in it that comes from the rounding of the centre.

    Both by the size of the terms that the gauge is summed from. `axes_t` has the axes as rows.
    """
    d = len(radii)
    noise = 0.0
    drift = 0.0
    for j in range(d):
        terms = 0.0
        moved = 0.0
        for i in range(d):
            half_width = 0.0
            for k in range(d):
                half_width += (axes_t[k, i] * radii[k]) ** 2
            terms += abs(axes_t[j, i]) * np.sqrt(half_width)
            moved += abs(axes_t[j, i] * center[i])
        noise = max(noise, terms / radii[j])
        drift = max(drift, moved / radii[j])
    return 4.0 * d * EPS * noise, 4.0 * EPS * drift


@kernel
def lift(
    X: FloatArray, rows: Rows, origin: FloatArray, center: FloatArray, columns: FloatArray, offset: FloatArray
) -> FloatArray:
    """Return ``q_i = columns' (x_i - origin - center) + offset`` for some rows of X, as columns of shape (n, k)."""
    d, n = columns.shape
    count = len(rows)
    block = np.empty((count, d))
    for i in range(count):
        for j in range(d):
            block[i, j] = (X[rows[i], j] - origin[j]) - center[j]
    image = np.empty((count, n))
    np.dot(block, columns, image)
    Q = np.empty((n, count))
    for j in range(n):
        for i in range(count):
            Q[j, i] = image[i, j] + offset[j]
    return Q


@kernel
def leverages(
    X: FloatArray,
    rows: Rows,
    origin: FloatArray,
    center: FloatArray,
    columns: FloatArray,
    offset: FloatArray,
    out: FloatArray,
) -> float:
    """Set ``out[i] = |columns' (x_i - origin - center) + offset|^2`` for the given rows of X; return the largest.

    `columns` has shape (d, n). An empty `rows` stands for all rows.
    """
    d, n = columns.shape
    everything = len(rows) == 0
    count = len(X) if everything else len(rows)
    block = np.zeros((BLOCK, d))
    image = np.empty((BLOCK, n))
    top = 0.0
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        for i in range(size):
            row = start + i if everything else rows[start + i]
            for j in range(d):
                block[i, j] = (X[row, j] - origin[j]) - center[j]
        np.dot(block, columns, image)
        for i in range(size):
            total = 0.0
            for j in range(n):
                y = image[i, j] + offset[j]
                total += y * y
            out[start + i if everything else rows[start + i]] = total
            top = max(top, total)
    return top


@kernel
def candidates(bound: FloatArray, growth: float, floor: float) -> Rows:
    """Multiply every bound by `growth`; return the rows whose bound is then above `floor`."""
    count = 0
    for i in range(len(bound)):
        bound[i] *= growth
        if bound[i] > floor:
            count += 1
    rows = np.empty(count, np.int64)
    count = 0
    for i in range(len(bound)):
        if bound[i] > floor:
            rows[count] = i
            count += 1
    return rows
