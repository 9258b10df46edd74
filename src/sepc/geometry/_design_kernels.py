"""Compiled kernels of the interior-point method for optimal designs.

Points come lifted, as the columns of Q with n entries each. A design ``u`` has the moment matrix
``M = sum u_i q_i q_i'`` and gives point i the leverage ``g_i = q_i' M^-1 q_i``. Loops are kept plain and large products
go to BLAS through ``np.dot`` on C-contiguous arrays only: every further signature costs compile time on first use.
"""

import numpy as np

from sepc.geometry._checks import FloatArray
from sepc.geometry._compile import kernel

# Columns of the Newton system's factor that are held at a time, so that memory does not grow with the points.
PANEL = 512
# Block sizes of the Cholesky factorisation and of products of which only the lower triangle is wanted.
TILE = 48
STRIP = 64
GROUP = 128

ROOT2 = np.sqrt(2.0)


@kernel
def transpose(A: FloatArray, At: FloatArray) -> None:
    """Set `At` to the transpose of A."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            At[j, i] = A[i, j]


@kernel
def cholesky_inverse(M: FloatArray, inverse: FloatArray) -> None:
    """Factor the lower triangle of M in place, ``M = L L'``, and set `inverse` to the inverse of L.

    A pivot lost to rounding is raised to the rounding level of its diagonal entry.
    """
    n = len(M)
    for i in range(n):
        for j in range(i):
            total = M[i, j]
            for k in range(j):
                total -= M[i, k] * M[j, k]
            M[i, j] = total * inverse[j, j]
        total = M[i, i]
        for k in range(i):
            total -= M[i, k] * M[i, k]
        M[i, i] = np.sqrt(max(total, 1e-15 * M[i, i]))
        inverse[i, i] = 1.0 / M[i, i]
    for i in range(n):
        for j in range(i):
            inverse[i, j] = 0.0
            inverse[j, i] = 0.0
        for k in range(i):
            factor = M[i, k] * inverse[i, i]
            for j in range(k + 1):
                inverse[i, j] -= factor * inverse[k, j]


@kernel
def cholesky(A: FloatArray) -> None:
    """Replace the lower triangle of A by its Cholesky factor, block column by block column."""
    n = len(A)
    for low in range(0, n, TILE):
        high = min(low + TILE, n)
        size = high - low
        corner = np.empty((size, size))
        inverse = np.empty((size, size))
        for i in range(size):
            for j in range(i + 1):
                corner[i, j] = A[low + i, low + j]
        cholesky_inverse(corner, inverse)
        for i in range(size):
            for j in range(i + 1):
                A[low + i, low + j] = corner[i, j]
        rest = n - high
        if rest == 0:
            return
        below = np.empty((rest, size))
        for i in range(rest):
            for j in range(size):
                below[i, j] = A[high + i, low + j]
        transpose(inverse, corner)
        solved = np.empty((rest, size))
        np.dot(below, corner, solved)
        solved_t = np.empty((size, rest))
        transpose(solved, solved_t)
        # The trailing block in strips of rows: only what lies at or left of the diagonal strip is needed,
        # but a strip's product over all columns is one call.
        strip = np.empty((STRIP, rest))
        for start in range(0, rest, STRIP):
            rows = min(STRIP, rest - start)
            np.dot(solved[start : start + rows], solved_t, strip[:rows])
            for i in range(rows):
                for j in range(size):
                    A[high + start + i, low + j] = solved[start + i, j]
                for j in range(start + i + 1):
                    A[high + start + i, high + j] -= strip[i, j]


@kernel
def solve_cholesky(L: FloatArray, b: FloatArray) -> None:
    """Solve ``L L' x = b`` in place."""
    n = len(b)
    for i in range(n):
        total = b[i]
        for k in range(i):
            total -= L[i, k] * b[k]
        b[i] = total / L[i, i]
    for i in range(n - 1, -1, -1):
        x = b[i] / L[i, i]
        b[i] = x
        for k in range(i):
            b[k] -= L[i, k] * x


