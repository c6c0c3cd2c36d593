"""The costs of a call of ``main`` on a GPU, counted on the twin: launches, bytes, host calls, allocations.

Source of the number of kernels that a function launches: CuPy 14.2, its definitions. A sort, a scan and a product count
as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....transpile.hlo.carriers import Array
from ....transpile.target import Costs
from . import graphs
from .device_array import DeviceArray
from .modules import sends_addresses, to_device, twin

_PRODUCTS = frozenset(("matmul", "tensordot", "einsum"))
_BY_CUBLAS = "gemm"  # reads strided operands without a copy
_NOTHING = frozenset(("empty", "empty_like", "written"))  # launch nothing
_ADDS = frozenset(("scatter", "put_along_axis", "copyto"))  # change an argument and return nothing
# These read as many bytes as they write, not all of their operands.
_GATHERS = frozenset(("getitem", "take", "take_along_axis", "scatter", "copyto"))
# The number of kernels, if more than one.
_LAUNCHES = {"var": 2, "std": 3, "take_along_axis": 2, "put_along_axis": 2, "pad": 3}


class Counted:
    """Counts the work that it observes."""

    def __init__(self) -> None:
        self.launches = self.bytes_moved = self.host_calls = self.allocations = 0
        self.products: Counter[str] = Counter()

    def __call__(self, name: str, reads: list[Array], made: list[Array], is_given: bool) -> None:
        self.host_calls += 1
        if not is_given and any(np.may_share_memory(new, old) for new in made for old in reads):
            return  # a view
        self.allocations += 0 if is_given else len(made)
        if name in _NOTHING or not (made or name in _ADDS):
            return
        written = sum(map(bytes_of, made or reads[-1:]))
        read = sum(map(bytes_of, reads))
        copied = [x for x in reads if x.ndim > 2 and not x.flags.c_contiguous] if name in _PRODUCTS else []
        self.launches += self._launched(name, reads) + len(copied)
        self.bytes_moved += (
            written + (min(written, read) if name in _GATHERS else read) + 2 * sum(map(bytes_of, copied))
        )
        if name in _PRODUCTS or name == _BY_CUBLAS:
            self.products[reads[0].dtype.name] += 1

    def _launched(self, name: str, reads: list[Array]) -> int:
        if name == "matmul":
            return 1 + _addresses(*reads)
        if name in ("concatenate", "stack"):
            return 1 if sends_addresses(reads) else len(reads)
        return _LAUNCHES.get(name, 1)


def _addresses(a: Array, b: Array) -> int:
    """Return the number of kernels that compute the addresses of the matrices in a batch: one for each batch axis of
    both operands and the result if the operands' batches differ, else none.
    """
    axes = max(a.ndim, b.ndim) - 2
    return 3 * axes if axes > 0 and a.shape[:-2] != b.shape[:-2] else 0


def bytes_of(array: Array) -> int:
    """Return the bytes of memory behind an array: broadcast elements, and those in several windows, count once."""
    pairs = zip(array.shape, array.strides, strict=True)
    shown = array.dtype.itemsize * int(np.prod([size if stride or not size else 1 for size, stride in pairs]))
    first, end = np.lib.array_utils.byte_bounds(array)
    return min(shown, end - first)


def costs_of(load: Callable[[], Any], arguments: Sequence[Any]) -> Costs:
    """Return the costs of a call of ``main`` of the module that ``load`` returns, with nested NumPy arrays as
    arguments.

    The costs of loading the module and its constants do not count. Raises the exceptions of ``main``.
    """
    counted = Counted()
    with twin():
        module, given = load(), to_device(list(arguments))
        with graphs.observed(counted):
            results = module.main(*given)
    least = sum(bytes_of(array.on_host) for array in (*_arrays(given), *_arrays(results)))
    return Costs(
        counted.launches,
        counted.bytes_moved,
        least,
        counted.host_calls,
        counted.allocations,
        tuple(sorted(counted.products.items())),
    )


def _arrays(value: Any) -> list[DeviceArray]:
    if isinstance(value, DeviceArray):
        return [value]
    return [array for part in value or () for array in _arrays(part)]
