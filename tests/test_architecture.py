"""Rules of the house that no linter knows. The import contract itself is in pyproject.toml."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import grimp
import pytest

import xla2py

CHECKOUT = Path(__file__).parents[1]
HOUSE = ("transpile", "targets", "templates")
OPTIONAL = ("cupy", "dask", "distributed", "jax", "jaxlib", "numba", "scipy")


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after a statement."""
    script = f"import json, sys; {statement}; print(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(result.stdout))


def source_trees() -> Iterator[tuple[Path, ast.Module]]:
    for folder in HOUSE:
        for path in sorted((CHECKOUT / folder).rglob("*.py")):
            yield path.relative_to(CHECKOUT), ast.parse(path.read_text(encoding="utf-8"))


def test_importing_the_package_is_light():
    assert not loaded_by("import xla2py") & {"numpy", "ml_dtypes", "jinja2", "black", "rich", "click", *OPTIONAL}


def test_emission_loads_no_other_array_library():
    text = "ENTRY main { x = f32[2] parameter(0)  ROOT y = f32[2] negate(x) }"
    assert not loaded_by(f"import xla2py; xla2py.emit('{text}')") & set(OPTIONAL)


@pytest.mark.parametrize("name", xla2py.__all__)
def test_public_names_exist(name):
    assert getattr(xla2py, name) is not None
    assert name in dir(xla2py)


def test_other_names_do_not():
    with pytest.raises(AttributeError, match="no attribute 'transmogrify'"):
        _ = xla2py.transmogrify


def test_public_names_are_found_alike_by_type_checkers_and_at_run_time():
    tree = ast.parse((CHECKOUT / "__init__.py").read_text(encoding="utf-8"))
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If)]
    declared = {
        alias.name: f".{statement.module}"
        for statement in guarded.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert declared == xla2py._HOME
    assert set(xla2py.__all__) == {*declared, "errors", "__version__"}


@pytest.mark.parametrize("name", xla2py.__all__)
def test_public_functions_and_classes_are_documented(name):
    value = getattr(xla2py, name)
    assert not callable(value) or (value.__doc__ or "").strip()


def test_the_package_imports_itself_relatively():
    absolute = [
        str(path)
        for path, tree in source_trees()
        for node in ast.walk(tree)
        if (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "xla2py")
        or (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "xla2py" for alias in node.names))
    ]
    assert absolute == []


def test_every_module_says_what_it_is_for():
    silent = [str(path) for path, tree in source_trees() if tree.body and not ast.get_docstring(tree)]
    assert silent == []


def test_every_target_is_installed_under_its_own_name():
    from xla2py.targets.base import load_target, target_names

    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["entry-points"]["xla2py.targets"]
    folders = {path.parent.name for path in (CHECKOUT / "targets").glob("*/__init__.py") if path.stat().st_size}
    assert {value.split(":")[0] for value in declared.values()} == {f"xla2py.targets.{folder}" for folder in folders}
    assert set(declared) <= set(target_names())
    assert all(load_target(name).name == name for name in declared)


def test_nothing_outside_a_target_names_its_library():
    """Neither as an import nor in a text that the program uses; prose may."""
    named = set()
    for path, tree in source_trees():
        if path.parts[0] != "transpile":
            continue
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in prose else ""
            if isinstance(text, str) and {"cupy", "dask", "array-api"} & set(text.lower().split(".")):
                named.add((str(path), text))
    assert named == set()


def test_no_target_names_a_pass():
    """A rule asks what a target supports; a target does not know which rules there are."""
    from xla2py.targets.base import load_target, target_names
    from xla2py.transpile.compilation import optional_names

    for target in map(load_target, target_names()):
        for described in (target, target.kernels) if target.kernels is not None else (target,):
            for each in fields(described):
                value = getattr(described, each.name)
                words = value if isinstance(value, tuple | frozenset | dict) else ()
                assert not set(words) & set(optional_names()), f"{target.name}: {each.name}"


STATEMENT = re.compile(
    r"(?:pass|break|continue|else:|try:)$|(?:return|def|class|if|elif|for|while|with|del|raise|assert|global) .*"
    r"|.*[\w\])}] [-+*/]?= |.* == $"
)
# Texts like statements in what writes modules, and why they are none that is written.
READ = {
    "transpile/emission/any_size/texts.py": "where a function begins",
    "transpile/emission/body.py": "lines that macros wrote are read again",
    "transpile/emission/cutting/blocks.py": "functions of the prelude are written again from their own text",
    "transpile/emission/cutting/cleaning.py": "functions of the prelude are written again from their own text",
    "transpile/emission/cutting/cut.py": "how definitions of the prelude begin",
    "transpile/emission/cutting/heads.py": "functions of the prelude are written again from their own text",
    "transpile/emission/formatting.py": "what black is shown around one line",
    "transpile/emission/places.py": "lines that macros wrote are read again",
    "transpile/emission/releases.py": "what the compiler is shown around lines",
    "transpile/emission/sections.py": "names that JAX gives",
}


def test_statements_are_written_by_macros_alone():
    found = set()
    for path, tree in source_trees():
        if path.parts[:2] != ("transpile", "emission") or path.name == "coverage.py":
            continue
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
            if is_text and STATEMENT.match(node.value):
                found.add(str(path))
    assert found == set(READ)


