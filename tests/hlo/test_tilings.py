"""Shardings in the spelling of the HLO text, and the mesh along whose axes they divide arrays."""

import numpy as np
import pytest

from xla2py.transpile.hlo.tilings import parse_tiling, shardings_of


@pytest.mark.parametrize(
    ("text", "rank", "axes"),
    [
        ("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", 2, ((), ("axis_1",))),
        ("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", 2, (("axis_0",), ())),
        ("{devices=[8,1]<=[8]}", 2, (("axis_0", "axis_1"), ())),
        ("{devices=[8]<=[2,4]T(1,0)}", 1, (("axis_1", "axis_0"),)),
        ("{devices=[2,4]0,1,2,3,4,5,6,7}", 2, (("axis_0",), ("axis_1",))),
        ('{devices=[4,2]<=[2,4]T(1,0) metadata={op_name="x"}}', 2, (("axis_1",), ("axis_0",))),
        ("{replicated}", 3, ((), (), ())),
    ],
)
def test_tilings_divide_along_axes(text, rank, axes):
    grid = parse_tiling("{devices=[2,4]<=[8]}", 2, 8)
    (_, found) = shardings_of([grid, parse_tiling(text, rank, 8)])
    assert found.dimensions == axes
    assert found.mesh.devices.shape == (2, 4)


@pytest.mark.parametrize(
    "text",
    [
        "{devices=[4]<=[8]}",
        "{devices=[8]<=[4]}",
        "{devices=[2,4]<=[8]}",
        "{devices=[8]<=[2,4]T(0,0)}",
        "{devices=[8]<=[2,4]T(2,1)}",
        "{devices=[8]0,1,2,3,4,5,6,6}",
        "{devices=[8]0,1}",
        "{devices=[0]<=[0]}",
        "{devices=[99999999999999]<=[99999999999999]}",
        "{manual}",
        "{maximal device=0}",
        "",
    ],
)
def test_other_texts_are_no_tilings_of_vectors(text):
    assert parse_tiling(text, 1, 8) is None


def test_devices_in_an_order_of_their_own_have_no_mesh():
    assert shardings_of([parse_tiling("{devices=[4]0,1,3,2}", 1, 4)]) is None
    assert (
        shardings_of(
            [
                parse_tiling("{devices=[6]<=[2,3]T(1,0)}", 1, 6),
                parse_tiling("{devices=[3,2]<=[6] last_tile_dim_replicate}", 1, 6),
            ]
        )
        is None
    )


def test_places_are_those_of_the_tiling():
    tiles = parse_tiling("{devices=[2,2,2]<=[2,2,2]T(2,0,1) last_tile_dim_replicate}", 2, 8)
    (found,) = shardings_of([tiles])
    for dimension in range(2):
        for place in range(2):
            assert {d for d, p in enumerate(found.places(dimension)) if p == place} == set(
                np.take(tiles, place, dimension).flat
            )
