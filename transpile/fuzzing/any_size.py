"""Random programs with free sizes: compares the module for any size with the modules for each size."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field
from random import Random

from ..dataclass import dataclass
from ..emission import emit
from ..equivalence.inputs.generate import make_inputs, nest
from ..equivalence.inputs.sizes import sizes_to_check
from ..equivalence.reference.participants import Workers
from ..equivalence.verdicts.comparison import compare
from ..equivalence.verdicts.tolerances import budgets_for
from ..errors import UnsupportedError, XlaToPythonError
from ..frontends.witnesses import witnesses
from ..options import READABLE
from .free_sizes import names_of, program_at

SIZES_OF_EACH = 5
_LARGEST = 40  # a size at most, since arrays have up to three such axes, unless the module only takes larger ones
_TOO_LARGE = 200
_FOR_LARGE = "a module for larger sizes than are compared"
_CHUNKS = "5"  # elements of a chunk, on targets with chunks: few sizes are multiples of it


@dataclass(slots=True)
class Tally:
    """The results: the number of programs that agree, the reasons why others have no module, and differences by
    seed.
    """

    agreeing: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    wrong: dict[int, str] = field(default_factory=dict)


def compare_any_size(seed: int, workers: Workers, tally: Tally, style: str = READABLE, target: str = "numpy") -> None:
    """Compare the program of a seed at several sizes: a target's module for any size with NumPy's for each size."""
    try:
        found = witnesses(names_of(seed), lambda sizes: program_at(seed, sizes))
        generic = emit(found, target, style=style, format=False, chunks=_CHUNKS)
    except UnsupportedError as error:
        tally.refusals[_cause(error)] += 1
        return
    largest = max(_LARGEST, *(2 * possible.start for possible in generic.sizes.values()))
    possible = [sizes for sizes in sizes_to_check(generic.sizes, found.sizes) if max(sizes.values()) <= largest]
    if largest > _TOO_LARGE or not possible:
        tally.refusals[_FOR_LARGE] += 1
        return
    least, *others = possible
    chosen = [least, *Random(seed).sample(others, min(len(others), SIZES_OF_EACH - 1))]
    for sizes in chosen:
        try:
            module = program_at(seed, sizes)
        except XlaToPythonError:
            continue
        arguments = nest([parameter.shape for parameter in module.entry.parameters], make_inputs(module, seed))
        runs = [workers.run_generated(each, arguments) for each in (emit(module, format=False), generic)]
        failed = next((run for run in runs if run.failure is not None), None)
        leaves = [] if failed else compare(list(runs[0].results), list(runs[1].results), budgets_for(module))
        differing = [str(leaf) for leaf in leaves if not leaf.status.is_good]
        if failed or differing:
            tally.wrong[seed] = f"at {sizes}: {failed.message if failed else differing[0]}"
            return
    tally.agreeing += 1


def _cause(error: UnsupportedError) -> str:
    """Return the code and the message of a refusal without the program's own text and numbers."""
    first = error.diagnostics[0]
    return f"{first.code}: {re.sub('`.*|[0-9]+.*', '', first.message).strip(' :')}"
