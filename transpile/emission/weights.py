"""Programs with the arrays of a checkpoint in place of arguments, and warnings of weights that are not finite."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import Diagnostic, UsageError, XlaToPythonWarning
from ..frontends.checkpoints import read_checkpoint
from ..frontends.witnesses import Witnesses
from ..hlo.element_types import from_dtype
from ..hlo.ir import HloModule, Instruction, Trees, numbered, with_replaced
from ..hlo.literal_values import array_name, array_sha256, distinct_names
from .trees.argument_trees import leaf_paths

_MOST_TOLD = 8  # names in a message
_MOST_AT_ONCE = 1 << 20  # elements that are checked at a time

_SMALL = 64  # elements up to which an unnamed array is not reported

Words = tuple[str, ...]


def with_weights(program: HloModule | Witnesses, path: str | os.PathLike[str]) -> HloModule | Witnesses:
    """Return the program with the arrays of a checkpoint as constants in place of the arguments that have these names.

    An array's name is its path in the tree, ``params.layers.0.w``, with or without the name of the argument, with dots
    or slashes. An argument is bound if the checkpoint has one of its arrays. Warns of arrays that no argument takes.
    Raises ``UsageError`` (XP727), which names each array that is missing, or has another shape or type.
    """
    arrays = {name.replace("/", ".").strip("."): array for name, array in read_checkpoint(Path(path)).items()}
    if isinstance(program, HloModule):
        return _bound(program, arrays, str(path))
    at = program.at
    return replace(
        program,
        modules=[_bound(module, arrays, str(path)) for module in program.modules],
        at=(lambda sizes: _bound(at(sizes), arrays, str(path))) if at is not None else None,
    )


def _bound(module: HloModule, arrays: Mapping[str, np.ndarray], path: str) -> HloModule:
    parameters = module.entry.parameters
    ways = _ways(module)
    found: dict[int, str] = {}
    for argument in dict.fromkeys(words[0] for words in ways):
        found |= _fitting({k: words for k, words in enumerate(ways) if words[0] == argument}, arrays)
    problems = list(_problems(parameters, found, arrays)) if found else [_nothing_fits(ways, arrays)]
    if problems:
        told = [f"{path}: {problem}" for problem in problems[:_MOST_TOLD]]
        raise UsageError(*(Diagnostic("XP727", text) for text in told))
    if unread := sorted(arrays.keys() - set(found.values())):
        message = f"{Path(path).name}: no argument of {module.name} takes {_listed(unread)}"
        warnings.warn(message, XlaToPythonWarning, stacklevel=4)
    kept = [k for k in range(len(parameters)) if k not in found]
    made = {parameters[k]: [numbered(parameters[k], number)] for number, k in enumerate(kept)}
    made |= {parameters[k]: [_constant(parameters[k], arrays[name])] for k, name in found.items()}
    names: dict[str, str] = {}
    for k, name in found.items():
        names.setdefault(array_sha256(arrays[name]), array_name(".".join(ways[k])))
    bound = with_replaced(module, made)
    trees = _trees_of(module.trees, kept) if module.trees is not None else None
    return replace(bound, constant_names=distinct_names({**module.constant_names, **names}), trees=trees)


def warn_of_nonfinite(module: HloModule) -> None:
    """Warn of weights with NaN or infinities, as from training that diverged.

    Infinities in an array outside of trees are not reported, as the array may be a mask.
    """
    told: dict[str, str] = {}
    for each in module.instructions():
        array = each.attributes.get("literal") if each.opcode == "constant" else None
        if not isinstance(array, np.ndarray) or (problem := nonfinite([array])) == "":
            continue
        name = module.constant_names.get(array_sha256(array), "")
        if "." in name or ("NaN" in problem and (name or array.size > _SMALL)):
            told[name or each.name] = problem
    if told:
        message = f"{module.name}: {_listed([f'{name} has {problem}' for name, problem in told.items()])}"
        warnings.warn(message, XlaToPythonWarning, stacklevel=4)


def nonfinite(arrays: Sequence[np.ndarray]) -> str:
    """Return how many elements of arrays are not finite, as "NaN in 2 of 8 elements"; empty if there are none."""
    numbers = [x for x in arrays if (kind := from_dtype(x.dtype)).is_floating or kind.is_complex]
    odd = [part for x in numbers for part in _parts(x) if not np.isfinite(part).all()]
    if not odd:
        return ""
    what = "NaN" if any(np.isnan(part).any() for part in odd) else "infinities"
    count = sum(np.count_nonzero(~np.isfinite(part)) for part in odd)
    return f"{what} in {count} of {sum(x.size for x in arrays)} elements"


def _parts(x: np.ndarray) -> Iterator[np.ndarray]:
    """Return the parts of an array, each small enough to check with little memory."""
    flat = x.reshape(-1)
    return (flat[start : start + _MOST_AT_ONCE] for start in range(0, flat.size, _MOST_AT_ONCE))


def _ways(module: HloModule) -> list[Words]:
    """Return the keys on the path to each parameter, the name of the argument first."""
    pairs = zip(leaf_paths(module), module.entry.parameters, strict=True)
    return [
        (path.root, *map(_word, path.keys)) if path is not None else _of_name(parameter) for path, parameter in pairs
    ]


def _word(key: object) -> str:
    return "_".join(map(str, key)) if isinstance(key, tuple) else str(key).removeprefix(".")


def _of_name(parameter: Instruction) -> Words:
    """Return the words in a parameter's name.

    Without metadata, ``params['layers'][0]['w']`` is ``params__layers___0___w__.1``.
    """
    name = (parameter.metadata.op_name if parameter.metadata is not None else "") or parameter.name
    return tuple(re.split("__+", re.sub(r"\.\d+$", "", name).strip("_")))


def _fitting(ways: Mapping[int, Words], arrays: Mapping[str, np.ndarray]) -> dict[int, str]:
    """Return the names of an argument's arrays in a checkpoint, by parameter number; {} if it has none.

    As many of the words that all names begin with are left out as gives the most matches.
    """
    shortest = min(map(len, ways.values()))
    most = next((k for k in range(shortest) if len({words[k] for words in ways.values()}) > 1), shortest - 1)
    forms = [{k: ".".join(words[cut:]).replace("/", ".") for k, words in ways.items()} for cut in range(most + 1)]
    best = max(forms, key=lambda form: sum(name in arrays for name in form.values()))
    return best if any(name in arrays for name in best.values()) else {}


def _problems(
    parameters: Sequence[Instruction], found: Mapping[int, str], arrays: Mapping[str, np.ndarray]
) -> Iterator[str]:
    """Yield the problems of the arrays that arguments take."""
    for k, name in found.items():
        shape = parameters[k].array_shape
        wanted = f"{shape.element_type.dtype}{[*shape.dimensions]}"
        given = f"{arrays[name].dtype}{[*arrays[name].shape]}" if name in arrays else ""
        if given != wanted:
            yield f"{name} is {given}, not {wanted}" if given else f"there is no {name}, which is {wanted}"


def _nothing_fits(ways: Sequence[Words], arrays: Mapping[str, np.ndarray]) -> str:
    own = _listed([".".join(words) for words in ways])
    return f"no argument has an array of these names: {_listed(sorted(arrays))}; the arguments are {own}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_TOLD
    return ", ".join(names[:_MOST_TOLD]) + (f" and {more} more" if more > 0 else "")


def _constant(parameter: Instruction, array: np.ndarray) -> Instruction:
    return replace(parameter, opcode="constant", attributes={"literal": array})


def _trees_of(trees: Trees, kept: Sequence[int]) -> Trees:
    """Return the trees of a program that keeps only some of its parameters."""
    numbers = {k: number for number, k in enumerate(kept)}
    return replace(
        trees,
        leaves=tuple(trees.leaves[k] for k in kept),
        depths=tuple(trees.depths[k] for k in kept),
        nameless=frozenset(numbers[k] for k in trees.nameless if k in numbers),
        attribute_paths={numbers[k]: path for k, path in trees.attribute_paths.items() if k in numbers},
    )
