"""Threads of the style ``fast`` of NumPy: they change no bit, and run where they are worth it."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

import numba

import xla2py
from xla2py.tests.ladder.fast_programs import COMBINERS, program, softmax
from xla2py.tests.targets.numpy_fast import differences, results
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.verdicts.comparison import flatten
from xla2py.transpile.errors import UsageError

MOVED = program(
    "x = f32[512,400] parameter(0)",
    "zero = f32[] constant(0)",
    "turned = f32[512,400] reverse(x), dimensions={0,1}",
    "few = f32[500,400] slice(x), slice={[7:507], [0:400]}",
    "more = f32[512,400] pad(few, zero), padding=5_7x0_0",
    "sum = f32[512,400] add(turned, more)",
    "place = f32[512,400] iota(), iota_dimension=0",
    "ROOT r = f32[512,400] multiply(sum, place)",
)
KEPT_COLUMNS = program(
    "x = f32[6,300,100] parameter(0)",
    "zero = f32[] constant(0)",
    "e = f32[6,300,100] exponential(x)",
    "sum = f32[6,100] reduce(e, zero), dimensions={1}, to_apply=sum",
    "sums = f32[6,300,100] broadcast(sum), dimensions={0,2}",
    "ROOT r = f32[6,300,100] divide(e, sums)",
).replace("ENTRY", COMBINERS + "ENTRY")
LARGE = {
    "rows": (softmax(200, 1000), (200, 1000)),
    "moves": (MOVED, (512, 400)),
    "columns inside": (KEPT_COLUMNS, (6, 300, 100)),
}


def emitted(text, threads):
    return xla2py.emit(text, style="fast", threads=threads, checks=False, format=False)


@pytest.mark.parametrize("name", LARGE)
def test_large_loops_run_in_threads(name):
    text, _ = LARGE[name]
    assert "prange" not in emitted(text, 1).source
    assert all("in prange(" in emitted(text, threads).source for threads in (4, "auto"))


@pytest.mark.compiled
@pytest.mark.parametrize("name", much(["columns inside"], LARGE))
def test_threads_change_no_bit(name):
    text, shape = LARGE[name]
    some = np.random.default_rng(1).normal(size=(*shape[:-2], 8, shape[-1])).astype(np.float32)  # rows that repeat
    x = np.stack([np.resize(each, shape[-2:]) for each in some.reshape(-1, 8, shape[-1])]).reshape(shape)
    one = emitted(text, 1)
    expected = results(one, [x])
    assert differences(text, [x], one) == []
    main, most = emitted(text, "auto").load(keep_compiled=False).main, numba.get_num_threads()
    for count in range(1, most + 1):
        numba.set_num_threads(count)
        assert all(map(np.array_equal, [leaf for _, leaf in flatten(main(x))], expected))
    numba.set_num_threads(most)


def test_lines_have_arrays_of_their_own():
    lines = emitted(softmax(200, 1000), "auto").source.splitlines()
    loop = next(k for k, line in enumerate(lines) if "prange(200)" in line)
    assert lines[loop + 1].strip() == "exp = np.empty(1000, np.float32)"


def test_what_is_small_or_one_line_runs_in_one_thread():
    assert "prange" not in emitted(softmax(20, 1000), 4).source
    assert "prange" not in emitted(softmax(200, 1000, 0), 4).source  # sums of columns depend on each other


def test_more_threads_than_steps_are_as_many_as_steps():
    assert "for i in prange(2):" in emitted(softmax(2, 100_000), 4).source


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 4}, "in the style 'readable' have no threads"),
        ({"target": "cupy", "style": "fast", "threads": "auto"}, "CuPy in the style 'fast' have no threads"),
        ({"style": "fast", "threads": "many"}, "'many' is not a number of threads"),
        ({"style": "fast", "threads": 0}, "'0' is not a number of threads"),
    ],
)
def test_threads_that_there_are_not_are_refused(options, message):
    with pytest.raises(UsageError, match=message) as refused:
        xla2py.emit(MOVED, **options)
    assert refused.value.diagnostics[0].code == "XP418"


def test_the_command_says_how_a_module_is_made_again():
    assert " --style fast --threads 4 " in emitted(MOVED, 4).source
