"""Passes over points on a CUDA device that read them once and write a number or two for each.

The array API standard has no way to say so: a product and its row norms go through the device's memory several times.
CuPy compiles the kernels on first use, for the numbers of features and columns at hand; arrays of PyTorch are used
where they are. Without CuPy everything works as on any other device.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from typing import Any

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.points.queries import Slab, Sums, to_host

# Rows that one thread goes through at a time: each coefficient that it loads is used as often. They all stay in its
# registers: with more features than this there are fewer.
_ROWS = {"row_squares": 2, "row_words": 2, "row_joints": 3}
_FEW_FEATURES = 32
_THREADS = 128
# Blocks of threads that go through all rows, where each block leaves a sum: enough to keep a device busy.
_MOST_BLOCKS = 2048
# More features than this would not fit into the registers of a thread.
_MOST_FEATURES = 48
# Axes of an ellipsoid that differ by more than this are kept apart: a triangular factor would mix their digits.
_FLATTEST = 1e7

_SOURCE = r"""
extern "C" __global__ void row_squares(
    const double* __restrict__ X, const double* __restrict__ origin, const double* __restrict__ center,
    const double* __restrict__ columns, const double* __restrict__ offset, double* __restrict__ out, const long long n)
{
    __shared__ double C[D * M];
    __shared__ double o[M];
    __shared__ double c[2][D];
    for (int i = threadIdx.x; i < D * M; i += blockDim.x) C[i] = columns[i];
    for (int i = threadIdx.x; i < M; i += blockDim.x) o[i] = offset[i];
    for (int i = threadIdx.x; i < D; i += blockDim.x) {
        c[0][i] = origin[i];
        c[1][i] = center[i];
    }
    __syncthreads();
    const long long first = (long long)blockIdx.x * blockDim.x * ROWS + threadIdx.x;
    double x[ROWS][D];
    double total[ROWS];
    #pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const long long row = first + (long long)r * blockDim.x;
        const double* at = X + (row < n ? row : n - 1) * D;
        total[r] = 0.0;
        #pragma unroll
        for (int k = 0; k < D; k++) x[r][k] = (at[k] - c[0][k]) - c[1][k];
    }
    for (int j = 0; j < M; j++) {
        double y[ROWS];
        #pragma unroll
        for (int r = 0; r < ROWS; r++) y[r] = o[j];
        #pragma unroll
        for (int k = 0; k < D; k++) {
            const double coefficient = C[j * D + k];
            #pragma unroll
            for (int r = 0; r < ROWS; r++) y[r] = fma(x[r][k], coefficient, y[r]);
        }
        #pragma unroll
        for (int r = 0; r < ROWS; r++) total[r] = fma(y[r], y[r], total[r]);
    }
    #pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const long long row = first + (long long)r * blockDim.x;
        if (row < n) out[row] = total[r];
    }
}

// Add up the sums of a block's threads, always in the same order.
template <int K> __device__ __forceinline__ void add_up(
    const double (&of_thread)[K], double (&of_warps)[THREADS / 32][K], double* __restrict__ out)
{
    #pragma unroll
    for (int k = 0; k < K; k++) {
        double sum = of_thread[k];
        for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
        if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32][k] = sum;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < K; k += THREADS) {
        double sum = 0.0;
        for (int w = 0; w < THREADS / 32; w++) sum += of_warps[w][k];
        out[k] = sum;
    }
}