@kernel
def moment_matrix(Q: FloatArray, u: FloatArray, M: FloatArray) -> None:
    """Set M to ``Q diag(u) Q'``, shape (n, n); u may have more entries than Q has columns."""
    n, k = Q.shape
    weighted = np.empty((k, n))
    for j in range(n):
        for i in range(k):
            weighted[i, j] = u[i] * Q[j, i]
    np.dot(Q, weighted, M)


@kernel
def fill_pairs(Z: FloatArray, w: FloatArray, H: FloatArray) -> None:
    """Set the lower triangle of H to the Newton matrix over the points, ``(Z'Z)^2 + diag(w)``."""
    n, k = Z.shape
    Zt = np.empty((k, n))
    transpose(Z, Zt)
    gram = np.empty((k, k))
    np.dot(Zt, Z, gram)
    for i in range(k):
        for j in range(i + 1):
            H[i, j] = gram[i, j] * gram[i, j]
        H[i, i] += w[i]


@kernel
def fill_matrices(Z: FloatArray, w: FloatArray, H: FloatArray) -> None:
    """Set the lower triangle of H to the Newton matrix over symmetric matrices.

    It is ``I + sum_i svec(z_i z_i') svec(z_i z_i')' / w_i``, smaller than the one over the points as soon as these
    outnumber n (n + 1) / 2.
    """
    n, k = Z.shape
    dim = len(H)
    panels = (k + PANEL - 1) // PANEL
    width = (k + panels - 1) // panels
    group = min(dim, GROUP)
    groups = (dim + group - 1) // group
    panel = np.zeros((groups * group, width))
    panel_t = np.zeros((groups, width, group))
    weighted = np.empty(width)
    line = np.empty(groups * group)
    product = np.empty((group, group))
    for i in range(dim):
        for j in range(i + 1):
            H[i, j] = 0.0
        H[i, i] = 1.0
    for start in range(0, k, width):
        size = min(width, k - start)
        for i in range(size):
            row = 0
            for a in range(n):
                factor = ROOT2 * Z[a, start + i]
                for b in range(a):
                    line[row] = factor * Z[b, start + i]
                    row += 1
                line[row] = Z[a, start + i] * Z[a, start + i]
                row += 1
            for h in range(groups):
                for j in range(group):
                    panel_t[h, i, j] = line[h * group + j]
        row = 0
        for a in range(n):
            for i in range(size):
                weighted[i] = Z[a, start + i] / w[start + i]
            for b in range(a + 1):
                factor = ROOT2 if a != b else 1.0
                for i in range(size):
                    panel[row, i] = factor * weighted[i] * Z[b, start + i]
                for i in range(size, width):
                    panel[row, i] = 0.0  # what an earlier panel left there
                row += 1
        for low in range(groups):
            for h in range(low + 1):
                np.dot(panel[low * group : (low + 1) * group], panel_t[h], product)
                for i in range(min(group, dim - low * group)):
                    for j in range(min(group, dim - h * group)):
                        H[low * group + i, h * group + j] += product[i, j]


@kernel
def newton_direction(Z: FloatArray, w: FloatArray, H: FloatArray, by_pairs: bool, b: FloatArray, x: FloatArray) -> None:
    """Set x to the solution of the Newton system with the right-hand side b, given its factor H."""
    n, k = Z.shape
    if by_pairs:
        for i in range(k):
            x[i] = b[i]
        solve_cholesky(H, x)
        return
    for i in range(k):
        x[i] = b[i] / w[i]
    S = np.empty((n, n))
    moment_matrix(Z, x, S)
    y = np.empty(len(H))
    row = 0
    for i in range(n):
        for j in range(i + 1):
            y[row] = S[i, j] * (ROOT2 if i != j else 1.0)
            row += 1
    solve_cholesky(H, y)
    row = 0
    for i in range(n):
        for j in range(i + 1):
            S[i, j] = S[j, i] = y[row] / (ROOT2 if i != j else 1.0)
            row += 1
    image = np.empty((n, k))
    np.dot(S, Z, image)
    for j in range(n):
        for i in range(k):
            x[i] -= image[j, i] * Z[j, i] / w[i]


@kernel
def longest_step(x: FloatArray, dx: FloatArray) -> float:
    """Return the largest step up to 2 that keeps x + step dx >= 0."""
    step = 2.0
    for i in range(len(dx)):
        if x[i] + step * dx[i] < 0.0:
            step = -x[i] / dx[i]
    return step


