"""NVIDIA's package ``cudnn`` on the twin: graphs of a single convolution or gradient of one, computed by definition.

Sizes and strides describe memory, in the order batch, channels, spatial axes. As in cuDNN, padding must not be
negative, channels must be contiguous, and the sizes of the result must follow from those of the operands.

Source: NVIDIA's documentation of cuDNN's frontend, operations ConvolutionFwd, ConvolutionDgrad and ConvolutionWgrad.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

from . import graphs
from .cublas import memory

_DTYPES = {"FLOAT": np.float32, "HALF": np.float16, "BFLOAT16": ml_dtypes.bfloat16}
_HANDLE = SimpleNamespace(stream=0)


class CudnnError(RuntimeError):
    """cuDNN would refuse the graph."""


class Tensor:
    """An array of a graph."""

    def __init__(self, name: str, dim: list[int], stride: list[int], data_type: str) -> None:
        self.name, self.dim, self.stride, self.data_type = name, dim, stride, data_type

    def set_output(self, is_output: bool) -> Tensor:
        return self

    def set_data_type(self, data_type: str) -> Tensor:
        self.data_type = data_type
        return self

    def set_dim(self, dim: list[int]) -> Tensor:
        self.dim = dim
        return self

    def set_stride(self, stride: list[int]) -> Tensor:
        self.stride = stride
        return self

    def at(self, address: int) -> np.ndarray:
        """Return a view of the array that begins at an address."""
        dtype = np.dtype(_DTYPES[self.data_type])
        flat = memory(address, dtype, 1 + sum((n - 1) * step for n, step in zip(self.dim, self.stride, strict=True)))
        return np.lib.stride_tricks.as_strided(flat, self.dim, [step * dtype.itemsize for step in self.stride])


class Graph:
    """``cudnn.pygraph`` with one operation."""

    def __init__(self, *, io_data_type: str, intermediate_data_type: str, compute_data_type: str, handle: Any) -> None:
        assert (intermediate_data_type, compute_data_type) == ("FLOAT", "FLOAT")
        self.is_built = False

    def tensor(self, name: str, dim: list[int], stride: list[int], data_type: str) -> Tensor:
        if stride[1] != 1:
            raise CudnnError(f"{name}: channels do not lie beside each other")
        return Tensor(name, dim, stride, data_type)

    def conv_fprop(self, image: Tensor, weight: Tensor, **geometry: list[int]) -> Tensor:
        return self._convolution((image, weight, None), geometry)

    def conv_dgrad(self, loss: Tensor, filter: Tensor, **geometry: list[int]) -> Tensor:
        return self._convolution((None, filter, loss), geometry)

    def conv_wgrad(self, image: Tensor, loss: Tensor, **geometry: list[int]) -> Tensor:
        return self._convolution((image, None, loss), geometry)

    def _convolution(self, parts: tuple[Tensor | None, ...], geometry: dict[str, list[int]]) -> Tensor:
        """Record a convolution of images with weights that gives losses; the one of the three that is None is the
        result.
        """
        if any(low < 0 for name in ("pre_padding", "post_padding") for low in geometry[name]):
            raise CudnnError("padding is negative")
        self.geometry, self.made = geometry, Tensor("made", [], [], "")
        self.parts = [self.made if part is None else part for part in parts]
        return self.made

    def validate(self) -> None:
        image, weight, loss = self.parts
        dims = zip(image.dim[2:], weight.dim[2:], loss.dim[2:], strict=True)
        for (n, size, count), low, high, step, gap in zip(dims, *self.geometry.values(), strict=True):
            if (n + low + high - (size - 1) * gap - 1) // step + 1 != count:
                raise CudnnError(f"{count} windows of {size} in {n}")

    def build_operation_graph(self) -> None:
        assert list(self.geometry) == ["pre_padding", "post_padding", "stride", "dilation"]

    def create_execution_plans(self, modes: list[str]) -> None:
        assert modes == ["A", "FALLBACK"]

    def deselect_numeric_notes(self, notes: list[str]) -> None:
        assert notes == ["TENSOR_CORE"]

    def check_support(self) -> None:
        if len({part.data_type for part in self.parts}) > 1:
            raise CudnnError("several types")

    def build_plans(self) -> None:
        self.is_built = True

    def get_workspace_size(self) -> int:
        return 16

    def execute(self, arrays: dict[Tensor, int], workspace: int, handle: Any) -> None:
        """Compute on the current stream, which must also be the handle's."""
        assert self.is_built and handle is _HANDLE
        if handle.stream != graphs.current_stream():
            raise CudnnError("the handle works on another stream than the current one")
        memory(workspace, np.dtype(np.uint8), self.get_workspace_size())
        image, weight, loss = (part.at(arrays[part]) for part in self.parts)
        made = self.made.at(arrays[self.made])

        def compute() -> None:
            wide = [part.astype(np.float32) for part in (image, weight, loss)]
            total = np.zeros(made.shape, np.float32)
            for tap, seen, places in self._taps(image.shape[2:], weight.shape[2:], loss.shape[2:]):
                x, w, y = wide[0][:, :, *seen], wide[1][:, :, *tap], wide[2][:, :, *places]
                if made is image:
                    total[:, :, *seen] += np.einsum("nk...,kc->nc...", y, w)
                elif made is weight:
                    total[:, :, *tap] = np.einsum(
                        "ncp,nkp->kc", *(part.reshape(*part.shape[:2], -1) for part in (x, y))
                    )
                else:
                    total[:, :, *places] += np.einsum("nc...,kc->nk...", x, w)
            made[...] = total.astype(made.dtype)

        image, weight, loss = (
            made if part is self.made else array for part, array in zip(self.parts, (image, weight, loss), strict=True)
        )
        graphs.work("cudnn", compute, [part for part in (image, weight, loss) if part is not made], [made])

    def _taps(self, images: Any, sizes: Any, counts: Any) -> Iterator[tuple[Any, list[slice], list[slice]]]:
        """Yield each element of the convolution's kernel, the slices of the images that it multiplies, and those of the
        losses.
        """
        before, _, strides, dilations = self.geometry.values()
        for tap in product(*map(range, sizes)):
            seen, places = [], []
            for n, count, at, low, step, gap in zip(images, counts, tap, before, strides, dilations, strict=True):
                met = [place for place in range(count) if 0 <= place * step + at * gap - low < n]
                first = met[0] if met else 0
                start = first * step + at * gap - low if met else 0
                places.append(slice(first, first + len(met)))
                seen.append(slice(start, start + len(met) * step, step))
            yield tap, seen, places


def _set_stream(handle: Any, stream: int) -> None:
    handle.stream = stream


CUDNN = ModuleType("cudnn")
CUDNN.__dict__.update(
    data_type=SimpleNamespace(**{name: name for name in _DTYPES}),
    heur_mode=SimpleNamespace(A="A", FALLBACK="FALLBACK"),
    numerical_note=SimpleNamespace(TENSOR_CORE="TENSOR_CORE"),
    create_handle=lambda: _HANDLE,
    set_stream=_set_stream,
    pygraph=Graph,
)
