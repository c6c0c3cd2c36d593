"""What a copied function takes with it: what it mentions, and not what its own variables are called like."""

import dis
from types import CodeType

import pytest

from xla2py.transpile.emission.prelude.library import SHARED, Module, prelude
from xla2py.transpile.target import TEMPLATES, load_target


def mentioned(code: CodeType) -> set[str]:
    """The global names that compiled code reads."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(mentioned(part) for part in code.co_consts if isinstance(part, CodeType)))


@pytest.mark.parametrize("target", ["numpy", "cupy"])
def test_it_is_what_its_code_reads(target):
    definitions = prelude(load_target(target)).definitions
    assert len(definitions) > 200
    for name, definition in definitions.items():
        others = definitions.keys() - {name}
        assert others & set(definition.uses) == others & mentioned(compile(definition.source, name, "exec")), name


def test_variables_are_no_functions():
    definitions = prelude(load_target("numpy")).definitions
    assert "joined" in definitions and "self.joined" in definitions["Tiled"].source
    assert "joined" not in definitions["Tiled"].uses and "room_for" in definitions["Tiled"].uses


def test_numpy_has_functions_of_its_own_beside_the_shared_ones():
    """Which stay as they are, with the blocks that silence NumPy's warnings."""
    own, shared = prelude(load_target("numpy")), prelude()
    assert {name: own.definitions[name].source for name in shared.definitions} == {
        name: definition.source for name, definition in shared.definitions.items()
    }
    names = [definition.name for definition in own.closure(["tanh_f32"])]
    assert names[0] == "elementary" and names[-1] == "tanh_f32" and "EXP_F32" in names
    assert own.imports_of(own.closure(["tanh_f32"])) == {
        "import numpy as np",
        "from numba import njit",
        "from typing import Any",
    }


@pytest.mark.parametrize("target", ["numpy", "cupy", "dask", "array-api"])
def test_each_name_is_defined_once(target):
    """In one prelude; a target's own functions may stand for shared ones. A glance finds what parsing finds."""
    for folder in (TEMPLATES / SHARED, *load_target(target).prelude):
        modules = [Module(path, (0, 0)) for path in folder.glob("*.py")]
        names = [name for module in modules for name in module.definitions]
        assert sorted(names) == sorted(set(names))
        assert all(sorted(set(module.names)) == sorted(module.definitions) for module in modules)