@kernel
def design_shape(Q: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and Cholesky factor of the covariance of a weighted set, given lifted with a last entry of 1."""
    n, k = Q.shape
    rank = n - 1
    middle = np.zeros(rank)
    centred = np.empty((rank, k))
    for j in range(rank):
        for i in range(k):
            middle[j] += weights[i] * Q[j, i]
        for i in range(k):
            centred[j, i] = Q[j, i] - middle[j]
    shape = np.empty((rank, rank))
    inverse = np.empty((rank, rank))
    moment_matrix(centred, weights, shape)
    cholesky_inverse(shape, inverse)
    for i in range(rank):
        for j in range(i + 1, rank):
            shape[i, j] = 0.0
    return middle, shape


@kernel
def interior_point(
    Q: FloatArray, u: FloatArray, s: FloatArray, stretch: float, target: float, max_iter: int
) -> tuple[FloatArray, FloatArray, int]:
    """Primal-dual interior point for ``min -log det M(u) + n sum(u)``, u >= 0, from (u, s) on; overwrites both.

    The slacks s are kept independent of u (infeasible start): tied to n - g they would triple the iterations.
    With a positive `stretch` the start is made feasible first: u is scaled until the largest leverage is n divided
    by `stretch`, and s is set to match. If u has one entry more than Q has columns, this is the fixed weight of a
    design whose moment matrix is the identity.

    Returns
    -------
    g : leverages of the points under u
    inverse : inverse of the Cholesky factor of M(u), lower triangular
    steps : number of steps made
    """
    n, k = Q.shape
    background = len(u) > k
    dim = n * (n + 1) // 2
    by_pairs = 4 * k <= 5 * dim
    order = k if by_pairs else dim
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
    while True:
        moment_matrix(Q, u, M)
        if background:
            for j in range(n):
                M[j, j] += u[k]
        cholesky_inverse(M, inverse)
        np.dot(inverse, Q, Z)
        for i in range(k):
            g[i] = 0.0
        for j in range(n):
            for i in range(k):
                g[i] += Z[j, i] * Z[j, i]
        mass = u[k] if background else 0.0
        top = 0.0
        mu = 0.0
        for i in range(k):
            mass += u[i]
            mu += u[i] * s[i] / k
            top = max(top, g[i])
        if stretch > 0.0:
            scale = stretch * top / n
            for i in range(len(u)):
                u[i] *= scale
            for i in range(k):
                s[i] = n - g[i] / scale
            stretch = 0.0
            continue
        if not top <= allowed and step_u > 1e-6:
            # The step left the region where leverages are nearly linear in the weights: take half of it back.
            step_u *= 0.5
            for i in range(k):
                u[i] -= step_u * du[i]
            continue
        allowed = 4.0 * max(top, n)
        if steps >= max_iter or top * mass <= n * (1.0 + target):
            return g, inverse, steps
        for i in range(k):
            w[i] = s[i] / u[i]
            b[i] = g[i] - n
            ds[i] = -s[i]
        if by_pairs:
            fill_pairs(Z, w, H)
        else:
            fill_matrices(Z, w, H)
        cholesky(H)
        for correct in range(2):
            newton_direction(Z, w, H, by_pairs, b, du)
            for i in range(k):
                ds[i] -= w[i] * du[i]
            keep = min(max(0.99, 1.0 - mu), 1.0 - 1e-6) if correct else 1.0
            step_u = min(1.0, keep * longest_step(u, du))
            step_s = min(1.0, keep * longest_step(s, ds))
            ahead = 0.0
            for i in range(k):
                ahead += (u[i] + step_u * du[i]) * (s[i] + step_s * ds[i]) / k
            center = min(1.0, max(1e-4, (ahead / mu) ** 3)) * mu
            if not correct:
                for i in range(k):
                    # The product u s aimed at, less the second-order term of the prediction, divided by u.
                    ds[i] = (center - du[i] * ds[i]) / u[i] - s[i]
                    b[i] = g[i] + s[i] - n + ds[i]
        for i in range(k):
            u[i] += step_u * du[i]
            s[i] += step_s * ds[i]
        steps += 1
