"""Names in Dask's graphs: what has the same name is taken for the same."""

import linecache
from types import FunctionType
from typing import Any
from uuid import uuid4

import dask.array as da
from dask.tokenize import tokenize
from dask.utils import key_split

TOKEN = "__dask_tokenize__"  # what tells objects apart, where they have it
FIRST = "__first_text__"  # where a module keeps the text that it was first loaded with


def name_by_text(module: dict[str, Any]) -> None:
    """Have Dask tell the functions and classes of a module, given by its ``globals()``,
    by the module's text.

    By default it tells them by their names, which those of another module, or of this
    one after a change, may have as well. Where the module has been changed and loaded
    again, workers may have the old one: its functions and classes are said to be of a
    module that nobody can import, so that they are sent as they are.
    """
    file = module.get("__file__") or ""
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file, module)) or uuid4().hex
    is_changed = module.setdefault(FIRST, text) != text
    for name, member in list(module.items()):
        if getattr(member, "__module__", None) != module.get("__name__"):
            continue
        if is_changed and callable(member):
            member.__module__ = f"{member.__module__}, changed"
        key = tokenize(text, name)
        if isinstance(member, FunctionType):
            setattr(member, TOKEN, lambda key=key: key)
        elif isinstance(member, type) and TOKEN not in vars(member):
            setattr(member, TOKEN, lambda x, key=key: (key, tokenize(vars(x))))


def name_for(phase: str, *made_of: Any) -> str:
    """The name of the array that a phase makes: another one for anything else that it
    is made of, and the same for the same, also in other processes.
    """
    return f"{phase}-{tokenize(name_for, phase, *made_of)}"


def phase_of(x: da.Array) -> str:
    """Return what progress bars and dashboards call the tasks of an array."""
    phase: str = key_split(x.name)
    return phase
