"""The word for a value that the name of a Python function, as tracers keep it, gives."""

from __future__ import annotations

import re
from collections.abc import Container

_LONGEST = 28  # characters of a word
_SHORTENED = 22  # characters of what is left of a longer one
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MACHINERY = re.compile(r"<|__|_[A-Z]")  # comprehensions, operators, and classes that nobody but their module knows
_VERB = re.compile(r"(?:get|compute|calculate|calc|make|eval|evaluate|tree)_(?=[a-z])")
_KIND = re.compile(r"(?<=[a-z])_(?:fn|fun|func|function)$")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)

# What JAX calls the scopes and the functions of its own primitives, whichever version.
_PRIMITIVES = frozenset(
    "body body_pred call checkpoint closed_call cond core_call core_closed_call custom_jvp_call custom_jvp_call_jaxpr "
    "custom_lin custom_vjp_call custom_vjp_call_jaxpr eval_jaxpr jit named_call pjit program_order remat remat2 "
    "remat_call rematted_computation scan shard_map shmap_body while xla_call xla_metadata_call xla_pmap".split()
)
_BRANCH = re.compile(r"branch_\d+_fun")

# Functions that are called so everywhere: the word is the class or the function around them.
_SAYS_NOTHING = frozenset(
    "apply apply_fn body_fn body_fun bound_method common_rewrite cond_fn cond_fun decorated f filter_primitive_bind "
    "fn forward fun fun_value_and_grad fun_wrapper func function impl inner lambda main maybe_set new none none_aux "
    "one_step op run step step_fn update update_fn value value_and_grad vmap wrapped wrapped_fn wrapper x".split()
)


def is_machinery(name: str) -> bool:
    """Tell whether JAX made up the name of a scope or of a function: the program has no such name."""
    return name in _PRIMITIVES or _BRANCH.fullmatch(name) is not None


def word_of(name: str, own: Container[str] = ()) -> str:
    """``linear`` of ``Linear.__call__``, ``scale_by_adam`` of ``scale_by_adam.<locals>.update_fn``; empty where a name
    says nothing, or what ``own`` holds."""
    for part in reversed(name.split(".")):
        if part in own:
            return ""
        if _WORD.fullmatch(part) and not _MACHINERY.match(part) and not is_machinery(part):
            word = re.sub(r"__+", "_", _CAMEL.sub("_", part)).strip("_").lower()
            word = _KIND.sub("", _VERB.sub("", re.sub(r"(_\d+)+$", "", word)))
            if word not in _SAYS_NOTHING:
                return _shortened(word)
    return ""


def _shortened(word: str) -> str:
    """``dot_product_attention`` of ``multi_head_dot_product_attention``; empty where a single letter or a long word is
    left.
    """
    if len(word) > _LONGEST:
        while len(word) > _SHORTENED and "_" in word:
            word = word.partition("_")[2]
    return word if 1 < len(word) <= _LONGEST else ""


def own_parts(function_names: list[str], traced: str) -> frozenset[str]:
    """The parts of the names of the traced function, and of those that it stands in: all values are of them."""
    return frozenset(part for name in function_names if name.split(".")[-1] == traced for part in name.split("."))
