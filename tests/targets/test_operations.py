"""A sample of the cases of every operation: what CuPy does not refuse it does as NumPy does, Dask does everything.

``XLA2PY_ALL_CASES=1`` runs all of them on Dask.
"""

import os
from collections.abc import Iterator

import pytest

from xla2py.tests.operations.case import Case
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.targets.running import differences, on_dask, on_device, on_numpy, uneven
from xla2py.transpile.errors import UnsupportedError

EVERY = 17
CHUNKS = ("", "1", "2", "3")  # the plan's own, and lengths that are forced on every axis that can be cut


def sample(every: int = EVERY) -> list[Case]:
    return [one for found in cases_by_opcode().values() for one in found[::every]]


def wrong() -> Iterator[str | None]:
    """For each case that CuPy takes: what is wrong, or None."""
    for one in sample():
        text = one.text()
        try:
            results = on_device(text, one.inputs)
        except UnsupportedError:
            continue
        except Exception as error:
            yield f"{one}: {error!r}"
        else:
            found = differences(on_numpy(text, one.inputs), results, one.budget)
            yield "\n".join([str(one), *found]) if found else None


def test_what_cupy_does_not_refuse_is_right():
    pytest.importorskip("cupy", reason="CuPy is not installed")
    verdicts = list(wrong())
    assert [verdict for verdict in verdicts if verdict] == []
    assert len(verdicts) > len(sample()) // 4


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
    cases = sample(1 if os.environ.get("XLA2PY_ALL_CASES") else 4 * EVERY)
    assert len(cases) >= len(cases_by_opcode())
    assert [verdict for one in cases if (verdict := wrong_on_dask(one, chunks))] == []
