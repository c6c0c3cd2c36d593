"""The figures of docs/cupy.md are those of today; ``python -m xla2py.tests.ladder.figures`` writes them."""

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

from xla2py.tests.ladder import figures
from xla2py.tests.ladder.device_compiler import missing
from xla2py.tests.ladder.running import needs_compiler


def test_what_joins_is_as_the_page_says():
    assert figures.page("joined") == figures.PAGE.read_text("utf-8")


@needs_compiler
@pytest.mark.texts_of("0.10")  # newer texts take a kernel more
def test_programs_ask_of_a_gpu_what_the_page_says():
    assert figures.page("costs") == figures.PAGE.read_text("utf-8")


# Programs that launch more than half as many kernels again as XLA, or move more than a third more bytes.
MORE_LAUNCHES = {
    "dense layer, bfloat16",  # XLA adds and clips in the kernel of the product
    "max pool 3 x 3, gradient",  # what is outside is an array of its own
}
MORE_BYTES = {"dense layer, bfloat16", "MLP, training step"}  # likewise


def test_programs_launch_and_move_about_what_xla_does():
    rows = [line.split(" | ") for line in figures.table("costs").splitlines()[2:]]
    launches = {name.removeprefix("| "): int(own) / int(theirs) for name, own, theirs, *_ in rows}
    moved = {name.removeprefix("| "): float(ratio) for name, _, _, _, ratio, *_ in rows}
    assert len(rows) == len(figures.PROGRAMS)
    assert {name for name, ratio in launches.items() if ratio > 1.5} == MORE_LAUNCHES
    unfolded = {name for name in moved if name.startswith("convolution")}  # cuDNN does not unfold
    assert {name for name, ratio in moved.items() if ratio > 1.3} == MORE_BYTES | unfolded


def test_kernels_take_the_registers_that_the_page_says():
    if missing("nvrtc"):
        pytest.skip(missing("nvrtc"))
    if figures.compiler() not in figures.PAGE.read_text("utf-8"):
        pytest.skip(f"{figures.compiler()} is another compiler than the page's")
    assert figures.page("registers") == figures.PAGE.read_text("utf-8")
