"""The interior-point method for optimal designs and Newton's method on their support, compiled for small working sets.

`large_interior_point` documents these methods. Loops are plain, without BLAS or slices: each call into NumPy and each
further array type costs compile time on first use.
"""

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry._kernels import cholesky, moment_matrix
from sepc.geometry.compilation import kernel, part_of_kernel

# Least products u s, as a part of those at the target: smaller ones would make the Newton systems ill-conditioned.
FINEST = 0.1
ROOT2 = np.sqrt(2.0)
# Points that are multiplied at a time: their products stay in the cache.
_BATCH = 32

# Newton's method on the support points (polishing). A design with a smaller gap is polished.
POLISHED = 1e-10
POLISHING_STEPS = 8
# It stops at this error, or from `POLISHED` on when a step no longer halves the error.
ROUNDING = 1e-13
# The diagonal of the Newton matrix is raised by n^2 times this part of the error, or times the ridge if that is more.
DAMPING = 0.1
RIDGE = 1e-9
# Largest total weight of points that leave the support in one step; with more it was not known well enough.
MOST_LOST = 0.02


@kernel
def set_frame(Q: FloatArray, u: FloatArray, M: FloatArray, inverse: FloatArray, Z: FloatArray, g: FloatArray) -> None:
    """Set the frame in which the moment matrix of a design u is the identity.

    An entry ``u[k]`` is the weight of a design whose moment matrix is the identity. Set are the inverse of the Cholesky
    factor of the moment matrix, the points in the frame, Z, and their leverages g; M is workspace.
    """
    n, k = Q.shape
    moment_matrix(Q, u, M)
    for j in range(n):
        M[j, j] += u[k] if len(u) > k else 0.0
    cholesky(M)
    for p in range(k):
        g[p] = 0.0
    for i in range(n):
        for j in range(n):
            inverse[i, j] = 0.0
        inverse[i, i] = 1.0 / M[i, i]
        for m in range(i):
            factor = M[i, m] * inverse[i, i]
            for j in range(m + 1):
                inverse[i, j] -= factor * inverse[m, j]
        for p in range(k):
            Z[i, p] = 0.0
        for j in range(i + 1):
            for p in range(k):
                Z[i, p] += inverse[i, j] * Q[j, p]
        for p in range(k):
            g[p] += Z[i, p] * Z[i, p]


@part_of_kernel
def add_row_products(rows: FloatArray, size: int, H: FloatArray) -> None:
    """Add the products of rows, up to their first `size` entries, to the lower half of H.

    Two rows by two columns at a time, so that each entry loaded is used twice; an odd last row is added by itself.
    """
    one, two, n = np.uint64(1), np.uint64(2), np.uint64(len(H))
    for i in range(np.uint64(0), n - n % two, two):
        for j in range(np.uint64(0), i + one, two):
            a = 0.0
            b = 0.0
            c = 0.0
            d = 0.0
            for p in range(size):
                a += rows[i, p] * rows[j, p]
                b += rows[i, p] * rows[j + one, p]
                c += rows[i + one, p] * rows[j, p]
                d += rows[i + one, p] * rows[j + one, p]
            H[i, j] += a
            H[i, j + one] += b
            H[i + one, j] += c
            H[i + one, j + one] += d
    if n % two == one:
        last = n - one
        for j in range(np.uint64(0), n):
            a = 0.0
            for p in range(size):
                a += rows[last, p] * rows[j, p]
            H[last, j] += a


@part_of_kernel
def fill_matrices(Z: FloatArray, w: FloatArray, H: FloatArray) -> None:
    """Set the lower half of H to the Newton system over symmetric matrices of order n."""
    n, k = Z.shape
    products, root = np.empty((len(H), _BATCH)), np.empty(k)
    for p in range(k):
        root[p] = 1.0 / np.sqrt(w[p])
    for i in range(len(H)):
        for j in range(len(H)):
            H[i, j] = 1.0 if i == j else 0.0
    for first in range(0, k, _BATCH):
        z, scale = Z[:, first : first + _BATCH], root[first : first + _BATCH]
        size, row = len(scale), 0
        for i in range(n):
            for j in range(i + 1):
                factor = 1.0 if i == j else ROOT2
                for p in range(size):
                    products[row, p] = factor * scale[p] * z[i, p] * z[j, p]
                row += 1
        add_row_products(products, size, H)


