"""Exact arithmetic with floating-point numbers: each is an integer times a power of two."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = [
    "Vector", "dot", "exact", "floats_of", "integers_of", "largest_of", "product", "products_of", "ratio_of", "root_of",
    "sum_of", "vector_of",
]  # fmt: skip

_PRECISION = 60  # decimal digits of square roots
_ROWS = 256  # rows of a matrix that are taken at the same time
_FEW_NUMBERS = 1000  # entries of a matrix up to which its integers are multiplied one by one
_WIDE = 400  # bits between the largest and the smallest entry of rows that are cut into slices
_ZERO = Fraction(0)


class Vector:
    """Exact numbers: integers times one unit, which is a fraction.

    It knows what the formulas below need of a NumPy vector. With one unit for all, most of the arithmetic is that of
    integers: fractions that are reduced one by one take ten times as long.
    """

    __slots__ = ("digits", "unit")
    __array_ufunc__ = None  # arrays on the left leave the arithmetic to this class

    def __init__(self, digits: np.ndarray, unit: Fraction) -> None:
        self.digits, self.unit = digits, unit

    def __len__(self) -> int:
        return len(self.digits)

    @property
    def size(self) -> int:
        """How many numbers these are."""
        return len(self.digits)

    def __iter__(self) -> Iterator[Fraction]:
        up, down = self.unit.numerator, self.unit.denominator
        return (Fraction(v * up, down) for v in self.digits.tolist())

    def __getitem__(self, index: Any) -> Any:
        part = self.digits[index]
        return Vector(part, self.unit) if isinstance(part, np.ndarray) else part * self.unit

    def astype(self, kind: type) -> np.ndarray:
        """Return the nearest floating-point numbers."""
        return np.array([float(v) for v in self], dtype=kind)

    def _aligned(self, other: Any) -> tuple[np.ndarray, Any, Fraction]:
        """Return the digits of both in a common unit."""
        unit, digits = (other.unit, other.digits) if isinstance(other, Vector) else (other, 1)
        if unit == 0:
            return self.digits, 0, self.unit
        if unit == self.unit:
            return self.digits, digits, unit
        down = math.lcm(self.unit.denominator, unit.denominator)
        ours = self.unit.numerator * (down // self.unit.denominator)
        theirs = unit.numerator * (down // unit.denominator)
        up = math.gcd(ours, theirs)
        return self.digits * (ours // up), digits * (theirs // up), Fraction(up, down)

    def __add__(self, other: Any) -> Vector:
        ours, theirs, unit = self._aligned(_operand(other))
        return Vector(ours + theirs, unit)

    __radd__ = __add__

    def __neg__(self) -> Vector:
        return Vector(-self.digits, self.unit)

    def __sub__(self, other: Any) -> Vector:
        return self + -_operand(other)

    def __rsub__(self, other: Any) -> Vector:
        return -self + other

    def __mul__(self, other: Any) -> Vector:
        other = _operand(other)
        if isinstance(other, Vector):
            return Vector(self.digits * other.digits, self.unit * other.unit)
        if other == 0:
            return Vector(self.digits * 0, self.unit)
        return Vector(self.digits, self.unit * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Vector:
        other = _operand(other)
        if isinstance(other, Vector):
            return vector_of(x / y for x, y in zip(self, other))
        return self * (1 / other)

    def __pow__(self, power: int) -> Vector:
        return Vector(self.digits**power, self.unit**power)

    def __abs__(self) -> Vector:
        return Vector(abs(self.digits), abs(self.unit))

    def positive(self) -> Vector:
        """Return the positive parts."""
        return Vector(np.where(self.signs() > 0, self.digits, 0), self.unit)

    def signs(self) -> np.ndarray:
        """Return -1, 0 and 1."""
        up = 1 if self.unit > 0 else -1
        return np.array([up * ((v > 0) - (v < 0)) for v in self.digits.tolist()], dtype=int)


def _operand(value: Any) -> Vector | Fraction:
    if isinstance(value, (Vector, Fraction)):
        return value
    return exact(value) if isinstance(value, np.ndarray) else Fraction(value)


def exact(values: Any) -> Vector:
    """Return floating-point numbers as they are, exactly."""
    digits, exponent = integers_of(np.atleast_1d(np.asarray(values, dtype=float)).ravel())
    return Vector(digits, Fraction(2) ** exponent)


def vector_of(values: Iterable[Fraction]) -> Vector:
    """Return fractions as one vector."""
    ratios = [v.as_integer_ratio() for v in values]
    common = math.lcm(*{d for _, d in ratios})
    digits = np.empty(len(ratios), dtype=object)
    digits[:] = [n * (common // d) for n, d in ratios]
    return Vector(digits, Fraction(1, common))


def integers_of(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return integers N and an exponent e with ``values = N 2^e``, exactly."""
    mantissa, exponent = np.frexp(values)
    digits = (mantissa * 2.0**53).astype(np.int64)
    nonzero = digits != 0
    if not nonzero.any():
        return digits.astype(object), 0
    exponent = exponent.astype(np.int64) - 53
    low = int(exponent[nonzero].min())
    shift = np.where(nonzero, exponent - low, 0)
    return digits.astype(object) << shift.astype(object), low


