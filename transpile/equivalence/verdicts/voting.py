"""Voting: the participants of a case whose results agree form parties, and the largest party is accepted.

Targets share a lowering, so two of them against XLA are not two independent opinions: the vote says where to look
first, and every difference counts, whoever is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...dataclass import dataclass
from ..reports.results import Comparison, Run
from .comparison import LeafResult

Compare = Callable[[Run, Run], tuple[LeafResult, ...]]
Known = Callable[[str, str, Sequence[LeafResult]], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Vote:
    """The accepted participant, the comparisons of the others with it, and those that are wrong by a majority."""

    accepted: str = ""
    comparisons: tuple[Comparison, ...] = ()
    wrong: tuple[str, ...] = ()


def vote(runs: Sequence[Run], compare: Compare, known: Known) -> Vote:
    """Compare the runs that have results; among parties of equal size, the one with the earliest run wins, references
    first.

    ``compare(expected, actual)`` returns the verdicts on the arrays; ``known(participant, against, leaves)`` the
    reasons why differences between two participants are expected, empty if they are not.
    """
    voters = [run for run in runs if run.failure is None]
    parties: list[list[Run]] = []
    compared: dict[tuple[str, str], tuple[LeafResult, ...]] = {}
    for run in voters:
        for party in parties:
            leaves = compared[party[0].participant, run.participant] = compare(party[0], run)
            if all(leaf.status.is_good for leaf in leaves):
                party.append(run)
                break
        else:
            parties.append([run])
    if not parties:
        return Vote()
    largest = max(parties, key=len)  # of equal ones, the first
    accepted = largest[0]
    comparisons = []
    for run in voters:
        if run is accepted:
            continue
        names = (accepted.participant, run.participant)
        leaves = compared[names] if names in compared else compare(accepted, run)
        is_good = all(leaf.status.is_good for leaf in leaves)
        reasons = () if is_good else known(run.participant, accepted.participant, leaves)
        comparisons.append(Comparison(run.participant, accepted.participant, leaves, reasons))
    is_majority = len(largest) > 1 and 2 * len(largest) > len(voters)
    wrong = tuple(one.participant for one in comparisons if is_majority and not one.status.is_good)
    return Vote(accepted.participant, tuple(comparisons), wrong)
