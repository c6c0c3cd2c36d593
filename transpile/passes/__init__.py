"""Rewrites of the HLO dialect and of the array dialect; those of single functions of the latter in one tuple."""

from __future__ import annotations

from collections.abc import Callable

from ..array.program import Function
from .aranges import aranges
from .clips import clips
from .convolutions import convolutions
from .counts import counts
from .crosses import crosses
from .decompositions import decompositions
from .determinants import determinants
from .differences import differences
from .factorisations import factorisations
from .factors import factors
from .fills import fills
from .filters import filters
from .gaps import gaps
from .gelus import gelus
from .idioms import idioms
from .indices import indices
from .keepdims import keepdims
from .linspaces import linspaces
from .magnitudes import magnitudes
from .means import means
from .medians import medians
from .norms import norms
from .paddings import paddings
from .polynomials import polynomials
from .pool_gradients import pool_gradients
from .prefixes import prefixes
from .products import products
from .promotions import promotions
from .quotients import quotients
from .remainders import remainders
from .reshapes import reshapes
from .rolls import rolls
from .searches import searches
from .sigmoids import sigmoids
from .softmaxes import softmaxes
from .softplus import softplus
from .solves import solves
from .squares import squares
from .sums import sums
from .threefry import threefry
from .tilings import tilings
from .triangles import triangles
from .ufuncs import ufuncs
from .variances import variances

ArrayPass = Callable[[Function], None]

# The passes over functions of the array dialect, in order. Each may be left out by name.
PIPELINE: tuple[ArrayPass, ...] = (
    idioms,
    threefry,
    remainders,
    ufuncs,
    prefixes,
    searches,
    medians,
    solves,
    products,
    polynomials,
    convolutions,
    filters,
    crosses,
    counts,
    rolls,
    paddings,
    tilings,
    differences,
    sums,
    means,
    clips,
    keepdims,
    gaps,
    sigmoids,
    quotients,
    variances,
    norms,
    triangles,
    determinants,
    factorisations,
    decompositions,
    factors,
    softplus,
    softmaxes,
    gelus,
    magnitudes,
    linspaces,
    squares,
    reshapes,
    pool_gradients,
    fills,
    indices,
    aranges,
    promotions,
)
