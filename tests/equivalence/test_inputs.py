"""Inputs fit what a program does with them; one test a rule."""

import numpy as np
import pytest

from xla2py.transpile.equivalence.inputs.generate import describe, make_inputs
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES
from xla2py.transpile.hlo.parser import parse_module


def inputs_of(entry, helpers="", seed=0):
    return make_inputs(parse_module(f"HloModule m\n{helpers}\nENTRY e {{ {entry} }}"), seed)


@pytest.mark.parametrize("name", sorted(ELEMENT_TYPES))
def test_every_element_type_has_inputs(name):
    (array,) = inputs_of(f"ROOT p = {name}[50] parameter(0)")
    assert (array.dtype, array.shape) == (ELEMENT_TYPES[name].dtype, (50,))
    assert len(set(array.tobytes())) > 1


def test_same_seed_same_inputs_and_other_seed_other_inputs():
    entry = "a = f32[100] parameter(0)  b = f32[100] parameter(1)  ROOT c = f32[100] add(a, b)"
    first, again, other = inputs_of(entry), inputs_of(entry), inputs_of(entry, seed=1)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first[0], first[1])


def test_tuple_parameters_are_flattened():
    shapes = [a.shape for a in inputs_of("ROOT p = (f32[2], (s32[], pred[3])) parameter(0)")]
    assert shapes == [(2,), (), (3,)]


def test_gather_indices_are_in_range_behind_the_wrapping_that_jax_writes():
    _, indices = inputs_of(
        """x = f32[7,3] parameter(0)  i = s32[200] parameter(1)  zero = s32[] constant(0)  seven = s32[] constant(7)
        zeros = s32[200] broadcast(zero), dimensions={}  sevens = s32[200] broadcast(seven), dimensions={}
        negative = pred[200] compare(i, zeros), direction=LT  wrapped = s32[200] add(i, sevens)
        j = s32[200] select(negative, wrapped, i)  k = s32[200,1] reshape(j)
        ROOT g = f32[200,3] gather(x, k), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
          index_vector_dim=1, slice_sizes={1,3}"""
    )
    assert set(indices.tolist()) == set(range(7))


def test_scatter_indices_are_in_range_and_unique_and_sorted_where_flagged():
    helpers = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }"
    entry = """x = f32[9,4] parameter(0)  i = s32[8,1] parameter(1)  u = f32[8,4] parameter(2)
        ROOT s = f32[9,4] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
          scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"""
    _, indices, _ = inputs_of(entry, helpers)
    assert indices.min() >= 0 and indices.max() <= 8
    _, indices, _ = inputs_of(entry + ", unique_indices=true, indices_are_sorted=true", helpers)
    assert len(set(indices.ravel().tolist())) == 8
    assert (np.diff(indices.ravel()) > 0).all()


def test_dynamic_slice_starts_leave_room_for_the_slice():
    starts = [
        inputs_of(
            """x = f32[6,9] parameter(0)  i = s32[] parameter(1)  j = u8[] parameter(2)  k = u8[] convert(i)
            ROOT d = f32[4,9] dynamic-slice(x, k, j), dynamic_slice_sizes={4,9}""",
            seed=seed,
        )[1:]
        for seed in range(30)
    ]
    assert {int(i) for i, _ in starts} == {0, 1, 2}
    assert {int(j) for _, j in starts} == {0}


def test_branch_index_reaches_every_branch_through_a_call():
    helpers = """b { ROOT x = f32[] parameter(0) }
    choose { i = s32[] parameter(0)  x = f32[] parameter(1)
      ROOT c = f32[] conditional(i, x, x, x), branch_computations={b, b, b} }"""
    entry = "i = s32[] parameter(0)  x = f32[] parameter(1)  ROOT c = f32[] call(i, x), to_apply=choose"
    assert {int(inputs_of(entry, helpers, seed)[0]) for seed in range(30)} == {0, 1, 2}


