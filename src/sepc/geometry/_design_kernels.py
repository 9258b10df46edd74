"""The interior-point method for optimal designs, compiled for small working sets, and the frames of sets of any size.

`_interior_point.interior_point` is the same method for large ones, and describes it. Loops are kept plain, without BLAS
or slices: each call into NumPy and each further array type costs compile time on first use.
"""

import numpy as np

from sepc.geometry._checks import FloatArray
from sepc.geometry._compile import kernel

# The products u s need not fall below this part of what the target asks for: smaller ones would only cost the Newton
# systems their precision.
FINEST = 0.1
ROOT2 = np.sqrt(2.0)
EPS = np.finfo(np.float64).eps
# At least so many points are multiplied at a time.
_LEAST_BATCH = 16


@kernel
def cholesky(A: FloatArray) -> None:
    """Replace the lower triangle of A by its Cholesky factor; a pivot lost to rounding is raised to its level.

    The order of A is even: entries come four at a time, so that each one loaded is used twice.
    """
    for i in range(0, len(A), 2):
        for j in range(0, i + 1, 2):
            a = A[i, j]
            b = A[i, j + 1]
            c = A[i + 1, j]
            d = A[i + 1, j + 1]
            for k in range(j):
                a -= A[i, k] * A[j, k]
                b -= A[i, k] * A[j + 1, k]
                c -= A[i + 1, k] * A[j, k]
                d -= A[i + 1, k] * A[j + 1, k]
            if i == j:
                A[i, i] = np.sqrt(max(a, 4.0 * EPS * A[i, i]))
                c /= A[i, i]
                A[i + 1, i] = c
                A[i + 1, i + 1] = np.sqrt(max(d - c * c, 4.0 * EPS * A[i + 1, i + 1]))
            else:
                a /= A[j, j]
                c /= A[j, j]
                A[i, j] = a
                A[i + 1, j] = c
                A[i, j + 1] = (b - a * A[j + 1, j]) / A[j + 1, j + 1]
                A[i + 1, j + 1] = (d - c * A[j + 1, j]) / A[j + 1, j + 1]


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


@kernel
def set_frame(Q: FloatArray, u: FloatArray, M: FloatArray, inverse: FloatArray, Z: FloatArray, g: FloatArray) -> None:
    """Set what a design makes of its points: the frame in which its moment matrix is the identity.

    BLAS takes half of the time of these loops from a hundred features on, a tenth of what a step then takes.

    Parameters
    ----------
    Q : ndarray of shape (n, k)
    u : ndarray of shape (k,) or (k + 1,)
        The last entry may be the weight of a design whose moment matrix is the identity.
    M : ndarray of shape (n, n), or one more for an odd n
        To work in.
    inverse : ndarray of shape (n, n)
        Set to the inverse of the Cholesky factor of the moment matrix.
    Z : ndarray of shape (n, k)
        Set to the points in the frame.
    g : ndarray of shape (k,)
        Set to their leverages.
    """
    n, k = Q.shape
    for j in range(len(M)):
        M[n - 1 + n % 2, j] = 1.0 if j == n else 0.0  # where n is odd this row is left over
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


@kernel
def fill_newton(Z: FloatArray, w: FloatArray, H: FloatArray) -> None:
    """Set the lower triangle of H to the Newton matrix over symmetric matrices of order n, continued by the identity.

    The order of H is even, for the same reason as in `cholesky`.
    """
    n, k = Z.shape
    batch = min(k, max(len(H), _LEAST_BATCH))  # products of all points would be larger than H itself
    products = np.zeros((len(H), batch))
    root = np.empty(k)
    for p in range(k):
        root[p] = 1.0 / np.sqrt(w[p])
    for i in range(len(H)):
        for j in range(i + 1):
            H[i, j] = 0.0
        H[i, i] = 1.0
    for first in range(0, k, batch):
        size = min(batch, k - first)
        z, scale = Z[:, first : first + size], root[first : first + size]
        row = 0
        for i in range(n):
            for j in range(i + 1):
                factor = 1.0 if i == j else ROOT2
                for p in range(size):
                    products[row, p] = factor * scale[p] * z[i, p] * z[j, p]
                row += 1
        for i in range(0, len(H), 2):
            for j in range(0, i + 1, 2):
                a = 0.0
                b = 0.0
                c = 0.0
                d = 0.0
                for p in range(size):
                    a += products[i, p] * products[j, p]
                    b += products[i, p] * products[j + 1, p]
                    c += products[i + 1, p] * products[j, p]
                    d += products[i + 1, p] * products[j + 1, p]
                H[i, j] += a
                H[i, j + 1] += b
                H[i + 1, j] += c
                H[i + 1, j + 1] += d


@kernel
def newton_direction(Z: FloatArray, w: FloatArray, L: FloatArray, b: FloatArray, x: FloatArray) -> None:
    """Set x to the solution of the Newton system with the right-hand side b, given its Cholesky factor L."""
    n, k = Z.shape
    y = np.empty(n * (n + 1) // 2)
    S = np.empty((n, n))
    for p in range(k):
        x[p] = b[p] / w[p]
    moment_matrix(Z, x, S)
    row = 0
    for i in range(n):
        for j in range(i + 1):
            total = S[i, j] if i == j else ROOT2 * S[i, j]
            for m in range(row):
                total -= L[row, m] * y[m]
            y[row] = total / L[row, row]
            row += 1
    for p in range(k):
        x[p] = b[p]
    for i in range(n - 1, -1, -1):
        for j in range(i, -1, -1):
            row -= 1
            y[row] /= L[row, row]
            for m in range(row):
                y[m] -= L[row, m] * y[row]
            # Off the diagonal an entry counts twice in the quadratic form.
            factor = y[row] if i == j else ROOT2 * y[row]
            for p in range(k):
                x[p] -= factor * Z[i, p] * Z[j, p]
    for p in range(k):
        x[p] /= w[p]


@kernel
def interior_point(
    Q: FloatArray, u: FloatArray, s: FloatArray, stretch: float, target: float, max_iter: int
) -> tuple[FloatArray, FloatArray, float, int]:
    """Minimise ``-log det M(u) + n sum(u)`` over u >= 0, from (u, s) on; overwrites both.

    See `_interior_point.interior_point`.
    """
    n, k = Q.shape
    dim = n * (n + 1) // 2
    H = np.empty((dim + dim % 2, dim + dim % 2))
    M = np.empty((n + n % 2, n + n % 2))
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
            # The step left the region where leverages are nearly linear in the weights: take half of it back.
            step_u *= 0.5
            for p in range(k):
                u[p] -= step_u * du[p]
            continue
        allowed = 4.0 * max(top, n)
        if steps >= max_iter or top * mass <= n * (1.0 + target):
            return g, inverse, mass, steps
        fill_newton(Z, w, H)
        cholesky(H)
        step_s = 0.0
        for correct in range(2):
            newton_direction(Z, w, H, b, du)
            # The longest steps, up to 2, that keep u and s non-negative; all but a little of them is taken.
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
                    # The product u s aimed at, less the second-order term of the prediction, divided by u.
                    ds[p] = (center - du[p] * ds[p]) / u[p] - s[p]
                    b[p] = g[p] + s[p] - n + ds[p]
        for p in range(k):
            u[p] += step_u * du[p]
            s[p] += step_s * ds[p]
        steps += 1
