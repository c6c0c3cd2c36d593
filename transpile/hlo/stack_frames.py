"""The Python calls around an instruction, from the stack tables of a module."""

from __future__ import annotations

from collections.abc import Iterable

from ..walks import reached
from .ir import HloModule, Instruction


def driver_frames(module: HloModule) -> frozenset[int]:
    """Return the frames of the caller of the tracer: those around the traced function, or around every instruction."""
    if not module.stack_frames:
        return frozenset()
    traced = _spelled(module.name.removeprefix("jit_"))
    named = {
        frame_id
        for frame_id, frame in enumerate(module.stack_frames, 1)
        if _spelled(frame.function_name.rpartition(".")[2]) == traced
    }
    # A cached jaxpr that was traced inside repeats the whole stack below its caller.
    parents = {frame_id: _with_parents(module, [module.stack_frames[frame_id - 1].parent]) for frame_id in named}
    outermost = [found for found in parents.values() if not found & named]
    if outermost:
        return frozenset().union(*outermost)
    common: set[int] | None = None
    for frame_id in {i.metadata.stack_frame_id for i in module.instructions() if i.metadata is not None}:
        around: set[int] = set()
        while 0 < frame_id <= len(module.stack_frames) and frame_id not in around:
            frame_id = module.stack_frames[frame_id - 1].parent
            around.add(frame_id)
        if around and around != {0}:
            common = around if common is None else common & around
    return frozenset(common or ())


def has_own_lines(module: HloModule) -> bool:
    """Return whether instructions have lines of the traced function. If not, all have the line that called the tracer,
    because a library's function was traced, ``jit(vmap(searchsorted))``, whose frames JAX leaves out.
    """
    frames = {i.metadata.stack_frame_id for i in module.instructions() if i.metadata is not None} - {0}
    traced = _spelled(module.name.removeprefix("jit_"))
    names = (frame.function_name.rpartition(".")[2] for frame in module.stack_frames)
    return len(frames) != 1 or any(_spelled(name) == traced for name in names)


def _spelled(name: str) -> str:
    """Return a function name in a form common to XLA's and JAX's module names: ``<lambda>`` is ``_lambda_`` in XLA and
    ``_lambda`` in JAX.
    """
    return name.replace("<", "_").replace(">", "_").strip("_")


def _with_parents(module: HloModule, frame_ids: Iterable[int]) -> set[int]:
    known = range(1, len(module.stack_frames) + 1)
    parents = reached(frame_ids, lambda each: [module.stack_frames[each - 1].parent] if each in known else [])
    return {frame_id for frame_id in parents if frame_id in known}


_SHORTEST_COPY = 2  # frames: one frame twice is a recursive call


class CallChains:
    """The frames around each instruction, outermost first, without those of the tracer's caller."""

    def __init__(self, module: HloModule) -> None:
        self.frames = module.stack_frames
        self._driver = driver_frames(module)
        self._known: dict[int, tuple[int, ...]] = {}
        self._once: dict[int, tuple[int, ...]] = {}

    def of(self, instruction: Instruction) -> tuple[int, ...]:
        """Return the frame ids around an instruction; empty if it has no stack."""
        metadata = instruction.metadata
        return self.around(metadata.stack_frame_id) if metadata is not None and metadata.stack_frame_id else ()

    def around(self, frame_id: int) -> tuple[int, ...]:
        """Return a frame and those around it, outermost first."""
        found = self._known.get(frame_id)
        if found is None:
            chain: list[int] = []
            current = frame_id
            while 0 < current <= len(self.frames) and current not in self._driver and current not in chain:
                chain.append(current)
                current = self.frames[current - 1].parent
            found = self._known[frame_id] = tuple(reversed(chain))
        return found

    def once(self, frame_id: int) -> tuple[int, ...]:
        """Return the chain around a frame without its copy at the end, which a cached jaxpr has from its first call."""
        found = self._once.get(frame_id)
        if found is None:
            found = self._once[frame_id] = self._without_copy(self.around(frame_id))
        return found

    def _without_copy(self, chain: tuple[int, ...]) -> tuple[int, ...]:
        half, is_odd = divmod(len(chain), 2)
        if half < _SHORTEST_COPY or is_odd:
            return chain
        frames = [self.frames[each - 1] for each in chain]
        functions = [(frame.file_name, frame.function_name) for frame in frames]
        is_copy = functions[:half] == functions[half:] and frames[0].place == frames[half].place
        return chain[:half] if is_copy and len(set(functions)) == half else chain
