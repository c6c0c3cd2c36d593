"""What makes a module of several replicas a program that ``mpirun`` starts."""

from __future__ import annotations

from collections.abc import Sequence

from ...hlo.ir import Instruction
from ...hlo.shapes import ArrayShape
from ..expression import Renderer
from ..parts import Part
from .collectives import Replicas
from .sharded_arrays import ShardedArrays


class MpiCommand(Part):
    """The end of a module that runs it on arrays in files; ``names`` are those of the ``parameters`` in the text, which
    are known when it is written."""

    def __init__(
        self, replicas: Replicas, sharded: ShardedArrays | None, names: Sequence[str], parameters: Sequence[Instruction]
    ) -> None:
        self.replicas, self.sharded, self.arguments = replicas, sharded, names
        self.shapes = [parameter.shape for parameter in parameters]

    @property
    def prelude_names(self) -> Sequence[str]:
        return ("run_files",)

    def behind(self, renderer: Renderer) -> list[str]:
        dtypes = [
            (name, str(shape.element_type.dtype))
            for name, shape in zip(self.arguments, self.shapes, strict=True)
            if isinstance(shape, ArrayShape) and shape.element_type.dtype.isbuiltin != 1  # files have no name for it
        ]
        splits, joins = self.sharded is not None, self.sharded is not None and self.sharded.joins
        return [renderer.statement("mpi_command", self.replicas.count, dtypes, splits, joins)]


def is_command(replicas: Replicas, parameters: Sequence[Instruction]) -> bool:
    """Tell whether files can hold what a program takes, and nothing of it comes from the host."""
    arrays = all(isinstance(parameter.shape, ArrayShape) for parameter in parameters)
    return "run_mpi" in replicas.runners and not replicas.host and arrays
