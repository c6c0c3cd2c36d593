"""Element types that the installed ml_dtypes lacks: 1-bit integers before ml_dtypes 0.6."""

import subprocess
import sys

import pytest

from xla2py.transpile.hlo.element_types import F32, S8, find_element_type

OLD = """
import ml_dtypes
import numpy as np

for name in ("int1", "uint1"):
    if hasattr(ml_dtypes, name):
        delattr(ml_dtypes, name)
ml_dtypes.__version__ = "0.5.4"

import xla2py
from xla2py.transpile.cli import main
from xla2py.transpile.frontends.hlo_proto import read_literal
from xla2py.transpile.hlo.builder import S1, U1, XlaBuilder, make_shape

def refused(function, *arguments):
    try:
        return repr(function(*arguments))
    except Exception as error:
        return str(error).splitlines()[0]

print(refused(xla2py.emit, "ENTRY e {\\n  ROOT z = s1[3] parameter(0)\\n}"))
print(refused(XlaBuilder("e").iota, U1, 3))
print(refused(make_shape, S1, [3]))
print(refused(read_literal, memoryview(bytes.fromhex("0a02101e"))))
namespace = {}
exec(xla2py.emit("ENTRY e {\\n  z = s4[3] parameter(0)\\n  ROOT y = s4[3] add(z, z)\\n}").source, namespace)
print(namespace["main"](np.array([1, 2, 3], ml_dtypes.int4)).dtype)
"""


def test_types_without_a_dtype_are_refused_where_a_program_uses_them():
    run = subprocess.run([sys.executable, "-c", OLD], capture_output=True, text=True, check=False)
    *refusals, others = run.stdout.splitlines() or [run.stderr]
    for name, refusal in zip(["s1", "u1", "s1", "s1"], refusals, strict=True):
        assert f"ml_dtypes 0.5.4 has no dtype for {name}: a later version is needed" in refusal
    assert others == "int4"


def test_an_element_type_has_a_name_or_a_dtype():
    assert find_element_type("f32") is find_element_type("float32") is find_element_type(F32) is F32
    assert find_element_type("int8") is S8
    for wrong in ("float33", [1], object):
        with pytest.raises(ValueError, match="is not an element type"):
            find_element_type(wrong)
