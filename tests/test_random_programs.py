"""Random programs: valid, and the same on XLA as in emitted code.

Fifty of each family, and in ``make prove`` a thousand, which take half an hour at most.
"""

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from xla2py.tests.strategies import FAMILIES, batch_text, programs, random_program
from xla2py.tests.strategies.differential import BATCH, EXACT, failures
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.equivalence.verdicts.comparison import Status, compare
from xla2py.transpile.hlo.opcodes import OPCODES
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.verifier import verify

COUNT = much(50, 1000)

COUNTS = dict.fromkeys(FAMILIES, COUNT) | dict.fromkeys(("structured", "wrapped", "triangles"), COUNT // 3)
ON_XLA = [family for family in FAMILIES if family != "unusual"]

NOT_DRAWN = {
    "sizes known at run time make results that XLA on the CPU does not give": ("dynamic-reshape", "set-dimension-size"),
    "only accelerators run it": ("scaled-dot",),
    "StableHLO, the way to XLA, does not know them": ("exp2", "log2", "shuffle"),
    "they mean something between replicas, or to the host": (
        *("all-gather", "all-gather-done", "all-gather-start", "all-reduce", "all-reduce-done", "all-reduce-start"),
        *("all-to-all", "collective-broadcast", "collective-permute", "collective-permute-done"),
        *(
            "collective-permute-start",
            "collective-reduce",
            "ragged-all-to-all",
            "reduce-scatter",
            "partition-id",
            "replica-id",
        ),
        *("infeed", "outfeed", "recv", "recv-done", "send", "send-done"),
    ),
    "their results are not determined": ("rng", "rng-get-and-update-state"),
    "their meaning lies outside of the program's text": ("bitcast", "custom-call"),
}


@pytest.fixture(autouse=True)
def reference(request):
    """Scalars are clamped whatever their type."""
    if "[scalars" in request.node.name:
        request.getfixturevalue("fused_reference")


@pytest.mark.parametrize(("family", "start"), [(f, start) for f in ON_XLA for start in range(0, COUNTS[f], BATCH)])
def test_emitted_code_does_what_xla_does(family, start):
    batch = [random_program(family, seed) for seed in range(start, min(start + BATCH, COUNTS[family]))]
    found = list(failures(batch))
    assert not found, f"{len(found)} of {len(batch)} programs differ, the first:\n{found[0]}"


@pytest.mark.parametrize("family", ON_XLA)
def test_dask_does_what_xla_does_or_refuses(family):
    found = list(failures([random_program(family, seed) for seed in range(COUNTS[family] // 3)], "dask"))
    assert not found, f"{len(found)} programs differ, the first:\n{found[0]}"


@pytest.mark.parametrize(("family", "count"), [("parts", COUNT // 5), ("shape_chains", COUNT // 12), ("loops", 4)])
def test_dask_does_so_in_short_chunks(family, count):
    found = list(failures([random_program(family, seed) for seed in range(count)], "dask", chunks="3"))
    assert not found, f"{len(found)} programs differ, the first:\n{found[0]}"


@pytest.mark.parametrize("family", FAMILIES)
def test_programs_are_valid_and_their_inputs_fit(family):
    for seed in range(COUNTS[family]):
        program = random_program(family, seed)
        module = parse_module(program.text)
        verify(module)
        shapes = [parameter.array_shape for parameter in module.entry.parameters]
        assert [shape.dimensions for shape in shapes] == [array.shape for array in program.inputs]
        assert [shape.element_type.dtype for shape in shapes] == [array.dtype for array in program.inputs]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_always_gives_the_same_program(family):
    first, second = random_program(family, 3), random_program(family, 3)
    assert first.text == second.text != random_program(family, 4).text
    assert [array.tobytes() for array in first.inputs] == [array.tobytes() for array in second.inputs]


@pytest.mark.parametrize("family", ON_XLA)
def test_a_batch_computes_what_its_programs_compute(family):
    batch = [random_program(family, seed) for seed in range(3)]
    together = run_hlo_in_child(batch_text(batch), *(array for program in batch for array in program.inputs))
    alone = [array for program in batch for array in run_hlo_in_child(program.text, *program.inputs)]
    assert {result.status for result in compare(together, alone, EXACT)} == {Status.EQUAL}


@given(st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_hypothesis_draws_valid_programs(data):
    program = data.draw(programs(data.draw(st.sampled_from(sorted(FAMILIES)))))
    verify(parse_module(program.text))


def test_every_opcode_is_drawn_or_has_a_reason_not_to_be():
    texts = [random_program(family, seed).text for family in FAMILIES for seed in range(100)]
    drawn = {instruction.opcode for text in texts for instruction in parse_module(text).instructions()}
    explained = {opcode for opcodes in NOT_DRAWN.values() for opcode in opcodes}
    assert drawn | explained == set(OPCODES)
    assert not drawn & explained
