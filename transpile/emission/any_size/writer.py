"""The writer of a module for any size: the choice of sizes to emit a program at, and the common text of the results."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property, partial
from typing import Any

from ...array.node import Node
from ...array.program import Function
from ...compilation import kernels_in
from ...dataclass import dataclass
from ...errors import Diagnostic, UnsupportedError, XlaToPythonError
from ...frontends.signatures import shown_sizes
from ...frontends.witnesses import Assignment, Witnesses
from ...hlo.ir import HloModule
from ...hlo.literal_values import array_sha256
from ...python.modules import parsed
from ...python.verifier import require_sound
from ...target import Target
from ..expression import Renderer
from ..formatting import formatted
from ..layout import Layout
from ..module.generated import GeneratedModule
from ..module.header import recorded_hashes, with_more_words, with_new_body_hash, with_source_hash
from .expressions import FEWEST, Doubt
from .kernel_strings import Language
from .least_sizes import (
    bits_at,
    far_sizes,
    least_sizes,
    numbers_by_chance,
    numbers_that_differ,
    reaches,
    sizes_of,
    skeleton,
    small_sizes,
)
from .texts import SIGNATURE, Common, Shapes, Unification, assigned

_MOST_BITS = 2**63 - 1  # in an array
_ADJACENT = 8  # sizes of which two that are adjacent must have the text
MOST_POSITIONS = 2**31 - 1  # along an axis, if nothing else bounds them
_ENDLESS = 2**63
_MOST_DOUBTS = 16  # additional programs that may settle doubts
_NO_HASH = "0" * 16  # stands for the sources' hashes, so that these are no difference
_UNFORMATTED = " --no-format"


@dataclass
class Writer:
    """The writer of one module for any size.

    ``emitted`` are the modules at the sizes so far, ``sizes`` has the value of each name in them, and ``common`` is
    their common text. A target that arranges programs does so for the ``planned`` sizes, and keeps that arrangement at
    all sizes. Unless it ``folds_sizes``, nothing is folded from numbers that follow from sizes: the computation stays
    in the text. If ``sizes_reach`` is not 0, the intervals of positions assume free sizes up to this bound. If it
    ``is_for_large_sizes``, the text is that of large sizes, and the module's minimum is the least at which the program
    has it. The text is ``known_to`` be right below these sizes.
    """

    witnesses: Witnesses
    emit: Callable[..., GeneratedModule]
    options: Mapping[str, Any]
    planned: Assignment
    emitted: list[GeneratedModule] = field(default_factory=list)
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    common: Common = field(default_factory=lambda: Common(""))
    folds_sizes: bool = True
    sizes_reach: int = 0
    is_for_large_sizes: bool = False
    known_to: Assignment = field(default_factory=dict)

    @cached_property
    def renderer(self) -> Renderer:
        target = self.options["target"]
        return Renderer(target.macros, target.namespace, target.scalars, layout=Layout(self.options["line_length"]))

    def module(self, is_formatted: bool, observe: Callable[[str, str], None] | None) -> GeneratedModule:
        """Return the module; ``observe`` gets the passes of the program at the first sizes."""
        if self.planned:
            self.options = {**self.options, "target": self._arranging()}
        if self.is_for_large_sizes:
            self._add_large()
        else:
            self._add_small(observe)
        ranges = {
            name: range(min(self.sizes[name]), self.known_to.get(name, _ENDLESS), step)
            for name, step in self.witnesses.steps.items()
        }
        own = self.emitted[0]
        text = with_source_hash(self._with_ranges(ranges), _digest(self.emitted, self.planned))
        text = with_more_words(text, self.witnesses.command, without=_UNFORMATTED if is_formatted else "")
        if is_formatted:
            text = formatted(text, self.renderer.layout, own.source)
        if self.options["debug"]:
            require_sound(text, [function.name for function in own.functions])
        text = with_new_body_hash(text)
        return GeneratedModule(
            text,
            own.name,
            own.target,
            own.constants,
            sizes=ranges,
            helpers=own.helpers,
            line_length=own.line_length,
            has_tensors=own.has_tensors,
        )

    def _with_ranges(self, ranges: Mapping[str, range]) -> str:
        """Return the text with the range of each size behind the signature."""
        module = parsed(self.common.text)
        ends = [module.extent(node)[1] for node in module.tree.body if assigned(node) == SIGNATURE]
        line = self.renderer.statement("free_sizes", ranges)
        return module.edited((end, end, f"\n{line}") for end in ends)

    def _arranging(self) -> Target:
        """Return the target with the arrangement of the program at the ``planned`` sizes."""
        target: Target = self.options["target"]
        assert target.arrange is not None
        plan = self._emitted(self.witnesses.program(self.planned), self.planned).plan
        assert plan is not None
        return replace(target, arrange=partial(target.arrange, layout=plan.layout))

    def _emitted(
        self, module: HloModule, sizes: Assignment, observe: Callable[[str, str], None] | None = None
    ) -> GeneratedModule:
        numbers = frozenset() if self.folds_sizes else self._free_numbers(module)
        fixed = self.fixed_sizes - {*sizes.values()}
        given = replace(
            module,
            free_sizes=dict(sizes),
            free_numbers=numbers,
            coincidental_numbers=numbers_by_chance(module, self._another(module), {*sizes.values()} - self.fixed_sizes),
            fixed_sizes=fixed,
            sizes_reach=self.sizes_reach,
        )
        return self.emit(given, **{**self.options, "observe": observe})

    def _add(self, module: HloModule, sizes: Assignment, observe: Callable[[str, str], None] | None = None) -> None:
        """Emit the program at given sizes and add the module to ``emitted``."""
        self.emitted.append(self._emitted(module, sizes, observe))
        self.sizes = {name: (*self.sizes.get(name, ()), number) for name, number in sizes.items()}

    def has_free_numbers(self) -> bool:
        """Return whether the program has numbers that follow from sizes."""
        return bool(self._free_numbers(self.witnesses.modules[0]))

    def _free_numbers(self, module: HloModule) -> frozenset[float]:
        return numbers_that_differ(module, self._another(module))

    def _another(self, module: HloModule) -> HloModule:
        """Return the program at sizes other than those of ``module``."""
        first = self.witnesses.modules[0]
        return self.second[1] if module is first else first

    @cached_property
    def second(self) -> tuple[Assignment, HloModule]:
        """Sizes other than the first ones, and the program at them: small sizes, which are read anyway, if possible."""
        first, own = self.witnesses.modules[0], self.witnesses.assignment(0)
        alone = least_sizes([first], {name: (number,) for name, number in own.items()})
        for sizes in small_sizes(first, self.witnesses.steps, alone, own)[:2] if self.witnesses.at is not None else ():
            with suppress(XlaToPythonError):
                assert self.witnesses.at is not None
                module = self.witnesses.at(sizes)
                if skeleton(module) == skeleton(first):
                    return sizes, module
        return self.witnesses.assignment(1), self.witnesses.modules[1]

    def may_be_far(self) -> bool:
        """Return whether the program can be read at large sizes: its skeleton is the same at two sizes."""
        return self.witnesses.at is not None and skeleton(self.witnesses.modules[0]) == skeleton(self.second[1])

    def has_stable_skeleton(self) -> bool:
        """Return whether the program has the same skeleton at the largest reserve sizes and at twice these."""
        larger = self.witnesses.further_sizes[-1:]
        if self.witnesses.at is None or not larger:
            return False
        twice = {name: 2 * number for name, number in larger[0].items()}
        with suppress(XlaToPythonError):
            one, other = (self.witnesses.at(sizes) for sizes in (larger[0], twice))
            return skeleton(one) == skeleton(other)
        return False

    @cached_property
    def fixed_sizes(self) -> frozenset[int]:
        """The lengths of axes that do not depend on the sizes."""
        return sizes_of(self.witnesses.modules[0]) & sizes_of(self.second[1])

    def _add_small(self, observe: Callable[[str, str], None] | None) -> None:
        """Add the program at the first sizes, at the least sizes with the same text, and at large ones."""
        others = range(1, len(self.witnesses.modules))
        self._add(self.witnesses.modules[0], self.witnesses.assignment(0), observe)
        may_be_far, is_quick = self.may_be_far(), len(others) == 1 and self._language() is None
        far, module = self._far_program() if may_be_far else ({}, None)
        is_added = is_quick and module is not None and self._is_alike(module, far)
        for number in others if not is_added else ():
            self._add(self.witnesses.modules[number], self.witnesses.assignment(number))
        self.common = self._in_common()
        self._add_least(*(self.second if module is None else (far, module)))
        if not may_be_far:
            far, module = self._far_program()
        if module is not None and not is_added:
            self._add(module, far)
            self.common = self._in_common()
            self._add_what_is_needed()

    def _is_alike(self, module: HloModule, sizes: Assignment) -> bool:
        """Return whether the program at the given sizes has the common text; if so, add it to ``emitted``."""
        kept = list(self.emitted), self.sizes, self.common
        with suppress(UnsupportedError):
            self._add(module, sizes)
            self.common = self._in_common()
            return True
        self.emitted, self.sizes, self.common = kept
        return False

    def _add_large(self) -> None:
        """Add the program at large sizes, and at the least from which on it has the same text (by bisection).

        Raises ``UnsupportedError`` (XP424) if there are none.
        """
        assert self.witnesses.at is not None
        steps = self.witnesses.steps.items()
        far, module = self._far_program()
        if module is None:
            raise UnsupportedError(Diagnostic("XP424", "the program cannot be read at large sizes"))
        self._add(module, far)
        halves = [far[name] // step // 2 for name, step in steps]
        parities = [(far[name] // step + half + 1) % 2 for (name, step), half in zip(steps, halves, strict=True)]
        half = {name: step * (k + odd) for (name, step), k, odd in zip(steps, halves, parities, strict=True)}
        self._add(self.witnesses.at(half), half)
        most, least = min(half.values()), 1
        scale = 2 * FEWEST
        while scale < most and not self._has_text(self._scaled(scale)):
            least, scale = scale, 2 * scale
        while least + 1 < scale < most:
            middle = (least + scale) // 2
            least, scale = (least, middle) if self._has_text(self._scaled(middle)) else (middle, scale)
        if scale >= most:  # the order of the sizes was the same so far, so the text may also depend on it
            message = "the program has another text wherever an axis is not as long as one of half a million"
            raise UnsupportedError(Diagnostic("XP424", message))
        self._confirm_above(scale)
        self._add_few_of_each()
        self.common = self._in_common()
        self._add_what_is_needed()

    def _confirm_above(self, number: int) -> None:
        """Add the program at two adjacent sizes from a confirmed number of steps on.

        An expression that only holds for multiples, ``3 / n`` for ``1 / (n // 3)``, never has both. Raises
        ``UnsupportedError`` (XP424) if there are none.
        """
        is_confirmed = True
        for more in range(number + 1, number + 1 + _ADJACENT):
            was_confirmed, is_confirmed = is_confirmed, self._has_text(self._scaled(more))
            if was_confirmed and is_confirmed:
                return
        message = "the text of large sizes is that of small ones only where these are multiples"
        raise UnsupportedError(Diagnostic("XP424", message))

    def _add_few_of_each(self) -> None:
        """Add the program with each size in turn as small as possible, given the smallest others so far."""
        least = {name: min(numbers) for name, numbers in self.sizes.items()}
        for name, step in self.witnesses.steps.items() if len(least) > 1 else ():
            tried = ({**least, name: few * step} for few in (1, 2) if few * step < least[name])
            least = next(filter(self._has_text, tried), least)

    def _scaled(self, number: int) -> dict[str, int]:
        """Return different sizes, from ``number`` steps upwards."""
        return {name: step * (number + k) for k, (name, step) in enumerate(self.witnesses.steps.items())}

    def _add_least(self, sizes: Assignment, other: HloModule) -> None:
        """Add the program at the least sizes at which it has the same text; ``other`` is the program at ``sizes``."""
        smallest = {name: min(values) for name, values in self.sizes.items()}
        seen: list[Assignment] = [smallest]
        pairs = {name: (number, sizes[name]) for name, number in self.witnesses.assignment(0).items()}
        bounds = least_sizes([self.witnesses.modules[0], other], pairs)
        possible = small_sizes(self.witnesses.modules[0], self.witnesses.steps, bounds, smallest)
        for least in possible if self.witnesses.at is not None else ():
            if least not in seen and self._has_text(least):
                break
            seen.append(least)
        self._add_what_is_needed()

    def _far_program(self) -> tuple[Assignment, HloModule | None]:
        """Return much larger sizes and the program at these; ({}, None) if it can be read at none.

        ``known_to`` is set to these sizes if positions may be compared with larger numbers: then nothing is known
        beyond.
        """
        if self.witnesses.at is None:
            return {}, None
        first = self.witnesses.modules[0]
        reached = reaches(first, self.second[1])
        for numbers in far_sizes(reached):
            far = {name: k * step for (name, step), k in zip(self.witnesses.steps.items(), numbers, strict=False)}
            if bits_at(first, self.witnesses.assignment(0), far) > _MOST_BITS:
                continue
            with suppress(Exception):  # a user's function may fail in any way at sizes that it is not made for
                module = self.witnesses.at(far)
                self.known_to = dict.fromkeys(far, _ENDLESS) if min(numbers) > reached[-1] else far
                return far, module
        return {}, None

    def _add_what_is_needed(self) -> None:
        """Add the program at further sizes until there are enough texts and no doubts.

        Raises ``UnsupportedError`` (XP424) if no further sizes are available.
        """
        for sizes in self._further_sizes():
            if len(self.emitted) < self.common.needed:
                self._add(self.witnesses.program(sizes), sizes)
                self.common = self._in_common()
        for _ in range(_MOST_DOUBTS if self.witnesses.at is not None else 0):
            if self.common.doubts:
                told = {doubt.size: doubt.number for doubt in self.common.doubts}
                further = {**self.witnesses.assignment(0), **told}
                if further in self._columns():  # all doubts together did not help, so one is settled alone
                    (name, number), *_ = told.items()
                    further = {**self.witnesses.assignment(0), name: number}
                self._add(self.witnesses.program(further), further)
                self.common = self._in_common()
        if self.common.doubts:
            raise UnsupportedError(*map(_of_doubt, self.common.doubts))
        if len(self.emitted) < self.common.needed:
            message = f"the text has numbers of which {len(self.emitted)} sizes do not tell enough"
            hint = f"{self.common.needed} sizes would tell more"
            raise UnsupportedError(Diagnostic("XP424", message, hint=hint))

    def _further_sizes(self) -> Sequence[Assignment]:
        """Return further sizes: large ones if ``is_for_large_sizes``."""
        if not self.is_for_large_sizes:
            return self.witnesses.further_sizes
        most = min(
            numbers[0] // step for numbers, step in zip(self.sizes.values(), self.witnesses.steps.values(), strict=True)
        )
        return [self._scaled(most * part // (part + 1)) for part in (4, 6)]

    def _has_text(self, tried: Assignment) -> bool:
        """Return whether the program has the common text at these sizes, too; if so, add it to ``emitted``."""
        assert self.witnesses.at is not None
        kept = list(self.emitted), self.sizes, self.common
        with suppress(XlaToPythonError):
            module = self.witnesses.at(tried)
            is_possible = self.is_for_large_sizes or skeleton(module) == skeleton(self.witnesses.modules[0])
            if is_possible and self._is_alike(module, tried):
                self._add_what_is_needed()
                return True
        self.emitted, self.sizes, self.common = kept
        return False

    def _in_common(self) -> Common:
        """Return the common text of all modules so far.

        Raises ``UnsupportedError`` (XP424) if there is none.
        """
        _require_equal_constants(self.emitted)
        texts = [parsed(with_source_hash(each.source, _NO_HASH)) for each in self.emitted]
        return Unification(texts, self.sizes, _shapes(self.emitted), self.renderer, self._language()).common()

    def _columns(self) -> list[dict[str, int]]:
        """Return the sizes of each text."""
        return [dict(zip(self.sizes, column, strict=True)) for column in zip(*self.sizes.values(), strict=True)]

    def _language(self) -> Language | None:
        kernels = kernels_in(self.options["style"], self.options["target"])
        return kernels.language() if kernels is not None and kernels.language is not None else None


def _of_doubt(doubt: Doubt) -> Diagnostic:
    message = f"`{doubt.expression}` is not the only expression of {doubt.size} that has the numbers of all texts"
    return Diagnostic("XP424", message, hint=f"a program at {doubt.size} = {doubt.number} would tell more")


def _require_equal_constants(emitted: list[GeneratedModule]) -> None:
    first, *others = [
        {name: (array.dtype, array.shape, array_sha256(array)) for name, array in each.constants.items()}
        for each in emitted
    ]
    if any(other != first for other in others):
        raise UnsupportedError(Diagnostic("XP424", "constants are not the same at all sizes"))


def _shapes(emitted: list[GeneratedModule]) -> dict[str, Shapes]:
    """Return the shapes of the arguments of each function, in each text."""
    found: dict[str, dict[str, list[Sequence[int | None]]]] = {}
    for each in emitted:
        for function in each.functions:
            arguments = found.setdefault(function.name, {})
            for node, name in function.parameters.items():
                if node.element_type is not None:
                    arguments.setdefault(name, []).append(_known_shape(each, function.function, node))
        for kernel, shapes in each.shapes.items():
            rows = found.setdefault(kernel, {})
            for name, shape in shapes.items():  # kernels get chunks, of unknown shape, if arrays are chunked
                rows.setdefault(name, []).append(shape if each.plan is None else (None,) * len(shape))
    return {
        name: {argument: rows for argument, rows in arguments.items() if len(rows) == len(emitted)}
        for name, arguments in found.items()
    }


def _known_shape(module: GeneratedModule, function: Function, node: Node) -> tuple[int | None, ...]:
    """Return the shape of an argument, with None for axes along which a function gets, or may get, a block."""
    may_be_block = module.plan is not None and module.program is not None and function is not module.program.entry
    cut = function.cut.get(node, (may_be_block,) * node.ndim)
    return tuple(None if is_cut else size for size, is_cut in zip(node.shape, cut, strict=True))


def _digest(emitted: list[GeneratedModule], planned: Assignment) -> str:
    hashes = (recorded_hashes(each.source)["source"] for each in emitted)
    return hashlib.sha256("".join((*hashes, shown_sizes(planned))).encode()).hexdigest()
