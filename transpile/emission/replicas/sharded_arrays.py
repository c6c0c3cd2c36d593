"""Whole arrays of a program for many devices: sharding in words and as functions, and the program for ``mpirun``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from ...hlo.device_groups import device_count
from ...hlo.ir import HloModule, Instruction
from ...hlo.shapes import ArrayShape, Shape, dimension_texts
from ...hlo.shardings import Sharding, ShardLayout
from ..expression import Renderer
from ..naming.identifiers import Names, identifier
from ..parts import Part
from .collectives import Replicas

# Functions of the prelude.
SPLIT, JOIN, ON_DEVICES, TAKE_DEVICE = "split_arrays", "join_arrays", "on_devices", "take_device"
_DIMENSIONS = {1: ("elements",), 2: ("rows", "columns")}  # the words for dimensions of vectors and matrices


class ShardedArrays(Part):
    """The functions ``split``, ``join`` and ``main`` for whole arrays, besides the function of one device.

    ``parameters`` are the names of the latter's parameters, and are filled in later.
    """

    names = frozenset(("MESH", "DEVICES", "SHARDINGS", "RESULTS", "split", "join", "main"))

    def __init__(self, layout: ShardLayout, replicas: Replicas, parameters: Sequence[str]) -> None:
        self.layout = layout
        self.replicas = replicas
        self.parameters = parameters
        # There are no whole arrays for host functions, which the runners take.
        self.joins = layout.results is not None and not replicas.host

    @property
    def prelude_names(self) -> Sequence[str]:
        if not self.joins:
            return (SPLIT,)
        return (SPLIT, JOIN, ON_DEVICES) if self.has_workers else (SPLIT, JOIN)

    @property
    def has_workers(self) -> bool:
        """Whether the devices may be workers of a cluster."""
        return "run_replicas" in self.replicas.runners

    @property
    def public(self) -> Sequence[str]:
        return ("split", "join", "main") if self.joins else ("split",)

    def functions(self, renderer: Renderer) -> list[str]:
        mesh, axes = self.layout.mesh, axis_names(self.layout)
        numbers = mesh.devices.flatten().tolist()
        devices = f"range({mesh.count})" if numbers == list(range(mesh.count)) else str(tuple(numbers))
        rows = [
            (name, _text(sharding, axes))
            for name, sharding in zip(self.parameters, self.layout.parameters, strict=True)
        ]
        results = [_text(sharding, axes) for sharding in self.layout.results or ()] if self.joins else None
        sizes = [(axes[name], size) for name, size in zip(mesh.axes, mesh.devices.shape, strict=True)]
        return [renderer.statement("sharded_arrays", sizes, devices, rows, results, self.has_workers)]


def axis_names(layout: ShardLayout) -> dict[str, str]:
    """Return the names of a mesh's axes in a text: the axes' own names if they are identifiers."""
    names = Names(set())
    return {axis: names.fresh(identifier(axis) or "axis") for axis in layout.mesh.axes}


def _text(sharding: Sharding | None, axes: dict[str, str]) -> str:
    """Return a sharding as a literal: ``("data", None)``."""
    if sharding is None:
        return "None"
    parts = [[f'"{axes[name]}"' for name in dimension] for dimension in sharding.dimensions]
    texts = [part[0] if len(part) == 1 else f"({', '.join(part)})" if part else "None" for part in parts]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def layout_lines(layout: ShardLayout, names: Sequence[str], module: HloModule) -> Iterator[str]:
    """Yield the lines of a docstring that describe the sharding: w: float32[8, 32], rows over `data`.

    A module of one device computes whole arrays, and its annotations are only a request.
    """
    is_whole = device_count(module) == 1
    axes = axis_names(layout)
    sizes = [f"`{axes[name]}` ({n})" for name, n in zip(layout.mesh.axes, layout.mesh.devices.shape, strict=True)]
    noun = "axis" if len(sizes) == 1 else "axes"
    if not any((*layout.parameters, *(layout.results or ()))):
        yield f"Every device along the {noun} {' and '.join(sizes)} of a mesh has whole arrays."
        return
    beginning = "Whole arrays, annotated to be divided" if is_whole else "Whole arrays are divided"
    ending = "" if is_whole else " of a mesh"
    yield f"{beginning} along the {noun} {' and '.join(sizes)}{ending}:"
    for name, parameter, sharding in zip(names, module.entry.parameters, layout.parameters, strict=True):
        if sharding is not None and isinstance(parameter.shape, ArrayShape):
            yield f"{name}: {_described(parameter.shape, sharding, axes, is_whole)}"
    shapes: Sequence[Shape] = module.entry.root.element_shapes
    for k, (shape, result) in enumerate(zip(shapes, layout.results or (None,) * len(shapes), strict=True)):
        if result is not None and isinstance(shape, ArrayShape):
            yield f"{f'result {k}' if len(shapes) > 1 else 'result'}: {_described(shape, result, axes, is_whole)}"


def _described(shape: ArrayShape, sharding: Sharding, axes: dict[str, str], is_whole: bool) -> str:
    whole = shape if is_whole else ArrayShape(shape.element_type, sharding.whole(shape.dimensions))
    words = _DIMENSIONS.get(len(whole.dimensions), tuple(f"axis {d}" for d in range(len(whole.dimensions))))
    divided = [
        f"{word} over {' and '.join(f'`{axes[name]}`' for name in names)}"
        for word, names in zip(words, sharding.dimensions, strict=True)
        if names
    ]
    return f"{whole.element_type.dtype}[{', '.join(dimension_texts(whole))}], {', '.join(divided)}"


class MpiCommand(Part):
    """The statements that run a module on arrays in files; ``names``, those of ``parameters``, are filled in later.

    ``lacks`` are the element types for which the library has no dtype. If it ``has_devices``, each rank takes one
    before there are arrays.
    """

    def __init__(
        self,
        replicas: Replicas,
        sharded: ShardedArrays | None,
        names: Sequence[str],
        parameters: Sequence[Instruction],
        lacks: Set[str],
        has_devices: bool,
    ) -> None:
        self.replicas, self.sharded, self.arguments = replicas, sharded, names
        self.shapes, self.lacks = [parameter.shape for parameter in parameters], lacks
        self.has_devices = has_devices

    @property
    def prelude_names(self) -> Sequence[str]:
        return ("run_files", TAKE_DEVICE) if self.has_devices else ("run_files",)

    def constants(self, renderer: Renderer) -> list[str]:
        return [renderer.statement(TAKE_DEVICE)] if self.has_devices else []

    def behind(self, renderer: Renderer) -> list[str]:
        dtypes = [
            (name, renderer.dtype(shape.element_type))
            for name, shape in zip(self.arguments, self.shapes, strict=True)
            if isinstance(shape, ArrayShape)
            and shape.element_type.dtype.isbuiltin != 1  # files cannot name it
            and shape.element_type.name not in self.lacks
        ]
        splits, joins = self.sharded is not None, self.sharded is not None and self.sharded.joins
        return [renderer.statement("mpi_command", self.replicas.count, dtypes, splits, joins)]


def is_command(replicas: Replicas, parameters: Sequence[Instruction]) -> bool:
    """Return whether all arguments of a program can be files, and none comes from the host."""
    arrays = all(isinstance(parameter.shape, ArrayShape) for parameter in parameters)
    return "run_mpi" in replicas.runners and not replicas.host and arrays
