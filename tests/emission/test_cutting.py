"""Prelude functions are cut to their use: what is left computes the same, and nothing is left that no call needs."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.tools import black_layout
from xla2py.tests.whole import much
from xla2py.transpile.emission.prelude.library import Definition, prelude
from xla2py.transpile.emission.prelude.specialization import Call, cut, with_short_docstrings
from xla2py.transpile.emission.prelude.specialization.lattice import Array, Known
from xla2py.transpile.equivalence.inputs.generate import make_inputs

HLO = Path(__file__).parents[2] / "examples" / "hlo"
F32 = np.dtype(np.float32)


def definitions(*sources):
    """A prelude of such functions."""
    named = {re.search(r"def (\w+)|(\w+) =", source).group(1) or source.split()[0]: source for source in sources}
    return {name: Definition(name, source, (0, 0, k), "test", {}) for k, (name, source) in enumerate(named.items())}


def cut_text(source, *calls, others=()):
    """What is left of the first function."""
    library = definitions(source, *others)
    name = next(iter(library))
    result = cut(library, [name], {name: list(calls)})
    return result.definitions.get(name, library[name]).source, result.lost.get(name, {})


SCALED = '''def scaled(x: np.ndarray, by: float = 2, *, twice: bool = False, name: str | None = None) -> np.ndarray:
    """``x`` times ``by``.

    ``twice`` does it again. ``name`` is told. The result is new.
    """
    # What is told.
    if name is not None:
        print(name)  # to the user
    elif by == 0:
        return x  # as it is
    total = x * by
    if twice:  # once more
        # It is the same factor.
        total = total * by
    return total'''


def test_parameters_that_no_call_gives_go_with_their_branches_and_sentences():
    text, lost = cut_text(SCALED, Call((Array(F32, (3,)),)))
    assert text == (
        "def scaled(x: np.ndarray) -> np.ndarray:\n"
        '    """``x`` times ``2``.\n\n    The result is new.\n    """\n'
        "    return x * 2"
    )
    assert lost == {"by": 1, "twice": 2, "name": 3}


def test_what_calls_give_stays():
    text, lost = cut_text(
        SCALED, Call((None, None), {"name": Known("a")}), Call((None, None), {"name": None, "twice": Known(False)})
    )
    assert "by: float = 2, *, twice: bool = False, name: str | None = None) -> np.ndarray:" in text
    assert "    elif by == 0:\n        return x  # as it is\n" in text
    assert "    if twice:  # once more\n" in text and not lost


def test_what_no_call_reaches_goes_though_the_calls_differ():
    """Each parameter has several values; no call has those that a branch needs."""
    source = """def spread(x: np.ndarray, strides: Sequence[int], gaps: Sequence[int]) -> np.ndarray:
    if gaps and not strides:
        return apart(x, gaps)
    if gaps:
        x = pad(x, gaps)
    return x"""
    none, one = Known(()), Known((1,))
    text, _ = cut_text(source, Call((None, none, one)), Call((None, one, none)))
    assert text.partition("\n")[2] == "    if gaps and not strides:\n        return apart(x, gaps)\n    return x"
    assert cut_text(source, Call((None, one, one)), Call((None, none, none)))[0].count("pad(") == 1


def test_flags_that_the_module_gives_stay_and_are_read():
    text, lost = cut_text(SCALED, Call((None,), {"twice": Known(True)}))
    assert text.splitlines()[0] == "def scaled(x: np.ndarray, *, twice: bool) -> np.ndarray:" and lost.keys() == {
        "by",
        "name",
    }
    assert "    if twice:  # once more\n        # It is the same factor.\n        total = total * 2\n" in text


SPREAD = '''def spread(x: np.ndarray, low: float = 0, high: float = 1) -> np.ndarray:
    """``x`` from ``low`` to ``high``."""
    return moved(x * (high - low), low)'''
MOVED = '''def moved(x: np.ndarray, by: float, checked: bool = True) -> np.ndarray:
    """``x`` and ``by``."""
    if checked and by == 0:
        return x
    return x + by'''


def test_what_the_module_gives_stays_where_it_is_handed_on():
    library = definitions(SPREAD, MOVED)
    result = cut(library, ["spread"], {"spread": [Call((None, Known(2), Known(5)))]})
    assert result.lost == {"moved": {"checked": 2}}
    assert result.definitions["spread"].source.splitlines()[-1] == "    return moved(x * (high - low), low)"
    assert result.definitions["moved"].source.splitlines()[-1] == "    return x + by"
    nothing_given = cut(library, ["spread"], {"spread": [Call((None,))]})
    assert nothing_given.lost == {"spread": {"low": 1, "high": 2}, "moved": {"by": 1, "checked": 2}}


def test_a_branch_whose_condition_is_open_stays():
    text, _ = cut_text(SCALED, Call((None,), {"twice": Known(True)}), Call((None,), {"twice": Known(False)}))
    assert "    if twice:  # once more\n        # It is the same factor.\n" in text


FLIPPED = '''def flipped(x: np.ndarray, lower: bool = False, turned: bool = False) -> np.ndarray:
    """``x`` one way or the other."""
    if turned:
        x, lower = x.mT, not lower
    while x.sum() > 1:
        lower = not lower
        x = x / 2
    return x[::-1] if lower else x'''


def test_a_parameter_that_a_loop_assigns_stays():
    text, lost = cut_text(FLIPPED, Call((Array(F32, (3, 3)),)))
    assert "def flipped(x: np.ndarray, lower: bool = False) -> np.ndarray:" in text and lost == {"turned": 2}
    assert text.endswith("return x[::-1] if lower else x")


CONVERTED = '''def converted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The sum in float32 at least."""
    work = np.result_type(np.dtype(np.float32), x.dtype)
    x, y = x.astype(work, copy=False), y.astype(work)
    if x.ndim == 1 or len(y) > 3:
        return added(x[None], y, False)[0]
    y += x
    return y'''
ADDED = '''def added(x: np.ndarray, y: np.ndarray, twice: bool) -> np.ndarray:
    """The sum."""
    result = x + y
    return result * 2 if twice else result'''


def test_types_and_shapes_of_arrays_decide():
    two, one = Array(F32, (2, 2)), Array(F32, (2,))
    text, _ = cut_text(CONVERTED, Call((two, two)), others=[ADDED])
    assert text.splitlines()[2:] == ["    y = y.copy()", "    y += x", "    return y"]
    text, _ = cut_text(CONVERTED, Call((one, one)), Call((one, two)), others=[ADDED])
    assert text.splitlines()[2:] == ["    y = y.copy()", "    return added(x[None], y)[0]"]
    text, _ = cut_text(CONVERTED, Call((two, two)), Call((one, two)), others=[ADDED])
    assert "if x.ndim == 1:" in text
    halves = Array(np.dtype(np.float16), (2, 2))
    text, _ = cut_text(CONVERTED, Call((halves, two)), others=[ADDED])
    assert 'work = np.dtype("float32")' in text and "x, y = x.astype(work, copy=False), y.copy()" in text


def test_a_function_that_is_handed_on_stays_whole():
    source = 'def mapped(xs: Any) -> Any:\n    """All sums."""\n    return map(added, xs), added(xs, xs, False)'
    library = definitions(source, ADDED)
    result = cut(library, ["mapped"], {"mapped": [Call((None,))]})
    assert not result.definitions and not result.lost


def test_a_function_that_nothing_is_known_of_stays_whole():
    assert cut(definitions(SCALED), ["scaled"], {}).definitions == {}


def lines_of(source, *names):
    """How many lines functions and constants take, with the empty ones between them."""
    found = [node for node in ast.parse(source).body if getattr(node, "name", "") in names]
    return sum(node.end_lineno - node.lineno + 1 for node in found) + 2 * (len(found) - 1)


def test_a_convolution_takes_forty_lines_and_a_solve_fifteen():
    convolution = """ENTRY main {
      x = f32[8,28,28,3] parameter(0)
      k = f32[3,3,3,32] parameter(1)
      ROOT y = f32[8,28,28,32] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
    }"""
    source = xla2py.emit(convolution).source
    assert lines_of(source, "convolution", "correlate") <= 36  # and the constant
    assert lines_of(prelude().definitions["solve"].source, "solve") <= 15
    assert lines_of(source, "check_arguments") == 6  # and the line that calls it


def results(emitted, arguments):
    with np.errstate(all="ignore"):
        found = emitted.load().main(*arguments)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize(
    "path", sorted(HLO.glob("*.before.hlo"))[:: much(3, 1)], ids=lambda path: path.name.split(".")[0]
)
def test_examples_compute_the_same_with_whole_functions(path):
    module = xla2py.load(path)
    arguments = make_inputs(module, seed=0)
    short, whole = (xla2py.emit(module, disable_passes=names) for names in ([], ["cutting"]))
    assert len(short.source) <= len(whole.source)
    for mine, other in zip(results(short, arguments), results(whole, arguments), strict=True):
        np.testing.assert_array_equal(mine, other, strict=True)


def test_heads_that_fit_a_line_are_one_line():
    source = '''def paired(x: Any, y: Any, z: Any = None) -> None:
    """Prints pairs."""
    for first_of_the_two, second_of_the_two in zip(
        x, y if z is None else range(z + 1_000_000), strict=True
    ):
        print(first_of_the_two, second_of_the_two)'''
    text, _ = cut_text(source, Call((None, None)))
    assert "    for first_of_the_two, second_of_the_two in zip(x, y, strict=True):\n" in text


def test_docstrings_are_cut_to_what_a_function_does():
    source = 'def f(x):\n    """Do it\n    well.\n\n    With care.\n    """\n    return x\n'
    assert with_short_docstrings(source) == 'def f(x):\n    """Do it\n    well.\n    """\n    return x\n'
    assert with_short_docstrings(source.replace("\n    well", "")) == 'def f(x):\n    """Do it."""\n    return x\n'
    for definition in prelude().definitions.values():
        short = with_short_docstrings(definition.source)
        assert ast.dump(without_docstrings(short)) == ast.dump(without_docstrings(definition.source))
        assert short == definition.source or short.strip() == black_layout(short).strip()


def without_docstrings(source):
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return tree


def merged_text(source, *others):
    """Cut a module to its first function, which takes in others and all of whose parameters the module gives."""
    library = definitions(source, *others)
    name = next(iter(library))
    result = cut(library, [name], {})
    return result.definitions.get(name, library[name]).source


SHIFTED = '''def shifted(a: np.ndarray, by: int) -> np.ndarray:
    """Move ``a`` along. It wraps."""
    low = a[:by]
    high = a[by:]
    a = np.concatenate([high, low])
    return a'''


def test_a_function_with_one_call_is_written_there():
    text = merged_text(
        'def f(x: Any) -> Any:\n    """Do it."""\n    y = x + 1\n    z = shifted(y, 2)\n    return z * y', SHIFTED
    )
    assert text == (
        'def f(x: Any) -> Any:\n    """Do it."""\n    y = x + 1\n    # Move a along:\n    a = y\n    low = a[:2]\n'
        "    high = a[2:]\n    a = np.concatenate([high, low])\n    z = a\n    return z * y"
    )
    names = {}
    exec("import numpy as np\nfrom typing import Any\n" + text, names)
    assert names["f"](np.arange(4)).tolist() == [3, 8, 3, 8]


def test_a_call_lends_names_that_nobody_reads_behind_it():
    text = merged_text('def f(x: Any) -> Any:\n    """Do it."""\n    x = shifted(x, 2)\n    return x * 2', SHIFTED)
    assert text.endswith("    low = x[:2]\n    high = x[2:]\n    x = np.concatenate([high, low])\n    return x * 2")
    text = merged_text('def f(x: Any) -> Any:\n    """Do it."""\n    y = shifted(x, 2)\n    return y * 2', SHIFTED)
    assert text.endswith(
        "    low = x[:2]\n    high = x[2:]\n    x = np.concatenate([high, low])\n    y = x\n    return y * 2"
    )
    again = "    try:\n        x = shifted(x, 2)\n    except ValueError:\n        return x\n    return x * 2"
    text = merged_text(f'def f(x: Any) -> Any:\n    """Do it."""\n{again}', SHIFTED)
    assert "        a = x\n" in text and "        x = a\n" in text


def test_the_last_call_lends_its_names():
    text = merged_text('def f(x: Any) -> Any:\n    """Do it."""\n    return shifted(x, 2)', SHIFTED)
    assert text.endswith("    low = x[:2]\n    high = x[2:]\n    x = np.concatenate([high, low])\n    return x")


@pytest.mark.parametrize(
    "body",
    [
        "    low = x - 1\n    z = shifted(x, k)\n    return z + low",  # a name of its own is in the way
        "    return shifted(x, k) + shifted(x, k + 1)",  # two calls
        "    return list(map(shifted, x, k))",  # handed on
        "    return [shifted(part, k) for part in x]",
        "    try:\n        high = shifted(x, k)\n    finally:\n        print(high)\n    return high",
        "    return shifted(*x)",
    ],
)
def test_functions_whose_names_or_calls_are_in_the_way_stay(body):
    source = f'def f(x: Any, k: Any) -> Any:\n    """Do it."""\n{body}'
    assert merged_text(source, SHIFTED) == source


def test_a_function_that_returns_early_is_written_at_the_end_only():
    early = 'def early(x: Any) -> Any:\n    """Stop."""\n    if x:\n        return 1\n    y = x + 2\n    return y'
    last = 'def f(x: Any) -> Any:\n    """Do it."""\n    x = x + 1\n    return early(x)'
    assert merged_text(last, early).endswith("    if x:\n        return 1\n    return x + 2")
    inner = last.replace("return early(x)", "z = early(x)\n    return z + x")
    assert merged_text(inner, early) == inner


def test_an_expression_with_one_call_is_written_there():
    text = merged_text(
        'def f(x: Any) -> Any:\n    """Do it."""\n    return [half(y) ** 2 for y in x]',
        'def half(a: Any) -> Any:\n    """Half of it."""\n    return a / 2',
    )
    assert text.endswith("    return [(y / 2) ** 2 for y in x]")


def test_a_depthwise_convolution_takes_forty_lines():
    source = xla2py.emit("""ENTRY main {
      x = f32[8,28,28,3] parameter(0)
      k = f32[3,3,1,3] parameter(1)
      ROOT y = f32[8,28,28,3] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f,
        feature_group_count=3
    }""").source
    assert lines_of(source, "convolution", "correlate", "depthwise", "window_counts") <= 40
    assert "ones" not in source  # without strides and dilation


def test_a_test_of_which_a_call_never_reads_the_rest_is_kept():
    """``axis`` is true wherever the second half is read, and must be asked nevertheless."""
    source = """def running(x: np.ndarray, *, axis: int = 0) -> np.ndarray:
    if axis and x.size < 32:
        return np.moveaxis(running(np.moveaxis(x, axis, 0)), 0, axis)
    return np.cumsum(x, axis)"""
    text, _ = cut_text(source, Call((None,), {"axis": Known(1)}))
    assert "if axis and x.size < 32:" in text


def test_a_call_with_values_that_others_had_one_by_one_is_followed():
    source = """def first(x: np.ndarray, a: bool, b: bool) -> np.ndarray:
    if a and b:
        return second(x, 2)
    return x"""
    second = """def second(x: np.ndarray, n: int = 1) -> np.ndarray:
    if n == 1:
        return x
    return x * n"""
    some = [Call((None, Known(a), Known(b))) for a, b in ((True, False), (False, True), (True, True))]
    library = definitions(source, second)
    result = cut(library, ["first", "second"], {"first": some, "second": [Call((None, Known(1)))]})
    assert "n" in result.definitions.get("second", library["second"]).source
    assert "second(x" in result.definitions.get("first", library["first"]).source
