"""Misuse is refused at once, with the broken rule: of each call the code and a part of the message."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xla2py.transpile.hlo import builder
from xla2py.transpile.hlo.builder import (
    F32,
    DotDimensionNumbers,
    GatherDimensionNumbers,
    ScatterDimensionNumbers,
    XlaBuilder,
    make_shape,
    parse_shape,
)
from xla2py.transpile.hlo.source import HloVerificationError

REFUSED = re.findall(r"^(XP\d+) (.*) <- (.*)$", Path(__file__).with_name("refused.txt").read_text(), re.MULTILINE)
SHAPES = (
    "x=f32[4] m=f32[4,3] e=f32[2,3,4] n=s32[4] i=s32[] s=f32[] p=pred[] q=pred[4] c=c64[4] h=f16[4] u=u64[3] "
    "img=f32[2,4,5,5] k=f32[6,2,3,3] pair=(f32[4],s32[]) d=f32[<=4,6]"
)


def add(a, c):
    return a + c


def less(a, c):
    return a < c


def computation(function: Callable[..., Any], parameters: int = 1) -> XlaBuilder:
    """A builder with the function of so many f32 scalars, called ``negated`` or ``reducer``."""
    inner = XlaBuilder("negated" if parameters == 1 else "reducer")
    function(*(inner.parameter(number, make_shape(F32, [])) for number in range(parameters)))
    return inner


WORDS = {
    **vars(builder),
    **{"np": np, "add": add, "less": less, "computation": computation, "DOT": DotDimensionNumbers},
    "ROWS": GatherDimensionNumbers([1], [0], [0], index_vector_dim=1),
    "PUT": ScatterDimensionNumbers([1], [0], [0], index_vector_dim=1),
}


@pytest.mark.parametrize(("code", "message", "call"), REFUSED, ids=[" ".join(row[:2]) for row in REFUSED])
def test_refused(code: str, message: str, call: str) -> None:
    b = XlaBuilder("refused")
    named = [pair.split("=", 1) for pair in SHAPES.split()]
    names = {name: b.parameter(k, parse_shape(shape), name) for k, (name, shape) in enumerate(named)}
    with pytest.raises(HloVerificationError) as caught:
        eval(call, {**WORDS, **names, "b": b, "t": b.create_token()})
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert message in diagnostic.message


def test_a_refused_call_leaves_the_builder_as_it_was() -> None:
    b = XlaBuilder("kept")
    x = b.parameter(0, make_shape(F32, [4]), "x")
    with pytest.raises(HloVerificationError):
        b.cholesky(x, lower=True)
    assert b.build().entry.root is x.instruction


def test_an_op_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(XlaBuilder("truth").zero(F32) < 1.0)


def test_groups_are_checked_against_the_replica_count_at_build() -> None:
    b = XlaBuilder("groups")
    b.all_reduce(b.parameter(0, make_shape(F32, [4])), add, [[0, 1]])
    b.build(replica_count=2)
    with pytest.raises(HloVerificationError, match="XP220: all-reduce: the replica groups name 2 replicas of 4"):
        b.build(replica_count=4)
