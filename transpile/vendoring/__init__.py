"""Emitted modules that live in another project: a manifest, their freshness, and updates that keep edits."""

from __future__ import annotations

from .freshness import Freshness, State, as_edited, inspect_module, regenerate
from .manifest import Project, VendoredModule, find_project, nearest_project
from .packages import package
from .programs import program_of
from .update import Outcome, add_module, eject_module, update_module

__all__ = [
    "Freshness",
    "Outcome",
    "Project",
    "State",
    "VendoredModule",
    "add_module",
    "as_edited",
    "eject_module",
    "find_project",
    "inspect_module",
    "nearest_project",
    "package",
    "program_of",
    "regenerate",
    "update_module",
]