// Sums over the rows about a slab along a direction: of shares that grow across it, of their integrals, of the rows
// times their shares; of the rows inside of it their number, their sum, and their products with each other. Rows inside
// wait in shared memory, where each thread adds up the products of a pair of columns with another pair. What a block
// finds is one row of `sums`, always added up in the same order.
#define PAIRS ((D + 1) / 2)
#define TILES (PAIRS * (PAIRS + 1) / 2)
#define TILES_EACH ((TILES + THREADS - 1) / THREADS)
#define WAITING 64
extern "C" __global__ void row_slabs(
    const double* __restrict__ X, const double* __restrict__ shift, const double* __restrict__ direction,
    const double threshold, const double tau, double* __restrict__ sums, const long long n)
{
    __shared__ double v[D], o[D], of_warps[THREADS / 32][D + 2], waiting[WAITING][2 * PAIRS];
    __shared__ int n_of_warps[2][THREADS / 32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int k = threadIdx.x; k < D; k += THREADS) {
        v[k] = direction[k];
        o[k] = shift[k];
    }
    for (int r = threadIdx.x; r < WAITING; r += THREADS) waiting[r][2 * PAIRS - 1] = 0.0;  // beyond an odd row's end
    int first[TILES_EACH], second[TILES_EACH];
    double products[TILES_EACH][4] = {}, total[D + 2] = {}, total_inside = 0.0;
    long long n_inside = 0;
    #pragma unroll
    for (int q = 0; q < TILES_EACH; q++) {
        int tile = threadIdx.x + q * THREADS, pair = 0;
        while (pair < PAIRS - 1 && tile > pair) tile -= ++pair;
        first[q] = 2 * pair;
        second[q] = 2 * min(tile, PAIRS - 1);
    }
    __syncthreads();
    const long long stride = (long long)gridDim.x * THREADS;
    int turn = 0;
    for (long long start = (long long)blockIdx.x * THREADS; start < n; start += stride, turn ^= 1) {
        const long long row = start + threadIdx.x;
        const double* at = X + (row < n ? row : n - 1) * D;
        double x[D], t = -threshold;
        #pragma unroll
        for (int k = 0; k < D; k++) {
            x[k] = at[k] - o[k];
            t = fma(x[k], v[k], t);
        }
        if (row < n) {
            const double share = fmin(fmax((t + tau) / (2.0 * tau), 0.0), 1.0);
            total[0] += share;
            total[1] += tau * share * share + fmax(t - tau, 0.0);
            #pragma unroll
            for (int k = 0; k < D; k++) total[k + 2] = fma(share, x[k], total[k + 2]);
        }
        const bool is_inside = row < n && fabs(t) < tau;
        const unsigned int inside = __ballot_sync(0xffffffff, is_inside);
        // Two in turn: a warp may be one round ahead of those that still read.
        if (lane == 0) n_of_warps[turn][warp] = __popc(inside);
        __syncthreads();
        int place = __popc(inside & ((1u << lane) - 1)), n_rows = 0;
        for (int w = 0; w < THREADS / 32; w++) {
            if (w < warp) place += n_of_warps[turn][w];
            n_rows += n_of_warps[turn][w];
        }
        n_inside += n_rows;
        for (int done = 0; done < n_rows; done += WAITING) {
            if (is_inside && place >= done && place < done + WAITING) {
                #pragma unroll
                for (int k = 0; k < D; k++) waiting[place - done][k] = x[k];
            }
            __syncthreads();
            const int m = min(n_rows - done, WAITING);
            for (int r = 0; r < m; r++) {
                if (threadIdx.x < D) total_inside += waiting[r][threadIdx.x];
                #pragma unroll
                for (int q = 0; q < TILES_EACH; q++) {
                    const double a = waiting[r][first[q]], b = waiting[r][first[q] + 1];
                    const double c = waiting[r][second[q]], d = waiting[r][second[q] + 1];
                    products[q][0] = fma(a, c, products[q][0]);
                    products[q][1] = fma(a, d, products[q][1]);
                    products[q][2] = fma(b, c, products[q][2]);
                    products[q][3] = fma(b, d, products[q][3]);
                }
            }
            __syncthreads();
        }
    }
    double* out = sums + (long long)blockIdx.x * (2 * D + 3 + 4 * TILES);
    add_up(total, of_warps, out);
    if (threadIdx.x == 0) out[D + 2] = n_inside;
    if (threadIdx.x < D) out[D + 3 + threadIdx.x] = total_inside;
    #pragma unroll
    for (int q = 0; q < TILES_EACH; q++) {
        const int tile = threadIdx.x + q * THREADS;
        if (tile < TILES)
            for (int i = 0; i < 4; i++) out[2 * D + 3 + 4 * tile + i] = products[q][i];
    }
}