@part_of_kernel
def fill_pairs(Z: FloatArray, w: FloatArray, H: FloatArray) -> None:
    """Set the lower half of H to the Newton system over points, ``(z_p . z_q)^2`` plus w on the diagonal."""
    n, k = Z.shape
    one = np.uint64(1)
    for p in range(np.uint64(0), np.uint64(k)):
        for q in range(np.uint64(0), p + one):
            H[p, q] = 0.0
        for i in range(n):
            along = Z[i, p]
            for q in range(np.uint64(0), p + one):
                H[p, q] += along * Z[i, q]
        for q in range(np.uint64(0), p + one):
            H[p, q] *= H[p, q]
        H[p, p] += w[p]


@part_of_kernel
def solve_factor(L: FloatArray, y: FloatArray) -> None:
    """Replace y by the solution of the system with this right-hand side, given its Cholesky factor."""
    one = np.uint64(1)
    for i in range(np.uint64(0), np.uint64(len(y))):
        total = y[i]
        for j in range(np.uint64(0), i):
            total -= L[i, j] * y[j]
        y[i] = total / L[i, i]
    row = np.uint64(len(y))
    while row > np.uint64(0):
        row -= one
        y[row] /= L[row, row]
        for j in range(np.uint64(0), row):
            y[j] -= L[row, j] * y[row]


@part_of_kernel
def newton_direction(Z: FloatArray, w: FloatArray, L: FloatArray, by_pairs: bool, b: FloatArray, x: FloatArray) -> None:
    """Set x to the solution of the Newton system with the right-hand side b, given its Cholesky factor."""
    n, k = Z.shape
    y = np.empty(len(L))
    if by_pairs:
        for p in range(k):
            y[p] = b[p]
    else:
        S = np.empty((n, n))
        for p in range(k):
            x[p] = b[p] / w[p]
        moment_matrix(Z, x, S)
        row = 0
        for i in range(n):
            for j in range(i + 1):
                y[row] = S[i, j] if i == j else ROOT2 * S[i, j]
                row += 1
    solve_factor(L, y)
    for p in range(k):
        x[p] = y[p] if by_pairs else b[p]
    if by_pairs:
        return
    row = 0
    for i in range(n):
        for j in range(i + 1):
            # Off the diagonal an entry counts twice in the quadratic form.
            factor = y[row] if i == j else ROOT2 * y[row]
            for p in range(k):
                x[p] -= factor * Z[i, p] * Z[j, p]
            row += 1
    for p in range(k):
        x[p] /= w[p]


