"""The proof that a vendored module which a person edited still computes what its source does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..emission.module.entry_point import CHECK_TREE_SIZES, CHECK_TREES

if TYPE_CHECKING:
    from ..equivalence.reports.results import ProgramReport
    from ..vendoring import Project, VendoredModule

DIFFERS, NOT_COMPARED = 1, 3


def proved(project: Project, module: VendoredModule) -> tuple[str, int]:
    """Run an edited module beside XLA on the inputs of every campaign: the outcome in words, and the exit code.

    Nothing is run for a module that is as xla2py wrote it, helpers and all.
    """
    from ..equivalence.checking import Checker, Plan
    from ..equivalence.inputs.kinds import CAMPAIGNS
    from ..vendoring import as_edited, program_of, regenerate

    edited = as_edited(project, module)
    if edited is None:
        return "", 0
    if any(f"{check}(" in edited.source for check in (CHECK_TREES, CHECK_TREE_SIZES)):
        return "not proved: main takes trees", NOT_COMPARED
    plan = Plan((module.target,), campaigns=tuple(CAMPAIGNS))
    program = program_of(project, module)
    with Checker(plan) as checker:
        reports = checker.examine_module(program, edited, module.output)
        wrong = _wrong(reports, module.target)
        also = _wrong(checker.examine_module(program, regenerate(project, module)), module.target) if wrong else []
    if set(wrong) - set(also):
        return f"wrong on {', '.join(dict.fromkeys(each for each in wrong if each not in also))} inputs", DIFFERS
    if wrong:
        return f"not proved: what xla2py writes is another on {', '.join(dict.fromkeys(also))} inputs", NOT_COMPARED
    if not all(report.is_compared for report in reports):
        return "not proved: nothing to compare with", NOT_COMPARED
    return f"right on {sum(len(report.cases) for report in reports)} sets of inputs", 0


def _wrong(reports: Sequence[ProgramReport], target: str) -> list[str]:
    """Return the campaigns on which results differ, or there are none."""
    cases = (case for report in reports for case in report.cases)
    return [case.campaign for case in cases if not case.status(target).is_good or case.differences(target)]
