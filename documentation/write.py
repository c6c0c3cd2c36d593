"""The generated documents of a checkout: ``python -m xla2py.documentation.write`` writes them again.

``docs/builder.md`` comes from the builder's examples, ``docs/edges.md`` from the table of edges, ``docs/errors.md``
from the catalogue of errors, ``docs/library_programs.md`` from the programs of ``examples/libraries``,
``docs/operations.md`` from the table of opcodes and the targets, ``docs/reading.md`` from the programs of
``examples/by_hand``, the marked parts of ``README.md``, ``docs/names.md``, ``docs/reading_the_output.md`` and
``docs/targets.md`` from the example programs.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..transpile.compilation import EMISSION_CHOICES, compile
from ..transpile.compilation.stages import STAGES
from ..transpile.diagnostics import CATALOGUE, explanation_lines
from ..transpile.emission import emit
from ..transpile.emission.module.support_table import UNSUPPORTED, coverage
from ..transpile.files import write_atomically
from ..transpile.frontends import load
from ..transpile.hlo.element_types import ELEMENT_TYPES, Kind
from ..transpile.hlo.opcodes import OPCODES
from ..transpile.options import SETTINGS
from ..transpile.passes import PIPELINE
from ..transpile.target import load_target, target_names
from .builder import page as builder_page
from .custom_calls import HEADINGS as CALLS_HEADINGS, INTRODUCTION as CALLS_INTRODUCTION, rows as custom_calls
from .edges import page as edges_page
from .library_programs import page as library_page
from .reading import page as reading_page

CHECKOUT = Path(__file__).resolve().parents[1]
NOTICE = "<!-- Written by `python -m xla2py.documentation.write`. -->"
ERRORS_INTRODUCTION = (
    "What each error means, the smallest example that raises it, and what to do. `xla2py explain CODE` shows the same.",
)
OPERATIONS_PURPOSE = "Which HLO operations each array library supports, and how each is tested."
OPERATIONS_INTRODUCTION = (
    "`yes` means that every small program that `xla2py ops` tries is supported; `in part` means that it depends on the",
    "program, for instance on whether an index is constant. `xla2py inspect FILE` says what applies to your program.",
    "[replicas.md](replicas.md) covers communication. The last column counts the test cases that compare emitted NumPy",
    "code with XLA on the CPU; `signed`, `float` and so on stand for all element types of that kind.",
)
FAMILIES = {
    "1": "The text is not HLO",
    "2": "An instruction breaks a rule of its operation",
    "3": "The HLO is valid but not supported",
    "4": "Files, settings and arguments",
    "5": "Values at run time",
    "6": "Differential testing and reports",
    "7": "Vendored modules, packages, Python objects and memory limits",
}


def errors_page(checkout: Path) -> str:
    """All explanations, by family."""
    lines = ["# Errors", "", NOTICE, "", *ERRORS_INTRODUCTION]
    for digit, family in FAMILIES.items():
        lines += ["", f"## XP{digit}xx: {family}", ""]
        for explanation in CATALOGUE.values():
            if explanation.code[2] == digit:
                lines += [line.replace("## ", "### ", 1) for line in explanation_lines(explanation)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def operations_page(checkout: Path) -> str:
    """Return the page of what every target does with every operation and how that is tested, by topic."""
    lines = ["# Operations", "", NOTICE, "", OPERATIONS_PURPOSE, "", *_summary(), "", *OPERATIONS_INTRODUCTION]
    tables = {name: coverage(name) for name in target_names()}
    tested = json.loads((checkout / "tests" / "operations" / "coverage.json").read_text(encoding="utf-8"))
    for topic in _topics():
        lines += ["", f"## {topic[0].upper()}{topic[1:]}", ""]
        rows = [
            (f"`{opcode}`", *(table[opcode] for table in tables.values()), _tested(tested[opcode]))
            for opcode, spec in OPCODES.items()
            if spec.topic == topic
        ]
        lines += _table(("operation", *map(_title, tables), "NumPy compared with XLA"), rows)
    lines += ["", "## Custom calls", "", *CALLS_INTRODUCTION, ""]
    lines += _table(CALLS_HEADINGS, list(custom_calls()))
    return "\n".join(lines) + "\n"


def _tested(row: dict[str, Any]) -> str:
    """Return how many cases there are, of which element types; or why there are none."""
    if "elsewhere" in row:
        return str(row["elsewhere"])
    parts = []
    for kind in Kind:
        names = [name for name, element_type in ELEMENT_TYPES.items() if element_type.kind is kind]
        found = [name for name in names if name in row["element_types"]]
        if found:
            parts.append(kind.value if found == names else " ".join(found))
    return f"{row['cases']} cases: {', '.join(parts)}"


def readme(checkout: Path) -> str:
    """The README with its example written again."""
    return _rewritten(checkout, "README.md", example=_example)


def targets_page(checkout: Path) -> str:
    """The page on targets with the table of programs written again."""
    return _rewritten(checkout, "docs/targets.md", programs=_programs)


def output_page(checkout: Path) -> str:
    """The page on comments and rewrites with its examples written again."""
    return _rewritten(
        checkout, "docs/reading_the_output.md", annotate=_annotated, print=_printed, disable=_disabled, passes=_passes
    )


def names_page(checkout: Path) -> str:
    """The page on names with its program, and what that becomes, written again."""
    return _rewritten(checkout, "docs/names.md", program=_named, alone=_names_alone, sources=_names_with_sources)


def _rewritten(checkout: Path, page: str, **parts: Callable[[Path], Iterator[str]]) -> str:
    """A page with what stands between the marks of each part replaced."""
    text = (checkout / page).read_text(encoding="utf-8")
    for name, part in parts.items():
        begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
        before, _, rest = text.partition(begin)
        after = rest.partition(end)[2]
        text = "\n".join([before + begin.rstrip(), *part(checkout), end + after])
    return text


def _example(checkout: Path) -> Iterator[str]:
    """A function of JAX, and the ``main`` of the module that it becomes."""
    source = (checkout / "examples" / "attention.py").read_text(encoding="utf-8")
    function = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    module = load(checkout / "examples" / "hlo" / "attention.before.hlo")
    emitted = emit(module, annotate="none", sources=checkout).source
    yield from ("", "```python", ast.get_source_segment(source, function) or "", "```", "", "becomes", "")
    yield from ("```python", main_of(emitted), "```")


def _named(checkout: Path) -> Iterator[str]:
    """The program of the page on names, from its first class on."""
    source = (checkout / "docs" / "names.py").read_text(encoding="utf-8")
    yield from ("", "```python", source[source.index("class ") :].rstrip(), "```", "")


def _names_alone(checkout: Path) -> Iterator[str]:
    return _statements(checkout, None)


def _names_with_sources(checkout: Path) -> Iterator[str]:
    return _statements(checkout, checkout)


def _statements(checkout: Path, sources: Path | None) -> Iterator[str]:
    """The statements of ``main`` of that program."""
    module = load(checkout / "docs" / "names.hlo")
    main = main_of(emit(module, annotate="none", checks=False, sources=sources).source)
    option = " --sources ." if sources else ""
    yield from ("", "```python", f"# xla2py emit docs/names.hlo{option} --annotate none --no-checks")
    statements = main[main.index("-> ") :].partition("\n")[2]
    yield from ("# ..", statements, "```", "")


def _softmax(checkout: Path) -> str:
    return (checkout / "docs" / "example.hlo").read_text(encoding="utf-8")


def _annotated(checkout: Path) -> Iterator[str]:
    """The body of an example with each kind of comments."""
    module = load(checkout / "examples" / "hlo" / "attention.before.hlo")
    for annotate in SETTINGS["annotate"].choices:
        source = emit(module, annotate=annotate, checks=False, sources=checkout).source
        yield from _main(source, f"xla2py emit examples/hlo/attention.before.hlo --sources . --annotate {annotate}")


def _main(source: str, command: str) -> Iterator[str]:
    """A command, and the ``main`` of what it emits."""
    yield from ("", "```python", f"# {command}", main_of(source), "```")


def main_of(source: str) -> str:
    """The text of ``main`` in an emitted module."""
    main = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == "main")
    return ast.get_source_segment(source, main) or ""


def _printed(checkout: Path) -> Iterator[str]:
    """A program before and after one rewrite."""
    texts: dict[str, str] = {}
    emit(_softmax(checkout), observe=texts.__setitem__)
    yield from ("```console", "$ xla2py emit docs/example.hlo --print-after all >/dev/null", "..")
    for name in ("to_array", "keepdims"):
        yield from (f"// after {name}", texts[name].rstrip(), "..")
    yield "```"


def _disabled(checkout: Path) -> Iterator[str]:
    """Return what a program becomes without rewrites."""
    for names in ((), ("keepdims",), ("keepdims", "axis_maps")):
        source = emit(_softmax(checkout), checks=False, disable_passes=names).source
        option = f" --disable-pass {','.join(names)}" if names else ""
        yield from _main(source, f"xla2py emit docs/example.hlo{option}")


_PARTS = {("hlo", "hlo"): "HLO", ("hlo", "array"): "lowering", ("array", "array"): "the program as a whole"}


def _passes(checkout: Path) -> Iterator[str]:
    """Return the table of what may be left out, by when it happens; array passes by their topic."""
    topics = {each.__name__: each.__module__.split(".")[-2].replace("_", " ") for each in PIPELINE}
    rows: dict[str, list[str]] = {}
    for stage in STAGES:
        for name in stage.optional_names:
            rows.setdefault(topics.get(stage.name, _PARTS[stage.takes, stage.gives]), []).append(f"`{name}`")
    rows["emission"] = [f"`{name}`" for name in EMISSION_CHOICES]
    yield from _table(("part", "names"), [(part, ", ".join(names)) for part, names in rows.items()])


def _summary() -> Iterator[str]:
    """Return how many operations of each topic the targets support."""
    tables = {name: coverage(name) for name in target_names()}
    rows = []
    for topic in _topics():
        opcodes = [opcode for opcode, spec in OPCODES.items() if spec.topic == topic]
        counts = [Counter(table[opcode] for opcode in opcodes) for table in tables.values()]
        rows.append((topic, *(f"{len(opcodes) - count[UNSUPPORTED]} of {len(opcodes)}" for count in counts)))
    yield from _table(("operations", *map(_title, tables)), rows)


def _programs(checkout: Path) -> Iterator[str]:
    """Return the table of which targets emit which example programs, or which operations they refuse."""
    targets = [load_target(name) for name in target_names()]
    rows = []
    for path in sorted((checkout / "examples" / "hlo").glob("*.hlo")):
        module = load(path)
        refused = [sorted({f"`{r.opcode}`" for r in compile(module, target).refusals}) for target in targets]
        cells = [", ".join(opcodes) or "yes" for opcodes in refused]
        name, stage = path.stem.rsplit(".", 1)
        rows.append((f"{name.replace('_', ' ')}, {stage}", *cells))
    yield from _table(("program", *(target.title for target in targets)), rows)


def _topics() -> list[str]:
    return list(dict.fromkeys(spec.topic for spec in OPCODES.values()))


def _title(target: str) -> str:
    return load_target(target).title


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


PAGES: dict[str, Callable[[Path], str]] = {
    "docs/builder.md": lambda checkout: builder_page(),
    "docs/edges.md": lambda checkout: edges_page(NOTICE),
    "docs/errors.md": errors_page,
    "docs/library_programs.md": lambda checkout: library_page(checkout, NOTICE),
    "docs/names.md": names_page,
    "docs/operations.md": operations_page,
    "docs/reading.md": lambda checkout: reading_page(checkout, NOTICE),
    "docs/reading_the_output.md": output_page,
    "docs/targets.md": targets_page,
    "README.md": readme,
}


def main(checkout: Path = CHECKOUT) -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        write_atomically(checkout / name, page(checkout).encode())


if __name__ == "__main__":
    main()