// Scores along a direction; of the rows whose scores are above a limit their number and their sum, those of a block in
// one row of `sums`, always added up in the same order.
extern "C" __global__ void row_scores(
    const double* __restrict__ X, const double* __restrict__ shift, const double* __restrict__ direction,
    const double limit, double* __restrict__ scores, double* __restrict__ sums, const long long n)
{
    __shared__ double v[D], o[D], of_warps[THREADS / 32][D + 1];
    for (int k = threadIdx.x; k < D; k += THREADS) {
        v[k] = direction[k];
        o[k] = shift[k];
    }
    __syncthreads();
    double total[D + 1] = {};
    const long long stride = (long long)gridDim.x * THREADS;
    for (long long row = (long long)blockIdx.x * THREADS + threadIdx.x; row < n; row += stride) {
        const double* at = X + row * D;
        double x[D], score = 0.0;
        #pragma unroll
        for (int k = 0; k < D; k++) {
            x[k] = at[k] - o[k];
            score = fma(x[k], v[k], score);
        }
        scores[row] = score;
        if (score > limit) {
            total[D] += 1.0;
            #pragma unroll
            for (int k = 0; k < D; k++) total[k] += x[k];
        }
    }
    add_up(total, of_warps, sums + (long long)blockIdx.x * (D + 1));
}

// The factor of an ellipsoid: what is added to the image of a point, then the rows of a triangular matrix. Each row
// starts at an even column, so that its numbers are loaded two at a time; an odd row's first number is then a zero.
#define EVEN(j) ((j) / 2 * 2)
#define WIDTH EVEN(D + 1)
#define FACTOR (WIDTH + EVEN(D + 1) * (EVEN(D + 1) / 2 + 1))

// Points relative to an origin near them: of a large offset of all of them no digits are lost.
__device__ __forceinline__ void read_rows(
    const double* __restrict__ X, const double* __restrict__ origin, const long long first, const long long n,
    double (&x)[ROWS][WIDTH])
{
    #pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const long long row = first + (long long)r * blockDim.x;
        const double* at = X + (row < n ? row : n - 1) * D;
        #pragma unroll
        for (int k = 0; k < WIDTH; k++) x[r][k] = k < D ? at[k] - origin[k] : 0.0;
    }
}

// Add up the squares of the images of a thread's rows, as long as one of the sums is within a limit.
__device__ __forceinline__ void add_squares(
    const double (&x)[ROWS][WIDTH], const double* factor, const double limit, double (&total)[ROWS])
{
    bool open = true;
    int at = WIDTH;
    #pragma unroll
    for (int r = 0; r < ROWS; r++) total[r] = 0.0;
    #pragma unroll
    for (int j = 0; j < D; j++) {
        if (open) {
            double y[ROWS];
            #pragma unroll
            for (int r = 0; r < ROWS; r++) y[r] = factor[j];
            #pragma unroll
            for (int k = EVEN(j); k < WIDTH; k += 2) {
                const double2 pair = *(const double2*)(factor + at + k - EVEN(j));
                #pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    if (k >= j) y[r] = fma(x[r][k], pair.x, y[r]);
                    if (k + 1 < D) y[r] = fma(x[r][k + 1], pair.y, y[r]);
                }
            }
            #pragma unroll
            for (int r = 0; r < ROWS; r++) total[r] = fma(y[r], y[r], total[r]);
            open = false;
            #pragma unroll
            for (int r = 0; r < ROWS; r++) open = open || !(total[r] > limit);
        }
        at += WIDTH - EVEN(j);
    }
}

__device__ __forceinline__ void load_factor(const double* __restrict__ factors, const int e, double* factor)
{
    __syncthreads();
    for (int i = threadIdx.x; i < FACTOR; i += blockDim.x) factor[i] = factors[(long long)e * FACTOR + i];
    __syncthreads();
}

// One bit for each ellipsoid that holds the row.
extern "C" __global__ void row_words(
    const double* __restrict__ X, const double* __restrict__ origin, const double* __restrict__ factors,
    const int n_ellipsoids, const double limit, long long* __restrict__ out, const long long n)
{
    __shared__ __align__(16) double factor[FACTOR];
    const long long first = (long long)blockIdx.x * blockDim.x * ROWS + threadIdx.x;
    double x[ROWS][WIDTH], total[ROWS];
    long long word[ROWS] = {};
    read_rows(X, origin, first, n, x);
    for (int e = 0; e < n_ellipsoids; e++) {
        load_factor(factors, e, factor);
        add_squares(x, factor, limit, total);
        #pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (total[r] <= limit) word[r] |= 1LL << e;
    }
    #pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const long long row = first + (long long)r * blockDim.x;
        if (row < n) out[row] = word[r];
    }
}

