"""The HTML page of a differential test: verdicts, charts of the errors, and the code beside its source."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...dataclass import dataclass
from ...pages.charts import Chart, chart
from ...pages.page import render
from ...pages.panes import Pane, make_panes, plain_panes
from ..verdicts.comparison import Histogram, LeafResult, Status, deciding
from .results import NOT_COMPARED, Case, CheckReport, Comparison, Origin, ProgramReport, Run

TONES = {  # other statuses are bad
    Status.EQUAL: "good",
    Status.CLOSE: "close",
    Status.EDGE: "open",
    Status.UNSUPPORTED: "open",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A status in words, and its tone: good, close, open or bad."""

    text: str
    tone: str

    @property
    def key(self) -> str:
        """The verdict without ``(known)``, by which the page filters."""
        return self.text.removesuffix(" (known)")


@dataclass(frozen=True, slots=True)
class RunRow:
    """The outcome of one participant in one case; ``against`` is the participant that it was compared with."""

    campaign: str
    run: Run
    verdict: Verdict
    against: str
    worst: LeafResult | None
    errors: Chart | None


@dataclass(frozen=True, slots=True)
class ArrayView:
    """An array of the result that is not right, with charts of its errors."""

    leaf: LeafResult
    verdict: Verdict
    charts: tuple[Chart, ...]

    @property
    def has_ulps(self) -> bool:
        """Whether the errors have units in the last place, which integers have not."""
        return self.leaf.ulp_histogram is not None


@dataclass(frozen=True, slots=True)
class Difference:
    """Two participants of a case that differ; ``command`` reproduces the difference."""

    case: Case
    comparison: Comparison
    arrays: tuple[ArrayView, ...]
    command: str


@dataclass(frozen=True, slots=True)
class OriginView:
    """The origin of a target's difference, for the page."""

    target: str
    origin: Origin
    array: ArrayView | None


@dataclass(frozen=True, slots=True)
class ProgramView:
    """A program on the page; ``number`` is its position in the run."""

    number: int
    program: ProgramReport
    verdicts: tuple[Verdict, ...]
    runs: tuple[RunRow, ...]
    failures: Mapping[Run, tuple[str, ...]]  # each kind of failed run, with its campaigns
    differences: tuple[Difference, ...]
    origins: tuple[OriginView, ...]
    panes: tuple[Pane, ...]

    @property
    def is_bad(self) -> bool:
        """Whether the program is among the first on the page, and unfolded."""
        return self.program.differs

    @property
    def worst(self) -> LeafResult | None:
        """The array of any run whose error is the largest share of its allowance."""
        return deciding(row.worst for row in self.runs if row.worst is not None)


def report_to_html(report: CheckReport) -> str:
    """Return the report as a self-contained page: programs that differ come first, unfolded; the others take a line
    each.
    """
    views = sorted(
        (_program(number, program) for number, program in enumerate(report.programs)),
        key=lambda view: (not view.is_bad, all(verdict.tone in ("good", "close") for verdict in view.verdicts)),
    )
    kinds: dict[str, Verdict] = {}
    counts: Counter[str] = Counter()
    for view in views:
        for verdict in view.verdicts:
            kinds.setdefault(verdict.key, verdict)
        counts.update({verdict.key for verdict in view.verdicts})
    order = [*(status.value for status in reversed(Status)), NOT_COMPARED]
    return render(
        "report",
        report=report,
        views=views,
        targets=tuple(dict.fromkeys(target for program in report.programs for target in program.targets)),
        references=tuple(dict.fromkeys(name for program in report.programs for name in program.references)),
        bad=sum(view.is_bad for view in views),
        kinds=[(kinds[key], counts[key]) for key in sorted(kinds, key=order.index)],
        number=_number,
        element=_element,
    )


def _program(number: int, program: ProgramReport) -> ProgramView:
    rows = [row for case in program.cases for run in case.runs for row in _run_row(case, run)]
    differences = [_difference(program, case, one) for case in program.cases for one in case.comparisons]
    origins = (
        OriginView(target, origin, _array(origin.leaf) if origin.leaf else None)
        for target, origin in program.origins.items()
    )
    return ProgramView(
        number,
        program,
        tuple(_target_verdict(program, target) for target in program.targets),
        tuple(rows),
        _failures(program),
        tuple(one for one in differences if not one.comparison.found.is_good),
        tuple(origins),
        tuple(_panes(program)),
    )