def product(A: np.ndarray, x: Vector) -> Vector:
    """Return A x for a matrix of floating-point numbers."""
    return products_of(A, [x])[0]


def products_of(A: np.ndarray, vectors: Sequence[Vector]) -> list[Vector]:
    """Return A x for each of the vectors, exactly."""
    X = np.stack([x.digits for x in vectors], axis=1)
    nonzero = np.flatnonzero((X != 0).any(axis=1))
    if nonzero.size == 0 or A.shape[0] == 0:
        zero = np.zeros(A.shape[0], dtype=object)
        return [Vector(zero, Fraction(1)) for _ in vectors]
    A, X = np.asarray(A, dtype=float)[:, nonzero], X[nonzero]
    limbs = _Limbs(X) if A.size * len(vectors) > _FEW_NUMBERS else None
    rows, exponents = [], []
    for start in range(0, A.shape[0], _ROWS):
        digits, exponent = _block_product(A[start : start + _ROWS], X, limbs)
        rows.append(digits)
        exponents.append(exponent)
    low = min(exponents)
    digits = np.concatenate([row << (e - low) for row, e in zip(rows, exponents)])
    return [Vector(d, x.unit * Fraction(2) ** low) for d, x in zip(digits.T, vectors)]


class _Limbs:
    """Integers as sums of limbs of a few bits, few enough for sums of products of limbs to fit into 53 bits."""

    def __init__(self, X: np.ndarray) -> None:
        n, r = X.shape
        self.bits = (53 - n.bit_length()) // 2
        limbs, left = [], abs(X)
        sign = np.where(X < 0, -1.0, 1.0)
        while left.any():
            limbs.append(sign * (left & (2**self.bits - 1)).astype(float))
            left = left >> self.bits
        self.count, self.columns = len(limbs), r
        self.matrix = np.hstack(limbs)


def _block_product(A: np.ndarray, X: np.ndarray, limbs: _Limbs | None) -> tuple[np.ndarray, int]:
    """Return integers N and an exponent e with ``A X = N 2^e``.

    The rows are cut into slices, each with as many bits as a limb. A product of a slice and the limbs is a sum of
    integers below 2^53 in all its parts, so floating-point arithmetic makes no error there. Where the numbers of A lie
    too far apart, Python's integers are multiplied instead.
    """
    exponent = np.frexp(A)[1][A != 0.0]
    high = int(exponent.max(initial=0))
    if limbs is None or high - int(exponent.min(initial=high)) > _WIDE:
        digits, low = integers_of(A)
        return digits @ X, low
    slices, R = [], np.ldexp(A, -high)
    while R.any():
        R = np.ldexp(R, limbs.bits)
        S = np.trunc(R)
        R -= S
        slices.append(S @ limbs.matrix)
    places = np.zeros((len(slices) + limbs.count, len(A), limbs.columns), dtype=np.int64)
    for k, P in enumerate(slices):
        for j in range(limbs.count):
            part = P[:, j * limbs.columns : (j + 1) * limbs.columns]
            places[len(slices) - 1 - k + j] += part.astype(np.int64)
    digits = np.zeros(places.shape[1:], dtype=object)
    for place in places[::-1]:
        digits = (digits << limbs.bits) + place
    return digits, high - limbs.bits * len(slices)


def largest_of(v: Vector) -> Fraction:
    """Return the largest absolute value, 0 of none."""
    return max(map(abs, v.digits.tolist()), default=0) * abs(v.unit)


def sum_of(v: Vector | Iterable[Fraction]) -> Fraction:
    """Return the sum."""
    v = v if isinstance(v, Vector) else vector_of(v)
    return sum(v.digits.tolist()) * v.unit


def dot(a: Vector, b: Vector) -> Fraction:
    """Return the inner product."""
    return sum(map(operator.mul, a.digits.tolist(), b.digits.tolist())) * (a.unit * b.unit)


def ratio_of(value: Fraction, scale: Fraction | float) -> Fraction | float:
    """Return ``value / scale`` with 0/0 = 0; a scale that overflowed proves nothing."""
    if value == 0:
        return _ZERO
    return value / Fraction(scale) if scale > 0 and scale != math.inf else math.inf


def floats_of(v: Vector) -> np.ndarray:
    """Return the nearest floating-point numbers, infinite ones for those that are too large."""

    def nearest(x: Fraction) -> float:
        try:
            return float(x)
        except OverflowError:
            return math.inf if x > 0 else -math.inf

    return np.array([nearest(x) for x in v])


def root_of(value: Fraction) -> Fraction:
    """Return the square root, to 60 digits."""
    if value <= 0:
        return _ZERO
    shift = max(
        0, _PRECISION - (value.numerator.bit_length() - value.denominator.bit_length()) // 6
    )
    whole = value * Fraction(100) ** shift
    return Fraction(math.isqrt(whole.numerator // whole.denominator), 10**shift)
