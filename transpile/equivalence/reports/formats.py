"""Formats of a report of a differential test: text, JSON, JUnit's XML for continuous integration, an HTML page."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ...errors import Diagnostic, UsageError
from ..verdicts.comparison import LeafResult, Status, deciding
from .html import report_to_html
from .results import Case, CheckReport, ProgramReport, ReducedCase, Run

FORMAT = "xla2py check 1"


def report_to_json(report: CheckReport) -> str:
    """Return the report as indented JSON text that ends with a line break."""
    return json.dumps({"format": FORMAT, **_encode(report)}, indent=1, allow_nan=False) + "\n"


def report_from_json(text: str) -> CheckReport:
    """Return the report that :func:`report_to_json` wrote, without arrays. Raises ``UsageError`` (XP601) for other
    text.
    """
    try:
        document = json.loads(text)
        if document.pop("format") != FORMAT:
            raise ValueError("another format")
        report: CheckReport = _decode(document, CheckReport)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(Diagnostic("XP601", f"this is not a report of xla2py check: {error}")) from error
    return report


def _encode(value: Any) -> Any:
    if is_dataclass(value):
        kept = (field for field in fields(value) if field.metadata.get("json", True))
        return {field.name: _encode(getattr(value, field.name)) for field in kept}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: _encode(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_encode(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | str | NoneType):
        return value
    is_finite = isinstance(value, float) and math.isfinite(value)
    return value if is_finite else str(value)


def _decode(value: Any, hint: Any) -> Any:
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (one for one in get_args(hint) if one is not NoneType)
        return None if value is None else _decode(value, hint)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return hint(**{name: _decode(part, hints[name]) for name, part in value.items()})  # type: ignore[operator]
    if get_origin(hint) is tuple:
        return tuple(_decode(part, get_args(hint)[0]) for part in value)
    if get_origin(hint) is Mapping:
        return {key: _decode(part, get_args(hint)[1]) for key, part in value.items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if hint is float:
        return float(value)
    return _number_of_json(value) if hint is Any else value


def _number_of_json(value: Any) -> Any:
    """Return an element of any type: the JSON value, or the float or complex number of a text."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return complex(value)


HEADER = ("program", "target", "verdict", "error", "allowed", "seconds", "MiB")


def report_to_text(report: CheckReport) -> str:
    """Return a table of programs and targets, then the details of each program that is not right, then a summary
    line.
    """
    rows = [row for program in report.programs for row in _rows(program)]
    parts = [_table(HEADER, rows)]
    parts += ["\n".join(_details(program)) for program in report.programs if list(_details(program))]
    notes = [f"unused known difference: {text}" for text in report.unused]
    notes += [f"expired known difference: {text}" for text in report.expired]
    parts += ["\n".join(notes)] if notes else []
    return "\n\n".join([*parts, _summary(report)]) + "\n"


def _rows(program: ProgramReport) -> Iterator[tuple[str, ...]]:
    title = program.title
    for target in program.targets:
        runs = [run for case in program.cases if (run := case.run(target)) is not None]
        leaves = [leaf for case in program.cases for leaf in _leaves(case, target)]
        worst = deciding(leaves)
        yield (
            title,
            target,
            program.verdict(target),
            _number(worst.error) if worst is not None else "",
            _number(worst.allowed) if worst is not None and worst.error else "",
            f"{sum(run.seconds for run in runs):.3f}" if runs else "",
            f"{max(run.peak_bytes for run in runs) >> 20}" if runs else "",
        )


def _leaves(case: Case, target: str) -> Sequence[LeafResult]:
    """Return the verdicts on a target's arrays; if the target is the accepted one, those of the others compared with
    it.
    """
    own = case.comparison(target)
    if own is not None:
        return own.leaves
    return [leaf for one in case.comparisons if case.accepted == target for leaf in one.leaves]


def _details(program: ProgramReport) -> Iterator[str]:
    lines = [f"  {name} is unsupported: {reason}" for name, reason in program.refusals.items()]
    for case in program.cases:
        lines += _case_details(case)
    for target, origin in program.origins.items():
        found = [*str(origin).splitlines(), *(f"({remark})" for remark in origin.remarks())]
        lines += [f"  {origin.campaign}: {target} in lockstep: {found[0]}", *(f"    {line}" for line in found[1:])]
    lines += [f"  {target} reduced: {_reduced(reduction)}" for target, reduction in program.reductions.items()]
    lines += [f"  no input reached {part}" for part in program.unreached]
    if lines:
        yield f"{program.title}"
        yield from lines


