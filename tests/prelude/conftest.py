"""XLA's CPU backend as the judge of the prelude, one instruction at a time."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from xla2py.tests.cut_forms import in_both_forms
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.hlo.element_types import from_dtype


def shape_text(array: Any) -> str:
    """``f32[2,3]`` for an array, ``(f32[2], s32[])`` for a tuple of arrays."""
    if isinstance(array, tuple):
        return f"({', '.join(map(shape_text, array))})"
    return f"{from_dtype(array.dtype)}[{','.join(map(str, array.shape))}]"


def attribute_text(value: Any) -> str:
    """``{1,2}`` for a tuple, ``true`` for True, anything else as it prints."""
    if isinstance(value, tuple):
        return "{" + ",".join(map(str, value)) + "}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def run_instruction(
    opcode: str, operands: Sequence[np.ndarray], result: Any, computations: str = "", **attributes: Any
) -> list[np.ndarray]:
    """XLA's results of one instruction; ``result`` has the arrays whose dtypes and shapes it must return."""
    parameters = [f"p{k} = {shape_text(array)} parameter({k})" for k, array in enumerate(operands)]
    call = f"{opcode}({', '.join(f'p{k}' for k in range(len(operands)))})"
    root = ", ".join([call, *(f"{name}={attribute_text(value)}" for name, value in attributes.items())])
    body = "\n  ".join([*parameters, f"ROOT r = {shape_text(result)} {root}"])
    return run_hlo(f"HloModule m\n{computations}\nENTRY main {{\n  {body}\n}}\n", *operands)


def assert_same(ours: Any, theirs: Sequence[np.ndarray], rtol: float = 0, atol: float = 0) -> None:
    """Equal dtypes, shapes and values (NaN equals NaN, subnormal equals 0), within tolerances of the largest value."""
    ours = ours if isinstance(ours, tuple) else (ours,)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert isinstance(mine, np.ndarray | np.generic)
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
        if mine.dtype.kind in "biu" or from_dtype(mine.dtype).is_integral:
            np.testing.assert_array_equal(mine, other)
        else:
            wide = np.complex128 if mine.dtype.kind == "c" else np.float64
            tiny = 1e-37 if mine.dtype != np.float64 else 0
            np.testing.assert_allclose(mine.astype(wide), other.astype(wide), rtol=rtol, atol=max(atol, tiny))


@pytest.fixture(scope="session")
def xla() -> Callable[..., list[np.ndarray]]:
    """See :func:`run_instruction`."""
    return run_instruction


@pytest.fixture(scope="session")
def xla_each() -> Callable[..., list[np.ndarray]]:
    """``xla_each(instructions, operands)``: XLA's results of several instructions on the same operands, in one program.

    An instruction is (opcode, element type and shape of the result, such as ``f32[2,3]``).
    """

    def run(instructions: Sequence[tuple[str, str]], operands: Sequence[np.ndarray]) -> list[np.ndarray]:
        names = [f"p{k}" for k in range(len(operands))]
        body = [f"p{k} = {shape_text(array)} parameter({k})" for k, array in enumerate(operands)]
        body += [f"r{k} = {shape} {op}({', '.join(names)})" for k, (op, shape) in enumerate(instructions)]
        results = ", ".join(f"r{k}" for k in range(len(instructions)))
        body.append(f"ROOT all = ({', '.join(shape for _, shape in instructions)}) tuple({results})")
        return run_hlo("HloModule m\nENTRY main {\n  " + "\n  ".join(body) + "\n}\n", *operands)

    return run


@pytest.fixture(scope="session")
def agrees() -> Callable[..., None]:
    """``agrees(ours, opcode, operands, attribute=..)``: XLA runs that instruction and returns the same arrays."""

    def check(
        ours: Any, opcode: str, operands: Sequence[np.ndarray], rtol: float = 0, atol: float = 0, **attributes: Any
    ) -> None:
        assert_same(ours, run_instruction(opcode, operands, ours, **attributes), rtol, atol)

    return check


# The tests whose functions also run as they are cut to each call: functions with options.
CUT = frozenset(
    f"test_{name}" for name in ("convolution", "indexing", "lapack", "linalg", "normalization", "ordering", "windows")
)


@pytest.fixture(scope="module", autouse=True)
def reference(unoptimised_xla: None) -> None:
    """XLA compiles a program for nearly every test here, to run it once."""


@pytest.fixture(scope="module", autouse=True)
def cut_forms(request: pytest.FixtureRequest) -> Iterator[None]:
    """Functions of the prelude that a test calls run as they are and as they are cut."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in list(vars(request.module).items()):
            if request.module.__name__.rpartition(".")[2] in CUT and in_both_forms(value) is not value:
                patch.setattr(request.module, name, in_both_forms(value))
        yield