@pytest.mark.parametrize("name", ["numpy", "cupy", "dask", "array-api"])
def test_every_statement_has_a_macro(name):
    from xla2py.targets.base import load_target
    from xla2py.transpile.emission.expression import Renderer

    target = load_target(name)
    macros = Renderer(target.macros, target.namespace, target.scalars).macros
    asked = {
        word.value
        for path, tree in source_trees()
        if path.parts[:2] == ("transpile", "emission") and not path.name.startswith("kernel")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "statement"
        for word in ((node.args[0].body, node.args[0].orelse) if isinstance(node.args[0], ast.IfExp) else node.args[:1])
        if isinstance(word, ast.Constant)
    }
    assert len(asked) > 20 and asked - macros.keys() <= {"replay"}  # of targets with graphs


def test_every_command_is_a_module_of_its_own():
    from xla2py.transpile.cli import COMMANDS

    for name in COMMANDS:
        assert import_module(f"xla2py.transpile.commands.{name}").command.name is not None


def circles(imports: dict[str, set[str]]) -> list[tuple[str, ...]]:
    """The sets of modules that import each other, one by way of the other."""
    remaining = {module: set(imported) for module, imported in imports.items()}
    while free := [module for module, imported in remaining.items() if not imported & remaining.keys()]:
        for module in free:
            del remaining[module]
    reached = {module: set(imported & remaining.keys()) for module, imported in remaining.items()}
    for middle in remaining:
        for found in reached.values():
            if middle in found:
                found |= reached[middle]
    return sorted({tuple(sorted(o for o in reached[m] if m in reached[o])) for m in remaining if m in reached[m]})


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    found = circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d", "a"}, "e": {"f"}, "f": {"g"}, "g": {"e", "a"}})
    assert found == [("b", "c"), ("d",), ("e", "f", "g")]


def test_no_circle_of_imports():
    """Also not one behind ``TYPE_CHECKING`` or in a function."""
    graph = grimp.build_graph("xla2py", exclude_type_checking_imports=False, cache_dir=None)
    assert circles({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}) == []


# Tables keyed by operations of the array dialect that stand outside its rows, each with what a row cannot say. The
# dialect of kernels has rows of its own.
TABLES = {
    "transpile/passes/indexing/indices.py _TYPED": "the operations whose type it may leave out",
    "transpile/passes/algebra/magnitudes.py _SIGNS": "an analysis of one pass: where results cannot be negative",
    "transpile/passes/constants/interpreter.py _FOLDS": "interpreter: reductions whose order does not matter",
    "transpile/passes/constants/interpreter.py _RULES": "interpreter: what operations compute of constants",
    "transpile/passes/reductions/prefixes.py _RULES": "an analysis of one pass: what is combined of an axis",
    "transpile/passes/to_array/elementwise.py _IN_BYTES": "lowering: what integers narrower than a byte do in one",
    "transpile/passes/to_array/elementwise.py _SIMPLER": "lowering: rules that simplify an opcode of HLO",
    "transpile/passes/to_array/folding.py _EXACT": "lowering: how constants are computed",
    "transpile/passes/to_array/reduction.py _LOGIC": "lowering: what arithmetic of truth values is",
}
# Passes over HLO, whose tables are of HLO's opcodes, and what a target says of its own support.
OTHER_TABLES = ("passes/activations", "passes/storage_types", "passes/outlin")
SUPPORT = ("cupy/captures", "cupy/cuda", "cupy/functions", "cupy/fusion", "cupy/twin", "dask/chunked_calls")
SUPPORT += ("dask/legalize", "dask/strategies", "element_rules", "numpy/functions", "numpy/kernels", "numpy/numba")
SUPPORT += ("refusals",)


def keys_of(value: ast.expr) -> list[str]:
    """The words that a literal table is keyed by; of a set or a tuple its members."""
    found: list[str] = []
    for node in ast.walk(value):
        if isinstance(node, ast.Dict):
            found += [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
        elif isinstance(node, ast.Set | ast.Tuple | ast.List):
            found += [
                part.value for part in node.elts if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
            found += node.func.value.value.split() if isinstance(node.func.value, ast.Constant) else []
    return found


def tables_of_operations() -> Iterator[str]:
    """The tables at the top of modules most of whose keys are operations of the array dialect."""
    from xla2py.transpile.array.operations import OPERATIONS

    for folder in ("array", "compilation", "emission", "passes", "../targets"):
        for path in sorted((CHECKOUT / "transpile" / folder).resolve().rglob("*.py")):
            name = path.relative_to(CHECKOUT).as_posix()
            if "array/operations/" in name or any(part in name for part in (*OTHER_TABLES, *SUPPORT)):
                continue
            for statement in ast.parse(path.read_text("utf-8")).body:
                if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
                    keys = keys_of(statement.value) if isinstance(target, ast.Name) else []
                    hits = sum(key in OPERATIONS for key in keys)
                    if hits > 2 and 3 * hits > 2 * len(keys):
                        yield f"{name} {ast.unparse(target)}"


def test_what_is_known_of_an_operation_stands_in_its_row():
    assert set(tables_of_operations()) == set(TABLES)
    assert len(TABLES) <= 10
