"""Names for values, from argument paths and operations; never from anything that could be code."""

from __future__ import annotations

import builtins
import itertools
import keyword
import re
from collections.abc import Sequence

from ..array.node import Graph, Node
from ..array.program import Function, tree_nodes
from ..hlo.carriers import NARROWING, WIDENING
from ..hlo.element_types import PRED
from ..hlo.ir import Instruction

RESERVED = frozenset((*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np", "cp", "da", "ml_dtypes", "main"))
_LONGEST = 40

# What a value is called after the operation that made it.
NOUNS = {
    "add": "total",
    "subtract": "difference",
    "multiply": "product",
    "divide": "ratio",
    "negate": "negative",
    "maximum": "larger",
    "minimum": "smaller",
    "exponential": "exp",
    "exponential-minus-one": "expm1",
    "log-plus-one": "log1p",
    "sqrt": "root",
    "rsqrt": "scale",
    "power": "power",
    "compare": "mask",
    "and": "mask",
    "or": "mask",
    "not": "mask",
    "is-finite": "finite",
    "isnan": "missing",
    "select": "chosen",
    "clamp": "clipped",
    "convert": "converted",
    "scalar": "value",
    "sum": "total",
    "combine": "total",
    "mean": "mean",
    "median": "median",
    "var": "variance",
    "std": "deviation",
    "square": "square",
    "tri": "mask",
    "roll": "rolled",
    "diagonal": "diagonal",
    "eye": "identity",
    "tril": "lower",
    "triu": "upper",
    "prod": "product",
    "max": "peak",
    "min": "lowest",
    "any": "found",
    "all": "holds",
    "argmax": "best",
    "argmin": "best",
    "matmul": "dot",
    "tensordot": "dot",
    "einsum": "dot",
    "arange": "positions",
    "array": "table",
    "full": "filled",
    "zeros": "zeros",
    "ones": "ones",
    "empty": "out",
    "copy": "out",
    "concatenate": "joined",
    "stack": "stacked",
    "pad": "padded",
    "reshape": "reshaped",
    "broadcast_to": "repeated",
    "take": "taken",
    "advanced_index": "taken",
    "getitem": "part",
    "setitem": "updated",
    "update_at": "updated",
    "logistic": "gate",
    "sine": "sin",
    "cosine": "cos",
    "item": "value",
    "abs": "magnitude",
    "sort": "ordered",
    "argsort": "order",
    "take_along_axis": "taken",
    "cumsum": "running_total",
    "cumprod": "running_product",
    "cummax": "running_peak",
    "cummin": "running_low",
    "remainder": "rest",
    "atan2": "angle",
    "round-nearest-even": "rounded",
    "xor": "mask",
    "shift-left": "shifted",
    "shift-right-logical": "shifted",
    "shift-right-arithmetic": "shifted",
    "bitwise_reduce": "bits",
    "view": "bits",
    "cbrt": "root",
    "fft": "spectrum",
    "axis_size": "size",
    "recv": "received",
    "infeed": "fed",
    "from_host": "received",
    "replica-id": "replica_id",
    "partition-id": "partition_id",
}

# What the results of collectives are called.
_COLLECTIVES = {
    "all_reduce": "reduced",
    "reduce_scatter": "shard",
    "all_gather": "gathered",
    "all_to_all": "exchanged",
    "all_to_all_of_tuple": "exchanged",
    "ragged_all_to_all": "exchanged",
    "collective_permute": "received",
    "collective_broadcast": "received",
}


# Operations whose result is called what their operand would be called.
_SEEN_THROUGH = frozenset(("expand", "transpose"))


def identifier(text: str) -> str:
    """The nearest Python identifier: ``params['w']`` gives ``params_w``; empty where nothing is left."""
    words = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_").lower()
    words = re.sub(r"__+", "_", words)[:_LONGEST].rstrip("_")
    if words and words[0].isdigit():
        words = "x" + words
    return words


class Names:
    """The names taken in one function."""

    def __init__(self, reserved: set[str]) -> None:
        self.reserved = RESERVED | reserved
        self.taken = set(self.reserved)
        self._numbers: dict[str, int] = {}  # by base: the first number that may be free

    def fresh(self, wanted: str) -> str:
        """Take the name that :meth:`free` gives."""
        name = self.free(wanted)
        self.taken.add(name)
        return name

    def free(self, wanted: str) -> str:
        """``wanted``; with an underscore where that is reserved; with the first free number where it is taken."""
        base = identifier(wanted) or "value"
        if base not in self.taken:
            return base
        if base in self.reserved and base + "_" not in self.taken:
            return base + "_"
        number = self._numbers.get(base, 2)
        while f"{base}_{number}" in self.taken:
            number += 1
        self._numbers[base] = number
        return f"{base}_{number}"

    def kept(self, name: str) -> str:
        """An identifier as it is where it is free."""
        if name in self.taken:
            return self.fresh(name)
        self.taken.add(name)
        return name


def argument_name(instruction: Instruction) -> str:
    """JAX puts the argument's path into the parameter's op_name; other front ends only name the instruction."""
    if instruction.metadata is not None and instruction.metadata.op_name:
        name = identifier(instruction.metadata.op_name)
        if name and "/" not in instruction.metadata.op_name:
            return name
    return identifier(re.sub(r"[.]\d+$", "", instruction.name)) or "x"


def is_nameless(instruction: Instruction) -> bool:
    """Whether a parameter's name says nothing: only its number, or that it is one."""
    return re.fullmatch(r"x|arg_\d+", argument_name(instruction)) is not None


def own_name(function: Function) -> str:
    """The name of a function without what XLA and JAX add to it."""
    return re.sub(r"[.]\d+$", "", function.name).removeprefix("jit_")


def base_name(node: Node, graph: Graph) -> str:
    """What a value is called before numbering."""
    if node.opcode == "blockwise" and "stands_for" not in node.parameters:
        return "parts"
    if node.parameters.get("is_part"):
        return base_name(node.parameters["stands_for"], graph) + "_parts"
    node = node.parameters.get("stands_for") or node
    call, index = (node.operands[0], node.parameters["index"]) if node.opcode == "item" else (node, 0)
    if call.opcode == "prelude" and call.parameters["function"] in NARROWING | WIDENING and call.operands[0].operands:
        return base_name(call.operands[0], graph)
    if call.opcode == "prelude":
        function = call.parameters["function"]
        return _result_name(function if isinstance(function, str) else function.name, index)
    if call.opcode == "library":
        name: str = call.parameters["function"]
        return LIBRARY_RESULTS.get(name, (name.rpartition(".")[2],) * (index + 1))[index]
    if call.opcode == "qr":
        return "qr"[index]
    if call.opcode == "collective":
        return _COLLECTIVES[call.parameters["method"]]
    if call.opcode == "call" and call.parameters["function"].repeated:
        return _updated_name(call, index)
    if call.opcode == "call":
        return _name_of_result(call.parameters["function"], index)
    while node.opcode in _SEEN_THROUGH and node.operands[0].operands:
        node = node.operands[0]
        if node.opcode in ("prelude", "library"):
            return base_name(node, graph)
    noun = NOUNS.get(node.opcode, identifier(node.opcode))
    return "bits" if noun == "mask" and node.element_type is not PRED else noun


def _name_of_result(function: Function, index: int) -> str:
    """One of several results is called what it is called in the function; the only one after the function."""
    results = tree_nodes(function.results)
    name = base_name(results[index], function.graph) if 1 < len(results) > index and results[index].operands else ""
    return identifier(own_name(function)) + "_out" if name in ("", "value") else name


def _updated_name(call: Node, index: int) -> str:
    """``new_weight`` for what a part makes of ``weight``, the argument that its result begins with."""
    function: Function = call.parameters["function"]
    number = _begins_with(function, index)
    given = call.operands[number] if number is not None else None
    if given is not None and is_argument(given):
        return "new_" + argument_name(function.computation.parameters[given.parameters["argument"]])
    return _name_of_result(function, index) if given is None else identifier(repeated_function_name(function)) + "_out"


def _begins_with(function: Function, index: int) -> int | None:
    """The parameter that a result is made of first of all."""
    node = tree_nodes(function.results)[index]
    while node.operands:
        node = next((operand for operand in node.operands if not operand.is_literal), node.operands[0])
    return node.parameters["argument"] if node.opcode == "parameter" else None


def repeated_function_name(function: Function) -> str:
    """``update`` for what makes arguments anew, where the author's names say nothing."""
    if function.label:
        return function.label
    begun = [_begins_with(function, index) for index in range(len(tree_nodes(function.results)))]
    is_update = any(number is not None and all(map(is_argument, function.repeated[number])) for number in begun)
    return "update" if is_update else "part"


def common_words(names: Sequence[str]) -> str:
    """The words that all names end in, or else begin with, numbers at their ends aside."""
    words = [re.sub(r"_\d+$", "", name).split("_") for name in names]
    ends = _common_start([each[::-1] for each in words])[::-1]
    return "_".join(ends if ends and not ends[0].isdigit() else _common_start(words))


def _common_start(words: Sequence[Sequence[str]]) -> list[str]:
    same = itertools.takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False))
    return [each[0] for each in same]