def test_loop_bounds_are_small_inside_a_carry():
    helpers = """cond { t = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(t), index=0
      n = s32[] get-tuple-element(t), index=1  ROOT r = pred[] compare(i, n), direction=LT }
    body { t = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(t), index=0
      n = s32[] get-tuple-element(t), index=1  one = s32[] constant(1)  j = s32[] add(i, one)
      ROOT r = (s32[], s32[]) tuple(j, n) }"""
    entry = """n = s32[] parameter(0)  zero = s32[] constant(0)  t = (s32[], s32[]) tuple(zero, n)
      ROOT w = (s32[], s32[]) while(t), condition=cond, body=body"""
    bounds = {int(inputs_of(entry, helpers, seed)[0]) for seed in range(40)}
    assert bounds <= set(range(6)) and len(bounds) > 3


def test_labels_compared_with_an_iota_are_classes():
    (labels,) = inputs_of(
        """y = s32[60] parameter(0)  i = s32[4] iota(), iota_dimension=0
        a = s32[60,4] broadcast(y), dimensions={0}  b = s32[60,4] broadcast(i), dimensions={1}
        ROOT c = pred[60,4] compare(a, b), direction=EQ"""
    )
    assert set(labels.tolist()) == {0, 1, 2, 3}


def test_cholesky_gets_positive_definite_and_triangular_solve_well_conditioned_matrices():
    (matrix,) = inputs_of("a = f64[2,5,5] parameter(0)  ROOT c = f64[2,5,5] cholesky(a), lower=true")
    assert (np.linalg.eigvalsh(matrix) > 0.5).all()
    (hermitian,) = inputs_of("a = c128[3,3] parameter(0)  ROOT c = c128[3,3] cholesky(a), lower=true")
    np.testing.assert_allclose(hermitian, hermitian.conj().T)
    triangle, _ = inputs_of(
        """a = f64[6,6] parameter(0)  b = f64[6,2] parameter(1)
        ROOT s = f64[6,2] triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE"""
    )
    assert np.linalg.cond(np.tril(triangle)) < 10


def test_random_keys_use_all_bits():
    (state,) = inputs_of(
        """s = u64[2] parameter(0)
        ROOT r = (u64[2], u32[4]) rng-bit-generator(s), algorithm=rng_three_fry"""
    )
    assert (state > 2**48).all()


@pytest.mark.parametrize(
    ("entry", "low", "high"),
    [
        ("x = f32[99] parameter(0)  ROOT y = f32[99] log(x)", 0, 3),
        ("x = f32[99] parameter(0)  y = f32[11,9] reshape(x)  ROOT z = f32[11,9] rsqrt(y)", 0, 3),
        ("x = f32[99] parameter(0)  ROOT y = f32[99] divide(x, x)", 0.5, 2),
        ("x = s32[99] parameter(0)  ROOT y = s32[99] remainder(x, x)", 1, 9),
        ("x = f32[99] parameter(0)  ROOT y = f32[99] acosh(x)", 1, 3),
        ("x = s32[99] parameter(0)  ROOT y = s32[99] shift-left(x, x)", 0, 31),
        ("x = u2[99] parameter(0)  ROOT y = u2[99] add(x, x)", 0, 3),
    ],
)
def test_operands_stay_in_the_domain_of_their_operation(entry, low, high):
    (array,) = inputs_of(entry)
    assert array.astype(np.float64).min() >= low
    assert array.astype(np.float64).max() <= high


def test_description_counts_what_is_not_finite():
    text = str(describe(np.float32([1, 4, np.nan, np.inf, -2, 0.0])))
    assert text == "float32[6]: -2 to 4, mean 0.75, 1 zeros, 1 NaN, 1 inf"
    assert str(describe(np.zeros((0, 2), np.int32))) == "int32[0, 2]"
    assert describe(np.array([3 + 4j])).maximum == 5
