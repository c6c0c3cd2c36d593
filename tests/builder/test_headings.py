"""Every heading of the three seeds: which methods of the builder it names, and which file tests it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xla2py.transpile.hlo.builder.examples import operations

FOLDER = Path(__file__).parent
COMPARISONS = "eq ne ge gt le lt"

# heading: (methods, file)
OPERATION_SEMANTICS = {
    "AfterAll": ("after_all", "after_all"),
    "AllGather": ("all_gather", "all_gather"),
    "AllReduce": ("all_reduce", "all_reduce"),
    "AllToAll": ("all_to_all", "all_to_all"),
    "BatchNormGrad": ("batch_norm_grad", "batch_norm_grad"),
    "BatchNormInference": ("batch_norm_inference", "batch_norm_inference"),
    "BatchNormTraining": ("batch_norm_training", "batch_norm_training"),
    "BitcastConvertType": ("bitcast_convert_type", "bitcast_convert_type"),
    "Bitcast-converting to primitive type of different width": ("bitcast_convert_type", "bitcast_convert_type"),
    "Broadcast": ("broadcast", "broadcast"),
    "BroadcastInDim": ("broadcast_in_dim", "broadcast_in_dim"),
    "Call": ("call", "call"),
    "Cholesky": ("cholesky", "cholesky"),
    "Clamp": ("clamp", "clamp"),
    "Collapse": ("collapse", "collapse"),
    "CollectivePermute": ("collective_permute", "collective_permute"),
    "Concatenate": ("concat_in_dim", "concat_in_dim"),
    "Conditional": ("conditional", "conditional"),
    "Conv (convolution)": ("conv", "conv"),
    "ConvWithGeneralPadding (convolution)": ("conv_with_general_padding", "conv_with_general_padding"),
    "ConvertElementType": ("convert_element_type", "convert_element_type"),
    "CrossReplicaSum": ("cross_replica_sum", "cross_replica_sum"),
    "CustomCall": ("custom_call", "custom_call"),
    "Dot": ("dot", "dot"),
    "DotGeneral": ("dot_general", "dot_general"),
    "DynamicSlice": ("dynamic_slice", "dynamic_slice"),
    "DynamicUpdateSlice": ("dynamic_update_slice", "dynamic_update_slice"),
    "Element-wise binary arithmetic operations": (
        "add sub mul div pow rem max min and_ or_ xor shift_left shift_right_arithmetic shift_right_logical atan2 "
        "complex",
        "binary_arithmetic",
    ),
    "Element-wise comparison operations": (
        f"{COMPARISONS} {' '.join(f'{name}_total_order' for name in COMPARISONS.split())}",
        "comparisons",
    ),
    "Element-wise unary functions": (
        "abs cbrt ceil clz cos erf exp expm1 floor imag is_finite log log1p logistic neg not_ population_count real "
        "round round_nearest_even rsqrt sign sin sqrt tan tanh",
        "unary_functions",
    ),
    "Fft": ("fft", "fft"),
    "Multidimensional FFT": ("fft", "fft"),
    "Gather": ("gather", "gather"),
    "Gather: General Semantics": ("gather", "gather"),
    "Gather: Informal Description and Examples": ("gather", "gather"),
    "GetDimensionSize": ("get_dimension_size", "get_dimension_size"),
    "SetDimensionSize": ("set_dimension_size", "set_dimension_size"),
    "GetTupleElement": ("get_tuple_element", "get_tuple_element"),
    "Infeed": ("infeed", "infeed"),
    "Iota": ("iota", "iota"),
    "Map": ("map", "map"),
    "OptimizationBarrier": ("optimization_barrier", "optimization_barrier"),
    "Pad": ("pad", "pad"),
    "Recv": ("recv", "recv"),
    "Reduce": ("reduce", "reduce"),
    "Variadic Reduce": ("reduce", "reduce"),
    "ReducePrecision": ("reduce_precision", "reduce_precision"),
    "ReduceScatter": ("reduce_scatter", "reduce_scatter"),
    "ReduceWindow": ("reduce_window", "reduce_window"),
    "ReplicaId": ("replica_id", "replica_id"),
    "Reshape": ("reshape", "reshape"),
    "Rev (reverse)": ("rev", "rev"),
    "RngNormal": ("rng_normal", "rng_normal"),
    "RngUniform": ("rng_uniform", "rng_uniform"),
    "RngBitGenerator": ("rng_bit_generator", "rng_bit_generator"),
    "Scatter": ("scatter", "scatter"),
    "Select": ("select", "select"),
    "SelectAndScatter": ("select_and_scatter", "select_and_scatter"),
    "Send": ("send", "send"),
    "Scheduling of channel instructions": ("send_with_token recv_with_token", "send"),
    "Slice": ("slice", "slice"),
    "Sort": ("sort", "sort"),
    "Transpose": ("transpose", "transpose"),
    "TriangularSolve": ("triangular_solve", "triangular_solve"),
    "Tuple": ("tuple", "tuple"),
    "While": ("while_", "while"),
}
BROADCASTING = {
    "What is broadcasting?": ("add", "broadcasting_what_it_is"),
    "Principles": ("add", "broadcasting_principles"),
    "Broadcasting a lower-rank array onto a higher-rank array": ("add", "broadcasting_lower_rank"),
    "Formal definition": ("add", "broadcasting_formal_definition"),
    "Broadcasting similar-rank arrays with degenerate dimensions": ("add", "broadcasting_degenerate_dimensions"),
    "Broadcast composition": ("add", "broadcasting_composition"),
}
SHAPES = {
    "Structure of an XLA op": ("parameter", "shapes_structure_of_an_op"),
    "Shapes": ("parameter", "shapes_terminology"),
    "Terminology, notation, and conventions": ("parameter", "shapes_terminology"),
    "Layout": ("parameter", "shapes_minor_to_major"),
    "Minor-to-major dimension ordering": ("parameter", "shapes_minor_to_major"),
    "Default minor-to-major ordering": ("", "shapes_default_order"),
    "Padding": ("", "shapes_padding"),
    "Indexing into arrays": ("iota", "shapes_indexing"),
    "Memory space identifiers": ("parameter", "shapes_memory_spaces"),
}
HEADINGS = OPERATION_SEMANTICS | BROADCASTING | SHAPES
# Files about the builder itself, not about a section.
OTHERS = {"build", "headings", "newer_collectives", "operators", "page", "parameter_and_constant", "newer_products"}
OTHERS |= {"refused_array_calls", "refused_computations", "refused_arguments", "round_trip", "top_k_and_scan"}


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_heading_has_its_methods_and_its_file(heading: str) -> None:
    methods, name = HEADINGS[heading]
    text = (FOLDER / f"test_{name}.py").read_text(encoding="utf-8")
    assert "def test_" in text
    for method in methods.split():
        assert method in operations()
        assert re.search(rf"\.{method}\(|\"{method}\"", text) or name.startswith("broadcasting"), method


def test_every_file_belongs_to_a_heading() -> None:
    named = {name for _, name in HEADINGS.values()} | OTHERS
    assert named == {path.stem.removeprefix("test_") for path in FOLDER.glob("test_*.py")}


def test_no_heading_of_the_seeds_is_missing() -> None:
    """66 of the operations with their parts (55 are linked to XlaBuilder's methods), 6 of broadcasting, 9 of shapes."""
    assert [len(OPERATION_SEMANTICS), len(BROADCASTING), len(SHAPES)] == [66, 6, 9]
