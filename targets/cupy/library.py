"""The requirements of modules for CuPy: packages, and a GPU."""

from __future__ import annotations

from importlib import import_module

from ...transpile.target import Library


def _make_context() -> None:
    """Make the context on the device. Raises CuPy's exception if there is none."""
    import_module("cupy").zeros(1)


def _devices() -> str:
    """Return a description of the GPUs that CuPy finds. Only CuPy can tell, and it may fail without a driver."""
    try:
        runtime = import_module("cupy").cuda.runtime
        count = runtime.getDeviceCount()
        names = [runtime.getDeviceProperties(device)["name"].decode() for device in range(count)]
    except ImportError:
        return "CuPy is not installed, so GPUs were not looked for"
    except Exception as error:
        return f"CuPy finds no GPU ({type(error).__name__})"
    return f"{count} GPU{'s' * (count != 1)}: {', '.join(names)}"


LIBRARY = Library(
    packages=("cupy", "cupyx", "cupy_backends"),
    requires=("cupy|cupy-cuda13x|cupy-cuda12x|cupy-rocm-7-0",),
    prepare=_make_context,
    devices=_devices,
    maps_devices=True,  # CUDA maps far more addresses than it uses
)
