"""Padded parts that are added are put side by side; what overlaps is added as it was."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.passes.raising import assert_agrees, entry, main

NUMBERS = (
    "n0 = f32[1] slice(x), slice={[0:1]}\nn1 = f32[1] slice(x), slice={[1:2]}\nn2 = f32[1] slice(y), slice={[0:1]}"
)

IN_MATRICES = NUMBERS + "".join(f"\nm{k} = f32[1,1] reshape(n{k})" for k in range(3))
MATRIX = "m1 0_1x0_1", "m0 1_0x1_0", "m0 1_0x0_1"
TURNED = "t = f32[2,3] reshape(y)\nm = f32[3,2] negate(x)\nn = f32[2,3] negate(t)"


def of_two(*lines: str, parts: str = "f32[3]", functions: str = "") -> str:
    return entry(f"x = {parts} parameter(0)", f"y = {parts} parameter(1)", "zero = f32[] constant(0)", *lines)


def sum_of(*pads: str, parts: str = "f32[3]", whole: str = "f32[6]", before: str = "") -> str:
    """The sum, from the left, of an operand padded by widths each: ``x 0_3``."""
    lines, terms = before.splitlines(), []
    for k, pad in enumerate(pads):
        operand, _, widths = pad.partition(" ")
        lines += [f"p{k} = {whole} pad({operand}, zero), padding={widths}"] if widths else []
        terms.append(f"p{k}" if widths else operand)
    total = terms[0]
    for k, term in enumerate(terms[1:]):
        lines.append(f"sum{k} = {whole} add({total}, {term})")
        total = f"sum{k}"
    return of_two(*lines, parts=parts)


RAISED = {
    "side by side": (sum_of("x 0_3", "y 3_0"), "return np.concatenate([x, y])"),
    "in any order": (sum_of("x 3_0", "y 0_3"), "return np.concatenate([y, x])"),
    "with zeros around": (sum_of("x 1_4", "y 4_1", whole="f32[8]"), "return np.pad(np.concatenate([x, y]), 1)"),
    "of an axis": (
        sum_of("x 0_0x0_2", "y 0_0x2_0", parts="f32[3,2]", whole="f32[3,4]"),
        "return np.concatenate([x, y], axis=1)",
    ),
    "numbers": (
        sum_of("n0 2_0", "n1 0_2", "n2 1_1", whole="f32[3]", before=NUMBERS),
        "return np.array([x[1], y[0], x[0]])",
    ),
    "numbers with gaps": (
        sum_of("n0 3_0", "n1 0_3", whole="f32[4]", before=NUMBERS),
        "return np.array([x[1], 0, 0, x[0]], dtype=np.float32)",
    ),
    "numbers of a matrix": (
        sum_of(*MATRIX, "m2 1_0x0_1", parts="f32[3]", whole="f32[2,2]", before=IN_MATRICES),
        "return np.array([[x[1], 0], [x[0] + y[0], x[0]]], dtype=np.float32)",
    ),
    "at one place": (sum_of("x 0_3", "y 3_0", "y 0_3"), "return np.concatenate([x + y, y])"),
    "beside others": (
        sum_of("w", "x 0_3", "y 3_0", before="w = f32[6] iota(), iota_dimension=0"),
        "return np.arange(6, dtype=np.float32) + np.concatenate([x, y])",
    ),
    "of pads of pads": (
        of_two(
            "a = f32[4] pad(x, zero), padding=1_0",
            "b = f32[7] pad(a, zero), padding=0_3",
            "c = f32[7] pad(y, zero), padding=4_0",
            "s = f32[7] add(b, c)",
        ),
        "return np.pad(np.concatenate([x, y]), (1, 0))",
    ),
    "of differences": (
        sum_of("x 0_1", "m 1_0", whole="f32[4]", before="m = f32[3] negate(x)"),
        "return np.diff(np.pad(x, 1))",
    ),
    "of differences with a minus": (
        sum_of("m 0_0x0_1", "x 0_0x1_0", parts="f32[2,3]", whole="f32[2,4]", before="m = f32[2,3] negate(x)"),
        "return -np.diff(np.pad(x, ((0, 0), (1, 1))))",
    ),
    "of differences along each axis": (
        sum_of("m 0_0x0_1", "n 1_0x0_0", "x 0_0x1_0", "t 0_1x0_0", parts="f32[3,2]", whole="f32[3,3]", before=TURNED),
        "difference = np.diff(np.pad(y.reshape(2, 3), ((1, 1), (0, 0))), axis=0)\n"
        "return difference - np.diff(np.pad(x, ((0, 0), (1, 1))))",
    ),
}


def arguments(text: str) -> list[np.ndarray]:
    sizes = text.split("f32[", 1)[1].split("]")[0]
    shape = tuple(map(int, sizes.split(",")))
    x = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    return [x, np.float32(10) / x]


@pytest.mark.parametrize(("text", "expected"), RAISED.values(), ids=RAISED)
def test_parts_side_by_side(text, expected):
    assert_agrees(text, *arguments(text), without="sums_of_pads")
    assert main(text) == expected


STAYING = {
    "overlapping": sum_of("x 0_2", "y 2_0", whole="f32[5]"),
    "of numbers apart in a long row": sum_of("n0 20_0", "n1 0_20", whole="f32[21]", before=NUMBERS),
    "of a few numbers of a matrix": sum_of(
        "m1 0_1x0_2", "m0 1_0x2_0", parts="f32[3]", whole="f32[2,3]", before=IN_MATRICES
    ),
    "of other numbers": of_two(
        "one = f32[] constant(1)",
        "a = f32[6] pad(x, one), padding=0_3",
        "b = f32[6] pad(y, zero), padding=3_0",
        "s = f32[6] add(a, b)",
    ),
    "no minus": sum_of("x 0_1", "y 1_0", whole="f32[4]"),
    "two places apart": sum_of("x 0_2", "m 2_0", whole="f32[5]", before="m = f32[3] negate(x)"),
}


@pytest.mark.parametrize("text", STAYING.values(), ids=STAYING)
def test_what_stays(text):
    assert_agrees(text, *arguments(text), without="sums_of_pads")
    assert "pad(" in main(text) and " + " in main(text)


def test_a_difference_beside_a_part_stays():
    text = sum_of("m 0_0x0_1", "x 0_0x1_0", "t 0_1x0_0", parts="f32[3,2]", whole="f32[3,3]", before=TURNED)
    assert_agrees(text, *arguments(text), without="sums_of_pads")
    assert "np.diff" not in main(text)


def test_a_part_that_is_read_elsewhere_is_padded_once():
    text = of_two(
        "a = f32[6] pad(x, zero), padding=0_3",
        "b = f32[6] pad(y, zero), padding=3_0",
        "s = f32[6] add(a, b)",
        "t = (f32[6], f32[6]) tuple(s, a)",
    )
    assert_agrees(text, *arguments(text), without="sums_of_pads")
    assert "np.concatenate([x, y])" in main(text)
