"""The reading test: what is written by hand computes the same, is measured alike, and the goals hold."""

import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.documentation.reading import GOALS, Measure, file_summary, measure, readings, summary

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
BY_HAND = sorted((EXAMPLES / "by_hand").glob("*.py"))


def imported(path):
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LOWER = imported(EXAMPLES / "lower.py")


@pytest.mark.parametrize("path", BY_HAND, ids=lambda path: path.stem)
def test_what_is_written_by_hand_computes_what_is_emitted(path):
    import jax

    emitted = xla2py.emit(LOWER.hlo_file(path.stem, "before"), sources=EXAMPLES.parent, format=False).load().main
    by_hand = imported(path).main
    assert list(inspect.signature(by_hand).parameters) == list(inspect.signature(emitted).parameters)
    arguments = [np.asarray(leaf) for leaf in jax.tree.leaves(LOWER.load_program(path.stem)[1])]
    expected, actual = by_hand(*arguments), emitted(*arguments)
    assert isinstance(expected, tuple) == isinstance(actual, tuple)
    results = zip(*((x if isinstance(x, tuple) else (x,)) for x in (expected, actual)), strict=True)
    for wanted, found in results:
        assert (np.shape(wanted), np.asarray(wanted).dtype) == (np.shape(found), np.asarray(found).dtype)
        tolerance = 2e-2 if np.asarray(wanted).dtype.itemsize < 4 else 2e-4
        wanted, found = (np.asarray(value, np.complex128) for value in (wanted, found))
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_at_least_fourteen_programs_are_written_by_hand():
    assert len(BY_HAND) >= 14
    assert {path.stem for path in BY_HAND} <= set(LOWER.NAMES)


# The most that is let pass today, (median, any): a change may lower these, and must not raise them above GOALS again
# where they are below.
WHOLE_FILES = (1.95, 3.6)
REACHED = {"with sources": (1.0, 1.5), "without": (1.0, 1.5)}


def test_emitted_code_does_not_grow_beside_what_is_written_by_hand():
    found = readings()
    assert REACHED.keys() == GOALS.keys()
    for form, limits in REACHED.items():
        reached = summary(found, form)
        assert all(ratio <= limit for ratio, limit in zip(reached, limits, strict=True)), (form, reached)
        files = file_summary(found, form)
        assert all(ratio <= limit for ratio, limit in zip(files, WHOLE_FILES, strict=True)), (form, files)


def test_what_is_counted():
    text = '''"""Doc."""
import numpy as np

TABLE = np.array([1, 2])


def main(x):
    """Doc."""
    check_arguments("float32", (2,), x=x)
    check_arguments(
        "float32", (3,), y=y
    )
    # a comment
    for i in range(3):  # file.py:3
        if x[i] > 0:
            x = twice(x)
        else:
            x, y = x, erf(x)
    return (
        x,
        y,
    )


def twice(x):
    return 2 * x


def erf(x):
    return x
'''
    # TABLE; for, if, two assignments, return; def twice, return
    lines = ["TABLE = np.array([1, 2])", "def main(x):", "for i in range(3):", "if x[i] > 0:"]
    lines += ["x = twice(x)", "else:", "x, y = x, erf(x)", "return (", "x,", "y,", ")", "def twice(x):", "return 2 * x"]
    found = measure(text)
    assert found == Measure(8, len(lines), sum(map(len, lines)), 1, len(text.splitlines()), len(text.splitlines()) - 5)


def test_checks_by_hand_are_not_counted():
    text = '''
def main(x, y):
    """Return the sum."""
    for name, given in {"x": x, "y": y}.items():
        if given.shape != (2,):
            raise TypeError(name)
    if x.dtype != y.dtype:
        raise TypeError("x and y")
    for _ in range(2):
        if x[0] > 0:
            x = x + y
    return x
'''
    found = measure(text)
    assert (found.statements, found.lines, found.file_lines, found.bare_lines) == (4, 5, 12, 6)
