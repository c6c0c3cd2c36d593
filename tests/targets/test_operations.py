"""A sample of the cases of every operation on Dask; on CuPy they are in tests/ladder.

``make prove`` runs all of them on Dask.
"""

import pytest

from xla2py.tests.operations.case import Case
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.targets.running import differences, on_dask, on_numpy, uneven
from xla2py.tests.whole import much

EVERY = 68
CHUNKS = ("", "1", "2")  # the plan's own, and lengths that are forced on every axis that can be cut


def sample(every: int) -> list[Case]:
    return [one for found in cases_by_opcode().values() for one in found[::every]]


def wrong_on_dask(one: Case, chunks: str) -> str | None:
    text = one.text()
    try:
        results = on_dask(text, one.inputs, uneven, chunks)
    except Exception as error:
        return f"{one} in chunks of {chunks}: {error!r}"
    found = differences(on_numpy(text, one.inputs), results, one.budget)
    return "\n".join([f"{one} in chunks of {chunks}", *found]) if found else None


@pytest.mark.parametrize("chunks", CHUNKS)
def test_every_operation_in_chunks_is_that_of_numpy(chunks):
    pytest.importorskip("dask", reason="Dask is not installed")
    cases = sample(much(EVERY, 1))
    assert len(cases) >= len(cases_by_opcode())
    cases = much(cases[CHUNKS.index(chunks) :: len(CHUNKS)], cases)
    assert [verdict for one in cases if (verdict := wrong_on_dask(one, chunks))] == []
