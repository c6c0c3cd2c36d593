"""Words for values, made from the qualified names of Python functions that tracers record."""

from __future__ import annotations

import re
from collections.abc import Container

_LONGEST = 28  # characters of a whole word
_SHORTENED = 22  # characters of the tail of a longer word
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MACHINERY = re.compile(r"<|__|_[A-Z]")  # comprehensions, operators and private classes
_VERB = re.compile(r"(?:get|compute|calculate|calc|make|eval|evaluate|tree)_(?=[a-z])")
_KIND = re.compile(r"(?<=[a-z])_(?:fn|fun|func|function)$")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)

# JAX's names of scopes and functions of its own primitives, in any version.
_PRIMITIVES = frozenset(
    "body body_pred call checkpoint closed_call cond core_call core_closed_call custom_jvp_call custom_jvp_call_jaxpr "
    "custom_lin custom_vjp_call custom_vjp_call_jaxpr eval_jaxpr jit named_call pjit program_order remat remat2 "
    "remat_call rematted_computation scan shard_map shmap_body while xla_call xla_metadata_call xla_pmap".split()
)
_BRANCH = re.compile(r"branch_\d+_fun")

# Names that say nothing: the word comes from the enclosing class or function.
_SAYS_NOTHING = frozenset(
    "apply apply_fn body_fn body_fun bound_method common_rewrite cond_fn cond_fun decorated f filter_primitive_bind "
    "fn forward fun fun_value_and_grad fun_wrapper func function impl inner lambda main maybe_set new none none_aux "
    "one_step op run step step_fn update update_fn value value_and_grad vmap wrapped wrapped_fn wrapper x".split()
)


def is_machinery(name: str) -> bool:
    """Return whether JAX made up the name of a scope or a function."""
    return name in _PRIMITIVES or _BRANCH.fullmatch(name) is not None


def word_of(name: str, own: Container[str] = ()) -> str:
    """Return the word from a qualified name: ``linear`` from ``Linear.__call__``, ``scale_by_adam`` from
    ``scale_by_adam.<locals>.update_fn``. Empty if no part of the name gives a word, or a part is in ``own``.
    """
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
    """Return the tail of a long word, ``dot_product_attention`` of ``multi_head_dot_product_attention``; empty if only
    a letter or a long word remains.
    """
    if len(word) > _LONGEST:
        while len(word) > _SHORTENED and "_" in word:
            word = word.partition("_")[2]
    return word if 1 < len(word) <= _LONGEST else ""


def own_parts(function_names: list[str], traced: str) -> frozenset[str]:
    """Return the parts of the qualified names of the traced function: they say nothing about a value, because all
    values are computed inside.
    """
    return frozenset(part for name in function_names if name.split(".")[-1] == traced for part in name.split("."))
