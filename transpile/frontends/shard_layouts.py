"""The shardings of a program's whole arrays among devices: from its text, or from JAX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

from ..hlo.attributes import Raw
from ..hlo.ir import HloModule, Instruction
from ..hlo.shapes import ArrayShape, Shape, TupleShape
from ..hlo.shardings import ShardLayout, parse_meshes, shard_layout
from ..hlo.tilings import parse_tiling, shardings_of
from .jax import required_jax

_DEVICES = re.compile(r"devices=\[((?:\d{1,9},){0,32}\d{1,9})\]")
_MANUAL = {"xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape", "SPMDFullToShardShape", "SPMDShardToFullShape"}
_REPLICATED = "{replicated}"
_ELEMENT = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")


def with_layout(module: HloModule) -> HloModule:
    """Return the module with the layout in the shardings of its parameters and its root, if they have one."""
    if module.layout is not None or module.num_partitions == 1 or module.replica_count > 1:
        return module
    parameters = [(parameter.shape, _sharding_text(parameter)) for parameter in module.entry.parameters]
    found = _layout(parameters, _results(module), module.num_partitions, {})
    return module if found is None else replace(module, layout=found)


def as_whole(module: HloModule) -> HloModule:
    """Return a program from before XLA's partitioner, whose arrays are whole, as a program of one device with the
    layout in its annotations; any other module unchanged.
    """
    calls = {i.attributes.get("custom_call_target") for i in module.instructions()}
    texts = [_sharding_text(i) for i in (*module.entry.parameters, module.entry.root)]
    attributes = [i.attributes.get("frontend_attributes") for i in module.entry.parameters]
    is_annotated = bool(calls & {"Sharding", "xla.sdy.FuncResultSharding"}) or any(
        isinstance(each, Raw) and "xla.sdy.sharding" in each.text for each in attributes
    )
    counts = [prod(map(int, found[1].split(","))) for text in texts if (found := _DEVICES.search(text))]
    is_told = is_annotated if module.num_partitions > 1 else is_annotated or bool(counts)
    if not is_told or module.replica_count > 1 or calls & _MANUAL:
        return module
    header = module.header.get("frontend_attributes")
    meshes = list(parse_meshes(header.text).values()) if isinstance(header, Raw) else []
    mesh = dict(zip(meshes[0].axes, meshes[0].devices.shape, strict=True)) if len(meshes) == 1 else {}
    parameters = [(p.shape, _sharding_text(p) or _REPLICATED) for p in module.entry.parameters]
    layout = _layout(parameters, _results(module), counts[0], mesh) if counts else None
    kept = {name: value for name, value in module.header.items() if name != "num_partitions"}
    return replace(module, header=kept, layout=layout)


def _results(module: HloModule) -> list[tuple[Shape, str]]:
    """Return the shapes of the results and the texts of their shardings; empty if they are not specified."""
    root = module.entry.root
    shapes = list(root.shape.elements) if isinstance(root.shape, TupleShape) else [root.shape]
    text = _sharding_text(root)
    texts = _ELEMENT.findall(text[1:-1]) if isinstance(root.shape, TupleShape) else [text]
    return list(zip(shapes, texts, strict=True)) if text and len(texts) == len(shapes) else []


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
    """Return the layout of a ``jax.stages.Compiled``, with the axis names of its mesh if known; None if there is
    none.
    """
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
    """Return a sharding of JAX in HLO's notation."""
    return str(sharding._to_xla_hlo_sharding(len(shape.dimensions))) if isinstance(shape, ArrayShape) else ""
