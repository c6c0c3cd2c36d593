"""Trees that a program closes over, as parameters that its module reads from a file: ``params["layers"][0]["w"]``."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..array.node import Constant
from ..frontends import safetensors
from ..hlo.element_types import from_dtype
from ..hlo.ir import HloModule, Instruction, OpMetadata, Trees, with_entry, with_replaced
from .naming.arguments import path_of
from .trees.argument_trees import leaf_paths

_NUMBER = re.compile("0|[1-9][0-9]{0,4}")
_WORDS = re.compile("([^0-9]+)([0-9]*)")

Leaves = Mapping[str, Sequence[Instruction]]  # name of a leaf, params.layers.0.w: the constants that are this leaf


def with_stored_trees(module: HloModule, lacks: Container[str], largest_unstored: int) -> HloModule:
    """Return the module with ``stored`` parameters, behind its own, in place of constants that are leaves of trees,
    if one of these has more than ``largest_unstored`` elements.

    Lowering finds the parameters that are used in loops. Some constants stay: those whose elements are all equal, as
    computing with zeros may fold to nothing; those of element types that the library ``lacks``; and those that differ
    from the first of their name.
    """
    if not module.constant_names:
        return module
    taken = {path_of(parameter)[0] for parameter in module.entry.parameters}
    leaves: dict[str, list[Instruction]] = {}
    first: dict[str, Constant] = {}
    for each in module.instructions():
        if each.opcode == "constant" and _may_be_stored(each.attributes["literal"], lacks):
            array = Constant.of(each.attributes["literal"])
            name = module.constant_names.get(array.sha256, "")
            if "." in name and name.partition(".")[0] not in taken and first.setdefault(name, array) == array:
                leaves.setdefault(name, []).append(each)
    if all(constant.array.size <= largest_unstored for constant in first.values()):
        return module
    leaves = dict(sorted(leaves.items(), key=lambda leaf: _counted(leaf[0])))
    found = _with_parameters(module, leaves)
    paths = leaf_paths(found)[len(module.entry.parameters) :]
    fitting = {name: own for (name, own), path in zip(leaves.items(), paths, strict=True) if path is not None}
    return found if len(fitting) == len(leaves) else _with_parameters(module, fitting)


def _counted(name: str) -> list[tuple[str, int]]:
    """Return a key that sorts the numbers in names by value: ``layers.2.w`` before ``layers.10.w``."""
    return [(words, int(number or 0)) for words, number in _WORDS.findall(name)]


def _may_be_stored(array: object, lacks: Container[str]) -> bool:
    if not isinstance(array, np.ndarray) or array.size < 2 or not safetensors.can_hold(array):
        return False
    return from_dtype(array.dtype).name not in lacks and bool((array != array.flat[0]).any())


def _with_parameters(module: HloModule, leaves: Leaves) -> HloModule:
    """Return the module with a parameter for each leaf."""
    if not leaves:
        return module
    count = len(module.entry.parameters)
    made = {name: _parameter(own[0], name, count + k) for k, (name, own) in enumerate(leaves.items())}
    here = set(module.entry.instructions)
    replaced = {each: [made[name]] for name, own in leaves.items() for each in own if each in here}
    found = with_replaced(module, replaced)
    # Several constants may be one leaf, whose parameter then stands there once for each.
    instructions = tuple(dict.fromkeys((*made.values(), *found.entry.instructions)))
    entry = replace(found.entry, instructions=instructions)
    stored = tuple((name, own[0].attributes["literal"]) for name, own in leaves.items())
    trees = _trees(module.trees, [*leaves]) if module.trees is not None else None
    return replace(with_entry(found, entry), stored=stored, trees=trees)


def _parameter(constant: Instruction, name: str, number: int) -> Instruction:
    root, *words = name.split(".")
    path = "".join(f"[{word}]" if _NUMBER.fullmatch(word) else f"['{word}']" for word in words)
    own = f"{re.sub(r'[^A-Za-z0-9]+', '_', name)}.{constant.name}"
    attributes = {"parameter_number": number}
    return replace(
        constant, name=own, opcode="parameter", attributes=attributes, metadata=OpMetadata(op_name=root + path)
    )


def _trees(trees: Trees, names: Sequence[str]) -> Trees:
    """Return the trees of a program whose last parameters are leaves with these names."""
    first = max(trees.leaves, default=-1) + 1
    leaves = (*trees.leaves, *range(first, first + len(names)))
    return replace(trees, leaves=leaves, depths=(*trees.depths, *(name.count(".") for name in names)))
