"""Rewrites of the HLO dialect and of the array dialect; ``PIPELINE`` has those that rewrite one function of the
latter.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ..array.program import Function
from ..array.support import Support

ArrayPass = Callable[[Function, Support], None]  # makes only nodes that the target supports

# The passes over functions of the array dialect, in order: a pass is the function of its module's name, or the named
# one. Each can be disabled by name.
_PASSES = """
    loops.dead_carries.equal_stores loops.dead_carries.unread_carries loops.dead_results.unread_results
    activation_functions.idioms random.threefry algebra.remainders algebra.powers algebra.ufuncs reductions.prefixes
    statistics.searches statistics.medians linear_algebra.solves linear_algebra.projections
    linear_algebra.accumulated_products loops.rematerialization linear_algebra.products linear_algebra.narrow_products
    algebra.polynomials statistics.convolutions statistics.filters linear_algebra.crosses statistics.bincount
    shapes.joins shapes.paddings shapes.sums_of_pads shapes.rolls statistics.transforms loops.first_rows
    algebra.divided_parts shapes.small_arrays shapes.tilings shapes.differences reductions.sums
    linear_algebra.weighted_sums reductions.means algebra.choices algebra.selections algebra.known_choices algebra.clips
    reductions.keepdims reductions.nan_reductions activation_functions.sigmoids algebra.quotients reductions.variances
    reductions.norms linear_algebra.triangles linear_algebra.determinants linear_algebra.factorisations
    linear_algebra.decompositions linear_algebra.cholesky activation_functions.softplus reductions.log_sums
    activation_functions.softmaxes activation_functions.gelus algebra.magnitudes shapes.transposes algebra.signed_zeros
    algebra.derivatives constants.named_rows algebra.factors linear_algebra.symmetries shapes.linspaces algebra.squares
    indexing.reshapes shapes.gradients shapes.grids linear_algebra.kroneckers reductions.trapezoids
    statistics.pool_gradients reductions.pools indexing.take_or_fill indexing.rows indexing.indices
    indexing.counted_places indexing.constant_places shapes.ranges shapes.aranges constants.constants
    indexing.triangle_places shapes.tilings.repeated_positions shapes.ranges.tables reductions.strides
    indexing.compactions algebra.masks algebra.promotions loops.own_arrays
"""


def _pass(place: str) -> ArrayPass:
    folder, module, *function = place.split(".")
    found: ArrayPass = getattr(import_module(f".{folder}.{module}", __name__), (function or [module])[0])
    return found


PIPELINE = tuple(map(_pass, _PASSES.split()))
