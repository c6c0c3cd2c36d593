"""The AfterAll section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.transpile.hlo.builder import (
    XlaBuilder,
)


def test_tokens_join() -> None:
    b = XlaBuilder("tokens")
    joined = b.after_all([b.create_token(), b.create_token()])
    assert str(joined.shape) == "token[]"
    assert len(joined.instruction.operands) == 2
