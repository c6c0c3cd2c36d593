"""A custom call that is not what its target takes ends in a diagnostic with a place, whatever is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

import pytest

import xla2py
from xla2py.tests.custom_calls.examples import EXAMPLES, Example
from xla2py.tests.whole import much
from xla2py.transpile.errors import XlaToPythonError
from xla2py.transpile.hlo.custom_calls.table import CUSTOM_CALLS

ODD_VALUES = (None, True, -1, 7, 10**30, 0.5, "", "x", "-3", [], ["x"], [5], [True], {}, {"a": {"b": 1}})
ODD_CONFIGS = (
    *('""', '"x"', '"{"', '"[1]"', '"{\\"a\\": 1}"', "{", "{}", "{a}", "{a = }", "{a = 1 : i32, a}", '{"a": [}'),
    *('"' + "[" * 3000 + '"', '{"a": ' + "[" * 3000 + "]" * 3000 + "}", "{a = " + "9" * 6000 + " : i64}"),
    '{"custom_call_backend_config": {"attributes": "{uplo"}}',
    '{"gemm_backend_config": 3}',
)
ODD_SHAPES = (
    "f32[]",
    "f32[3]",
    "f32[2,<=3]",
    "pred[2,3]",
    "s4[2,3]",
    "c64[2,3,4]",
    "f32[0,0]",
    "(f32[2], f32[])",
    "token[]",
)
# One precision of LAPACK, one platform, one function and one placement stand for the others.
ALIKE = ("lapack_d", "lapack_c", "lapack_z", "hip", "chlo", "mhlo.a", "mhlo.c", "mhlo.s", "xla.sdy", "Move", "SPMD")
REPRESENTATIVES = [target for target in EXAMPLES if not target.startswith(ALIKE)]


def test_every_known_call_has_an_example():
    assert set(EXAMPLES) == set(CUSTOM_CALLS)


def test_every_example_is_well_formed():
    for example in EXAMPLES.values():
        xla2py.emit(example.text(), format=False)


def variants(example: Example) -> Iterator[str]:
    """The example with one thing changed or left out."""
    yield from (example.text(config=config) for config in configs(example.config))
    for name in example.attributes:
        yield example.text(attributes={key: value for key, value in example.attributes.items() if key != name})
    for text in ODD_CONFIGS:
        yield example.text(config={}, attributes={**example.attributes, "backend_config": text})
    for field in ("operands", "results"):
        shapes = getattr(example, field)
        for k in range(len(shapes)):
            yield example.text(**{field: shapes[:k] + shapes[k + 1 :]}, is_typed=False)
            for odd in ODD_SHAPES:
                yield example.text(**{field: (*shapes[:k], odd, *shapes[k + 1 :])}, is_typed=False)
        yield example.text(**{field: (*shapes, "f32[2]")}, is_typed=False)


def configs(config: object) -> Iterator[object]:
    """The configuration with one field changed or left out, at any depth."""
    if not isinstance(config, dict):
        return
    for name, value in config.items():
        rest = {key: other for key, other in config.items() if key != name}
        yield rest
        yield from ({**rest, name: odd} for odd in ODD_VALUES)
        yield from ({**rest, name: inner} for inner in configs(value))


@pytest.mark.parametrize("target", REPRESENTATIVES)
def test_malformed_calls_end_in_diagnostics(target):
    refused = 0
    for text in islice(variants(EXAMPLES[target]), 0, None, much(3, 1)):
        try:
            xla2py.emit(text, format=False)
        except XlaToPythonError as error:
            refused += 1
            for diagnostic in error.diagnostics:
                assert diagnostic.code.startswith("XP") and diagnostic.location, (diagnostic, text)
                assert diagnostic.span is not None, (diagnostic, text)
    assert refused


GEMM = EXAMPLES["__cublas$gemm"]
CONVOLUTION = EXAMPLES["__cudnn$convForward"]


@pytest.mark.parametrize(
    "text, message",
    [
        (GEMM.text(config={}), "`alpha_real`"),
        (CONVOLUTION.text(attributes={"window": "{size=3x2}"}), "dim_labels"),
        (CONVOLUTION.text(attributes={"dim_labels": "b01f_01io->b01f"}), "window"),
        (CONVOLUTION.text(attributes={**CONVOLUTION.attributes, "window": "{size=3x2x1}"}), "window"),
        (EXAMPLES["lapack_strsm_ffi"].text(config={"side": "L", "uplo": "L", "diag": "N"}), "`trans_x`"),
        (EXAMPLES["lapack_spotrf_ffi"].text(config={"uplo": "X"}), "L, U"),
        (EXAMPLES["lapack_spotrf_ffi"].text(config={"uplo": "L", "more": "X"}), "`more`"),
        (EXAMPLES["lapack_sgetrf_ffi"].text(operands=("f32[5]",), is_typed=False), "f32[*,m,n]"),
        (EXAMPLES["lapack_sgetrf_ffi"].text().replace("{1,2,0}", "{0,1,2}"), "layout"),
        (EXAMPLES["xla_builder.tridiagonal.TridiagonalSolver"].text(operands=("f32[2,4]", "f32[3,4]")), "T[*,3,n]"),
        (EXAMPLES["chlo.lgamma"].text(operands=("s32[3]",), results=("s32[3]",)), "floating-point"),
    ],
)
def test_the_message_says_what_is_wrong(text, message):
    with pytest.raises(XlaToPythonError) as caught:
        xla2py.emit(text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "XP308" and message in diagnostic.message


def test_vectors_of_channels_are_refused():
    labels = {"dim_labels": "b01f?_01io?->b01f?", "window": "{size=3x2 pad=1_1x0_1}"}
    shapes = ("s8[2,5,6,3,4]", "s8[3,2,3,4,4]")
    with pytest.raises(XlaToPythonError, match="vectors of channels"):
        xla2py.emit(CONVOLUTION.text(operands=shapes, results=("s8[2,5,6,4,4]",), attributes=labels))


def test_a_function_of_the_users_takes_what_is_malformed():
    emitted = xla2py.emit(GEMM.text(config={}), custom_calls={"__cublas$gemm": "kernels:gemm"})
    assert "gemm(" in emitted.source


def test_configurations_in_quotes_and_envelopes_are_read():
    plain = GEMM.text()
    quoted = GEMM.text(config={}, attributes={"backend_config": json.dumps(json.dumps(GEMM.config))})
    bare = GEMM.text(config=GEMM.config["gemm_backend_config"])
    assert len({xla2py.emit(text).source.split("main(")[-1] for text in (plain, quoted, bare)}) == 1
    potrf = EXAMPLES["lapack_spotrf_ffi"]
    held = {"custom_call_backend_config": {"attributes": "{uplo = 85 : ui8}"}}
    written = json.dumps(held)
    source = xla2py.emit(
        potrf.text(config={}, attributes={"backend_config": written}), disable_passes=["cutting"]
    ).source
    assert 'uplo="U"' in source
