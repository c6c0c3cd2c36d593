"""Rules of the house that no linter knows. The import contract itself is in pyproject.toml."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from pathlib import Path

import grimp
import pytest

import xla2py

CHECKOUT = Path(__file__).parents[1]
HOUSE = ("transpile", "targets", "templates", "documentation")
OPTIONAL = ("cupy", "dask", "distributed", "jax", "jaxlib", "numba", "scipy")


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after a statement."""
    script = f"import json, sys; {statement}; print(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(result.stdout))


def source_trees(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    for folder in folders or HOUSE:
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


def test_every_module_says_what_it_is_for_and_imports_the_package_relatively():
    silent, absolute = [], []
    for path, tree in source_trees():
        if tree.body and not ast.get_docstring(tree):
            silent.append(str(path))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            if any(name.split(".")[0] == "xla2py" for name in names):
                absolute.append(str(path))
    assert (silent, absolute) == ([], [])


def test_every_target_is_installed_under_its_own_name():
    from xla2py.transpile.target import load_target, target_names

    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["entry-points"]["xla2py.targets"]
    folders = {path.parent.name for path in (CHECKOUT / "targets").glob("*/__init__.py") if path.stat().st_size}
    assert {value.split(":")[0] for value in declared.values()} == {f"xla2py.targets.{folder}" for folder in folders}
    assert set(declared) <= set(target_names())
    assert all(load_target(name).name == name for name in declared)


def test_nothing_outside_a_target_names_its_library():
    """Neither as an import nor in a text that the program uses; prose may."""
    named = set()
    for path, tree in source_trees("transpile"):
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in prose else ""
            if isinstance(text, str) and {"cupy", "dask", "array-api"} & set(text.lower().split(".")):
                named.add((str(path), text))
    assert named == set()


def test_no_target_names_a_pass():
    """A rule asks what a target supports; a target does not know which rules there are."""
    from xla2py.transpile.compilation import optional_names
    from xla2py.transpile.target import load_target, target_names

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


def test_statements_are_written_by_macros_alone():
    found = set()
    for path, tree in source_trees("transpile/emission"):
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
            if is_text and STATEMENT.match(node.value):
                found.add(str(path))
    assert found == set()


READ = {  # what is matched or parsed outside ``transpile/python``, and where: none of it is emitted Python
    "the prelude and the macros, by their loaders": "emission/prelude/library emission/macros",
    "sentences of docstrings": "emission/prelude/specialization/docstrings emission/any_size/texts",
    "names, paths and keys of the program": "emission/naming/* emission/module/names emission/module/sections "
    "emission/trees/argument_trees emission/functions/leaf_maps emission/functions/rerolled_loop_writer "
    "emission/functions/rerolled_loops emission/functions/changes emission/functions/arguments emission/stored_trees "
    "emission/weights emission/module/provenance emission/kernels/kernel_writer",
    "options": "emission/__init__ dask/planning/chunk_program",
    "files in a user's folder": "emission/module/header emission/module/shared_helpers",
    "kernels in C++, and statements in the words of any language": "emission/any_size/kernel_strings cupy/cuda/* "
    "cupy/twin/* emission/arrangement/assignments",
    "ticks of Markdown, and how long a number is": "emission/module/generated emission/layout",
}


def test_emitted_text_is_neither_parsed_nor_matched():
    readers = set()
    for path, tree in source_trees("transpile/emission", "targets"):
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        if "ast.parse" in calls or modules & {"re", "symtable", "tokenize"}:
            readers.add(str(path.with_suffix("")).removeprefix("transpile/").removeprefix("targets/"))
    allowed = " ".join(READ.values()).split()
    assert {name for name in readers if not any(fnmatch(name, each) for each in allowed)} == set()
    assert {each for each in allowed if not any(fnmatch(name, each) for name in readers)} == set()


@pytest.mark.parametrize("name", ["numpy", "cupy", "dask", "array-api"])
def test_every_statement_has_a_macro(name):
    from xla2py.transpile.emission.expression import Renderer
    from xla2py.transpile.target import load_target

    target = load_target(name)
    macros = Renderer(target.macros, target.namespace, target.scalars).macros
    asked = {
        word.value
        for path, tree in source_trees("transpile/emission")
        if not path.name.startswith("kernel")
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


@cache
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("xla2py", exclude_type_checking_imports=False, cache_dir=None)


def test_no_circle_of_imports():
    """Also not one behind ``TYPE_CHECKING`` or in a function."""
    graph = imports()
    assert circles({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}) == []


# Tables keyed by operations of the array dialect that stand outside its rows, each with what a row cannot say. The
# dialect of kernels has rows of its own.
TABLES = {
    "transpile/passes/indexing/indices.py _TYPED": "the operations whose type it may leave out",
    "transpile/passes/algebra/magnitudes.py _SIGNS": "an analysis of one pass: where results cannot be negative",
    "transpile/passes/algebra/signed_zeros.py _TERMS": "an analysis of one pass: where no element is -0",
    "transpile/passes/constants/interpreter.py _FOLDS": "interpreter: reductions whose order does not matter",
    "transpile/passes/constants/interpreter.py _RULES": "interpreter: what operations compute of constants",
    "transpile/passes/reductions/stretches.py RULES": "an analysis of one pass: what is combined of an axis",
    "transpile/passes/to_array/elementwise.py _IN_BYTES": "lowering: what integers narrower than a byte do in one",
    "transpile/passes/to_array/simplifications.py _SIMPLER": "lowering: rules that simplify an opcode of HLO",
    "transpile/passes/constants/folding.py _EXACT": "lowering: how constants are computed",
    "transpile/passes/to_array/reduction.py _LOGIC": "lowering: what arithmetic of truth values is",
}
# These modules may have such tables: they read HLO, whose opcodes the tables have, or say what a target supports.
OTHER_TABLES = ("any_size/least_sizes", "passes/storage_types", "passes/outlining", "special_functions/")
SUPPORT = ("cupy/captures", "cupy/cuda", "cupy/functions", "cupy/fusion", "cupy/twin", "dask/chunked_calls")
SUPPORT += (
    "dask/planning/legalize",
    "dask/strategies",
    "element_rules",
    "numpy/functions",
    "numpy/kernels",
    "numpy/loop_forms",
    "numpy/numba",
)
SUPPORT += ("refusals",)


def keys_of(value: ast.expr) -> list[str]:
    """The words that a table is keyed by, however it is spelled; of a set, a tuple or a list its members."""
    found: list[str] = []
    waiting: list[ast.expr | None] = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
        elif isinstance(node, ast.Dict):
            waiting += [each if key is None else key for key, each in zip(node.keys, node.values, strict=True)]
        elif isinstance(node, ast.Set | ast.Tuple | ast.List):
            waiting += node.elts
        elif isinstance(node, ast.DictComp | ast.SetComp | ast.ListComp | ast.GeneratorExp):
            waiting += [generator.iter for generator in node.generators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
            found += node.func.value.value.split() if isinstance(node.func.value, ast.Constant) else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fromkeys":
            waiting += node.args[:1]
        elif isinstance(node, ast.Call):
            waiting += node.args
        elif isinstance(node, ast.BinOp):
            waiting += [node.left, node.right]
        elif isinstance(node, ast.Starred):
            waiting.append(node.value)
    return found


def tables_in(tree: ast.Module) -> Iterator[str]:
    """The tables of a module, and of its classes, most of whose keys are operations of the array dialect."""
    from xla2py.transpile.array.operations import OPERATIONS

    bodies = [tree.body, *(each.body for each in tree.body if isinstance(each, ast.ClassDef))]
    for statement in (each for body in bodies for each in body):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            keys = keys_of(statement.value)
            hits = sum(key in OPERATIONS for key in keys)
            if hits > 2 and 3 * hits > 2 * len(keys):
                yield ast.unparse(target)


def tables_of_operations() -> Iterator[str]:
    """The tables outside of rows and of what targets support."""
    for folder in ("array", "compilation", "emission", "passes", "../targets"):
        for path in sorted((CHECKOUT / "transpile" / folder).resolve().rglob("*.py")):
            name = path.relative_to(CHECKOUT).as_posix()
            if "array/operations/" not in name and not any(part in name for part in (*OTHER_TABLES, *SUPPORT)):
                yield from (f"{name} {table}" for table in tables_in(ast.parse(path.read_text("utf-8"))))


@pytest.mark.parametrize(
    "text",
    [
        '_T = {"add": ("sum", "of", "many", "other", "words"), "maximum": "x", "multiply": "y"}',
        '_T: dict[str, int] = {**dict.fromkeys(("add", "negate", "abs"), 1), **{"sqrt": 2}}',
        '_T = frozenset("add negate abs".split()) | {"sqrt"}',
        '_T = {name: 1 for name in ("add", "negate", "abs")}',
        '_T = [*("add", "negate"), "abs"]',
        'class C:\n    _T = {"add": 1, "negate": 2, "abs": 3}',
    ],
)
def test_tables_are_found_however_they_are_spelled(text):
    assert list(tables_in(ast.parse(text))) == ["_T"]


def test_tables_of_other_words_are_none():
    assert list(tables_in(ast.parse('_T = {"add": 1, "of": 2, "other": 3, "words": 4, "negate": 5, "abs": 6}'))) == []


def test_what_is_known_of_an_operation_stands_in_its_row():
    assert set(tables_of_operations()) == set(TABLES)
    assert len(TABLES) <= 10


ARCHITECTURE = (CHECKOUT / "docs" / "architecture.md").read_text("utf-8")
SECTION = ARCHITECTURE.partition("## Folders")[2].partition("\n## ")[0]
FOLDERS = [line.split("|")[1:4] for line in SECTION.splitlines() if line.startswith("| `")]


def folder_of(module: str) -> str:
    """The folder of a module in the words of the table: ``hlo`` for ``xla2py.transpile.hlo.parser``."""
    parts = module.split(".")[1:]
    return "".join(parts[1:2] if parts[:1] == ["transpile"] else parts[:1])


def test_folders_import_what_the_document_says():
    graph = imports()
    found: dict[str, set[str]] = {}
    for module in graph.modules:
        imported = map(folder_of, graph.find_modules_directly_imported_by(module))
        found.setdefault(folder_of(module), set()).update(imported)
    allowed = {
        Path(re.findall(r"`(.+?)`", names)[0]).stem: set(re.findall(r"`(\w+)`", cell)) for names, _, cell in FOLDERS
    }
    for folder, named in allowed.items():
        if folder not in ("commands", "documentation"):
            assert found[folder] & allowed.keys() == named | (found[folder] & {folder}), folder


def test_the_document_names_all_stages_in_order():
    from xla2py.transpile.compilation.stages import STAGES
    from xla2py.transpile.passes import PIPELINE

    passes = {each.__name__ for each in PIPELINE}
    section = ARCHITECTURE.partition("## One compilation")[2]
    words = re.findall(r"\w+", section.split("```")[1])
    stages = [stage.name for stage in STAGES if stage.name not in passes]
    assert [word for word in words if word in {stage.name for stage in STAGES} - {"kernels"}] == [
        each for each in stages if each != "kernels"
    ]
    assert words[-2:] == stages[-2:] == ["kernels", "own_results"]


def test_every_folder_is_in_the_document():
    folders = {path.parent.name for path in (CHECKOUT / "transpile").glob("*/__init__.py")}
    assert folders - {"explanations"} == {
        name for names, *_ in FOLDERS for name in re.findall(r"`transpile/(\w+)/`", names)
    }


def test_what_the_document_names_is_there():
    """Files and folders, and every word that stands between backquotes."""
    text = re.sub(r"```.*?```", "", ARCHITECTURE, flags=re.DOTALL)
    tops = [path for path in CHECKOUT.iterdir() if not path.name.startswith(".")]
    paths = [each for top in tops for each in (top, *(top.rglob("*") if top.is_dir() else ()))]
    code = "".join(
        path.read_text("utf-8")
        for path in paths
        if path.suffix in (".py", ".toml", ".j2") or path.name == "Makefile"
        if path.parts[len(CHECKOUT.parts)] not in ("generated", "tests")
    )
    words = set(re.findall(r"\w+", code)) | {word for path in paths for word in re.findall(r"\w+", path.name)}
    named = [f"/{path.relative_to(CHECKOUT).as_posix()}{'/' if path.is_dir() else ''}" for path in paths]
    missing = []
    for word in set(re.findall(r"`([^`\n]+)`", text)):
        if re.fullmatch(r"[\w./*]+(\.(py|toml|md|hlo)|/)", word):
            pattern = re.compile(".*/" + re.escape(word).replace(r"\*", "[^/]*"))
            missing += [] if any(map(pattern.fullmatch, named)) else [word]
        elif not set(re.findall(r"[A-Za-z_]\w*", word)) <= words:
            missing.append(word)
    assert missing == []
