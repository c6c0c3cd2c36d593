"""The end of a module of several replicas that makes it a program for ``mpirun``."""

from __future__ import annotations

from collections.abc import Sequence

from ...hlo.ir import Instruction
from ...hlo.shapes import ArrayShape
from ..expression import Renderer
from ..parts import Part
from .collectives import Replicas
from .sharded_arrays import ShardedArrays


class MpiCommand(Part):
    """The statements that run a module on arrays in files; ``names``, those of ``parameters``, are filled in later."""

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
            if isinstance(shape, ArrayShape) and shape.element_type.dtype.isbuiltin != 1  # files cannot name it
        ]
        splits, joins = self.sharded is not None, self.sharded is not None and self.sharded.joins
        return [renderer.statement("mpi_command", self.replicas.count, dtypes, splits, joins)]


def is_command(replicas: Replicas, parameters: Sequence[Instruction]) -> bool:
    """Return whether all arguments of a program can be files, and none comes from the host."""
    arrays = all(isinstance(parameter.shape, ArrayShape) for parameter in parameters)
    return "run_mpi" in replicas.runners and not replicas.host and arrays
