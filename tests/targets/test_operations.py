"""A sample of the cases of every operation: what CuPy and Dask do not refuse they do as NumPy does."""

from collections.abc import Iterator

import pytest

from xla2py.tests.operations.case import Case
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.targets.running import differences, on_dask, on_device, on_numpy, uneven
from xla2py.transpile.errors import UnsupportedError

EVERY = 17
RUN = {"cupy": on_device, "dask": lambda text, inputs: on_dask(text, inputs, uneven)}


def sample() -> list[Case]:
    return [one for found in cases_by_opcode().values() for one in found[::EVERY]]


def wrong(target: str) -> Iterator[str | None]:
    """For each case that the target takes: what is wrong, or None."""
    for one in sample():
        text = one.text()
        try:
            results = RUN[target](text, one.inputs)
        except UnsupportedError:
            continue
        except Exception as error:
            yield f"{one}: {error!r}"
        else:
            found = differences(on_numpy(text, one.inputs), results, one.budget)
            yield "\n".join([str(one), *found]) if found else None


@pytest.mark.parametrize("target", ["cupy", "dask"])
def test_what_is_not_refused_is_right(target):
    pytest.importorskip(target, reason=f"{target} is not installed")
    verdicts = list(wrong(target))
    assert [verdict for verdict in verdicts if verdict] == []
    assert len(verdicts) > len(sample()) // 4
