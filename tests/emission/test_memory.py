"""Processes that emit many programs: what is kept of them is bounded."""

import gc
import linecache
import subprocess
import sys
import traceback
from functools import _lru_cache_wrapper
from inspect import unwrap

import numpy as np
import pytest

import xla2py

PROGRAM = "ENTRY main {{ x = f32[{0}] parameter(0)  c = f32[{0}] constant({1})  ROOT r{0} = f32[{0}] add(x, c) }}"


def unbounded():
    """The number of entries of each cache of the package that nothing bounds."""
    modules = [module for name, module in sys.modules.items() if name.startswith("xla2py.t")]
    caches = {each for module in modules for each in vars(module).values() if isinstance(each, _lru_cache_wrapper)}
    own = [each for each in caches if each.__module__.startswith("xla2py.") and ".tests." not in each.__module__]
    return {each.__qualname__: each.cache_info().currsize for each in own if each.cache_info().maxsize is None}


def emitted(size, target, style):
    numbers = ", ".join(str(k + size / 7) for k in range(size))
    return xla2py.emit(PROGRAM.format(size, f"{{{numbers}}}"), target, style=style)


@pytest.mark.parametrize(
    ("target", "style"), [("numpy", "readable"), ("numpy", "fast"), ("cupy", "fast"), ("dask", "readable")]
)
def test_no_cache_grows_with_programs(target, style):
    """Other sizes, constants and names of the same operations leave nothing but in caches that are bounded."""
    for size in (3, 5, 70):
        emitted(size, target, style)
    before = unbounded()
    for size in (4, 6, 80):
        emitted(size, target, style)
    assert unbounded() == before != {}


def test_lines_of_a_loaded_module_go_with_it():
    module = xla2py.emit(PROGRAM.format(2, "{1, 2}"))
    main, other = (module.load().main for _ in range(2))
    files = [unwrap(each).__globals__["__file__"] for each in (main, other)]
    assert files[0] != files[1] and all(file in linecache.cache for file in files)
    del main
    gc.collect(1)
    assert files[0] not in linecache.cache
    with pytest.raises(TypeError) as raised:
        other(np.float32(1))
    assert "check_arguments(" in "".join(traceback.format_tb(raised.value.__traceback__))


SCRIPT = """
import gc
from xla2py import emit
from xla2py.transpile.errors import XlaToPythonError
from xla2py.transpile.fuzzing.families import program_with

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6

for seed in range(FIRST + COUNT):
    if seed == FIRST:
        before = resident()
    try:
        emit(program_with((), seed).text, "TARGET", style="STYLE").load()
    except XlaToPythonError:
        continue
print(resident() - before)
"""


@pytest.mark.whole
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the size of a process")
@pytest.mark.parametrize(("target", "style"), [("numpy", "readable"), ("numpy", "fast"), ("dask", "readable")])
def test_two_thousand_programs_take_little_memory(target, style):
    script = SCRIPT.replace("FIRST", "20").replace("COUNT", "2000").replace("TARGET", target).replace("STYLE", style)
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    assert float(found.stdout) < 100  # MB
