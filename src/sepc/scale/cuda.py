"""One pass over points on a CUDA device that reads them once and writes one number for each.

The array API standard has no way to say so: a product and its row norms go through the device's memory several times.
CuPy compiles the kernel on first use, for the numbers of features and columns at hand; arrays of PyTorch are used
where they are. Without CuPy everything works as on any other device.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from sepc.geometry._checks import FloatArray

# Rows that one thread goes through at a time: each coefficient that it loads is used as often.
_ROWS = 2
_THREADS = 128
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

#if WORDS
typedef long long Result;  // one bit for each ellipsoid that holds the row
#else
typedef double Result;  // the square of the row's gauge under each ellipsoid
#endif

extern "C" __global__ void row_gauges(
    const double* __restrict__ X, const double* __restrict__ factors, const int n_ellipsoids, const double limit,
    Result* __restrict__ out, const long long n)
{
    __shared__ double R[D * (D + 1) / 2];
    __shared__ double bias[D];
    const long long first = (long long)blockIdx.x * blockDim.x * ROWS + threadIdx.x;
    double x[ROWS][D];
    long long word[ROWS];
    #pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const long long row = first + (long long)r * blockDim.x;
        const double* at = X + (row < n ? row : n - 1) * D;
        word[r] = 0;
        #pragma unroll
        for (int k = 0; k < D; k++) x[r][k] = at[k];
    }
    for (int e = 0; e < n_ellipsoids; e++) {
        const double* factor = factors + e * (D + D * (D + 1) / 2);
        __syncthreads();
        for (int i = threadIdx.x; i < D; i += blockDim.x) bias[i] = factor[i];
        for (int i = threadIdx.x; i < D * (D + 1) / 2; i += blockDim.x) R[i] = factor[D + i];
        __syncthreads();
        double total[ROWS];
        #pragma unroll
        for (int r = 0; r < ROWS; r++) total[r] = 0.0;
        bool open = true;
        int at = 0;
        #pragma unroll
        for (int j = 0; j < D; j++) {
            if (open) {
                double y[ROWS];
                #pragma unroll
                for (int r = 0; r < ROWS; r++) y[r] = bias[j];
                #pragma unroll
                for (int k = j; k < D; k++) {
                    const double coefficient = R[at + k - j];
                    #pragma unroll
                    for (int r = 0; r < ROWS; r++) y[r] = fma(x[r][k], coefficient, y[r]);
                }
                open = false;
                #pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    total[r] = fma(y[r], y[r], total[r]);
                    open = open || !WORDS || !(total[r] > limit);
                }
            }
            at += D - j;
        }
        #pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const long long row = first + (long long)r * blockDim.x;
            if (total[r] <= limit) word[r] |= 1LL << (e % 64);
            if (!WORDS && row < n) out[row * n_ellipsoids + e] = total[r];
        }
    }
    #pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const long long row = first + (long long)r * blockDim.x;
        if (WORDS && row < n) out[row] = word[r];
    }
}
"""


class CudaNamespace:
    """The namespace of arrays on a CUDA device, with a pass of its own.

    Everything but its functions of rows is the namespace that it stands for.

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
            _launch(_kernel("row_squares", d, m), n, _row_by_row(cupy, points), *parts, cupy.asarray(out))
        return out

    def row_words(self, points: Any, centers: FloatArray, frames: FloatArray, limit: float) -> Any:
        """Return which of up to 64 ellipsoids hold each point, one bit each, shape (n,); None if it cannot be told.

        A point x is held if ``|frame' (x - center)| <= limit``. Each point is read once for all of them.
        """
        out = self._xp.empty(points.shape[0], dtype=self._xp.int64, device=points.device)
        return self._row_gauges(points, centers, frames, limit * limit, out, words=1)

    def row_distances(self, points: Any, centers: FloatArray, frames: FloatArray) -> Any:
        """Return ``|frame' (x - center)|^2`` for all of some frames, shape (n, n_frames); None if it cannot be told."""
        shape = points.shape[0], len(centers)
        out = self._xp.empty(shape, dtype=self._xp.float64, device=points.device)
        return self._row_gauges(points, centers, frames, np.inf, out, words=0)

    def _row_gauges(
        self, points: Any, centers: FloatArray, frames: FloatArray, limit: float, out: Any, words: int
    ) -> Any:
        n, d = points.shape
        if d > _MOST_FEATURES or not n or _are_too_flat(frames):
            return None
        factors = np.asarray(np.linalg.qr(frames.transpose(0, 2, 1), mode="r"))
        i, j = np.triu_indices(d)
        given = np.concatenate([-np.einsum("kij,kj->ki", factors, centers), factors[:, i, j]], axis=1)
        with _on(points) as cupy:
            arguments = cupy.asarray(given), np.int32(len(centers)), np.float64(limit), cupy.asarray(out)
            _launch(_kernel("row_gauges", d, 1, words), n, _row_by_row(cupy, points), *arguments)
        return out


def _are_too_flat(frames: FloatArray) -> bool:
    """Return whether a triangular factor of a frame would lose the digits of the short axes."""
    lengths = np.sqrt(np.square(frames).sum(axis=1))
    return bool((lengths.max(axis=1) > _FLATTEST * lengths.min(axis=1)).any())


def _launch(kernel: Any, n: int, *arguments: Any) -> None:
    blocks = -(-n // (_ROWS * _THREADS))
    kernel((blocks,), (_THREADS,), (*arguments, np.int64(n)))


def _row_by_row(cupy: Any, points: Any) -> Any:
    return cupy.ascontiguousarray(cupy.asarray(points))


def with_own_pass(xp: Any, points: Any) -> Any:
    """Return the namespace with a pass of its own, if the points are on a CUDA device and CuPy is there."""
    is_cuda = getattr(points, "is_cuda", type(points).__module__.partition(".")[0] == "cupy")
    if not is_cuda or isinstance(xp, CudaNamespace):
        return xp
    try:
        import cupy  # noqa: F401
    except ImportError:
        return xp
    return CudaNamespace(xp)


@cache
def _kernel(name: str, d: int, m: int, words: int = 0) -> Any:
    import cupy

    return cupy.RawKernel(_SOURCE, name, options=(f"-DD={d}", f"-DM={m}", f"-DROWS={_ROWS}", f"-DWORDS={words}"))


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
