"""What has a form in chunks along an axis that it otherwise needs whole: a function of lazy arrays in the prelude."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...transpile.array.node import Node, Slot, Ufunc
from ...transpile.array.scalars import is_known_on_host
from ...transpile.array.value import FULL
from .matrices import rows_of_tall, square_axes
from .scatters import rows_and_updates, scatter_call, updates, updates_alike

Places = Mapping[tuple[int, int], int | None]  # an operand and its axis: the axis of the result that is cut alike


@dataclass(frozen=True, slots=True)
class Form:
    """The function to call, the axes of operands that may be cut though they are not linked, and the arguments and
    keywords of the call. Tasks read so many of the first operands themselves as ``reads`` says, if these are
    arguments.

    ``alike`` gives lists of such axes that are cut alike, though no axis of the result is.

    For the plan: a task holds a block of each operand and ``holds`` of the result (as many of all operands, where there
    are several results), ``of_operands`` more of all operands, and so many bytes besides for each element; and the
    tasks that there are for a chunk of the result and of the operand ``each``. Where ``is_sized``, the call is told the
    ``chunks`` of the result, which may be cut along axes that are not linked."""

    function: str
    may_be_cut: Callable[[Node], Places]
    call: Callable[[Node], tuple[tuple[Any, ...], dict[str, Any]]]
    alike: Callable[[Node], Iterable[Sequence[tuple[int, int]]]] = lambda node: ()
    reads: int = 0
    holds: int = 2
    of_operands: int = 0
    element_bytes: int = 0
    tasks: int = 1
    each: int = 0
    is_sized: bool = False


def _forms(node: Node) -> tuple[Form, ...]:
    return FORMS.get(node.parameters["function"] if node.opcode == "prelude" else node.opcode, ())


def form_in_chunks(node: Node, cut: Collection[tuple[int, int]]) -> Form | None:
    """The first form of a node in which these axes of its operands, which are not linked, may be cut."""
    return next((form for form in _forms(node) if set(cut) <= form.may_be_cut(node).keys()), None)


def may_be_cut(node: Node) -> Places:
    """The axes of operands along which a node has some form in chunks."""
    return {axis: place for form in reversed(_forms(node)) for axis, place in form.may_be_cut(node).items()}


def cut_alike(node: Node) -> Iterator[Sequence[tuple[int, int]]]:
    """Axes of operands that are cut alike in the forms of a node."""
    for form in _forms(node):
        yield from form.alike(node)


def _as_it_is(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return node.parameters["arguments"], node.parameters["keywords"]


def _whole_call(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (Slot(0),), {}


def _last(node: Node) -> Places:
    return {(0, node.operands[0].ndim - 1): None}


def _table(node: Node) -> Places:
    return {(0, node.parameters["axis"]): None} if _are_arrays(node.operands[1:]) else {}


def _are_arrays(indices: Sequence[Node]) -> bool:
    """No numbers, which ``main`` has as Python's."""
    return not any(index.is_literal or is_known_on_host(index) for index in indices)


