"""``xla2py doctor``."""

from __future__ import annotations

import os
import platform
from importlib import metadata

import click

from ..target import load_target, target_names
from ..version import VERSION
from .options import Command
from .terminal import write_table

# The distributions that a part requires; of those joined by "|", any one.
CORE = ("numpy", "ml_dtypes", "jinja2", "black", "click", "rich")
REFERENCE = ("jaxlib", "jax")


@click.command(cls=Command)
def command() -> int:
    """Show versions, what is installed for each target, whether there is a GPU, and what would make modules faster.

    Exits with 1 if a core dependency is missing.
    """
    click.echo(f"xla2py {VERSION}, Python {platform.python_version()}, {platform.platform()}")
    targets = [load_target(name) for name in target_names()]
    devices = [text for target in targets if (text := target.library.devices())]
    click.echo("; ".join([f"{os.cpu_count()} CPUs", *devices]) + "\n")
    parts = {
        "core": CORE,
        **{f"{target.name} target": target.library.requires for target in targets if target.library.requires},
        "XLA reference, protos": REFERENCE,
    }
    rows = []
    is_complete = True
    for part, requirements in parts.items():
        found = {requirement: _version(requirement) for requirement in requirements}
        missing = [requirement.split("|")[0] for requirement, version in found.items() if version is None]
        is_complete &= not (part == "core" and missing)
        status = f"missing: {', '.join(missing)}" if missing else "ready"
        versions = ", ".join(version for version in found.values() if version)
        rows.append((part, status, versions))
    write_table(("part", "status", "versions"), rows)
    for text in (text for target in targets for text in target.library.advice()):
        click.echo("\n" + click.wrap_text(f"{text} (docs/speed.md).", width=100))
    return 0 if is_complete else 1


def _version(alternatives: str) -> str | None:
    """Return ``name version`` of the first installed distribution among ``a|b|c``, or None."""
    for name in alternatives.split("|"):
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    return None