@kernel
def interior_point(
    Q: FloatArray, u: FloatArray, s: FloatArray, stretch: float, target: float, max_iter: int
) -> tuple[FloatArray, FloatArray, float, int]:
    """Do what `large_interior_point.interior_point` does, for small sets."""
    n, k = Q.shape
    # Over points or over symmetric matrices, whichever is smaller.
    by_pairs = k <= n * (n + 1) // 2
    order = k if by_pairs else n * (n + 1) // 2
    H = np.empty((order, order))
    M = np.empty((n, n))
    inverse = np.empty((n, n))
    Z = np.empty((n, k))
    g = np.empty(k)
    w = np.empty(k)
    b = np.empty(k)
    du = np.empty(k)
    ds = np.empty(k)
    steps = 0
    step_u = 0.0
    allowed = np.inf
    floor = FINEST * target * n / k
    while True:
        set_frame(Q, u, M, inverse, Z, g)
        mass = float(u[k]) if len(u) > k else 0.0
        top = 0.0
        mu = 0.0
        for p in range(k):
            mass += u[p]
            mu += u[p] * s[p] / k
            top = max(top, g[p])
            w[p] = s[p] / u[p]
            b[p] = g[p] - n
            ds[p] = -s[p]
        if stretch > 0.0:
            scale = stretch * top / n
            for p in range(len(u)):
                u[p] *= scale
                if p < k:
                    s[p] = n - g[p] / scale
            stretch = 0.0
            continue
        if not top <= allowed and step_u > 1e-6:
            # Leverages are not nearly linear in the weights over this step: halve it.
            step_u *= 0.5
            for p in range(k):
                u[p] -= step_u * du[p]
            continue
        allowed = 4.0 * max(top, n)
        if steps >= max_iter or top * mass <= n * (1.0 + target):
            return g, inverse, mass, steps
        if by_pairs:
            fill_pairs(Z, w, H)
        else:
            fill_matrices(Z, w, H)
        cholesky(H)
        step_s = 0.0
        for correct in range(2):
            newton_direction(Z, w, H, by_pairs, b, du)
            # The longest steps, up to 2, that keep u and s non-negative; almost all of them is taken.
            step_u = 2.0
            step_s = 2.0
            for p in range(k):
                ds[p] -= w[p] * du[p]
                if u[p] + step_u * du[p] < 0.0:
                    step_u = -u[p] / du[p]
                if s[p] + step_s * ds[p] < 0.0:
                    step_s = -s[p] / ds[p]
            keep = min(max(0.99, 1.0 - mu), 1.0 - 1e-6) if correct else 1.0
            step_u = min(1.0, keep * step_u)
            step_s = min(1.0, keep * step_s)
            ahead = 0.0
            for p in range(k):
                ahead += (u[p] + step_u * du[p]) * (s[p] + step_s * ds[p]) / k
            if not np.isfinite(ahead):
                return g, inverse, mass, steps  # rounding allows no further step
            center = max(min(1.0, max(1e-4, (ahead / mu) ** 3)) * mu, min(mu, floor))
            if correct == 0:
                for p in range(k):
                    # The target of the product u s, less the second-order term of the prediction, divided by u.
                    ds[p] = (center - du[p] * ds[p]) / u[p] - s[p]
                    b[p] = g[p] + s[p] - n + ds[p]
        for p in range(k):
            u[p] += step_u * du[p]
            s[p] += step_s * ds[p]
        steps += 1


@kernel
def polish_few(Q: FloatArray, u: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray, float, int]:
    """Polish a design with at most 120 support points, as `design.polish` does; for more the number of steps is -1."""
    n, k = Q.shape
    M = np.empty((n, n))
    inverse = np.empty((n, n))
    Z = np.empty((n, k))
    g = np.empty(k)
    weights = u.copy()
    slacks = s.copy()
    rows = np.empty(k, np.int64)
    before = np.inf
    step = 0
    while True:
        lost = 0.0
        count = 0
        for p in range(k):
            if weights[p] * n > max(slacks[p], 0.0) / n:
                rows[count] = p
                count += 1
            else:
                lost += abs(weights[p])
                weights[p] = 0.0
        if count > 120:
            return g, inverse, 0.0, -1
        if step == POLISHING_STEPS or not lost < MOST_LOST:  # true for NaN
            return g, inverse, 0.0, step
        if lost > 0.0 or step == 0:
            set_frame(Q, weights, M, inverse, Z, g)
        mass = 0.0
        top = 0.0
        error = 0.0
        for p in range(k):
            mass += weights[p]
            top = max(top, g[p])
            error = max(error, abs(slacks[p]) / n if weights[p] != 0.0 else 0.0)
        gap = top * mass / n - 1.0
        error = max(error, gap) if step else gap
        if error < ROUNDING or (error < POLISHED and error > 0.5 * before):
            for p in range(k):
                u[p] = weights[p]
                s[p] = n - g[p]
            return g, inverse, mass, step
        z = np.empty((n, count))
        H = np.empty((count, count))
        w = np.empty(count)
        du = np.empty(count)
        for p in range(count):
            w[p] = max(RIDGE, DAMPING * error) * n * n
            du[p] = g[rows[p]] - n
            for i in range(n):
                z[i, p] = Z[i, rows[p]]
        fill_pairs(z, w, H)
        cholesky(H)
        solve_factor(H, du)
        for p in range(count):
            weights[rows[p]] += du[p]
        set_frame(Q, weights, M, inverse, Z, g)
        for p in range(k):
            slacks[p] = n - g[p]
        before = error
        step += 1
