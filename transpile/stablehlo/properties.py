"""The attributes that operations have as properties in bytecode: their names, by operation and version.

The bytecode has them without names, in the order of the alphabet. What is not listed has none, or one that tells how
exact a result must be.
"""

from __future__ import annotations

_WINDOW = "window_dimensions window_strides padding"
_DOT = (
    "lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions rhs_contracting_dimensions "
    "precision_config"
)
_ALGORITHM = (
    "lhs_precision_type rhs_precision_type accumulation_type lhs_component_count rhs_component_count "
    "num_primitive_operations allow_imprecise_accumulation"
)
_CONVOLUTION = (
    "window_strides lhs_dilation rhs_dilation window_reversal input_batch_dimension input_feature_dimension "
    "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
    "kernel_spatial_dimensions output_batch_dimension output_feature_dimension output_spatial_dimensions "
    "feature_group_count batch_group_count precision_config"
)
_GATHER = "offset_dims collapsed_slice_dims start_index_map index_vector_dim indices_are_sorted"
_GATHER_BATCH = "operand_batching_dims start_indices_batching_dims"
_SCATTER = (
    "update_window_dims inserted_window_dims scatter_dims_to_operand_dims index_vector_dim indices_are_sorted "
    "unique_indices"
)
_CUSTOM_CALL = (
    "call_target_name has_side_effect backend_config api_version called_computations operand_layouts result_layouts "
    "output_operand_aliases"
)
_GROUPS = "replica_groups channel_id use_global_device_ids"
_TRANSFER = "channel_id channel_type is_host_transfer"

# What takes an accuracy.
ACCURATE = "cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh".split()
_NAMES = {
    "all_gather_v1 all_gather_v2": f"all_gather_dim {_GROUPS}",
    "all_reduce_v1 all_reduce_v2": _GROUPS,
    "all_to_all_v1 all_to_all_v2": "split_dimension concat_dimension split_count replica_groups channel_id",
    "batch_norm_grad_v1 batch_norm_inference_v1 batch_norm_training_v1": "epsilon feature_index",
    "broadcast_in_dim_v1": "broadcast_dimensions",
    "broadcast_v1": "broadcast_sizes",
    "call_v1": "callee",
    "cholesky_v1": "lower",
    "collective_broadcast_v1": "replica_groups channel_id",
    "collective_permute_v1": "source_target_pairs channel_id",
    "compare_v1": "comparison_direction compare_type",
    "composite_v1 composite_v2": "name composite_attributes decomposition version",
    "concatenate_v1": "dimension",
    "constant_v1": "value",
    "convolution_v1": f"padding {_CONVOLUTION}",
    "cross-replica-sum_v1": "replica_groups",
    "custom_call_v1": _CUSTOM_CALL,
    "custom_call_v2": f"{_CUSTOM_CALL} unread",  # a last one, which nothing here needs
    "dot_general_v1": _DOT,
    "dot_general_v2": f"{_DOT} {_ALGORITHM}",
    "dot_v1": "precision_config",
    "dynamic_broadcast_in_dim_v1": "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions",
    "dynamic_conv_v1": f"padding {_CONVOLUTION}",
    "dynamic_conv_v2": _CONVOLUTION,
    "dynamic_gather_v1": _GATHER,
    "dynamic_gather_v2": f"{_GATHER} {_GATHER_BATCH}",
    "dynamic_iota_v1 iota_v1": "iota_dimension",
    "dynamic_slice_v1": "slice_sizes",
    "einsum_v1 unary_einsum_v1": "einsum_config",
    **{f"{name}_v1": "" for name in ACCURATE},
    **{f"{name}_v2": "result_accuracy" for name in ACCURATE},
    "fft_v1": "fft_type fft_length",
    "func_v1": "sym_name function_type sym_visibility arg_attrs res_attrs",
    "gather_v1": f"{_GATHER} slice_sizes",
    "gather_v2": f"{_GATHER} {_GATHER_BATCH} slice_sizes",
    "get_dimension_size_v1 set_dimension_size_v1": "dimension",
    "get_tuple_element_v1": "index",
    "infeed_v1": "infeed_config layout",
    "map_v1 reduce_v1 reverse_v1": "dimensions",
    "outfeed_v1": "outfeed_config",
    "pad_v1": "edge_padding_low edge_padding_high interior_padding",
    "recv_v1 send_v1": _TRANSFER,
    "recv_v2 send_v2": f"{_TRANSFER} source_target_pairs",
    "reduce_precision_v1": "exponent_bits mantissa_bits",
    "reduce_scatter_v1": f"scatter_dimension {_GROUPS}",
    "reduce_window_v1": f"{_WINDOW} base_dilations window_dilations",
    "rng_bit_generator_v1": "rng_algorithm",
    "rng_v1": "rng_distribution",
    "scatter_v1": _SCATTER,
    "scatter_v2": f"{_SCATTER} input_batching_dims scatter_indices_batching_dims",
    "select_and_scatter_v1": _WINDOW,
    "slice_v1": "start_indices limit_indices strides",
    "sort_v1": "dimension is_stable",
    "torch_index_select_v1": "dim batch_dims",
    "transpose_v1": "permutation",
    "triangular_solve_v1": "left_side lower unit_diagonal transpose_a",
}

PROPERTIES: dict[str, tuple[tuple[str, bool], ...]] = {
    "builtin.module": (("sym_name", True), ("sym_visibility", True)),
    "sdy.manual_computation": (("in_shardings", False), ("manual_axes", False), ("out_shardings", False)),
    "sdy.mesh": (("mesh", False), ("sym_name", False)),
    "sdy.sharding_constraint": (("sharding", False),),
    **{
        f"vhlo.{operation}": tuple((name, False) for name in sorted(names.split()))
        for operations, names in _NAMES.items()
        for operation in operations.split()
    },
}
"""For each operation the names of its properties, and whether they may be left out."""

VERSIONED = frozenset(name.rpartition("_v")[0] for name in PROPERTIES if name.startswith("vhlo."))
"""Operations with properties, without their versions: a later version may have others."""
