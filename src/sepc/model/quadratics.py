"""Values of several polynomials of the second degree at several points, in the form that takes the least time.

A polynomial in d features has ``n (n + 1) / 2`` coefficients with ``n = d + 1``: of the products of two features, of
the features, and the constant, in the order of `pairs`. One matrix product with a table of all such products, the
monomials, gives the values of all polynomials at once. With many features that table is far larger than the points,
and each of a few polynomials is evaluated by itself, as a form in ``(z, 1)``.
"""

from functools import cache
from typing import Protocol

import numpy as np

from sepc.common.typing import FloatArray, IntArray

# Rows of a product: for one set of polynomials always as many, so that no row depends on the others or on its place.
_ROWS = 128
# Numbers in a table of monomials, or in the forms that are kept: more of them would fill the memory.
_TABLE = 1 << 22
# From so many entries of ``(z, 1)`` on monomials are made one feature after the other, and up to so many polynomials
# are evaluated by their forms.
_MANY = 48
_FEW_POLYNOMIALS = 24


class Quadratics(Protocol):
    """Polynomials of the second degree, ready to be evaluated at a block of points at a time."""

    n_rows: int

    def __call__(self, z: FloatArray) -> FloatArray:
        """Return the value of each polynomial at each of `n_rows` points, shape (n_rows, n_polynomials).

        The next call may overwrite it.
        """


def quadratics(coefficients: FloatArray, d: int) -> Quadratics:
    """Return polynomials in d features with these coefficients, shape ((d + 1) * (d + 2) / 2, n_polynomials)."""
    by_forms = d + 1 >= _MANY and coefficients.shape[1] <= _FEW_POLYNOMIALS
    return ByForms(coefficients, d) if by_forms else ByMonomials(coefficients, d)


class ByMonomials:
    """Polynomials as one matrix product with a table of monomials."""

    def __init__(self, coefficients: FloatArray, d: int) -> None:
        self.coefficients = coefficients
        self.n_rows = min(max(_TABLE // len(coefficients), 1), _ROWS)
        # By features, not by points: what lies side by side in memory is multiplied. Room that is taken anew for each
        # block would cost more time than what is done in it.
        self.lifted = np.ones((d + 1, self.n_rows))
        self.monomials = np.empty((len(coefficients), self.n_rows))
        self.factors = np.empty_like(self.monomials) if d + 1 < _MANY else None

    def __call__(self, z: FloatArray) -> FloatArray:
        """Return the values; see `Quadratics`."""
        self.lifted[:-1] = z.T
        self._multiply()
        values: FloatArray = self.monomials.T @ self.coefficients
        return values

    def _multiply(self) -> None:
        lifted, out, n = self.lifted, self.monomials, len(self.lifted)
        if self.factors is not None:
            # Numbers out of range are clipped: there are none, and so the room is used as it is.
            for which, room in zip(pairs(n), (out, self.factors), strict=True):
                lifted.take(which, axis=0, out=room, mode="clip")
            out *= self.factors
            return
        first = 0
        for k in range(n):
            # The same products; copying both factors of each would take most of the time.
            np.multiply(lifted[k:], lifted[k], out=out[first : first + n - k])
            first += n - k


class ByForms:
    """Polynomials one after the other, each as a form ``(z, 1) T (z, 1)'`` with an upper triangle T."""

    def __init__(self, coefficients: FloatArray, d: int) -> None:
        self.coefficients = coefficients
        self.n_rows = _ROWS
        # Rows end with zeros at a multiple of 64 bytes: sums over rows that begin elsewhere may differ in the last bit.
        n = -(-(d + 1) // 8) * 8
        self.n, self.lifted, self.image = d + 1, np.zeros((_ROWS, n)), np.empty((_ROWS, n))
        self.lifted[:, d] = 1.0
        self.values = np.empty((_ROWS, coefficients.shape[1]))
        kept = coefficients.shape[1] if n * n * coefficients.shape[1] <= _TABLE else 1
        self.forms = np.zeros((kept, n, n))
        if kept > 1:
            for k in range(kept):
                self._unpack(k, self.forms[k])

    def __call__(self, z: FloatArray) -> FloatArray:
        """Return the values; see `Quadratics`."""
        self.lifted[:, : self.n - 1] = z
        for k, value in enumerate(self.values.T):
            form = self.forms[k if len(self.forms) > 1 else 0]
            if len(self.forms) == 1:
                self._unpack(k, form)
            np.dot(self.lifted, form, out=self.image)
            np.einsum("ij,ij->i", self.image, self.lifted, out=value)
        return self.values

    def _unpack(self, k: int, form: FloatArray) -> None:
        own, first, n = self.coefficients[:, k].copy(), 0, self.n
        for row in range(n):
            form[row, row:n] = own[first : first + n - row]
            first += n - row


@cache
def pairs(n: int) -> tuple[IntArray, IntArray]:
    """Return which two of n numbers are multiplied in each product of two."""
    i, j = np.triu_indices(n)
    return i, j
