"""One pass over points on a CUDA device that reads them once and writes one number for each.

The array API standard has no way to say so: a product and its row norms go through the device's memory several times.
CuPy compiles the kernel on first use, for the numbers of features and columns at hand; arrays of PyTorch are used
where they are. Without CuPy everything works as on any other device.
"""

from functools import cache
from typing import Any

import numpy as np

from sepc.geometry._checks import FloatArray

# Rows that one thread goes through at a time: each coefficient that it loads is used as often.
_ROWS = 2
_THREADS = 128
# More features than this would not fit into the registers of a thread.
_MOST_FEATURES = 48

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
"""


class CudaNamespace:
    """The namespace of arrays on a CUDA device, with a pass of its own.

    Everything but `row_squares` is the namespace that it stands for.

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
        import cupy

        n, d = points.shape
        if d > _MOST_FEATURES or not n:
            return None
        if hasattr(points, "is_contiguous"):
            points = points.contiguous()
        out = self._xp.empty(n, dtype=self._xp.float64, device=points.device)
        with _device_of(cupy, points), _stream_of(cupy, points):
            given = [cupy.asarray(np.ascontiguousarray(a)) for a in (origin, center, columns.T, offset)]
            blocks = -(-n // (_ROWS * _THREADS))
            arrays = [cupy.asarray(points), *given, cupy.asarray(out)]
            _kernel(d, columns.shape[1])((blocks,), (_THREADS,), (*arrays, np.int64(n)))
        return out


def with_own_pass(xp: Any, points: Any) -> Any:
    """Return the namespace with a pass of its own, if the points are on a CUDA device and CuPy is there."""
    is_cuda = getattr(points, "is_cuda", type(points).__module__.partition(".")[0] == "cupy")
    if not is_cuda:
        return xp
    try:
        import cupy  # noqa: F401
    except ImportError:
        return xp
    return CudaNamespace(xp)


@cache
def _kernel(d: int, m: int) -> Any:
    import cupy

    options = (f"-DD={d}", f"-DM={m}", f"-DROWS={_ROWS}")
    return cupy.RawKernel(_SOURCE, "row_squares", options=options)


def _device_of(cupy: Any, points: Any) -> Any:
    index = points.device.id if hasattr(points.device, "id") else points.device.index
    return cupy.cuda.Device(index or 0)


def _stream_of(cupy: Any, points: Any) -> Any:
    """Return the stream on which the library of the points works: what it wrote before is then there."""
    if hasattr(points, "is_cuda"):
        import torch

        return cupy.cuda.ExternalStream(torch.cuda.current_stream(points.device).cuda_stream)
    return cupy.cuda.get_current_stream()