def is_argument(node: Node) -> bool:
    """Whether a node is an argument of the program's."""
    return node.opcode == "parameter" and "argument" in node.parameters


# What the results of prelude functions are called.
FUNCTION_RESULTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(NARROWING, ("bits",)),
    **dict.fromkeys(WIDENING, ("values",)),
    "advance": ("counter",),
    "batch_norm_grad": ("d_x", "d_scale", "d_offset"),
    "batch_norm_inference": ("normalised",),
    "batch_norm_training": ("normalised", "mean", "variance"),
    "bitcast_convert": ("bits",),
    "bitcast_convert_packed": ("bits",),
    "cholesky": ("factor",),
    "complex_atan2": ("angle",),
    "complex_exp": ("exp",),
    "complex_expm1": ("expm1",),
    "complex_from_parts": ("z",),
    "complex_log1p": ("log1p",),
    "complex_logistic": ("gate",),
    "complex_maximum": ("larger",),
    "complex_minimum": ("smaller",),
    "complex_rsqrt": ("scale",),
    "complex_sign": ("sign",),
    "convolution": ("convolved",),
    "count_leading_zeros": ("leading_zeros",),
    "crop": ("cropped",),
    "cumulative": ("running",),
    "dynamic_reshape": ("reshaped",),
    "dynamic_slice": ("piece",),
    "dynamic_update_slice": ("updated",),
    "erf": ("error",),
    "erf_float64": ("error",),
    "exact_gelu": ("activated",),
    "extend": ("extended",),
    "first_largest": ("best",),
    "first_smallest": ("best",),
    "fold_axes": ("folded",),
    "fold_windows": ("pooled",),
    "fourier_transform": ("spectrum",),
    "gather": ("gathered",),
    "get_or_fill": ("taken",),
    "take_or_fill": ("taken",),
    "gees": ("schur", "vectors"),
    "gelu": ("activated",),
    "geev": ("eigenvalues",),
    "geqrf": ("reflectors", "tau"),
    "gesdd": ("workspace", "singular", "left", "right", "info"),
    "getrf": ("lu", "pivots", "info"),
    "in_files": ("blocks",),
    "int_divide": ("quotient",),
    "int_power": ("power",),
    "int_remainder": ("rest",),
    "integer_convolution": ("convolved",),
    "linspace": ("points",),
    "log_softmax": ("log_probabilities",),
    "logistic": ("gate",),
    "logsumexp": ("normaliser",),
    "map_elements": ("mapped",),
    "matmul": ("dot",),
    "mulhi": ("high",),
    "orgqr": ("orthogonal",),
    "ormqr": ("product",),
    "pad": ("padded",),
    "philox_bits": ("state", "bits"),
    "pivots_to_permutation": ("permutation",),
    "popcount": ("counts",),
    "split_key": ("keys",),
    "fold_in": ("key",),
    "random_bits": ("bits",),
    "random_uniform": ("uniform",),
    "random_normal": ("normal",),
    "softmax": ("weights",),
    "solve": ("solution",),
    "erf_inv": ("value",),
    "erf_inv_float64": ("value",),
    "erfc": ("tail",),
    "erfc_float64": ("tail",),
    "sigmoid": ("gate",),
    "normal_cdf": ("probability",),
    "potrf": ("factor", "info"),
    "svd": ("left", "singular", "right"),
    "svdvals": ("singular",),
    "eigh": ("eigenvalues", "eigenvectors"),
    "eigvalsh": ("eigenvalues",),
    "ragged_dot": ("dot",),
    "reduce_precision": ("rounded",),
    "reduce_window": ("pooled",),
    "round_half_away": ("rounded",),
    "round_to": ("rounded",),
    "rsqrt": ("scale",),
    "scaled_dot": ("dot",),
    "scan": ("scanned",),
    "scatter": ("scattered",),
    "scatter_at": ("scattered",),
    "select_and_scatter": ("scattered",),
    "shift_right_arithmetic": ("shifted",),
    "shift_right_logical": ("shifted",),
    "sign": ("sign",),
    "search_sorted": ("places",),
    "sort_by_keys": ("ordered",),
    "sort_key": ("key",),
    "sort_with": ("ordered",),
    "stochastic_convert": ("rounded",),
    "syevd": ("eigenvectors", "eigenvalues", "info"),
    "sytrd": ("reflectors", "diagonal", "off_diagonal", "tau", "info"),
    "threefry_bits": ("state", "bits"),
    "to_int": ("whole",),
    "top_k": ("values", "indices"),
    "top_k_in_chunks": ("values", "indices"),
    "total_order_key": ("key",),
    "triangular_solve": ("solution",),
}


# What the results of functions of the array library are called, where it is not by their names.
LIBRARY_RESULTS: dict[str, tuple[str, ...]] = {
    "bincount": ("counts",),
    "conj": ("conjugate",),
    "copysign": ("signed",),
    "diff": ("difference",),
    "isclose": ("mask",),
    "linalg.slogdet": ("sign", "logdet"),
    "nan_to_num": ("filled",),
    "nanmax": ("peak",),
    "nanmean": ("mean",),
    "nanmin": ("lowest",),
    "nanprod": ("product",),
    "nanstd": ("deviation",),
    "nansum": ("total",),
    "nanvar": ("variance",),
    "pad": ("padded",),
    "repeat": ("repeated",),
    "signbit": ("mask",),
    "tile": ("tiled",),
    "trunc": ("whole",),
}


def _result_name(function: str, index: int) -> str:
    names = FUNCTION_RESULTS.get(function)
    if names is None:
        return f"{function}_out"
    return names[min(index, len(names) - 1)]
