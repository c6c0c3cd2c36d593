"""The code blocks of the pages run, and print and emit what the pages show.

What stands above a block, in a comment that readers do not see, says what it is::

    <!-- file: model.py -->             the block is this file
    <!-- shown: xla2py emit .. -->      its lines stand in what this command prints, in this order
    <!-- not run: why -->

All other blocks of Python and of commands run, page by page, from the top to the bottom, in one folder. Blocks that
``make docs`` writes are proved where they are written.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
SOFTMAX, ATTENTION = "docs/example.hlo", "examples/hlo/attention.before.hlo"
PROGRAMS = "tests/code_blocks/programs.py"

# What a page takes as there: files of the checkout by the names that the page gives them.
FILES: dict[str, dict[str, str]] = {
    "README.md": {"model.py": PROGRAMS, "model.hlo": SOFTMAX, "attention.py": "generated/before/attention.py"},
    "docs/any_size.md": {
        "kernels.py": PROGRAMS,
        **{f"{name}.hlo": f"tests/code_blocks/{name}.hlo" for name in ("small", "large", "larger")},
    },
    "docs/architecture.md": {},
    "docs/command.md": {"softmax.hlo": SOFTMAX, "kernels/softmax.hlo": SOFTMAX, "model.py": PROGRAMS},
    "docs/cupy.md": {
        "programs.py": PROGRAMS,
        "lstm.hlo": "examples/hlo/lstm.before.hlo",
        "attention.hlo": ATTENTION,
        **{f"examples/{name}.py": f"examples/{name}.py" for name in ("lstm", "attention")},
    },
    "docs/dask.md": {"programs.py": PROGRAMS},
    "docs/differential_testing.md": {"model.hlo": SOFTMAX, "programs/model.hlo": SOFTMAX, "src/model.py": PROGRAMS},
    "docs/finding_the_fault.md": {"model.hlo": SOFTMAX},
    "docs/layouts.md": {},
    "docs/packages.md": {"model.py": PROGRAMS},
    "docs/minimize.md": {},
    "docs/page.md": {},
    "docs/replicas.md": {
        "examples/replicas/data_parallel_training.hlo": "examples/replicas/data_parallel_training.hlo"
    },
    "docs/stability.md": {},
    "docs/speed.md": {"model.hlo": SOFTMAX},
    "docs/tutorial.md": {},
    "docs/vendoring.md": {"kernels/attention.hlo": ATTENTION, "kernels/softmax.hlo": SOFTMAX},
}
_BLOCK = re.compile(r"(?:<!-- ([^>]*?) -->\n)?^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_WRITTEN = re.compile(r"<!-- (\w+):begin -->.*?<!-- \1:end -->", re.DOTALL)
# The error, what is allowed, seconds and MiB of a check: they hang on the machine, and the heading on their width.
_MEASURED = re.compile(r"(?<=close) .*\d$|(?<=verdict) .*MiB$")


@dataclass(frozen=True, slots=True)
class Block:
    note: str
    language: str
    text: str


def blocks(page: str) -> list[Block]:
    text = _WRITTEN.sub("", (CHECKOUT / page).read_text(encoding="utf-8"))
    return [Block(*map(str, match.groups(default=""))) for match in _BLOCK.finditer(text)]


@dataclass(slots=True)
class Reader:
    """Someone who types a page into a folder, block by block."""

    xla2py: Callable[..., tuple[int, str, str]]
    names: dict[str, Any]

    def read(self, block: Block) -> None:
        kind, _, rest = block.note.partition(": ")
        if kind == "file":
            Path(rest).write_text(block.text, encoding="utf-8")
        elif kind == "shown":
            self._shown(rest, block.text)
        elif kind != "not run":
            {"console": self._console, "python": self._python}.get(block.language, lambda text: None)(block.text)

    def _console(self, text: str) -> None:
        for typed in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, shown = typed.replace("\\\n", " ").partition("\n")
            for part in command.split("&&"):
                printed = self._command(part)
            if shown.strip():
                assert lines(printed) == lines(shown)

    def _command(self, command: str) -> str:
        words = [name for word in shlex.split(command, comments=True) for name in (sorted(glob(word)) or [word])]
        if words[0] == "xla2py":
            code, out, err = self.xla2py(*words[1:])
            assert code == 0, f"{command}\n{out}{err}"
            return out
        if words[0] in ("git", "cd"):  # the checkout is there
            return ""
        if words[:2] == ["pip", "install"]:  # no test needs the network: a package is found where its source is
            os.environ["PYTHONPATH"] = os.pathsep.join([f"{words[2]}/src", os.environ["PYTHONPATH"]])
            sys.path.insert(0, f"{words[2]}/src")
            return ""
        arguments = {"python": [sys.executable], "pytest": [sys.executable, "-m", "pytest", "-q"]}[words[0]] + words[1:]
        ran = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    def _python(self, text: str) -> None:
        if text.startswith(">>> "):
            example = doctest.DocTestParser().get_doctest(text, self.names, "page", None, None)
            assert doctest.DocTestRunner(verbose=False).run(example, clear_globs=False).failed == 0
            self.names.update(example.globs)
        elif "__main__" in text:
            Path("script.py").write_text(text, encoding="utf-8")
            self._command("python script.py")
        else:
            self.run(text)

    def run(self, text: str) -> None:
        exec(compile(text, "page", "exec"), self.names)

    def _shown(self, command: str, text: str) -> None:
        """Compare what a page shows of a module: ``..`` and ``...`` stand for what is left out."""
        emitted = iter(re.sub(" *#.*", "", line).strip() for line in self._command(command).splitlines())
        shown = (re.sub(" *#.*", "", line).strip() for line in text.splitlines())
        missing = next((line for line in shown if line.strip(".") and line not in emitted), None)
        assert missing is None, f"not in what `{command}` prints, or not in this order: {missing}"


def lines(text: str) -> list[str]:
    return [_MEASURED.sub("", line.rstrip()) for line in text.splitlines()]


@pytest.fixture
def reader(page, folder, xla2py, monkeypatch) -> Iterator[Reader]:
    """A reader in a folder with the files of a page; what was imported from there is forgotten at the end."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(CHECKOUT.parent)]))
    monkeypatch.syspath_prepend(str(folder))
    for name, source in FILES[page].items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes((CHECKOUT / source).read_bytes())
    (folder / "pyproject.toml").touch()
    imported = set(sys.modules)
    names: dict[str, Any] = {}
    yield Reader(xla2py, names)
    for name in set(sys.modules) - imported:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
            del sys.modules[name]
    for client in [value for value in names.values() if type(value).__name__ == "Client"]:
        client.shutdown()


# Written by ``make docs``, which runs what they show.
GENERATED = {f"docs/{name}.md" for name in ("builder", "edges", "errors", "names", "reading_the_output")}


def test_no_page_is_left_out():
    pages = {page.relative_to(CHECKOUT).as_posix() for page in (CHECKOUT / "docs").glob("*.md")}
    assert {page for page in pages if blocks(page)} - GENERATED == set(FILES) - {"README.md"}


@pytest.mark.parametrize("page", FILES)
def test_the_blocks_of_a_page_run(page, reader):
    if any(re.search(r"(model|kernels|programs):", f"{block.note}{block.text}") for block in blocks(page)):
        pytest.importorskip("jax")
    known = HERE / "known" / f"{Path(page).stem.lower()}.py"
    reader.run(known.read_text(encoding="utf-8") if known.exists() else "import xla2py")
    for block in blocks(page):
        reader.read(block)
