"""Compiled kernels: passes over points, Cholesky factors, and the way from a design back to the units of the data."""

import numpy as np

from sepc.common.typing import SMALLEST_SPREAD, FloatArray, IntArray
from sepc.geometry.compilation import kernel

EPS = np.finfo(np.float64).eps
# Smaller variances lose digits to underflow.
SMALLEST_VARIANCE = SMALLEST_SPREAD**2
# Rows per block of a pass: the block and its image stay in the first-level cache.
BLOCK = 128


@kernel
def moments(X: FloatArray, given_unit: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return origin, mean, units of length and covariance of the rows of X, in one pass.

    The origin is the median of three rows in each column: constant columns minus it are exactly 0, and it is rarely an
    outlier, so that sums of differences keep their digits. The mean is relative to it. The units are `given_unit`, or,
    if that is empty, the standard deviations, with the largest in place of those that are 0 (1 if all are), and 0 where
    the variance underflows. The covariance is in these units.
    """
    N, d = X.shape
    origin = np.empty(d)
    for j in range(d):
        first, middle, last = X[0, j], X[N // 2, j], X[N - 1, j]
        origin[j] = max(min(first, middle), min(max(first, middle), last))
    block = min(BLOCK, N)
    rows = np.empty((block, d))
    columns = np.empty((d, block))
    product = np.empty((d, d))
    mean = np.zeros(d)
    covariance = np.zeros((d, d))
    for start in range(0, N, block):
        size = min(block, N - start)
        for i in range(size):
            for j in range(d):
                x = X[start + i, j] - origin[j]
                rows[i, j] = x
                columns[j, i] = x
                mean[j] += x
        for i in range(size, block):
            for j in range(d):
                rows[i, j] = 0.0
                columns[j, i] = 0.0
        np.dot(columns, rows, product)
        for i in range(d):
            for j in range(d):
                covariance[i, j] += product[i, j]
    largest = 0.0
    for i in range(d):
        mean[i] /= N
        for j in range(i + 1):
            covariance[i, j] = covariance[i, j] / N - mean[i] * mean[j]
        largest = max(largest, covariance[i, i])
    if largest == 0.0:
        largest = 1.0
    unit = np.empty(d)
    for j in range(d):
        if len(given_unit):
            unit[j] = given_unit[j]
        else:
            unit[j] = np.sqrt(covariance[j, j] if covariance[j, j] > 0.0 else largest)
            if covariance[j, j] < SMALLEST_VARIANCE:
                for i in range(N):
                    if X[i, j] != origin[j]:
                        unit[j] = 0.0
    for i in range(d):
        for j in range(i + 1):
            covariance[i, j] /= unit[i] * unit[j]
            covariance[j, i] = covariance[i, j]
    return origin, mean, unit, covariance


@kernel
def rows_svd(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return U' and s of the singular value decomposition ``U diag(s) V'``, by rotating pairs of rows; largest first.

    One-sided Jacobi: the tiny angles between rows of very different length are precise, and so small singular values
    and small entries of U are precise beside large ones.
    """
    d, m = matrix.shape
    R = np.zeros((d, m + d))  # the rotated rows, and the rotation
    for i in range(d):
        R[i, m + i] = 1.0
        for k in range(m):
            R[i, k] = matrix[i, k]
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
                for k in range(m + d):
                    x = R[i, k]
                    y = R[j, k]
                    R[i, k] = cosine * x - sine * y
                    R[j, k] = sine * x + cosine * y
        if not rotated:
            break
    length = np.zeros(d)
    for i in range(d):
        for k in range(m):
            length[i] += R[i, k] * R[i, k]
    U = np.empty((d, d))
    s = np.empty(d)
    for i in range(d):
        longest = 0
        for j in range(d):
            if length[j] > length[longest]:
                longest = j
        s[i] = np.sqrt(length[longest])
        length[longest] = -1.0
        for k in range(d):
            U[i, k] = R[longest, m + k]
    return U, s


@kernel
def whitening(
    directions: FloatArray, variance: FloatArray, unit: FloatArray, flat: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the frame in which the moment matrix of the uniform design is the identity, and the standard deviations.

    The rows of `directions` are the principal directions, longest first; those with a standard deviation below `flat`
    are dropped. The frame is a pair of arrays of shape (d, rank + 1) and (rank + 1,).
    """
    d = len(unit)
    spread = np.empty(d)
    rank = 0
    for j in range(d):
        spread[j] = np.sqrt(variance[j])
        rank += spread[j] >= flat
    columns = np.zeros((d, rank + 1))
    offset = np.zeros(rank + 1)
    offset[rank] = 1.0
    for i in range(d):
        for j in range(rank):
            columns[i, j] = directions[j, i] / (unit[i] * spread[j])
    return columns, offset, spread


@kernel
def raw_factor(
    Q: FloatArray,
    weights: FloatArray,
    reach: float,
    origin: FloatArray,
    center: FloatArray,
    unit: FloatArray,
    directions: FloatArray,
    spread: FloatArray,
    thickness: float,
) -> tuple[FloatArray, FloatArray]:
    """Return centre and factor, in the units of the data, of the ellipsoid of a design.

    `Q` has the points in the frame of `whitening`. In the hull the radii are `reach` standard deviations of the design,
    in flat directions `thickness` units.
    """
    d = len(unit)
    rank, k = len(Q) - 1, len(weights)
    middle = np.zeros(rank)
    shape = np.zeros((rank, rank))
    for i in range(rank):
        for p in range(k):
            middle[i] += weights[p] * Q[i, p]
        for j in range(i + 1):
            total = 0.0
            for p in range(k):
                total += weights[p] * (Q[i, p] - middle[i]) * (Q[j, p] - middle[j])
            shape[i, j] = total
    cholesky(shape)
    position = np.empty(d)
    factor = np.zeros((d, d))
    for i in range(d):
        position[i] = center[i]
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
def lift(
    X: FloatArray, rows: IntArray, origin: FloatArray, center: FloatArray, columns: FloatArray, offset: FloatArray
) -> FloatArray:
    """Return ``q_i = columns' (x_i - origin - center) + offset`` for some rows of X, as columns of shape (n, k)."""
    d, n = columns.shape
    count = len(rows)
    # The compiler may turn ``(x - origin) - center`` into ``x - (origin + center)``, which loses digits.
    moved = np.empty(n)
    for j in range(n):
        moved[j] = offset[j]
        for i in range(d):
            moved[j] -= center[i] * columns[i, j]
    block = np.empty((count, d))
    for i in range(count):
        for j in range(d):
            block[i, j] = X[rows[i], j] - origin[j]
    image = np.empty((count, n))
    np.dot(block, columns, image)
    Q = np.empty((n, count))
    for j in range(n):
        for i in range(count):
            Q[j, i] = image[i, j] + moved[j]
    return Q


@kernel
def leverages(
    X: FloatArray,
    rows: IntArray,
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
    moved = np.empty(n)  # as in `lift`
    for j in range(n):
        moved[j] = offset[j]
        for i in range(d):
            moved[j] -= center[i] * columns[i, j]
    everything = len(rows) == 0
    count = len(X) if everything else len(rows)
    step = min(BLOCK, count)
    block = np.zeros((step, d))
    image = np.empty((step, n))
    top = 0.0
    for start in range(0, count, step):
        size = min(step, count - start)
        for i in range(size):
            row = start + i if everything else rows[start + i]
            for j in range(d):
                block[i, j] = X[row, j] - origin[j]
        np.dot(block, columns, image)
        for i in range(size):
            total = 0.0
            for j in range(n):
                y = image[i, j] + moved[j]
                total += y * y
            out[start + i if everything else rows[start + i]] = total
            if not total <= top:  # true for NaN
                top = total
    return top


@kernel
def cholesky(matrix: FloatArray) -> None:
    """Replace the lower half of a square matrix by its Cholesky factor; lost pivots are raised to rounding.

    Two rows by two columns at a time, so that each entry loaded is used twice; of an odd number of rows the last is its
    own partner. Unsigned indices need no check for negative values.
    """
    one, two, n = np.uint64(1), np.uint64(2), np.uint64(len(matrix))
    A = matrix.reshape(-1)
    for i in range(np.uint64(0), n, two):
        x = i * n
        y = min(i + one, n - one) * n
        for j in range(np.uint64(0), i, two):
            p = j * n
            q = p + n
            a = A[x + j]
            b = A[x + j + one]
            c = A[y + j]
            d = A[y + j + one]
            for k in range(np.uint64(0), j):
                a -= A[x + k] * A[p + k]
                b -= A[x + k] * A[q + k]
                c -= A[y + k] * A[p + k]
                d -= A[y + k] * A[q + k]
            a /= A[p + j]
            c /= A[p + j]
            A[x + j] = a
            A[y + j] = c
            A[x + j + one] = (b - a * A[q + j]) / A[q + j + one]
            A[y + j + one] = (d - c * A[q + j]) / A[q + j + one]
        a = A[x + i]
        c = A[y + i]
        for k in range(np.uint64(0), i):
            a -= A[x + k] * A[x + k]
            c -= A[y + k] * A[x + k]
        A[x + i] = np.sqrt(max(a, 4.0 * EPS * A[x + i]))
        if y > x:
            c /= A[x + i]
            d = A[y + i + one] - c * c
            for k in range(np.uint64(0), i):
                d -= A[y + k] * A[y + k]
            A[y + i] = c
            A[y + i + one] = np.sqrt(max(d, 4.0 * EPS * A[y + i + one]))


@kernel
def moment_matrix(Q: FloatArray, u: FloatArray, M: FloatArray) -> None:
    """Set M to ``Q diag(u) Q'``, shape (n, n); u may have more entries than Q has columns."""
    n, k = Q.shape
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for p in range(k):
                total += u[p] * Q[i, p] * Q[j, p]
            M[i, j] = total
            M[j, i] = total
