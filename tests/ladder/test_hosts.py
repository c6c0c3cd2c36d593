"""Infeed, outfeed and transfers with the host on CuPy without a GPU: on the twin, compared with NumPy's."""

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.targets.cupy import held
from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
from xla2py.tests.ladder.hosts import Host, hosted
from xla2py.tests.ladder.running import needs_compiler
from xla2py.tests.ladder.static import problems
from xla2py.transpile.equivalence.reference.tasks import map_arrays
from xla2py.transpile.equivalence.verdicts.comparison import compare, flatten


def results_and_logs(emitted, program, give, take):
    """What all replicas return, and the calls of the functions that each was handed."""
    module, inputs = emitted.load(), program.several.inputs()
    hosts = [Host(program.feed, give, take) for _ in inputs]
    if len(hosts) == 1:
        functions = {name: getattr(hosts[0], name) for name in program.functions}
        results = module.main(*map(give, inputs[0]), **functions)
    else:
        feeds = {name: [getattr(host, name) for host in hosts] for name in program.functions}
        results = module.run_local(give(inputs), **feeds)
    return take(results), [host.log for host in hosts]


def split(logs):
    """The arrays in the logs, and the logs without them."""
    leaves = [leaf for _, leaf in flatten(logs)]
    return [x for x in leaves if hasattr(x, "dtype")], [x for x in leaves if not hasattr(x, "dtype")]


@needs_compiler
@pytest.mark.parametrize("program", hosted(), ids=str)
def test_programs_call_the_host_on_the_twin_as_on_numpy(program):
    emitted = xla2py.emit(program.several.module(), "cupy", format=False)
    assert problems(emitted.source) == []
    on_numpy = xla2py.emit(program.several.module(), format=False)
    expected, calls = results_and_logs(on_numpy, program, lambda x: x, lambda x: map_arrays(held, x))
    with twin():
        found, device_calls = results_and_logs(emitted, program, to_device, to_host)
    (sent, others), (device_sent, device_others) = split(calls), split(device_calls)
    assert others == device_others
    assert "infeed" in others and "outfeed" in others
    leaves = compare([x for _, x in flatten([expected, sent])], [x for _, x in flatten([found, device_sent])])
    assert [str(leaf) for leaf in leaves if not leaf.status.is_good] == []
