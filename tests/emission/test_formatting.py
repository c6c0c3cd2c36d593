"""What is emitted is in black's layout, though black sees only the statements that are too long for a line."""

import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random

import black
import pytest

import xla2py
from xla2py.tests.recording.tools import black_layout
from xla2py.tests.whole import much
from xla2py.transpile import emission
from xla2py.transpile.emission.formatting import formatted
from xla2py.transpile.emission.layout import Layout
from xla2py.transpile.emission.module.shared_helpers import joined
from xla2py.transpile.emission.prelude.library import prelude
from xla2py.transpile.errors import XlaToPythonError
from xla2py.transpile.fuzzing.families import FAMILIES, random_program
from xla2py.transpile.python.black import by_black
from xla2py.transpile.python.wrapping import broken
from xla2py.transpile.target import load_target

from .pairs import FOLDER, read_pairs

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*/*.hlo"))
# The examples of the gallery are left out: tests/test_gallery.py shows their modules to black.
WAYS = (
    ("numpy", {"annotate": "full", "nested": True, "constants": "inline"}),
    ("cupy", {}),
    ("cupy", {"style": "fast"}),
    ("dask", {}),
    ("dask", {"chunks": "1KiB"}),
)


@cache
def prelude_texts():
    """The definitions of all preludes, which are proven to be in black's layout one by one."""
    return {
        definition.source: name
        for target in (None, "cupy")
        for name, definition in prelude(target and load_target(target)).definitions.items()
    }


@pytest.fixture
def unlike_black(monkeypatch):
    """Emits a program and gives what black would change of it, the prelude aside; nothing if it is refused."""
    written = []
    write_module = emission.write_module

    def remember(*arguments):
        written.append(write_module(*arguments))
        return written[-1]

    monkeypatch.setattr(emission, "write_module", remember)

    def emit(source, target, **options):
        try:
            xla2py.emit(source, target, format=False, **options)
        except XlaToPythonError:
            return None
        own = [piece for piece in written.pop().pieces if piece not in prelude_texts()]
        text = joined([formatted(piece, Layout()) for piece in own])
        layout = black_layout(text)
        return None if layout == text else (text, layout)

    return emit


def test_definitions_of_the_preludes_are_in_blacks_layout():
    changed = [name for text, name in prelude_texts().items() if black_layout(f"{text}\n") != f"{text}\n"]
    assert changed == []


@pytest.mark.parametrize("path", much(EXAMPLES[::2], EXAMPLES), ids=lambda path: path.stem)
def test_examples_are_in_blacks_layout(path, unlike_black):
    """One way each in turn, or all."""
    module, turn = xla2py.load(path), EXAMPLES.index(path) % len(WAYS)
    for target, options in much(WAYS[turn : turn + 1], WAYS):
        assert unlike_black(module, target, sources=ROOT, **options) is None


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.hlo")), ids=lambda path: path.stem)
def test_pairs_are_in_blacks_layout(path, unlike_black):
    for pair in read_pairs(path):
        for target in much([("numpy", "dask")[len(pair.hlo) % 2]], ("numpy", "dask")):
            assert unlike_black(pair.hlo, target, **pair.options) is None, pair.title


@pytest.mark.parametrize("family", FAMILIES)
def test_random_programs_are_in_blacks_layout(family, unlike_black):
    for seed in range(much(4, 12)):
        module, turn = xla2py.load(random_program(family, seed).text), seed % 3
        for target in ("numpy", "cupy", "dask")[much(turn, 0) : much(turn + 1, 3)]:
            assert unlike_black(module, target) is None, seed


LONG = ", ".join(f"argument_{k}" for k in range(12))


@pytest.mark.parametrize(
    "statement",
    [
        f"x = f({LONG})",
        f"x = f({LONG})  # model.py:12",
        f"return {LONG}",
        f"for x in ({LONG}):\n    pass",
        f"if f({LONG}):\n    pass",
        f"while f({LONG}):\n    pass",
        f"if x:\n    pass\nelif f({LONG}):\n    y = 1\nelse:\n    y = 2",
        f"def main({LONG}):\n    return argument_1",
        f"x = f(\n    {LONG},\n    [1, 2],\n)\ny = 2",
        f'x = f(\n    """\n{LONG * 2}\n    """,\n    {LONG},\n)\ny = 2',
        f"# {LONG}\nx = 1",
    ],
)
@pytest.mark.parametrize("depth", much([1], [0, 1, 3]))
def test_a_statement_is_broken_at_its_own_depth(statement, depth):
    heads = [f"{'    ' * k}if x{k}:" for k in range(depth)]
    body, is_in_string = [], False
    for line in statement.splitlines():
        body.append(line if is_in_string else "    " * depth + line)
        is_in_string ^= '"""' in line
    text = "\n".join([*heads, *body]) + "\n"
    assert formatted(text, Layout()) == black_layout(text)


PARTS = """x; weights[:, ::2]; (1, 2); "a, (b"; f(x, np.abs(y)); x * y + ratio; (x + y).T; [x, y]; -(x**2); (x,); -x;
lambda i: i + 1; x if y else z; optimizer_state_square_bias; x.sum(axis=-1, keepdims=True)""".replace("\n", " ").split(
    "; "
)
PARAMETERS = "x: Array; *; k=1; rest: Any; scale: Sequence[int] | None = None; params: dict[str, Array]".split("; ")


def test_statements_of_usual_forms_are_broken_as_black_does():
    random, count = Random(0), 0
    while count < much(200, 20_000):
        parts = ", ".join(random.sample(PARTS, random.randrange(1, 7)))
        parameters = ", ".join(random.sample(PARAMETERS, random.randrange(1, 6)))
        call = f"{random.choice(('', 'np.', 'np.linalg.'))}update({parts}, axis={random.randrange(4)})"
        target = random.choice(("x", "x, (y, z)", "x, y", "x[0], y", "x.y"))
        forms = (
            f"return {parts}",
            f"return {call}",
            call,
            f"{target} = {call}",
            f"{target} = {random.choice((' + ', ' * ', ' @ ')).join(parts.split(', '))}",
            f"return {random.choice((' - ', ' / ')).join(random.sample(PARTS, 4))} + {call}",
            f"{target} = {random.choice(PARTS)} if {random.choice(PARTS)} else {call}",
            f"def f({parameters}) -> tuple[Array]:",
        )
        statement = random.choice(forms)
        depth = random.randrange(3)
        text = "    " * depth + statement
        head = "".join(f"{'    ' * k}if _:\n" for k in range(depth))
        behind = "\n    pass\n" if statement.startswith("def") else "\n"
        found = broken(text, 50)
        assert found is None or len(text) > 50
        if found is not None:
            with suppress(black.InvalidInput):  # parameters in no possible order
                assert head + found + behind == by_black(head + text + behind, 50)
                count += 1


def test_what_fits_its_lines_is_not_shown_to_black():
    script = (
        "import sys, xla2py\n"
        "text = xla2py.emit('ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }').source\n"
        "assert 'return -x' in text and 'black' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
