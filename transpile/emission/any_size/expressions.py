"""Expressions of the free sizes for numbers that differ between the texts of one program."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, combinations_with_replacement

import numpy as np

from ...dataclass import dataclass
from ...frontends.witnesses import Sizes
from ...python.grammar import ATOM, POWER, PRODUCT, SUM

FEWEST = 3  # texts that are evidence enough for an expression
MORE = FEWEST + 1  # texts for a form with more free coefficients, which fits more values by chance
_HIGHEST_DEGREE = 3  # of products of sizes
_FARTHEST = 4  # the largest number that is added to a size before a division
_GREATEST_DIVISOR = 4096  # many large divisors fit numbers that hardly change between sizes that are far apart
_DIGITS = 8  # significant digits of a factor of a size: further digits would come from rounding
_MOST_DIGITS = 9  # significant digits of a float32
_TOLERATED = 20  # leading bits of a number that rounding to the dtype of an array does not change
_DOUBTED = 100  # numbers that are tried to distinguish divisions
# Paddings follow from strides as remainders: a size is divided by the first number, rounded up, and the quotient taken
# modulo the second.
_REMAINDERS = ((1, 2), (1, 3), (1, 4), (2, 2), (4, 2), (8, 2))
_STRIDES = (2, 4, 8, 16, 3)  # common strides of windows
_CHEAPEST_OF_TWO = 10  # the cost of the sum of two sizes
# Each row is an expression of an integer k: the dividend, or 0 for a bare power of k; the inverse function, from the
# value to k; the power; the precedence of the expression.
_OF_INTEGERS: tuple[tuple[float, Callable[[float], float], float, int], ...] = (
    (1, lambda value: 1 / value, 1, PRODUCT),
    (0, lambda value: value**2, 0.5, POWER),
    (1, lambda value: value**-2, 0.5, PRODUCT),
    (2, lambda value: 2 / value, 1, PRODUCT),
    (math.pi, lambda value: math.pi / value, 1, PRODUCT),
    (2 * math.pi, lambda value: 2 * math.pi / value, 1, PRODUCT),
)


@dataclass(frozen=True, slots=True)
class SizeExpression:
    """The text of an expression of sizes, its precedence (``level``), and its cost for a reader.

    ``values`` has one value per text; ``texts`` is how many texts must confirm the expression. A division is ``(size +
    shift) // divisor + offset``. If other expressions have the same values, ``doubt`` is a size and a number of that
    size at which they differ.
    """

    text: str
    level: int
    cost: int
    values: tuple[int, ...]
    texts: int = FEWEST
    divisor: int = 1
    shift: int = 0
    offset: int = 0
    doubt: tuple[str, int] | None = None

    def within(self, level: int) -> str:
        """Return the text as an operand, in parentheses if its precedence is lower than ``level``."""
        return self.text if self.level >= level else f"({self.text})"


@dataclass(frozen=True, slots=True)
class Doubt:
    """An expression that shares its values with others; at ``number`` of one size they differ."""

    size: str
    number: int
    expression: str


def integer_expression(
    values: Sequence[int], sizes: Sizes, dtype: Callable[[int], object] = int
) -> SizeExpression | None:
    """Return the cheapest expression of the sizes that has these values as numbers of a ``dtype``, or None.

    The forms are ``m``, ``m + c``, ``c * m``, ``c * m + d``, ``m // c``, ``(m + c - 1) // c``, ``c - m``, the lesser or
    greater of two sizes and the sum or the difference of two ``m``, where each ``m`` is a product of up to three sizes;
    ``m // c + d`` and ``(m + d) // c`` for one size; or else the product of two quotients, or ``m % c + d``. If several
    divisions of one size have these values, the result has a doubt. Divisions of a product by more than one divisor are
    left out, as the values may mean anything.
    """
    if len(set(values)) == 1:
        return SizeExpression(str(values[0]), ATOM if values[0] >= 0 else SUM, 0, tuple(values))
    products, best = list(_products(sizes)), None
    rounded = list(map(dtype, values))

    def agrees(reached: Iterable[int]) -> bool:
        return all(dtype(each) == value for each, value in zip(reached, rounded, strict=True))

    for product in products:
        if best is not None and best.cost <= product.cost:
            return best
        found = [form for form in _forms(product, values) if agrees(form.values)]
        found += _divisions(product, values, agrees)
        if len(values) >= FEWEST:
            found = _with_doubts(product, found) if product.level == ATOM else _without_doubts(found)
        best = _cheapest(best, *found)
    if best is None or best.cost > _CHEAPEST_OF_TWO:
        best = _cheapest(best, *(each for each in _extremes(sizes) if each.values == tuple(values)))
        best = _cheapest(best, *_of_two(products, values, dtype))
    return best or _of_quotients(values, sizes, dtype) or _remainder(values, sizes)


def _of_quotients(values: Sequence[int], sizes: Sizes, dtype: Callable[[int], object]) -> SizeExpression | None:
    """Return the product of two rounded quotients of sizes that has these values as numbers of a ``dtype``, or None.

    The number of positions of windows with strides is such a product.
    """
    for divisor in _STRIDES:
        for shift in (0, divisor - 1):
            for names in combinations(sizes, 2):
                columns = [[(each + shift) // divisor for each in sizes[name]] for name in names]
                reached = tuple(map(math.prod, zip(*columns, strict=True)))
                if [dtype(each) for each in reached] == [dtype(each) for each in values]:
                    left, right = (
                        f"({name} + {shift}) // {divisor}" if shift else f"{name} // {divisor}" for name in names
                    )
                    return SizeExpression(f"({left}) * ({right})", PRODUCT, _CHEAPEST_OF_TWO, reached, MORE)
    return None


def _remainder(values: Sequence[int], sizes: Sizes) -> SizeExpression | None:
    """Return the remainder of a size, or of a quotient of it, plus a number, that has these values, or None.

    The paddings of strided windows have this form. Such small numbers may also agree by chance: the expression has a
    doubt until the texts cover a period of the size, and until no other size has a remainder with these values.
    """
    found = {name: each for name, own in sizes.items() if (each := _remainder_of(name, own, values)) is not None}
    name = next(iter(found), None)
    if name is None:
        return None
    if len(found) < 2 or found[name].doubt is not None:
        return found[name]
    number = next(number for number, value in zip(sizes[name], values, strict=True) if value != values[0])
    return replace(found[name], doubt=(name, number))  # changed alone: the remainders of the other sizes stay


def _remainder_of(name: str, own: Sequence[int], values: Sequence[int]) -> SizeExpression | None:
    """Return the remainder of one size that has these values, or None; in doubt unless the texts cover its period."""
    for divisor, modulus in _REMAINDERS:
        rest = tuple(-(-each // divisor) % modulus for each in own)
        part = name if divisor == 1 else f"({name} + {divisor - 1}) // {divisor}"
        found = _plus(SizeExpression(f"{part} % {modulus}", PRODUCT, 4, rest, MORE), values[0] - rest[0], 2)
        if found.values == tuple(values) and len({*rest}) > 1:
            period, step = divisor * modulus, math.gcd(*own)
            seen = {each % period for each in own}
            wanted = (own[0] + k * step for k in range(period))
            number = next((each for each in wanted if each % period not in seen), None)
            return found if number is None else replace(found, doubt=(name, number))
    return None


def _without_doubts(found: Sequence[SizeExpression]) -> list[SizeExpression]:
    """Return the expressions, without the divisions if these have several divisors."""
    are_many = len({form.divisor for form in found if form.divisor > 1}) > 1
    return [form for form in found if form.divisor == 1 or not are_many]


def _with_doubts(size: SizeExpression, found: Sequence[SizeExpression]) -> list[SizeExpression]:
    """Return expressions of one size; several divisions have as doubt the number at which the fewest of them agree."""
    divisions = [form for form in found if form.divisor > 1]
    step, most = math.gcd(*size.values) or 1, max(size.values)
    if len(divisions) < 2:
        return list(found)
    numbers = range(most + step, most + step * (_DOUBTED + 1), step)
    agreeing, number = min((_most_alike(divisions, number), number) for number in numbers)
    doubt = (size.text, number) if agreeing < len(divisions) else None
    return [replace(form, doubt=doubt) if form.divisor > 1 else form for form in found]


def _most_alike(divisions: Sequence[SizeExpression], number: int) -> int:
    """Return how many divisions of a size have the most common value at a number."""
    return max(Counter((number + form.shift) // form.divisor + form.offset for form in divisions).values())


def _cheapest(*forms: SizeExpression | None) -> SizeExpression | None:
    return min((form for form in forms if form is not None), key=lambda form: form.cost, default=None)


def literal_expression(
    literals: Sequence[str], sizes: Sizes, integer: Callable[..., SizeExpression | None]
) -> SizeExpression | None:
    """Return the cheapest expression of the sizes that has the values of Python literals, or None.

    Imaginary literals become an expression times ``1j``. ``integer`` finds the expression of integers, as
    :func:`integer_expression` does.
    """
    if all(literal.endswith("j") for literal in literals):
        found = literal_expression([literal.removesuffix("j") for literal in literals], sizes, integer)
        return found and SizeExpression(f"{found.within(PRODUCT)} * 1j", PRODUCT, found.cost + 1, ())
    if all(literal.lstrip("-").isdigit() for literal in literals):
        return integer(tuple(map(int, literals)))
    if any(literal.endswith("j") for literal in literals):
        return None
    values = list(map(float, literals))
    digits = max(len(literal.replace(".", "").partition("e")[0].strip("0")) for literal in literals)
    dtype = np.float32 if digits <= _MOST_DIGITS else np.float64
    found = None
    if all(value.is_integer() for value in values):  # large ones have a point
        found = integer(tuple(map(int, values)), dtype=dtype)
    return found or number_expression(values, sizes, dtype, integer)


def number_expression(
    values: Sequence[float],
    sizes: Sizes,
    dtype: Callable[[float], object],
    integer: Callable[[tuple[int, ...]], SizeExpression | None] | None = None,
) -> SizeExpression | None:
    """Return the simplest expression of the sizes that rounds to these values in ``dtype``, or None.

    The forms are ``m``, ``m + c``, ``(m + c) / 2``, ``1 / m``, ``c / m``, ``c * m``, ``m**0.5`` and ``1 / m**0.5``,
    where ``m`` is a product of sizes, or the lesser or greater of two; or else ``1 / k``, ``2 / k``, ``k**0.5``, ``1 /
    k**0.5``, ``pi / k`` and ``2 * pi / k``, where ``k`` is an expression that ``integer`` finds; or else the first ``1
    / m`` within rounding of the values. All are Python numbers, which take the dtype of the arrays beside them.
    """
    rounded = [dtype(value) for value in values]
    for product in (*_products(sizes), *_extremes(sizes)):
        for text, level, reached in _real_forms(product, values):
            if [dtype(value) for value in reached] == rounded:
                return SizeExpression(text, level, product.cost, ())
    for head, inverse, power, level in _OF_INTEGERS if integer is not None and min(values) > 0 else ():
        numbers = tuple(round(inverse(value)) for value in values)
        if min(numbers) > 0 and [dtype(_of_integer(head, number, power)) for number in numbers] == rounded:
            assert integer is not None
            found = integer(numbers)
            if found is not None:
                text = f"{found.within(ATOM)}**0.5" if power != 1 else found.within(POWER)
                return SizeExpression(f"{head} / {text}" if head else text, level, found.cost, ())
    for product in _products(sizes):  # products of reciprocals, each rounded before the multiplication
        if all(_is_next_to(1 / m, value, dtype) for m, value in zip(product.values, values, strict=True)):
            return SizeExpression(f"1 / {product.within(POWER)}", PRODUCT, product.cost, ())
    return None


def _is_next_to(number: float, value: float, dtype: Callable[[float], object]) -> bool:
    """Return whether two numbers differ by at most two units in the last place of a dtype."""
    return abs(number - value) <= 2 * float(np.spacing(np.abs(np.asarray(dtype(value)))))


def _products(sizes: Sizes) -> Iterator[SizeExpression]:
    """Yield all products of up to three sizes, short ones first."""
    for degree in range(1, _HIGHEST_DEGREE + 1):
        for names in combinations_with_replacement(sizes, degree):
            columns = zip(*(sizes[name] for name in names), strict=True)
            values = tuple(math.prod(column) for column in columns)
            yield SizeExpression(" * ".join(names), ATOM if degree == 1 else PRODUCT, 4 * degree, values)


def _extremes(sizes: Sizes) -> Iterator[SizeExpression]:
    """Yield the minimum and the maximum of each pair of sizes."""
    for (one, numbers), (other, others) in combinations(sizes.items(), 2):
        for function in (min, max):
            text = f"{function.__name__}({one}, {other})"
            yield SizeExpression(text, ATOM, _CHEAPEST_OF_TWO, tuple(map(function, numbers, others)), MORE)


def _forms(product: SizeExpression, values: Sequence[int]) -> Iterator[SizeExpression]:
    """Yield the expressions of one product that may have the values.

    The coefficients are chosen to fit the first value, or the first two; the caller compares the others.
    """
    m, text, cost = product.values, product.text, product.cost
    yield product
    yield _plus(product, values[0] - m[0], 1)
    total = values[0] + m[0]
    yield SizeExpression(f"{total} - {text}", SUM, cost + 3 + _digits(total), tuple(total - each for each in m))
    slope, rest = _line(m, values)
    if slope not in (0, 1):
        times = tuple(slope * each for each in m)
        line = SizeExpression(f"{slope} * {text}", PRODUCT, cost + 2 + _digits(slope), times, MORE if rest else FEWEST)
        yield _plus(line, rest, 1)


def _divisions(
    product: SizeExpression, values: Sequence[int], agrees: Callable[[Iterable[int]], bool]
) -> Iterator[SizeExpression]:
    """Yield the expressions that divide one product and have the values.

    There may be thousands of divisors: most are rejected by the last value, and all if the values do not grow with the
    product.
    """
    ordered = [value for _, value in sorted(zip(product.values, values, strict=True))]
    if ordered != sorted(values):
        return
    m, text, factor = product.values, product.text, product.within(PRODUCT)
    last, end, tolerance = m[-1], values[-1], abs(values[-1]) >> _TOLERATED
    farthest = _FARTHEST if product.level == ATOM else 0  # shifted products would fit too much by chance
    for divisor in _divisors(m, values):
        weight, texts = product.cost + 3 + _digits(divisor), FEWEST if divisor == 2 else MORE
        offset = values[0] - m[0] // divisor if farthest else 0
        if abs(last // divisor + offset - end) <= tolerance and agrees(each // divisor + offset for each in m):
            floor = tuple(each // divisor for each in m)
            yield _plus(SizeExpression(f"{factor} // {divisor}", PRODUCT, weight, floor, texts, divisor), offset, 2)
        for shift in (*range(-farthest, 0), *range(1, min(divisor - 1, farthest + 1)), divisor - 1):
            if abs((last + shift) // divisor - end) > tolerance or not agrees((each + shift) // divisor for each in m):
                continue
            moved = tuple((each + shift) // divisor for each in m)
            shifted = f"({text} {'+' if shift > 0 else '-'} {abs(shift)}) // {divisor}"
            yield SizeExpression(shifted, PRODUCT, weight + 3 + _digits(shift), moved, texts, divisor, shift)


def _of_two(
    products: Sequence[SizeExpression], values: Sequence[int], dtype: Callable[[int], object]
) -> Iterator[SizeExpression]:
    """Yield the sums and differences of two products, plus a number, that have the values as numbers of a ``dtype``."""
    for one, other in combinations(products, 2):
        for left, sign, right in ((one, "+", other), (one, "-", other), (other, "-", one)):
            pairs = zip(left.values, right.values, strict=True)
            both = tuple(a + b if sign == "+" else a - b for a, b in pairs)
            offset = values[0] - both[0]
            if all(dtype(each + offset) == dtype(value) for value, each in zip(values, both, strict=True)):
                texts = MORE if offset else FEWEST
                made = SizeExpression(f"{left.text} {sign} {right.text}", SUM, left.cost + right.cost + 2, both, texts)
                yield _plus(made, offset, 1)


def _plus(expression: SizeExpression, offset: int, cost: int) -> SizeExpression:
    """Return an expression plus a number, which costs ``cost`` and its length, or the expression itself for 0."""
    if not offset:
        return expression
    text = f"{expression.text} {'+' if offset > 0 else '-'} {abs(offset)}"
    values = tuple(each + offset for each in expression.values)
    cost += expression.cost + _digits(offset)
    return replace(expression, text=text, level=SUM, cost=cost, values=values, offset=expression.offset + offset)


def _of_integer(head: float, number: int, power: float) -> float:
    reached: float = number**power
    return head / reached if head else reached


def _digits(number: int) -> int:
    return abs(number).bit_length()


def _line(m: Sequence[int], values: Sequence[int]) -> tuple[int, int]:
    """Return slope and intercept of the line through the first two points, or (0, 0) if the slope is not an integer."""
    run, rise = m[1] - m[0], values[1] - values[0]
    if not run or rise % run:
        return 0, 0
    slope = rise // run
    return slope, values[0] - slope * m[0]


def _divisors(m: Sequence[int], values: Sequence[int]) -> Iterator[int]:
    """Yield the divisors that may map the range of ``m`` to the range of the values."""
    run, rise = max(m) - min(m), max(values) - min(values)
    if rise > 0:
        for divisor in range(max(2, run // (rise + 1)), min(run // max(rise - 1, 1), _GREATEST_DIVISOR) + 2):
            if divisor <= max(m):
                yield divisor


def _real_forms(product: SizeExpression, values: Sequence[float]) -> Iterator[tuple[str, int, list[float]]]:
    """Yield the forms that may have the values: text, precedence and the values of the form."""
    m, bottom = product.values, product.within(POWER)
    power = f"{product.within(ATOM)}**0.5"
    yield product.text, product.level, [float(each) for each in m]
    offset = values[0] - m[0]
    if not float(offset).is_integer():  # others are integers
        moved = f"{product.text} {'+' if offset > 0 else '-'} {abs(offset):g}"
        yield moved, SUM, [each + float(f"{offset:g}") for each in m]
    offset = 2 * values[0] - m[0]
    if offset and float(offset).is_integer():
        moved = f"({product.text} {'+' if offset > 0 else '-'} {abs(offset):g}) / 2"
        yield moved, PRODUCT, [(each + offset) / 2 for each in m]
    yield f"1 / {bottom}", PRODUCT, [1 / each for each in m]
    for constant in _constants(values[0] * m[0]):
        yield f"{constant:g} / {bottom}", PRODUCT, [constant / each for each in m]
    yield power, POWER, [each**0.5 for each in m]
    yield f"1 / {power}", PRODUCT, [1 / each**0.5 for each in m]
    slope = values[0] / m[0]
    for constant in (*_constants(slope), float(f"{slope:.{_DIGITS}g}")):
        yield f"{constant:.{_DIGITS}g} * {product.within(PRODUCT)}", PRODUCT, [constant * each for each in m]


def _constants(number: float) -> list[float]:
    """Return short numbers close to a number, the shortest first, except 0 and 1."""
    return [short for short in (round(number), round(number, 6)) if short not in (0, 1)]
