"""Every operation: builder -> text -> XLA gives the same numbers as builder -> NumPy code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xla2py import emit
from xla2py.tests.builder.worked import assert_equal, check_emitted
from xla2py.transpile.equivalence.inputs.generate import make_inputs
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_on_devices_in_child
from xla2py.transpile.hlo.builder.examples import example, operations
from xla2py.transpile.hlo.equality import structurally_equal
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.hlo.verifier import verify


def _blocks(scale: Any, size: int, axis: int) -> Any:
    return np.repeat(scale, size, axis)


def _ragged(x: Any, y: Any) -> Any:
    return np.stack([row @ y[group] for row, group in zip(x, (0, 1, 1, 2, 2), strict=True)])


# XLA's CPU backend has no implementation; the seed's formula in NumPy judges instead.
BY_FORMULA = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atanh": np.arctanh,
    "cosh": np.cosh,
    "sinh": np.sinh,
    "mulhi": lambda x, y: (x.astype(np.int64) * y >> 32).astype(np.int32),
    "ragged_dot": _ragged,
    "scaled_dot": lambda x, y, p, q: (x * _blocks(p, 2, 1)) @ (y * _blocks(q, 2, 0)),
}
# They wait for another replica or for the host.
WAITING = {"infeed", "infeed_with_token", "outfeed", "outfeed_with_token"}
WAITING |= {"send", "send_with_token", "recv", "recv_with_token"}
RANDOM = {"rng_uniform", "rng_normal"}  # XLA's numbers differ from run to run
NOT_ON_CPU = {"ragged_all_to_all", "collective_broadcast", "collective_reduce"}


@pytest.mark.parametrize("operation", operations())
def test_text_reads_back_as_the_same_valid_module(operation: str) -> None:
    module = example(operation).build()
    again = parse_module(print_module(module))
    verify(again)
    assert structurally_equal(module, again, labels=False)


@pytest.mark.parametrize("operation", sorted(set(operations()) - WAITING - RANDOM - NOT_ON_CPU))
def test_xla_and_the_emitted_code_agree(operation: str) -> None:
    module = example(operation).build()
    text, inputs = print_module(module), make_inputs(module)
    if module.replica_count > 1:
        rows = [[array + array.dtype.type(replica) for array in inputs] for replica in range(module.replica_count)]
        results = run_hlo_on_devices_in_child(text, rows)
        for by_xla, have in zip(results, emit(module, format=False).load().run_local(rows), strict=True):
            assert_equal(by_xla, have)
        return
    if operation in BY_FORMULA:
        with np.errstate(all="ignore"):
            expected = BY_FORMULA[operation](*inputs)
    else:
        expected = run_hlo(text, *inputs)
    check_emitted(module, inputs, expected)


@pytest.mark.parametrize("operation", sorted(RANDOM))
def test_random_numbers_have_the_shape_and_range(operation: str) -> None:
    (numbers,) = run_hlo(print_module(example(operation).build()))
    assert (numbers.dtype, numbers.shape) == (np.float32, (4,))
    assert operation == "rng_normal" or ((numbers >= 0) & (numbers < 1)).all()


def test_the_judges_agree_on_what_a_wrong_result_is() -> None:
    with pytest.raises(AssertionError, match="expected 1"):
        assert_equal([np.float32(1.0)], [np.float32(1.5)])