def _taken(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    axis = node.parameters["axis"]
    return (Slot(0), Slot(1)), {"axis": axis} if axis else {}


def _first_indexed(node: Node) -> Places:
    """Of ``x[.., i, j]``."""
    index = node.parameters["index"]
    plain = all(item == FULL or isinstance(item, Slot) for item in index) and _are_arrays(node.operands[1:])
    return {(0, index.count(FULL)): None} if plain else {}


def _elements(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    index = node.parameters["index"]
    axis = index.count(FULL)
    return (Slot(0), tuple(index[axis:])), {"axis": axis} if axis else {}


def _sorted(node: Node) -> Places:
    return _all_along(node, node.parameters["axis"])


def _sorted_together(node: Node) -> Places:
    """All operands of a sort; the axis is the one of its arguments that is a number."""
    return _all_along(node, next(part for part in node.parameters["arguments"] if isinstance(part, int)))


def _all_along(node: Node, axis: int) -> Places:
    return {(k, axis): axis for k, operand in enumerate(node.operands) if 0 not in operand.shape}


def _sort(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (Slot(0),), {"axis": node.parameters["axis"]}


def _argsort(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (Slot(0), node.element_type), {"axis": node.parameters["axis"]}


def _transformed(node: Node) -> Places:
    ndim = node.ndim
    return {(0, axis): axis for axis in range(ndim - len(node.parameters["lengths"]), ndim)}


def _transform(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (Slot(0), node.parameters["kind"], node.parameters["lengths"]), {}


def _accumulated(node: Node) -> Places:
    return _all_along(node, node.parameters["axis"])


def _accumulate(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    ufunc = {"cummax": "maximum", "cummin": "minimum"}[node.opcode]
    return (Ufunc(ufunc), Slot(0)), {"axis": node.parameters["axis"]}


def _running(node: Node) -> Places:
    arrays = node.operands[: len(node.operands) // 2]
    axis = node.parameters["keywords"].get("axis", 0)
    return {(k, axis): axis for k, array in enumerate(arrays) if 0 not in array.shape}


def _row(node: Node) -> Places:
    """Of ``x[:, i]``, with a number that is computed."""
    index = node.parameters["index"]
    numbers = [axis for axis, item in enumerate(index) if item != FULL]
    alone = len(numbers) == 1 and len(node.operands) == 2 and not node.operands[1].ndim
    return {(0, numbers[0]): None} if alone and _are_arrays(node.operands[1:]) else {}


def _take_row(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (axis,) = (axis for axis, item in enumerate(node.parameters["index"]) if item != FULL)
    return (Slot(0), Slot(1)), {"axis": axis} if axis else {}


def _sliced(node: Node) -> Places:
    (x, *_), shape = node.operands, node.shape
    return {(0, axis): axis if n == shape[axis] else None for axis, n in enumerate(x.shape)} if 0 not in x.shape else {}


def _moved(node: Node) -> Places:
    x, update = node.operands[:2]
    axes = [axis for axis, n in enumerate(x.shape) if n != update.shape[axis]]
    return {**{(0, axis): axis for axis in axes}, **{(1, axis): None for axis in axes}} if 0 not in x.shape else {}


EVERY_OPERAND = 1 << 10
PLACES = 5  # blocks in a look-up of narrow rows: their places, masks, parts and what is joined of them
FACTORING = 10  # blocks of float32 in np.linalg.qr, which copies them for LAPACK as float64
SCATTERS = (
    Form("scatter_at_in_parts", updates, scatter_call, updates_alike, reads=EVERY_OPERAND, holds=6, each=2),
    Form("scatter_at_in_chunks", rows_and_updates, scatter_call, updates_alike, reads=EVERY_OPERAND),
)
FORMS: dict[str, tuple[Form, ...]] = {
    "top_k": (Form("top_k_in_chunks", _last, _as_it_is, holds=1),),
    **dict.fromkeys(("scatter_at", "setitem", "update_at"), SCATTERS),
    **dict.fromkeys(("cummax", "cummin"), (Form("accumulate_in_chunks", _accumulated, _accumulate, reads=1, tasks=2),)),
    "cumulative": (Form("cumulative_in_chunks", _running, _as_it_is, reads=EVERY_OPERAND, holds=6, tasks=2),),
    "getitem": (Form("take_in_chunks", _row, _take_row, reads=1),),
    "dynamic_slice": (Form("dynamic_slice_in_chunks", _sliced, _as_it_is, reads=1, holds=PLACES, is_sized=True),),
    "dynamic_update_slice": (Form("dynamic_update_slice_in_chunks", _moved, _as_it_is, reads=2),),
    "sort": (Form("sort_in_chunks", _sorted, _sort, element_bytes=24, tasks=3),),
    "argsort": (Form("argsort_in_chunks", _sorted, _argsort, element_bytes=24, tasks=3),),
    "sort_by_keys": (Form("sort_by_keys_in_chunks", _sorted_together, _as_it_is, element_bytes=24, tasks=3),),
    "sort_with": (Form("sort_with_in_chunks", _sorted_together, _as_it_is, element_bytes=128, tasks=3),),
    "fft": (Form("fft_in_chunks", _transformed, _transform, holds=3, tasks=4),),
    "take": (Form("take_in_chunks", _table, _taken, reads=1),),
    "advanced_index": (Form("take_in_chunks", _first_indexed, _elements, reads=1),),
    "take_along_axis": (Form("take_along_axis_in_chunks", _table, _taken, reads=1),),
    "qr": (Form("qr_in_chunks", rows_of_tall, _whole_call, holds=FACTORING, tasks=2),),
    "svd": (Form("svd_in_chunks", rows_of_tall, _whole_call, holds=FACTORING, tasks=3),),
    "svdvals": (Form("svdvals_in_chunks", rows_of_tall, _whole_call, holds=1, of_operands=FACTORING - 1),),
    "geqrf": (Form("geqrf_in_chunks", rows_of_tall, _whole_call, holds=FACTORING, tasks=2),),
    "cholesky": (Form("cholesky_in_chunks", square_axes, _as_it_is, reads=1, holds=4),),
    "triangular_solve": (Form("triangular_solve_in_chunks", square_axes, _as_it_is, reads=2, holds=4),),
}
