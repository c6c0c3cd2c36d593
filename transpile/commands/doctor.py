"""``xla2py doctor``."""

from __future__ import annotations

import os
import platform
from importlib import import_module, metadata

import click

from ..version import VERSION
from .options import Command
from .terminal import write_table

# part -> the distributions that must be installed for it, any one of those joined by "|"
PARTS: dict[str, tuple[str, ...]] = {
    "core": ("numpy", "ml_dtypes", "jinja2", "black", "click", "rich"),
    "dask target": ("dask", "distributed"),
    "cupy target": ("cupy|cupy-cuda13x|cupy-cuda12x|cupy-rocm-7-0",),
    "XLA reference, protos, StableHLO": ("jaxlib", "jax"),
}


@click.command(cls=Command)
def command() -> int:
    """Show versions, what is installed for each target, and whether there is a GPU.

    Ends with exit code 1 where a core dependency is missing.
    """
    click.echo(f"xla2py {VERSION}, Python {platform.python_version()}, {platform.platform()}")
    click.echo(f"{os.cpu_count()} CPUs; {_gpus()}\n")
    rows = []
    is_complete = True
    for part, requirements in PARTS.items():
        found = {requirement: _version(requirement) for requirement in requirements}
        missing = [requirement.split("|")[0] for requirement, version in found.items() if version is None]
        is_complete &= not (part == "core" and missing)
        status = f"missing: {', '.join(missing)}" if missing else "ready"
        versions = ", ".join(version for version in found.values() if version)
        rows.append((part, status, versions))
    write_table(("part", "status", "versions"), rows)
    return 0 if is_complete else 1


def _version(alternatives: str) -> str | None:
    """``name version`` of the first installed distribution among ``a|b|c``."""
    for name in alternatives.split("|"):
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    return None


def _gpus() -> str:
    """What CuPy sees. Asking it is the only sure way, and it may fail in many ways without a driver."""
    try:
        runtime = import_module("cupy").cuda.runtime
        count = runtime.getDeviceCount()
        names = [runtime.getDeviceProperties(device)["name"].decode() for device in range(count)]
    except ImportError:
        return "CuPy is not installed, so GPUs were not looked for"
    except Exception as error:
        return f"CuPy finds no GPU ({type(error).__name__})"
    return f"{count} GPU{'s' * (count != 1)}: {', '.join(names)}"
