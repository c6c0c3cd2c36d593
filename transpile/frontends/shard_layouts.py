"""The layout of a partitioned program's whole arrays among its devices: from its text, or from JAX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..hlo.attributes import Raw
from ..hlo.ir import HloModule, Instruction
from ..hlo.shapes import ArrayShape, Shape, TupleShape
from ..hlo.shardings import ShardLayout, shard_layout
from ..hlo.tilings import parse_tiling, shardings_of
from .jax import required_jax

_ELEMENT = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")


def with_layout(module: HloModule) -> HloModule:
    """Return the module with the layout that the shardings of its parameters and its root tell, where they do."""
    if module.layout is not None or module.num_partitions == 1 or module.replica_count > 1:
        return module
    parameters = [(parameter.shape, _sharding_text(parameter)) for parameter in module.entry.parameters]
    root = module.entry.root
    shapes = list(root.shape.elements) if isinstance(root.shape, TupleShape) else [root.shape]
    text = _sharding_text(root)
    texts = _ELEMENT.findall(text[1:-1]) if isinstance(root.shape, TupleShape) else [text]
    results = list(zip(shapes, texts, strict=True)) if text and len(texts) == len(shapes) else []
    found = _layout(parameters, results, module.num_partitions, {})
    return module if found is None else replace(module, layout=found)


def _layout(
    parameters: list[tuple[Shape, str]], results: list[tuple[Shape, str]], count: int, mesh: Mapping[str, int]
) -> ShardLayout | None:
    given = [(shape, text) for shape, text in (*parameters, *results) if isinstance(shape, ArrayShape)]
    tilings = [parse_tiling(text, len(shape.dimensions), count) for shape, text in given]
    known = [tiling for tiling in tilings if tiling is not None]
    if len(known) < len(parameters) + len(results) or not known:
        return None
    shardings = shardings_of(known, mesh)
    if shardings is None:
        return None
    return shard_layout(shardings[: len(parameters)], shardings[len(parameters) :] if results else None)


def _sharding_text(instruction: Instruction) -> str:
    sharding = instruction.attributes.get("sharding")
    return sharding.text if isinstance(sharding, Raw) else ""


def layout_of_compiled(module: HloModule, compiled: Any) -> ShardLayout | None:
    """Return the layout of a ``jax.stages.Compiled``, with the names of its mesh where it tells them; else None."""
    if module.trees is None or module.num_partitions == 1:
        return None
    tree_leaves = required_jax().tree_util.tree_leaves
    given, made = tree_leaves(compiled.input_shardings), tree_leaves(compiled.output_shardings)
    shapes = module.entry.root.element_shapes
    if len(made) != len(shapes) or len(given) <= max(module.trees.leaves, default=-1):
        return None
    given = [given[leaf] for leaf in module.trees.leaves]
    meshes = [sharding.mesh.shape for sharding in (*made, *given) if hasattr(sharding, "spec")]
    parameters = [(parameter.shape, each) for parameter, each in zip(module.entry.parameters, given, strict=True)]
    results = list(zip(shapes, made, strict=True))
    took, gave = ([(shape, _spelled(each, shape)) for shape, each in side] for side in (parameters, results))
    return _layout(took, gave, module.num_partitions, meshes[0] if meshes else {})


def _spelled(sharding: Any, shape: Shape) -> str:
    """Return a sharding of JAX as the HLO text spells it."""
    return str(sharding._to_xla_hlo_sharding(len(shape.dimensions))) if isinstance(shape, ArrayShape) else ""
