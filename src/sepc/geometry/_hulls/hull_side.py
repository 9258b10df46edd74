"""One of the two point sets of `nearest_points`, and the weights of its points."""

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._hulls.hull_gap import largest_sum
from sepc.geometry._hulls.small_hulls import ROUNDING
from sepc.geometry.chunks import CHUNK, chunk_slices, moved

# So few numbers may be copied for speed.
_SMALL = 300_000

Picked = IntArray | slice


class Side:
    """One point set while its weights are sought; all shares are equal at first.

    ``sign`` is -1 for A, whose weights go to the points lowest along the normal, and 1 for B. The weights are
    ``cap * share``; ``image`` is the weighted mean of the points relative to ``shift``. Of a set that is too large for
    memory these are the undecided points alone: ``n_caps`` is the sum of their shares, ``settled`` what all others add
    to the image.
    """

    def __init__(
        self,
        points: FloatArray,
        sign: float,
        cap: float,
        shift: FloatArray,
        n_caps: float | None = None,
        settled: FloatArray | None = None,
    ) -> None:
        n = len(points)
        self.n_caps = 1.0 / cap if n_caps is None else n_caps
        self.settled = np.zeros(len(shift)) if settled is None else settled
        self.is_free = cap * n > cap * self.n_caps + 1e-12
        if self.is_free and points.size <= _SMALL and shift.any():
            points, shift = moved(points, -shift), np.zeros(len(shift))
        self.points, self.sign, self.cap, self.shift = points, sign, cap, shift
        self.is_shifted = bool(shift.any())
        even = min(self.n_caps / n, 1.0)
        self.share = np.broadcast_to(even, n)  # takes no memory as long as all are equal
        self.image = np.zeros(len(shift))
        self.score = np.empty(n if self.is_free else 0)

    def sample(self, n: int) -> tuple[FloatArray, float]:
        """Return a strided sample of at least n points, as `signed` does, and a cap that gives them the same room."""
        points = self.signed(slice(None, None, max(len(self.points) // n, 1)))
        whole = self.cap * self.n_caps
        return points, min(max(self.cap * len(self.points) / len(points), whole / len(points)), whole)

    def relative(self, rows: Picked) -> FloatArray:
        """Return points relative to the shift; a view of them where it can be one."""
        points: FloatArray = self.points[rows]
        return moved(points, -self.shift) if self.is_shifted else points

    def signed(self, rows: Picked) -> FloatArray:
        """Return points relative to the shift, times the sign."""
        points = self.relative(rows)
        is_view = isinstance(rows, slice) and not self.is_shifted
        result: FloatArray = np.multiply(points, self.sign, out=None if is_view else points)
        return result

    def put_columns(self, rows: Picked, share: FloatArray, out: FloatArray) -> FloatArray:
        """Set `out` to points as `signed` returns them, one per column; return what they weigh with these shares."""
        if isinstance(rows, slice) and not self.is_shifted:
            points = self.points[rows]
            out[:] = points.T  # a product of differently arranged arrays would make a copy
            out *= self.sign
            return np.asarray((self.sign * (share @ points)) * self.cap)
        numbers = np.arange(len(self.points))[rows]
        total = np.zeros(len(self.shift))
        for some in chunk_slices(len(numbers), CHUNK):
            points = self.signed(numbers[some])
            out[:, some] = points.T
            total += share[some] @ points
        total *= self.cap
        return total

    def kept_shares(self) -> FloatArray:
        """Return the shares of this moment; they are copied when one of them changes."""
        self.share.setflags(write=False)
        return self.share

    def put_shares(self, rows: Picked, shares: FloatArray) -> None:
        """Give some points other shares."""
        if not self.share.flags.writeable:
            self.share = self.share.copy()
        self.share[rows] = shares

    def between(self) -> IntArray:
        """Return the points whose weights are between the bounds."""
        rows: IntArray = ((self.share > ROUNDING) & (self.share < 1.0 - ROUNDING)).nonzero()[0]
        return rows

    def is_feasible(self, rows: IntArray) -> bool:
        """Return whether the weights of these points are within the bounds."""
        share = self.share[rows]
        return bool(share.min() >= 0.0 and share.max() <= 1.0)

    def project(self, direction: FloatArray, out: FloatArray) -> None:
        """Set `out` to the scores of all points along `direction`."""
        direction = self.sign * direction
        if not self.is_shifted:
            np.dot(self.points, direction, out=out)
            return
        for rows in chunk_slices(len(out), CHUNK):
            np.dot(moved(self.points[rows], -self.shift), direction, out=out[rows])

    def lowest(self, direction: FloatArray, score: FloatArray) -> float:
        """Return the lowest that the image can get along the direction that has these scores, for B its negative."""
        return self.sign * float(self.settled @ direction) + largest_sum(score, self.cap, self.n_caps)

    def read_image(self) -> None:
        """Set `image` from the shares."""
        if not self.is_shifted:
            self.image = self.settled + self.cap * (self.share @ self.points)
            return
        self.image = self.settled.copy()
        for rows in chunk_slices(len(self.share), CHUNK):
            self.image += self.cap * (self.share[rows] @ moved(self.points[rows], -self.shift))
