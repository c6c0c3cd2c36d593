"""Every collective on threads as replicas: what XLA computes on as many CPU devices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import xla2py
from xla2py.tests.replicas import programs
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_on_devices_in_child
from xla2py.transpile.equivalence.verdicts.comparison import Budget, compare

SUM = Budget(terms=8)  # XLA rounds a narrow sum at each term, and adds in an order of its own


def wrong(several: Iterable[programs.SeveralDevices]) -> list[str]:
    """The programs whose emitted module does not give what XLA gives."""
    found = []
    for one in several:
        inputs = one.inputs()
        expected = run_hlo_on_devices_in_child(one.text, inputs, one.partitions)
        actual: list[Any] = xla2py.emit(one.module()).load().run_local(inputs)
        for device, (want, have) in enumerate(zip(expected, actual, strict=True)):
            found += [f"{one}, device {device}: {leaf}" for leaf in compare(want, have, SUM) if not leaf.status.is_good]
    return found


@pytest.mark.parametrize("table", ["grouped", "element_types", "reducers", "others", "control"])
def test_emitted_replicas_do_what_xla_does(table):
    several = list(getattr(programs, table)())
    assert len(several) >= 3
    assert wrong(several) == []