// For each class the logarithm of the sum of its components, each with tails of Student's t.
extern "C" __global__ void row_joints(
    const double* __restrict__ X, const double* __restrict__ origin, const double* __restrict__ farthest,
    const double* __restrict__ factors, const double* __restrict__ log_weights, const int* __restrict__ codes,
    const int n_components, const int n_classes, const double tails, double* __restrict__ out, const long long n)
{
    __shared__ __align__(16) double factor[FACTOR];
    const long long first = (long long)blockIdx.x * blockDim.x * ROWS + threadIdx.x;
    const double power = -0.5 * (tails + D), infinity = 1.0 / 0.0;
    double x[ROWS][WIDTH], total[ROWS], top[ROWS], sum[ROWS];
    read_rows(X, origin, first, n, x);
    #pragma unroll
    for (int k = 0; k < D; k++) {
        const double far = farthest[k];
        #pragma unroll
        for (int r = 0; r < ROWS; r++) x[r][k] = fmin(fmax(x[r][k], -far), far);
    }
    for (int e = 0; e < n_components; e++) {
        const int code = codes[e];
        const bool is_first = e == 0 || codes[e - 1] != code;
        const bool is_last = e + 1 == n_components || codes[e + 1] != code;
        load_factor(factors, e, factor);
        add_squares(x, factor, infinity, total);
        #pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const double value = log_weights[e] + power * log(1.0 + total[r] / tails);
            if (is_first) {
                top[r] = value;
                sum[r] = 1.0;
            } else {
                const double share = exp(-fabs(value - top[r]));
                sum[r] = value > top[r] ? fma(sum[r], share, 1.0) : sum[r] + share;
                top[r] = fmax(top[r], value);
            }
            const long long row = first + (long long)r * blockDim.x;
            if (is_last && row < n) out[row * n_classes + code] = top[r] + log(sum[r]);
        }
    }
}
"""


class CudaNamespace:
    """The namespace of arrays on a CUDA device, with compiled passes over the rows of points.

    Everything else is passed on to the namespace of the array library.

    Parameters
    ----------
    xp : namespace
        Of PyTorch or CuPy.
    """

    def __init__(self, xp: Any) -> None:
        self._xp = xp

    def __getattr__(self, name: str) -> Any:
        return getattr(self._xp, name)

    def row_squares(
        self, points: Any, origin: FloatArray, center: FloatArray, columns: FloatArray, offset: FloatArray
    ) -> Any:
        """Return ``|columns' (x - origin - center) + offset|^2`` of each point, shape (n,), where the points are.

        None if there are too many features for it.
        """
        n, d = points.shape
        if d > _MOST_FEATURES or not n:
            return None
        given = np.concatenate([origin, center, columns.T.ravel(), offset])
        m = columns.shape[1]
        ends = np.cumsum([0, d, d, d * m])
        out = self._xp.empty(n, dtype=self._xp.float64, device=points.device)
        with _on(points) as cupy:
            there = cupy.asarray(given)
            parts = [there[int(end) :] for end in ends]
            _launch("row_squares", n, d, m, _row_by_row(cupy, points), *parts, cupy.asarray(out))
        return out

    def row_slabs(
        self, points: Any, shift: FloatArray, direction: FloatArray, threshold: float, tau: float
    ) -> Slab | None:
        """Return the sums of a slab of half-width `tau` about a threshold; None if there are too many features."""
        n, d = points.shape
        if d > _MOST_FEATURES or not n:
            return None
        n_pairs = -(-d // 2)
        given = np.concatenate([shift, direction]), np.float64(threshold), np.float64(tau)
        sums = self._sums("row_slabs", points, 2 * d + 3 + 2 * n_pairs * (n_pairs + 1), *given)
        found = np.asarray(to_host(sums))
        share, cost, weighted, n_inside, total, tiles = np.split(found, [1, 2, d + 2, d + 3, 2 * d + 3])
        inside = Sums(int(n_inside[0]), total, _from_tiles(tiles, d))
        return Slab(float(share[0]), weighted, float(cost[0]), inside)

    def row_scores(self, points: Any, shift: FloatArray, direction: FloatArray, limit: float) -> tuple[Any, Any] | None:
        """Return ``direction @ (x - shift)`` of each point, shape (n,), and sums over those with more than a limit.

        The sums, shape (d + 1,), are that of the points minus `shift`, and their number; all is where the points are.
        None if there are too many features for it.
        """
        n, d = points.shape
        if d > _MOST_FEATURES or not n:
            return None
        scores = self._xp.empty(n, dtype=self._xp.float64, device=points.device)
        given = np.concatenate([shift, direction]), np.float64(limit)
        return scores, self._sums("row_scores", points, d + 1, *given, scores)

    def _sums(self, name: str, points: Any, width: int, frame: FloatArray, *arguments: Any) -> Any:
        """Return the sums, shape (width,), that a kernel leaves one row of for each block of threads."""
        n, d = points.shape
        blocks = min(-(-n // _THREADS), _MOST_BLOCKS)
        sums = self._xp.empty((blocks, width), dtype=self._xp.float64, device=points.device)
        with _on(points) as cupy:
            given = cupy.asarray(frame)
            more = [x if isinstance(x, np.float64) else cupy.asarray(x) for x in (*arguments, sums)]
            every = _row_by_row(cupy, points), given, given[d:], *more, np.int64(n)
            _kernel(name, d, 1, 1)((blocks,), (_THREADS,), every)
        return self._xp.sum(sums, axis=0)

    def row_words(self, points: Any, centers: FloatArray, frames: FloatArray, limit: float) -> Any:
        """Return which of up to 64 ellipsoids hold each point, one bit each, shape (n,); None if it cannot be told.

        A point x is held if ``|frame' (x - center)| <= limit``. Each point is read once for all of them.
        """
        n, d = points.shape
        origin = centers.mean(axis=0)
        given = _factors(centers - origin, frames)
        if given is None or not n:
            return None
        out = self._xp.empty(n, dtype=self._xp.int64, device=points.device)
        with _on(points) as cupy:
            tables = [cupy.asarray(table) for table in (origin, given)]
            arguments = np.int32(len(given)), np.float64(limit * limit), cupy.asarray(out)
            _launch("row_words", n, d, 1, _row_by_row(cupy, points), *tables, *arguments)
        return out

    def row_joints(
        self,
        points: Any,
        frame: tuple[FloatArray, FloatArray],
        components: tuple[FloatArray, FloatArray],
        log_weights: FloatArray,
        codes: IntArray,
        n_classes: int,
        tails: float,
    ) -> Any:
        """Return the logarithm of each class's sum of components at each point, shape (n, n_classes).

        A component with a centre and a frame has the value ``weight * (1 + square / tails)^(-(tails + d) / 2)``, where
        square is ``|frame' (x - center)|^2``; codes, ascending, are the classes. A class without any has minus
        infinity. The frame is an origin, and how far from it coordinates may be: farther ones count as if they were
        there. None if it cannot be told.
        """
        n, d = points.shape
        centers, frames = components
        given = _factors(centers - frame[0], frames)
        if given is None or not n:
            return None
        out = self._xp.full((n, n_classes), -np.inf, dtype=self._xp.float64, device=points.device)
        with _on(points) as cupy:
            tables = [cupy.asarray(table) for table in (*frame, given, log_weights, codes.astype(np.int32))]
            sizes = np.int32(len(given)), np.int32(n_classes), np.float64(tails)
            _launch("row_joints", n, d, 1, _row_by_row(cupy, points), *tables, *sizes, cupy.asarray(out))
        return out


def _factors(centers: FloatArray, frames: FloatArray) -> FloatArray | None:
    """Return ellipsoids as the kernels read them, one per row; None for too many features, or ellipsoids too flat."""
    n, d = centers.shape
    if d > _MOST_FEATURES or _are_too_flat(frames):
        return None
    width = d + d % 2
    triangles = np.asarray(np.linalg.qr(frames.transpose(0, 2, 1), mode="r"))
    # Rows that begin at even columns.
    i, k = np.nonzero(np.arange(width) >= np.arange(width)[:, None] // 2 * 2)
    padded = np.zeros((n, width, width))
    padded[:, :d, :d] = np.triu(triangles)
    bias = np.zeros((n, width))
    bias[:, :d] = -np.einsum("kij,kj->ki", triangles, centers)
    return np.concatenate([bias, padded[:, i, k]], axis=1)


def _are_too_flat(frames: FloatArray) -> bool:
    """Return whether a triangular factor of a frame would lose the digits of the short axes."""
    lengths = np.sqrt(np.square(frames).sum(axis=1))
    return bool((lengths.max(axis=1) > _FLATTEST * lengths.min(axis=1)).any())


def _from_tiles(tiles: FloatArray, d: int) -> FloatArray:
    """Return a symmetric matrix of order d, given what pairs of its rows have in common with pairs of its columns.

    Parameters
    ----------
    tiles : ndarray of shape (4 * n_tiles,)
        Of the lower triangle, row by row of pairs.
    d : int

    Examples
    --------
    >>> _from_tiles(np.array([1.0, 2.0, 2.0, 3.0]), 2).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    n_pairs = -(-d // 2)
    i, j = np.tril_indices(n_pairs)
    matrix = np.empty((n_pairs, 2, n_pairs, 2))
    matrix[i, :, j, :] = tiles.reshape(-1, 2, 2)
    matrix[j, :, i, :] = tiles.reshape(-1, 2, 2).transpose(0, 2, 1)
    return matrix.reshape(2 * n_pairs, 2 * n_pairs)[:d, :d]


def _launch(name: str, n: int, d: int, m: int, *arguments: Any) -> None:
    rows = _ROWS[name] if d <= _FEW_FEATURES else 2
    blocks = -(-n // (rows * _THREADS))
    _kernel(name, d, m, rows)((blocks,), (_THREADS,), (*arguments, np.int64(n)))


def _row_by_row(cupy: Any, points: Any) -> Any:
    return cupy.ascontiguousarray(cupy.asarray(points))


def is_cuda(points: Any) -> bool:
    """Return whether an array is on a CUDA device."""
    return bool(getattr(points, "is_cuda", type(points).__module__.partition(".")[0] == "cupy"))


def same_stream(points: Any) -> Callable[[], AbstractContextManager[Any]] | None:
    """Return a maker of contexts for other threads, whose work on the points then follows that of this one.

    None if these are on no CUDA device.
    """
    if not is_cuda(points):
        return None
    if hasattr(points, "is_cuda"):
        import torch

        return partial(torch.cuda.stream, torch.cuda.current_stream(points.device))
    import cupy

    return partial(_on_stream, points.device, cupy.cuda.get_current_stream())


@contextmanager
def _on_stream(device: Any, stream: Any) -> Iterator[None]:
    with device, stream:
        yield


def with_own_pass(xp: Any, points: Any) -> Any:
    """Return the namespace with compiled passes, if the points are on a CUDA device and CuPy is there."""
    if not is_cuda(points) or isinstance(xp, CudaNamespace):
        return xp
    try:
        import cupy  # noqa: F401
    except ImportError:
        return xp
    return CudaNamespace(xp)


@cache
def _kernel(name: str, d: int, m: int, rows: int) -> Any:
    import cupy

    sizes = {"D": d, "M": m, "ROWS": rows, "THREADS": _THREADS}
    return cupy.RawKernel(_SOURCE, name, options=tuple(f"-D{size}={value}" for size, value in sizes.items()))


@contextmanager
def _on(points: Any) -> Iterator[Any]:
    """Work with CuPy on the device of the points, and on the stream of their library: what it wrote is then there."""
    import cupy

    if not hasattr(points, "is_cuda"):
        with points.device:
            yield cupy
        return
    import torch

    stream = torch.cuda.current_stream(points.device).cuda_stream
    with cupy.cuda.Device(points.device.index or 0), cupy.cuda.ExternalStream(stream):
        yield cupy
