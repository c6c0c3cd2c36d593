"""The figures of docs/cupy.md are those of today; ``python -m xla2py.tests.ladder.figures`` writes them."""

import pytest

pytest.importorskip("jax")
pytest.importorskip("cupy", reason="CuPy is not installed")

from xla2py.tests.ladder import figures
from xla2py.tests.ladder.device_compiler import missing
from xla2py.tests.ladder.running import needs_compiler


def test_what_joins_is_as_the_page_says():
    assert figures.page("joined") == figures.PAGE.read_text("utf-8")


@needs_compiler
def test_programs_ask_of_a_gpu_what_the_page_says():
    assert figures.page("costs") == figures.PAGE.read_text("utf-8")


def test_kernels_take_the_registers_that_the_page_says():
    if missing("nvrtc"):
        pytest.skip(missing("nvrtc"))
    if figures.compiler() not in figures.PAGE.read_text("utf-8"):
        pytest.skip(f"{figures.compiler()} is another compiler than the page's")
    assert figures.page("registers") == figures.PAGE.read_text("utf-8")
