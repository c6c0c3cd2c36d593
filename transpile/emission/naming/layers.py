"""Names of values after their weights: ``query`` for ``x @ params["query"]["kernel"]``, bias included.

Weights are leaves of trees whose keys are the author's names of a model's layers. Gradients that are returned in the
same tree are named after the weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...array.node import Node
from ...array.program import Function
from ...array.result_trees import leaves_of
from ...array.traversal import unviewed
from .arguments import path_of
from .identifiers import identifier, is_argument
from .scopes import is_gradient

_WEIGHTS = frozenset(("kernel", "w", "weight", "weights"))
_ROOTS = frozenset(("model", "params", "state", "variables"))  # roots of trees of weights


def layer_names(function: Function, nodes: Sequence[Node]) -> dict[Node, str]:
    """Return the names of values that layers compute; ``nodes`` are the live nodes of the function."""
    words = {
        parameter: _word(_path(function, parameter)) for parameter in function.parameters if is_argument(parameter)
    }
    found: dict[Node, str] = {}
    for node in nodes:
        given = [words[factor] for factor in map(unviewed, _factors(node)) if words.get(factor) and factor.ndim > 1]
        if len(given) == 1 and not any(map(is_gradient, function.graph.results.get(node, ()))):
            found[node] = given[0]
        for product, bias in (node.operands, node.operands[::-1]) if node.opcode == "add" else ():
            if product in found and _is_bias(bias, product):
                found[node] = found[product]
    return found


def gradients_in_tree(function: Function, results: Any) -> dict[Node, Node]:
    """Return the results that are gradients of leaves of the arguments, each with the leaf.

    They have the shape of the leaf, and the leaf's path in the tree of the results.
    """
    leaves = {
        (_path(function, parameter)[1:], parameter.shape): parameter
        for parameter in function.parameters
        if is_argument(parameter)
    }
    found: dict[Node, Node] = {}
    for path, node in _places(results):
        if any(map(is_gradient, function.graph.results.get(node, ()))):
            ends = (leaves.get((path[k:], node.shape)) for k in range(len(path)))
            leaf = next((end for end in ends if end is not None), None)
            if leaf is not None:
                found[node] = leaf
    return found


def names_in_tree(results: Any) -> dict[Node, str]:
    """Return the names of results by the last key of their path in the tree, by the last two if several paths end in
    the same; empty for results with several.
    """
    places = _places(results)
    endings = Counter(path[-1:] for path, _ in places)
    found: dict[Node, str] = {}
    for path, node in places:
        name = path[-1] if path and path[-1].isidentifier() else ""
        if name and endings[path[-1:]] > 1 and path[-2:-1] and path[-2].isidentifier():
            name = f"{path[-2]}_{name}"
        found[node] = name if found.get(node, name) == name else ""
    return found


def _path(function: Function, parameter: Node) -> tuple[str, ...]:
    return path_of(function.computation.parameters[parameter.parameters["argument"]])


def _places(results: Any) -> list[tuple[tuple[str, ...], Node]]:
    """Return the leaves of a tree of results, each with the words of its path."""
    return [(tuple(str(key).removeprefix(".") for key in path), node) for path, node in leaves_of(results)]


def _factors(node: Node) -> Sequence[Node]:
    """Return the two factors of a product or of a convolution."""
    is_convolution = node.opcode == "prelude" and node.parameters["function"] == "convolution"
    return node.operands[:2] if node.operation.is_product or is_convolution else ()


def _is_bias(node: Node, product: Node) -> bool:
    """Return whether a value may be the bias that is added to a product: an argument of lower rank."""
    node = unviewed(node)
    return is_argument(node) and 0 < node.ndim < max(product.ndim, 2)


def _word(path: Sequence[str]) -> str:
    """Return ``query`` for ``params['block']['query']['kernel']`` and ``layer_1`` for ``layers[1].weight``.

    Empty if the last key is not a word for weights, or if the keys around it are uninformative.
    """
    keys = list(path[:-1] if path[-1] == "value" else path)
    if not keys or keys.pop() not in _WEIGHTS:
        return ""
    number = keys.pop() if keys and keys[-1].isdigit() else ""
    around = keys[-1] if number or len(keys) > 1 else ""
    if not around or around in _ROOTS:
        return ""
    return identifier(f"{around.removesuffix('s')}_{number}" if number else around).lower()
