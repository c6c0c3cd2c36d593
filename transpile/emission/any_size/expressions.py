"""Numbers that differ between texts of one program, as expressions of its free sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

Sizes = Mapping[str, Sequence[int]]  # what each free size is in each of the texts
_HIGHEST_DEGREE = 3  # of products of sizes
ATOM, POWER, PRODUCT, SUM = 3, 2, 1, 0  # how tightly an expression binds


@dataclass(frozen=True, slots=True)
class SizeExpression:
    """The text of an expression, how tightly it binds, and what it costs to read; ``values`` has one for each text."""

    text: str
    level: int
    cost: int
    values: tuple[int, ...]

    def within(self, level: int) -> str:
        """The text as an operand, in parentheses where it binds more weakly."""
        return self.text if self.level >= level else f"({self.text})"


def integer_expression(values: Sequence[int], sizes: Sizes) -> SizeExpression | None:
    """The simplest expression of the sizes that has these values; None where none of the forms has.

    The forms are ``m``, ``m + c``, ``c * m``, ``c * m + d``, ``m // c``, ``m // c + d``, ``(m + d) // c``, ``c - m``
    and the sum or the difference of two ``m``, where each ``m`` is a product of up to three sizes.
    """
    if len(set(values)) == 1:
        return SizeExpression(str(values[0]), ATOM if values[0] >= 0 else SUM, 0, tuple(values))
    products = list(_products(sizes))
    found = [
        SizeExpression(text, level, cost, tuple(values))
        for text, level, cost, reached in _forms(products, tuple(values))
        if reached == tuple(values)
    ]
    return min(found, key=lambda expression: expression.cost, default=None)


def number_expression(values: Sequence[float], sizes: Sizes, dtype: Callable[[float], object]) -> SizeExpression | None:
    """The simplest of ``m``, ``c / m``, ``c * m``, ``m**0.5`` and ``1 / m**0.5`` that rounds to these values.

    All are Python's numbers, which take the dtype of the arrays beside them.
    """
    for product in _products(sizes):
        for text, level, reached in _real_forms(product, values):
            if [dtype(value) for value in reached] == [dtype(value) for value in values]:
                return SizeExpression(text, level, product.cost, ())
    return None


def _products(sizes: Sizes) -> Iterator[SizeExpression]:
    """All products of up to three sizes, short ones first."""
    for degree in range(1, _HIGHEST_DEGREE + 1):
        for names in combinations_with_replacement(sizes, degree):
            columns = zip(*(sizes[name] for name in names), strict=True)
            values = tuple(math.prod(column) for column in columns)
            yield SizeExpression(" * ".join(names), ATOM if degree == 1 else PRODUCT, 4 * degree, values)


def _forms(
    products: Sequence[SizeExpression], values: tuple[int, ...]
) -> Iterator[tuple[str, int, int, tuple[int, ...]]]:
    """Expressions that may have the values: text, level, cost, what they have."""
    for product in products:
        m, text, cost = product.values, product.text, product.cost
        factor = product.within(PRODUCT)
        yield text, product.level, cost, m
        offset = values[0] - m[0]
        yield _plus(text, offset), SUM, cost + 1 + abs(offset).bit_length(), tuple(each + offset for each in m)
        total = values[0] + m[0]
        yield f"{total} - {text}", SUM, cost + 3 + abs(total).bit_length(), tuple(total - each for each in m)
        slope, rest = _line(m, values)
        if slope not in (0, 1):
            times = f"{slope} * {text}"
            line = _plus(times, rest) if rest else times
            level = SUM if rest else PRODUCT
            weight = cost + 2 + abs(slope).bit_length() + (1 + abs(rest).bit_length() if rest else 0)
            yield line, level, weight, tuple(slope * each + rest for each in m)
        for divisor in _divisors(m, values):
            floor = tuple(each // divisor for each in m)
            more = values[0] - floor[0]
            weight = cost + 3 + divisor.bit_length()
            quotient = f"{factor} // {divisor}"
            if more:
                yield _plus(quotient, more), SUM, weight + 2 + abs(more).bit_length(), tuple(f + more for f in floor)
            else:
                yield quotient, PRODUCT, weight, floor
            for shift in {*range(1, min(divisor, 5)), divisor - 1} - {0}:
                moved = tuple((each + shift) // divisor for each in m)
                yield f"({_plus(text, shift)}) // {divisor}", PRODUCT, weight + 3 + shift.bit_length(), moved
    for one, other in combinations(products, 2):
        pairs = list(zip(one.values, other.values, strict=True))
        for left, right, sign in ((one, other, 1), (one, other, -1), (other, one, -1)):
            both = tuple((a + b) if sign > 0 else (a - b if left is one else b - a) for a, b in pairs)
            rest = values[0] - both[0]
            text = f"{left.text} {'+' if sign > 0 else '-'} {right.text}"
            weight = left.cost + right.cost + 2 + (1 + abs(rest).bit_length() if rest else 0)
            yield _plus(text, rest) if rest else text, SUM, weight, tuple(each + rest for each in both)


def _plus(text: str, offset: int) -> str:
    return f"{text} + {offset}" if offset >= 0 else f"{text} - {-offset}"


def _line(m: Sequence[int], values: Sequence[int]) -> tuple[int, int]:
    """The line through the first two points, (0, 0) where its slope is no integer."""
    run, rise = m[1] - m[0], values[1] - values[0]
    if not run or rise % run:
        return 0, 0
    slope = rise // run
    return slope, values[0] - slope * m[0]


def _divisors(m: Sequence[int], values: Sequence[int]) -> Iterator[int]:
    """The numbers by which a division may take the differences of one to those of the other."""
    run, rise = max(m) - min(m), max(values) - min(values)
    if rise > 0:
        for divisor in range(max(2, run // (rise + 1)), run // max(rise - 1, 1) + 2):
            if divisor <= max(m):
                yield divisor


def _real_forms(product: SizeExpression, values: Sequence[float]) -> Iterator[tuple[str, int, list[float]]]:
    """Expressions that may have the values: text, level, what they have."""
    m, bottom = product.values, product.within(POWER)
    power = f"{product.within(ATOM)}**0.5"
    yield product.text, product.level, [float(each) for each in m]
    yield f"1 / {bottom}", PRODUCT, [1 / each for each in m]
    for constant in {round(values[0] * m[0]), round(values[0] * m[0], 6)} - {0, 1}:
        yield f"{constant:g} / {bottom}", PRODUCT, [constant / each for each in m]
    yield power, POWER, [each**0.5 for each in m]
    yield f"1 / {power}", PRODUCT, [1 / each**0.5 for each in m]
    for constant in {round(values[0] / m[0]), round(values[0] / m[0], 6)} - {0, 1}:
        yield f"{constant:g} * {product.within(PRODUCT)}", PRODUCT, [constant * each for each in m]
