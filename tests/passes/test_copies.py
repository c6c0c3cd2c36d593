"""Rows of copies: what they are given and give, which of them differ, and what hangs together."""

import pytest

from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.passes.outlining.copies import Rows, connected, saving

TEXT = """
HloModule layers
ENTRY main {
  x = f32[4] parameter(0)
  w0 = f32[4] parameter(1)
  w1 = f32[4] parameter(2)
  wide = f32[2] parameter(3)
  product0 = f32[4] multiply(x, w0)
  sine0 = f32[4] sine(product0)
  product1 = f32[4] multiply(sine0, w1)
  sine1 = f32[4] sine(product1)
  whole = f32[4] cosine(x)
  narrow = f32[2] cosine(wide)
  out = f32[4] add(sine1, product0)
  ROOT both = (f32[4], f32[4], f32[2]) tuple(out, whole, narrow)
}
"""


@pytest.fixture
def value():
    """The instructions by their names."""
    return {each.name: each for each in parse_module(TEXT).entry.instructions}


def names(rows):
    return [tuple(each.name for each in row) for row in rows]


def rows_of(value, *rows):
    return Rows(tuple(value[name] for name in row.split()) for row in rows)


def test_a_call_is_given_what_comes_from_outside_and_gives_what_is_read_there(value):
    rows = rows_of(value, "product0 product1", "sine0 sine1")
    readers = {each: [user for user in value.values() if each in user.operands] for each in value.values()}
    found = rows.outline(lambda column: column[0] is column[1], readers.__getitem__)
    assert names(found.inputs) == [("x", "sine0"), ("w0", "w1")]
    assert names(found.outputs) == [("product0", "product1"), ("sine0", "sine1")]
    assert (found.count, found.values, found.saving(10)) == (2, 4, saving(2, 10, 4)) == (2, 4, 12)
    assert not rows.differing()


def test_the_caller_reads_what_a_function_returns(value):
    rows = rows_of(value, "sine0 sine1")
    assert rows.outputs(lambda each: []) == []
    assert rows.outputs(lambda each: [None] if each.name == "sine1" else []) == [0]


@pytest.mark.parametrize("row", ["sine0 whole", "whole narrow"])
def test_rows_differ_by_what_is_of_one_copy_alone_and_by_shapes_from_outside(value, row):
    rows = rows_of(value, "product0 product1", row)
    assert rows.differing() == {1}
    rows.drop({1})
    assert names(rows.rows) == [("product0", "product1")] and rows.copy_of(value[row.split()[0]]) == -1


def test_parts_that_nothing_joins_are_told_apart(value):
    inside = [value[name] for name in ("product0", "whole", "narrow", "sine0", "product1")]
    found = connected(inside, lambda each: each.operands)
    assert names(found) == [("product0", "sine0", "product1"), ("whole",), ("narrow",)]