def _panes(program: ProgramReport) -> list[Pane]:
    """Return linked panes of code; a report that was read from JSON has only the texts."""
    emitted = [generated for generated in program.emitted.values() if generated.program is not None]
    return make_panes(*emitted) if emitted else plain_panes(program.hlo, program.sources)


def _failures(program: ProgramReport) -> dict[Run, tuple[str, ...]]:
    """Return the failed runs, each kind with its campaigns."""
    found: dict[Run, tuple[str, ...]] = {}
    for case in program.cases:
        for run in case.runs:
            if run.failure is not None:
                alike = replace(run, seconds=0.0, peak_bytes=0)
                found[alike] = (*found.get(alike, ()), case.campaign)
    return found


def _verdict(status: Status) -> Verdict:
    return Verdict(status.value, TONES.get(status, "bad"))


def _target_verdict(program: ProgramReport, target: str) -> Verdict:
    text = program.verdict(target)
    return Verdict(text, "open") if text == NOT_COMPARED else Verdict(text, _verdict(program.status(target)).tone)


def _run_row(case: Case, run: Run) -> Iterator[RunRow]:
    own = case.comparison(run.participant)
    leaves = own.leaves if own is not None else ()
    status = case.status(run.participant)
    is_alone = run.failure is None and not case.comparisons
    yield RunRow(
        case.campaign,
        run,
        Verdict(NOT_COMPARED, "open") if is_alone else _verdict(status),
        own.against if own is not None else "",
        deciding(leaves),
        _errors(leaves, is_bad=not status.is_good),
    )


def _errors(leaves: Sequence[LeafResult], *, is_bad: bool) -> Chart | None:
    """Return a chart of the errors of all floats of a result; None if it has no floats."""
    histograms = [leaf.ulp_histogram for leaf in leaves if leaf.ulp_histogram is not None]
    if not histograms:
        return None
    counts = tuple(map(sum, zip(*(histogram.counts for histogram in histograms), strict=True)))
    odd = sum(histogram.odd for histogram in histograms)
    return _chart("Errors", "ULP", Histogram(histograms[0].edges, counts, odd), is_bad=is_bad)


def _chart(title: str, unit: str, histogram: Histogram, *, is_bad: bool) -> Chart:
    return chart(title, unit, histogram.edges, histogram.counts, histogram.odd, is_bad=is_bad)


def _difference(program: ProgramReport, case: Case, one: Comparison) -> Difference:
    target = next((name for name in (one.participant, one.against) if name in program.targets), "")
    words = ["xla2py", "check", program.path, "-t", target, *program.options]
    words += ["--campaigns", case.campaign, "--seed", str(case.seed)]
    is_told = bool(program.path and target) and case.campaign != "given"
    arrays = tuple(_array(leaf) for leaf in one.leaves if not leaf.status.is_good)
    return Difference(case, one, arrays, shlex.join([*words, "--lockstep"]) if is_told else "")


def _array(leaf: LeafResult) -> ArrayView:
    charts = [
        _chart(title, unit, histogram, is_bad=True)
        for title, unit, histogram in (
            ("Units in the last place", "ULP", leaf.ulp_histogram),
            ("Relative difference", "", leaf.relative_histogram),
        )
        if histogram is not None and sum(histogram.counts) + histogram.odd
    ]
    return ArrayView(leaf, _verdict(leaf.status), tuple(charts))


def _number(value: float) -> str:
    """Return a difference in few digits; "" for 0, NaN and infinities."""
    if not value or not math.isfinite(value):
        return ""
    return f"{value:,.0f}" if 10 <= value < 1e6 else f"{value:.2g}"


def _element(value: Any) -> str:
    """Return an element of an array as text: floats with enough digits to distinguish any two of 32 bits."""
    return f"{value:.9g}" if isinstance(value, float | complex) else str(value)
