"""The coverage table says of every opcode and target what emission does."""

import pytest

from xla2py.tests.operations.tables import statuses
from xla2py.transpile.emission.module.support_table import IN_PART, SUPPORTED, UNSUPPORTED, coverage
from xla2py.transpile.errors import UsageError
from xla2py.transpile.hlo.opcodes import OPCODES
from xla2py.transpile.passes.to_array import RULES
from xla2py.transpile.target import target_names

ORDER = [UNSUPPORTED, IN_PART, SUPPORTED]
TABLES = statuses()


@pytest.mark.parametrize("target", target_names())
def test_every_opcode_has_a_status(target):
    assert set(TABLES[target].values()) <= set(ORDER)


def test_numpy_says_whatever_is_lowered():
    unsupported = {opcode for opcode, status in TABLES["numpy"].items() if status == UNSUPPORTED}
    assert unsupported == set(OPCODES) - set(RULES) - {"parameter"}


@pytest.mark.parametrize("target", ["cupy", "dask"])
def test_no_target_says_more_than_numpy(target):
    most = TABLES["numpy"]
    assert [o for o, status in TABLES[target].items() if ORDER.index(status) > ORDER.index(most[o])] == []


@pytest.mark.parametrize(
    ("opcode", "cupy", "dask"),
    [
        ("add", SUPPORTED, SUPPORTED),
        ("reduce", SUPPORTED, SUPPORTED),
        ("dot", SUPPORTED, SUPPORTED),
        ("convert", SUPPORTED, SUPPORTED),
        ("shift-left", SUPPORTED, SUPPORTED),
        ("while", SUPPORTED, SUPPORTED),
        ("all-gather", SUPPORTED, SUPPORTED),
        ("erf", SUPPORTED, SUPPORTED),
        ("send", SUPPORTED, SUPPORTED),
    ],
)
def test_statuses(opcode, cupy, dask):
    assert (TABLES["cupy"][opcode], TABLES["dask"][opcode]) == (cupy, dask)


def test_an_unknown_target_is_named():
    with pytest.raises(UsageError, match="there is no target 'fortran'"):
        coverage("fortran")
