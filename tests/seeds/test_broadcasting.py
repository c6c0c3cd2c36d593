"""Worked examples of the broadcasting semantics, written as HLO: every broadcast is explicit."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.seeds.examples import Example, check_emitted, check_xla, example
from xla2py.transpile.hlo.source import HloVerificationError


def sizes(array: np.ndarray) -> str:
    return ",".join(map(str, array.shape))


def added(name: str, low: np.ndarray, dimensions: str, high: np.ndarray, expected: np.ndarray) -> Example:
    """``high + broadcast(low)``, the dimensions of ``low`` becoming ``dimensions`` of the sum."""
    body = f"""x = f32[{sizes(high)}] parameter(0)
    v = f32[{sizes(low)}] parameter(1)
    b = f32[{sizes(high)}] broadcast(v), dimensions={{{dimensions}}}
    ROOT r = f32[{sizes(high)}] add(x, b)"""
    return example(name, body, (high, low), np.float32(expected))


def degenerate(name: str, left: np.ndarray, right: np.ndarray, expected: np.ndarray) -> Example:
    """Both sides stretched where their size is 1: a reshape that drops the 1s, then a broadcast."""
    body, names = [], []
    for number, array in enumerate((left, right)):
        kept = [d for d in range(array.ndim) if array.shape[d] != 1 or expected.shape[d] == 1]
        body += [
            f"p{number} = f32[{sizes(array)}] parameter({number})",
            f"q{number} = f32[{','.join(str(array.shape[d]) for d in kept)}] reshape(p{number})",
            f"r{number} = f32[{sizes(expected)}] broadcast(q{number}), dimensions={{{','.join(map(str, kept))}}}",
        ]
        names.append(f"r{number}")
    body.append(f"ROOT r = f32[{sizes(expected)}] add({', '.join(names)})")
    return example(name, "\n".join(body), (left, right), expected)


def numbers(*shape: int) -> np.ndarray:
    return np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)


CUBOID, FACE = numbers(2, 3, 4), numbers(3, 4) * 100
FOUR = numbers(2, 3, 4, 5)

EXAMPLES = [
    added("cuboid and matrix", FACE, "1,2", CUBOID, CUBOID + FACE),
    *(
        added(
            f"T in dimension {dimension} of MxNxPxQ",
            (vector := numbers(FOUR.shape[dimension]) * 1000),
            str(dimension),
            FOUR,
            FOUR + np.expand_dims(vector, [d for d in range(4) if d != dimension]),
        )
        for dimension in range(4)
    ),
    *(
        added(
            f"TxV in dimensions {first},{second} of MxNxPxQ",
            (matrix := numbers(FOUR.shape[first], FOUR.shape[second]) * 1000),
            f"{first},{second}",
            FOUR,
            FOUR + np.expand_dims(matrix, [d for d in range(4) if d not in (first, second)]),
        )
        for first, second in [(2, 3), (1, 2), (0, 3)]
    ),
    degenerate("(2,1) and (2,3)", x := numbers(2, 1), y := numbers(2, 3), x + y),
    degenerate("(1,2,5) and (7,2,5)", x := numbers(1, 2, 5), y := numbers(7, 2, 5), x + y),
    degenerate("(7,2,5) and (7,1,5)", x := numbers(7, 2, 5), y := numbers(7, 1, 5), x + y),
    degenerate("(2,1) and (1,3): an outer operation", x := numbers(2, 1), y := numbers(1, 3), x + y),
    example(
        "1x2 and 4x3x1 with broadcast_dimensions (1, 2)",
        """m = f32[1,2] parameter(0)
        x = f32[4,3,1] parameter(1)
        intermediate = f32[4,1,2] broadcast(m), dimensions={1,2}
        thin = f32[4,2] reshape(intermediate)
        left = f32[4,3,2] broadcast(thin), dimensions={0,2}
        flat = f32[4,3] reshape(x)
        right = f32[4,3,2] broadcast(flat), dimensions={0,1}
        ROOT r = f32[4,3,2] add(left, right)""",
        (m := np.float32([[100, 200]]), x := numbers(4, 3, 1)),
        m + x,
    ),
]


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_emitted(case):
    check_emitted(case)


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_xla_agrees(case):
    check_xla(case)


def test_incompatible_sizes_are_refused():
    text = """HloModule example
    ENTRY main {
      x = f32[7,2,5] parameter(0)
      y = f32[7,2,6] parameter(1)
      ROOT r = f32[7,2,5] add(x, y)
    }"""
    with pytest.raises(HloVerificationError):
        xla2py.emit(text, target="numpy")
