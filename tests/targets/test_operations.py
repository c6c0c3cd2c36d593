"""Cases of every operation on Dask, in any chunks; on CuPy they are in tests/ladder.

``make test`` takes some of each opcode, each in one way; ``make prove`` all of them in every way.
"""

import numpy as np
import pytest

from xla2py.tests.operations.case import Case
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.targets.running import differences, on_dask, on_numpy, single_elements, uneven
from xla2py.tests.whole import much

EVERY = 20
# How arrays are cut, and the chunks of the plan: its own, or lengths that are forced on every axis that can be cut.
WAYS = ((uneven, ""), (uneven, "1"), (uneven, "2"), (single_elements, ""), (np.asarray, ""))


def sample(every: int) -> list[Case]:
    return [one for found in cases_by_opcode().values() for one in found[::every]]


def wrong_on_dask(one: Case, cut, chunks: str) -> str | None:
    text = one.text()
    try:
        results = on_dask(text, one.inputs, cut, chunks)
    except Exception as error:
        return f"{one} in chunks of {chunks}: {error!r}"
    found = differences(on_numpy(text, one.inputs), results, one.budget)
    return "\n".join([f"{one} in chunks of {chunks}", *found]) if found else None


@pytest.mark.parametrize("number", range(len(WAYS)))
def test_every_operation_in_chunks_is_that_of_numpy(number):
    pytest.importorskip("dask", reason="Dask is not installed")
    cases = sample(much(EVERY, 1))
    assert len(cases) >= len(cases_by_opcode())
    cases = much(cases[number :: len(WAYS)], cases)
    assert [verdict for one in cases if (verdict := wrong_on_dask(one, *WAYS[number]))] == []
