"""Rewrites of the HLO dialect and of the array dialect; ``PIPELINE`` has those for one function of the latter."""

from __future__ import annotations

from collections.abc import Callable

from ..array.program import Function
from ..array.support import Support
from .activation_functions.gelus import gelus
from .activation_functions.idioms import idioms
from .activation_functions.sigmoids import sigmoids
from .activation_functions.softmaxes import softmaxes
from .activation_functions.softplus import softplus
from .algebra.choices import choices
from .algebra.clips import clips
from .algebra.derivatives import derivatives
from .algebra.factors import factors
from .algebra.known_choices import known_choices
from .algebra.magnitudes import magnitudes
from .algebra.masks import masks
from .algebra.polynomials import polynomials
from .algebra.powers import powers
from .algebra.promotions import promotions
from .algebra.quotients import quotients
from .algebra.remainders import remainders
from .algebra.selections import selections
from .algebra.signed_zeros import signed_zeros
from .algebra.squares import squares
from .algebra.ufuncs import ufuncs
from .constants.constants import constants
from .indexing.compactions import compactions
from .indexing.constant_places import constant_places
from .indexing.counted_places import counted_places
from .indexing.indices import indices
from .indexing.reshapes import reshapes
from .indexing.rows import rows
from .indexing.take_or_fill import take_or_fill
from .indexing.triangle_places import triangle_places
from .linear_algebra.accumulated_products import accumulated_products
from .linear_algebra.cholesky import cholesky
from .linear_algebra.crosses import crosses
from .linear_algebra.decompositions import decompositions
from .linear_algebra.determinants import determinants
from .linear_algebra.factorisations import factorisations
from .linear_algebra.kroneckers import kroneckers
from .linear_algebra.narrow_products import narrow_products
from .linear_algebra.products import products
from .linear_algebra.projections import projections
from .linear_algebra.solves import solves
from .linear_algebra.triangles import triangles
from .linear_algebra.weighted_sums import weighted_sums
from .loops.dead_carries import equal_stores, unread_carries
from .loops.dead_results import unread_results
from .loops.first_rows import first_rows
from .loops.own_arrays import own_arrays
from .loops.rematerialization import rematerialization
from .random.threefry import threefry
from .reductions.keepdims import keepdims
from .reductions.log_sums import log_sums
from .reductions.means import means
from .reductions.nan_reductions import nan_reductions
from .reductions.norms import norms
from .reductions.pools import pools
from .reductions.prefixes import prefixes
from .reductions.strides import strides
from .reductions.sums import sums
from .reductions.trapezoids import trapezoids
from .reductions.variances import variances
from .shapes.aranges import aranges
from .shapes.differences import differences
from .shapes.gradients import gradients
from .shapes.grids import grids
from .shapes.joins import joins
from .shapes.linspaces import linspaces
from .shapes.paddings import paddings
from .shapes.ranges import ranges, tables
from .shapes.rolls import rolls
from .shapes.small_arrays import small_arrays
from .shapes.sums_of_pads import sums_of_pads
from .shapes.tilings import repeated_positions, tilings
from .statistics.bincount import bincount
from .statistics.convolutions import convolutions
from .statistics.filters import filters
from .statistics.medians import medians
from .statistics.pool_gradients import pool_gradients
from .statistics.searches import searches

ArrayPass = Callable[[Function, Support], None]  # makes only nodes that the target supports

# The passes over functions of the array dialect, in order. Each can be disabled by name.
PIPELINE: tuple[ArrayPass, ...] = (
    equal_stores,
    unread_carries,
    unread_results,
    idioms,
    threefry,
    remainders,
    powers,
    ufuncs,
    prefixes,
    searches,
    medians,
    solves,
    projections,
    accumulated_products,
    rematerialization,
    products,
    narrow_products,
    polynomials,
    convolutions,
    filters,
    crosses,
    bincount,
    joins,
    rolls,
    paddings,
    sums_of_pads,
    first_rows,
    small_arrays,
    tilings,
    differences,
    sums,
    weighted_sums,
    means,
    choices,
    selections,
    known_choices,
    clips,
    keepdims,
    nan_reductions,
    sigmoids,
    quotients,
    variances,
    norms,
    triangles,
    determinants,
    factorisations,
    decompositions,
    cholesky,
    softplus,
    log_sums,
    softmaxes,
    gelus,
    magnitudes,
    signed_zeros,
    derivatives,
    factors,
    linspaces,
    squares,
    reshapes,
    gradients,
    grids,
    kroneckers,
    trapezoids,
    pool_gradients,
    pools,
    take_or_fill,
    rows,
    indices,
    counted_places,
    constant_places,
    ranges,
    aranges,
    constants,
    triangle_places,
    repeated_positions,
    tables,
    strides,
    compactions,
    masks,
    promotions,
    own_arrays,
)