def _reduced(reduction: ReducedCase) -> str:
    return f"{reduction.instructions} instructions still differ: {reduction.command}"


def _case_details(case: Case) -> Iterator[str]:
    yield from (f"  {case.campaign}: {failure}" for failure in _failures(case))
    for one in case.comparisons:
        told = [leaf for leaf in one.leaves if leaf.note or not leaf.status.is_good]
        if not told:
            continue
        blame = f"; {', '.join(case.wrong)} against the rest" if case.wrong and not one.found.is_good else ""
        yield f"  {case.campaign}, seed {case.seed}: {one.participant} beside {one.against}{blame}"
        for leaf in told:
            lines = str(leaf).splitlines()
            yield from (f"    {line}" for line in (lines[:1] if leaf.status.is_good else lines))
        yield from (f"    known: {reason}" for reason in one.known)


def _failures(case: Case) -> list[str]:
    return [f"{run.participant}: {run.failure.value}: {_first_line(run)}" for run in case.runs if run.failure]


def _first_line(run: Run) -> str:
    return run.message.splitlines()[0] if run.message else ""


def _summary(report: CheckReport) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in report.counts().items())
    total = len(report.programs)
    differing = sum(program.differs for program in report.programs)
    compared = sum(program.is_compared for program in report.programs)
    if differing:
        found = f"{differing} of {total} programs differ"
    elif not compared:
        found = "nothing was compared"
    else:
        found = "no differences" + (f" in the {compared} of {total} programs that were compared" * (compared < total))
    return f"{found} ({counts})" if counts else found


def _number(value: float) -> str:
    return f"{value:.2g}" if value else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows))
    return "\n".join(line.rstrip() for line in lines)


def report_to_junit(report: CheckReport) -> str:
    """Return XML with a test suite for each program, and a test for each target and campaign."""
    root = ElementTree.Element("testsuites", name="xla2py check")
    for program in report.programs:
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(program.title))
        for target, reason in program.refusals.items():
            test = ElementTree.SubElement(suite, "testcase", name=target, classname=_clean(program.name))
            ElementTree.SubElement(test, "skipped", message=_clean(reason))
        for case in program.cases:
            for target in program.targets:
                run = case.run(target)
                if run is not None:
                    _test(suite, program, case, target, run)
        if program.unreached:
            told = "\n".join(f"no input reached {part}" for part in program.unreached)
            ElementTree.SubElement(suite, "system-out").text = _clean(told)
        tests = suite.findall("testcase")
        for name in ("failure", "error", "skipped"):
            plural = name if name == "skipped" else f"{name}s"
            suite.set(plural, str(sum(test.find(name) is not None for test in tests)))
        suite.set("tests", str(len(tests)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _test(suite: ElementTree.Element, program: ProgramReport, case: Case, target: str, run: Run) -> None:
    test = ElementTree.SubElement(
        suite, "testcase", name=f"{target} {case.campaign}", classname=_clean(program.name), time=f"{run.seconds:.6f}"
    )
    if run.failure in (Status.CRASH, Status.TIMEOUT):
        error = ElementTree.SubElement(test, "error", type=run.failure.value, message=_clean(run.message))
        error.text = _clean(run.traceback)
    elif run.failure is not None or not case.comparisons:
        message = run.message or "; ".join(["nothing to compare with", *_failures(case)])
        ElementTree.SubElement(test, "skipped", message=_clean(message))
    for one in case.differences(target):
        failure = ElementTree.SubElement(test, "failure", type=one.status.value)
        failure.set("message", f"{one.participant} beside {one.against}: {one.status.value}")
        failure.text = _clean("\n".join(map(str, one.leaves)))
    origin, reduction = program.origins.get(target), program.reductions.get(target)
    told = ["in lockstep:", str(origin), *origin.remarks()] if origin and origin.campaign == case.campaign else []
    told += ["reduced:", _reduced(reduction), reduction.hlo, *reduction.inputs] if reduction else []
    if told:
        ElementTree.SubElement(test, "system-out").text = _clean("\n".join(told))


def _clean(text: str) -> str:
    """Return the text with ``?`` for control characters that XML does not allow."""
    return "".join(c if c in "\n\t" or (c.isprintable() and c < "\ud800") or c > "\udfff" else "?" for c in text)


WRITERS: dict[str, Callable[[CheckReport], str]] = {
    "text": report_to_text,
    "json": report_to_json,
    "junit": report_to_junit,
    "html": report_to_html,
}
