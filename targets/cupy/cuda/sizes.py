"""Numbers that depend on sizes, in C++ kernels. Sizes are 64-bit arguments, before the arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ....transpile.emission.any_size.expressions import SizeExpression, number_expression
from ....transpile.python.grammar import POWER, PRODUCT

# Reserved words of CUDA C++, and functions that the macros call.
WORDS = frozenset(
    "alignas alignof asm auto bool case catch char class const constexpr const_cast decltype default delete do double "
    "dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept nullptr operator private protected public register reinterpret_cast return short signed sizeof "
    "static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename "
    "union unsigned using virtual void volatile while and or not xor bitand bitor compl float16 bfloat16 complex at i "
    "n threadIdx blockIdx blockDim gridDim infinite infinite_double not_a_number "
    "not_a_number_double to_bfloat16 larger smaller squared sigmoid saturate sign popcount count_leading_zeros mulhi "
    "int_divide int_remainder int_power shift_left shift_right_logical shift_right_arithmetic logistic rsqrt "
    "round_half_away abs isfinite isnan min max half bool_ linux unix j0 j1 jn y0 y1 yn gamma signbit isinf "
    "round".split()
)
DOUBLE_WORDS = frozenset(  # functions of double, which only float64 kernels call
    "exp expm1 log log1p sqrt cbrt sin cos tan tanh sinh cosh asin acos asinh acosh atanh floor ceil rint erf pow "
    "atan2 fabs fmod".split()
)


_ROOT = re.compile(r"(\w+|\([^()]*\))\*\*0\.5")
_CONSTANT = re.compile(r"(-?[\d.]+(?:e[+-]?\d+)?)(?= [/*] )")
_TYPES = {"u": "unsigned", "ull": "unsigned long long"}
_NARROW = ("float16", "bfloat16")


class CudaSizes:
    """Writes numbers that depend on sizes in C++."""

    reserved = WORDS | DOUBLE_WORDS | {"row", "column", "inside", "step", "there"}

    def integer(self, found: SizeExpression, level: int, kind: str, before: str) -> str:
        """Return an integer; it is cast if its type is unsigned or if it initializes a narrow float."""
        kind = "float" if before in _NARROW else _TYPES.get(kind, "")
        text = found.within(POWER if kind else level).replace(" // ", " / ")
        return f"({kind}){text}" if kind else text

    def real(self, values: Sequence[float], names: dict[str, Sequence[int]], level: int, kind: str) -> str | None:
        """Return a float with the rounding of float64 arithmetic; None if no expression of the sizes gives it."""
        is_double = kind == ""
        found = number_expression(values, names, np.float64 if is_double else np.float32)
        if found is None:
            return None
        constant, has_root = _CONSTANT.match(found.text), "**0.5" in found.text
        is_rounded = constant is not None and float(np.float32(constant[1])) != float(constant[1])
        if is_double or is_rounded or (constant is not None and has_root):
            text = _ROOT.sub(r"sqrt((double)\1)", found.text)
            text = _CONSTANT.sub(lambda match: _with_point(match[1]), text, count=1)
            return f"(float)({text})" if not is_double else f"({text})" if found.level < level else text
        text = _ROOT.sub(lambda match: f"sqrtf({match[1].strip('()')})", found.text)
        text = _CONSTANT.sub(lambda match: f"{_with_point(match[1])}f", text, count=1)
        return f"({text})" if found.level < min(level, POWER) and found.level <= PRODUCT else text


def _with_point(number: str) -> str:
    return number if re.search("[.e]", number) else f"{number}.0"


CUDA = CudaSizes()
