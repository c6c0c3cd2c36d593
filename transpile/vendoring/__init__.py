"""Emitted modules that live in another project: a manifest, their freshness, and updates that keep edits."""

from __future__ import annotations

from .freshness import Freshness, State, inspect_module
from .manifest import Project, VendoredModule, find_project, nearest_project
from .update import Outcome, add_module, eject_module, update_module

__all__ = [
    "Freshness",
    "Outcome",
    "Project",
    "State",
    "VendoredModule",
    "add_module",
    "eject_module",
    "find_project",
    "inspect_module",
    "nearest_project",
    "update_module",
]
