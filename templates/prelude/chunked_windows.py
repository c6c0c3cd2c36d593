"""Windows along axes that are cut: each task reads what its windows reach."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import dask.array as da
import numpy as np

from .chunked import as_chunked, spans_of
from .chunked_names import name_for
from .chunked_neighbours import block_key, blocks_around, box_from
from .chunked_tasks import array_of_tasks, reduce_parts
from .tiles import WINDOW_BYTES, room_for


def in_windows(
    function: Callable[..., Any],
    x: Any,
    *others: Any,
    layout: str,
    shape: Sequence[int],
    chunks: Sequence[int],
    summed: str = "",
    **keywords: Any,
) -> da.Array:
    """Return ``function(x, *others, **keywords)``, a convolution or a reduction of
    windows, in ``chunks`` of so many elements of the result.

    ``layout`` names axes like the layout of a convolution; a reduction has no kernel.
    Each task reads the elements that its windows reach. Each chunk of a kernel along
    the axes ``summed`` gives a part of the result, and the parts are added up.
    """
    sources, sizes = [as_chunked(x)], others[-1]
    if "," in layout:
        sources.append(as_chunked(others[0]))
        others, sizes = others[1:], sources[1].array.shape
    windows = Windows(function, layout, sources[0].array, sizes, keywords)
    lengths = {}
    for k, n, length in zip(windows.result, shape, chunks, strict=True):
        (lengths[k],) = da.core.normalize_chunks(length, (n,))
    for k, (which, axis) in windows.linked.items():
        lengths[k] = sources[which].chunks[axis]
    parts = [sources[1].chunks[windows.kernel.index(k)] for k in summed]
    pieces = [spans_of(cut) for cut in (*parts, *lengths.values())]
    name = name_for(function.__name__, windows, sources, lengths, parts, others)
    tasks: dict[Any, Any] = {}
    given = [block_key(one) for one in others]
    for place in np.ndindex(*map(len, pieces)):
        slices = [piece[k] for piece, k in zip(pieces, place, strict=True)]
        part = dict(zip(summed, slices, strict=False))
        piece = dict(zip(windows.result, slices[len(summed) :], strict=True))
        boxes, _ = windows.reached(piece, part)
        blocks = [
            blocks_around(one, box) for one, box in zip(sources, boxes, strict=True)
        ]
        tasks[name, *place] = (windows, piece, part, blocks, *given)
    arrays = (*(source.array for source in sources), *others)
    dtype = np.dtype(keywords.get("dtype") or sources[0].array.dtype)
    cuts = (*((1,) * len(part) for part in parts), *lengths.values())
    result = array_of_tasks(name, tasks, arrays, cuts, dtype)
    return reduce_parts(result, np.sum, tuple(range(len(parts)))) if parts else result


@dataclass(frozen=True)
class Move:
    """The motion of windows along an axis of ``n`` elements, which are ``gap`` apart
    and begin behind a padding of ``low``.
    """

    n: int
    stride: int
    dilation: int
    gap: int
    low: int

    def needed(self, piece: slice, taps: slice) -> tuple[slice, tuple[int, int]]:
        """Return the elements that some taps of a piece of the windows reach, and the
        padding on both sides of them.
        """
        first = piece.start * self.stride + taps.start * self.dilation - self.low
        last = (piece.stop - 1) * self.stride + (taps.stop - 1) * self.dilation
        end = last - self.low + 1
        start = max(0, min(-(-first // self.gap), self.n))
        stop = max(start, min((end - 1) // self.gap + 1, self.n))
        if start == stop:
            return slice(start, start), (end - first, 0)
        inner = start * self.gap - first, end - (stop - 1) * self.gap - 1
        return slice(start, stop), inner


class Windows:
    """Tasks that each compute a piece of a convolution or of a reduction of windows,
    some rows at a time.

    ``linked`` are the axes of the result that are also an axis of an array.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        layout: str,
        x: Any,
        sizes: Sequence[int],
        keywords: Mapping[str, Any],
    ) -> None:
        letters, self.result = layout.split("->")
        self.x, _, self.kernel = letters.partition(",")
        self.function, self.dtype = function, x.dtype
        self.whole = {k: slice(0, n) for k, n in zip(self.x, x.shape, strict=True)}
        taps = zip(self.kernel or self.x, sizes, strict=True)
        self.taps = {k: slice(0, n) for k, n in taps}
        moving = [k for k in self.x if not self.kernel or k not in "NC"]
        self.moves, ones = {}, (1,) * len(moving)
        self.keywords = {k: value for k, value in keywords.items() if k != "padding"}
        usual = "".join(moving)
        is_usual = layout == f"N{usual}C,{usual}IO->N{usual}C"
        if self.kernel and not is_usual and "channels_first" not in keywords:
            self.keywords["layout"] = layout
        steps = zip(
            keywords.get("strides", ones),
            keywords.get("kernel_dilation", keywords.get("window_dilation", ones)),
            keywords.get("input_dilation", keywords.get("base_dilation", ones)),
            (low for low, _ in keywords.get("padding", [(0, 0)] * len(ones))),
            strict=True,
        )
        for k, step in zip(moving, steps, strict=True):
            self.moves[k] = Move(self.whole[k].stop, *step)
        self.linked = {}
        if self.kernel and "batch_groups" not in keywords:
            self.linked["N"] = 0, self.x.index("N")
            if "feature_groups" not in keywords:
                self.linked["C"] = 1, self.kernel.index("O")
        self.contracts = bool(self.kernel) and "feature_groups" not in keywords
        self.__name__ = function.__name__

    def reached(
        self, piece: Mapping[str, slice], part: Mapping[str, slice]
    ) -> tuple[list[list[slice]], Any]:
        """Return the box of each array for a piece of the result and a part of the
        kernel, and the padding around the first box.
        """
        box, taps, edges = {**self.whole}, {**self.taps, **part}, []
        for k, move in self.moves.items():
            box[k], edge = move.needed(piece[k], taps[k])
            edges.append(edge)
        if "N" in self.linked:
            box["N"] = piece["N"]
        if "C" in self.linked:
            taps["O"] = piece["C"]
        if self.contracts:
            box["C"] = taps["I"]
        boxes = [[box[k] for k in self.x], [taps[k] for k in self.kernel]]
        return boxes[: 2 if self.kernel else 1], edges

    @np.errstate(all="ignore")
    def __call__(
        self,
        piece: Mapping[str, slice],
        part: Mapping[str, slice],
        blocks: Sequence[Any],
        *others: Any,
    ) -> np.ndarray:
        rows = next(k for k in self.result if k in self.moves)
        axis, begin, end = self.result.index(rows), piece[rows].start, piece[rows].stop
        (box, *boxes), _ = self.reached(piece, part)
        x, *rest = blocks
        arrays = [box_from(block, own) for block, own in zip(rest, boxes, strict=True)]
        sizes = zip(self.x, box, strict=True)
        row = prod(span.stop - span.start for k, span in sizes if k != rows)
        row_bytes = row * self.dtype.itemsize * self.moves[rows].stride
        step = max(8 * self.taps[rows].stop, WINDOW_BYTES // max(1, row_bytes))
        result: np.ndarray
        for start in range(begin, end, step):
            stop = min(start + step, end)
            here = {**piece, rows: slice(start, stop)}
            (box, *_), edges = self.reached(here, part)
            given = box_from(x, box), *arrays, *others
            made = self.function(*given, padding=edges, **self.keywords)
            if start == begin:
                result = room_for(made, axis, end - begin)
            tile = slice(start - begin, stop - begin)
            result[(slice(None),) * axis + (tile,)] = made
        return result[(None,) * len(part)]
