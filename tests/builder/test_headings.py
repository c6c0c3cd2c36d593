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
    "AfterAll": ("after_all", "transfers"),
    "AllGather": ("all_gather", "collectives"),
    "AllReduce": ("all_reduce", "collectives"),
    "AllToAll": ("all_to_all", "collectives"),
    "BatchNormGrad": ("batch_norm_grad", "reductions"),
    "BatchNormInference": ("batch_norm_inference", "reductions"),
    "BatchNormTraining": ("batch_norm_training", "reductions"),
    "BitcastConvertType": ("bitcast_convert_type", "elementwise"),
    "Bitcast-converting to primitive type of different width": ("bitcast_convert_type", "elementwise"),
    "Broadcast": ("broadcast", "data_movement"),
    "BroadcastInDim": ("broadcast_in_dim", "data_movement"),
    "Call": ("call", "functions"),
    "Cholesky": ("cholesky", "products"),
    "Clamp": ("clamp", "elementwise"),
    "Collapse": ("collapse", "data_movement"),
    "CollectivePermute": ("collective_permute", "collectives"),
    "Concatenate": ("concat_in_dim", "data_movement"),
    "Conditional": ("conditional", "functions"),
    "Conv (convolution)": ("conv", "products"),
    "ConvWithGeneralPadding (convolution)": ("conv_with_general_padding", "products"),
    "ConvertElementType": ("convert_element_type", "elementwise"),
    "CrossReplicaSum": ("cross_replica_sum", "collectives"),
    "CustomCall": ("custom_call", "functions"),
    "Dot": ("dot", "products"),
    "DotGeneral": ("dot_general", "products"),
    "DynamicSlice": ("dynamic_slice", "data_movement"),
    "DynamicUpdateSlice": ("dynamic_update_slice", "data_movement"),
    "Element-wise binary arithmetic operations": (
        "add sub mul div pow rem max min and_ or_ xor shift_left shift_right_arithmetic shift_right_logical atan2 "
        "complex",
        "elementwise",
    ),
    "Element-wise comparison operations": (
        f"{COMPARISONS} {' '.join(f'{name}_total_order' for name in COMPARISONS.split())}",
        "elementwise",
    ),
    "Element-wise unary functions": (
        "abs cbrt ceil clz cos erf exp expm1 floor imag is_finite log log1p logistic neg not_ population_count real "
        "round round_nearest_even rsqrt sign sin sqrt tan tanh",
        "elementwise",
    ),
    "Fft": ("fft", "products"),
    "Multidimensional FFT": ("fft", "products"),
    "Gather": ("gather", "data_movement"),
    "Gather: General Semantics": ("gather", "data_movement"),
    "Gather: Informal Description and Examples": ("gather", "data_movement"),
    "GetDimensionSize": ("get_dimension_size", "data_movement"),
    "SetDimensionSize": ("set_dimension_size", "data_movement"),
    "GetTupleElement": ("get_tuple_element", "functions"),
    "Infeed": ("infeed", "transfers"),
    "Iota": ("iota", "data_movement"),
    "Map": ("map", "functions"),
    "OptimizationBarrier": ("optimization_barrier", "functions"),
    "Pad": ("pad", "data_movement"),
    "Recv": ("recv", "transfers"),
    "Reduce": ("reduce", "reductions"),
    "Variadic Reduce": ("reduce", "reductions"),
    "ReducePrecision": ("reduce_precision", "elementwise"),
    "ReduceScatter": ("reduce_scatter", "collectives"),
    "ReduceWindow": ("reduce_window", "reductions"),
    "ReplicaId": ("replica_id", "collectives"),
    "Reshape": ("reshape", "data_movement"),
    "Rev (reverse)": ("rev", "data_movement"),
    "RngNormal": ("rng_normal", "random_numbers"),
    "RngUniform": ("rng_uniform", "random_numbers"),
    "RngBitGenerator": ("rng_bit_generator", "random_numbers"),
    "Scatter": ("scatter", "data_movement"),
    "Select": ("select", "elementwise"),
    "SelectAndScatter": ("select_and_scatter", "reductions"),
    "Send": ("send", "transfers"),
    "Scheduling of channel instructions": ("send_with_token recv_with_token", "transfers"),
    "Slice": ("slice", "data_movement"),
    "Sort": ("sort", "reductions"),
    "Transpose": ("transpose", "data_movement"),
    "TriangularSolve": ("triangular_solve", "products"),
    "Tuple": ("tuple", "functions"),
    "While": ("while_", "functions"),
}
BROADCASTING = {
    "What is broadcasting?": ("add", "broadcasting"),
    "Principles": ("add", "broadcasting"),
    "Broadcasting a lower-rank array onto a higher-rank array": ("add", "broadcasting"),
    "Formal definition": ("add", "broadcasting"),
    "Broadcasting similar-rank arrays with degenerate dimensions": ("add", "broadcasting"),
    "Broadcast composition": ("add", "broadcasting"),
}
SHAPES = {
    "Structure of an XLA op": ("parameter", "shapes"),
    "Shapes": ("parameter", "shapes"),
    "Terminology, notation, and conventions": ("parameter", "shapes"),
    "Layout": ("parameter", "shapes"),
    "Minor-to-major dimension ordering": ("parameter", "shapes"),
    "Default minor-to-major ordering": ("", "shapes"),
    "Padding": ("", "shapes"),
    "Indexing into arrays": ("iota", "shapes"),
    "Memory space identifiers": ("parameter", "shapes"),
}
HEADINGS = OPERATION_SEMANTICS | BROADCASTING | SHAPES
# Files about the builder itself, not about a section.
OTHERS = {"build", "headings", "operators", "page", "parameter_and_constant"}
OTHERS |= {"refused_array_calls", "refused_computations", "refused_arguments", "round_trip"}


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
