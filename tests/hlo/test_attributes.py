"""The attributes of structured operations and of collectives, in every spelling that the grammar has."""

import pytest

from xla2py.tests.hlo.parsing import SUM, entry, named
from xla2py.tests.recording.xla_texts import printed
from xla2py.transpile.hlo.attributes import PaddingDimension, ReplicaGroups, SliceDimension, WindowDimension


def test_attributes_of_structured_operations(grammar):
    module = grammar["operations"]
    gather = named(module, "g")
    assert gather["offset_dims"] == (2,)
    assert gather["slice_sizes"] == (1, 1, 3)
    assert gather["indices_are_sorted"] is True
    assert named(module, "s")["to_apply"].name == "sum"
    convolution = named(module, "c")
    assert convolution["window"] == (WindowDimension(3, 1, -1, 2, 1, 1, True), WindowDimension(3, 2, 1, 1, 1, 1, False))
    numbers = convolution["dim_labels"]
    assert (numbers.input_batch, numbers.input_feature, numbers.input_spatial) == (0, 3, (1, 2))
    assert (numbers.kernel_input_feature, numbers.kernel_output_feature, numbers.kernel_spatial) == (2, 3, (0, 1))
    assert convolution["operand_precision"] == ("highest", "default")
    assert convolution["feature_group_count"] == 2
    assert named(module, "d")["algorithm"] == "dot_bf16_bf16_f32"
    assert named(module, "sl")["slice"] == (SliceDimension(0, 4, 2), SliceDimension(0, 8))
    assert named(module, "pd")["padding"] == (PaddingDimension(2, -1), PaddingDimension(0, 0, 0))
    assert named(module, "b0")["dimensions"] == ()
    assert named(module, "ts")["transpose_a"] == "ADJOINT"
    assert named(module, "do")["domain"].text.startswith('{kind="sharding"')
    assert named(module, "dr").operands[0].shape.dynamic == (True,)


def test_replica_groups_in_every_spelling(grammar):
    module = grammar["collectives"]
    expected = {
        "r1": ((0, 1), (2, 3)),
        "r2": ((0, 1), (2, 3)),
        "r3": ((0, 2), (1, 3)),
        "r4": ((0, 2), (1, 3)),
        "r5": ((0, 2, 1, 3),),
        "r6": (),
    }
    assert {name: named(module, name)["replica_groups"].groups for name in expected} == expected
    assert named(module, "r4")["replica_groups"].text == "mesh['x'=2,'y'=2] {'x'}"


def groups(text):
    main = entry(f"a = f32[] parameter(0)\nROOT r = f32[] all-reduce(a), replica_groups={text}, to_apply=sum", SUM)
    return main.root["replica_groups"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ {0, 1} , {2} }", ((0, 1), (2,))),
        ("[1,4]<=[4]", ((0, 1, 2, 3),)),
        ("[4,2]<=[2,2,2]T(2,0,1)", ((0, 2), (4, 6), (1, 3), (5, 7))),
        ("mesh['x'=2,'y'=4] {'y'}", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("mesh['x'=2,'y'=4] {'y':(1)2}", ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("mesh['x'=2,'y'=4] {'y':(2)2}", ((0, 1), (2, 3), (4, 5), (6, 7))),
        ("mesh['x'=2,'y'=4] {'x','y':(1)2}", ((0, 2, 4, 6), (1, 3, 5, 7))),
        ("mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)) {'x'}", ((0, 1), (2, 3))),
        ("mesh['x'=2,'y'=2], device_ids=(3,2,1,0) {'y'}", ((3, 2), (1, 0))),
    ],
)
def test_expanded_replica_groups(text, expected):
    value = groups(text)
    assert value == ReplicaGroups(expected, text)


@pytest.mark.parametrize(
    "text",
    [
        "[2,2]<=[4]",
        "[2,4]<=[2,2,2]T(1,0,2)",
        "mesh['x'=2,'y'=2] {'x'}",
        "mesh['x'=2,'y'=2] {'y'}",
        "mesh['x'=2,'y'=2] {'y','x'}",
        "mesh['x'=2,'y'=4] {'y':(1)2}",
        "mesh['x'=2,'y'=4] {'y':(2)2}",
        "mesh['x'=2,'y'=2], device_ids=(0,2,1,3) {'x'}",
        "mesh['a'=2,'b'=3,'c'=2] {'a','c'}",
    ],
)
def test_xla_expands_replica_groups_likewise(text):
    whole = printed(
        f"{SUM}\nENTRY e {{ a = f32[] parameter(0)\nROOT r = f32[] all-reduce(a), replica_groups={text}, channel_id=1, "
        "use_global_device_ids=true, to_apply=sum }",
        "fingerprint",
    )
    listed = whole.split("replica_groups=")[1].split("}}")[0] + "}}"
    assert groups(listed).groups == groups(text).groups
