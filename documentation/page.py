"""``python -m xla2py.documentation.page OUT``: the page as a folder that any static host serves.

It is the files of ``page/``, the core of Pyodide (the npm package ``pyodide``), the wheels that emission and runs need
and xla2py's own, and a lock that names them all by their hashes. Of the packages, those in Pyodide's own lock come from
a folder with its release, where one is given, else from its public CDN, and are checked by the lock; the others are
plain wheels of PyPI. What the examples import is bytecode there (``compile_wheels.mjs``): a tab compiles little.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

from ..transpile.files import write_atomically
from ..transpile.playground.site import site_files
from ..transpile.version import VERSION

CHECKOUT = Path(__file__).resolve().parents[1]
PYODIDE = "314.0.7"
CDN = "https://cdn.jsdelivr.net/pyodide/v{version}/full/{file}"
CORE = re.compile(r"package/(pyodide\.(mjs|asm\.\w+)|python_stdlib\.zip|pyodide-lock\.json)")
PACKAGES = (  # what emission and runs import, with all that these import
    "numpy", "ml-dtypes", "jinja2", "markupsafe",
    "black", "click", "mypy-extensions", "packaging", "pathspec", "platformdirs", "pytokens",
)  # fmt: skip
Lock = dict[str, Any]


class Missing(Exception):
    """A wheel that cannot be had here."""


def build(out: Path, version: str, release: Path | None) -> None:
    """Write the site. Raises Missing where a package cannot be had."""
    shutil.rmtree(out, ignore_errors=True)
    core = out / "pyodide"
    core.mkdir(parents=True)
    for name, path in site_files().items():
        (out / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(path, out / name)
    _add_core(core, version)
    lock = json.loads((core / "pyodide-lock.json").read_bytes())
    kept: Lock = {}
    for name in PACKAGES:
        kept[name] = _of_release(core, name, lock, version, release) or _of_pypi(core, name, lock)
    kept["xla2py"] = _own(core)
    _write_lock(core, lock, kept)
    _call("node", str(Path(__file__).with_name("compile_wheels.mjs")), str(core), str(out / "examples"))
    _write_lock(core, lock, kept)
    _describe(out, list(kept))


def _add_core(core: Path, version: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _call("npm", "pack", "--silent", f"pyodide@{version}", cwd=folder)
        (packed,) = Path(folder).glob("*.tgz")
        with tarfile.open(packed) as archive:
            for member in archive:
                if CORE.fullmatch(member.name) and (file := archive.extractfile(member)):
                    (core / Path(member.name).name).write_bytes(file.read())


def _of_release(core: Path, name: str, lock: Lock, version: str, release: Path | None) -> Lock | None:
    """The entry of a package of Pyodide's, whose wheel is put beside the core; None of one that the lock has not, or
    that PyPI has as well.
    """
    entry: Lock | None = lock["packages"].get(name)
    if entry is None:
        return None
    file = entry["file_name"]
    content = None
    if release is not None and (release / file).exists():
        content = (release / file).read_bytes()
    elif release is None or not _is_plain(file):
        content = _fetched(CDN.format(version=version, file=file))
    if content is None or hashlib.sha256(content).hexdigest() != entry["sha256"]:
        if _is_plain(file) or name == "markupsafe":
            return None
        raise Missing(f"{file} of Pyodide {version}")
    (core / file).write_bytes(content)
    return entry


def _is_plain(file: str) -> bool:
    return file.endswith("-none-any.whl")


def _fetched(address: str) -> bytes | None:
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:
            content: bytes = answer.read()
            return content
    except OSError:
        return None


def _of_pypi(core: Path, name: str, lock: Lock) -> Lock:
    """The entry of a plain wheel. ``ml-dtypes`` has a stand-in, without which nothing narrow could be told from nothing
    at all; MarkupSafe runs without its compiled part.
    """
    if name == "ml-dtypes":
        return _packed(core, "ml_dtypes", "0", {"ml_dtypes.py": (CHECKOUT / "page/stand_in/ml_dtypes.py").read_bytes()})
    python = ".".join(lock["info"]["python"].split(".")[:2])
    with tempfile.TemporaryDirectory() as folder:
        plain = ["--only-binary", ":all:", "--platform", "any", "--python-version", python, "--implementation", "py"]
        kind = ["--no-binary", ":all:", "--no-build-isolation"] if name == "markupsafe" else [*plain, "--abi", "none"]
        _call(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *kind, "--dest", folder, name)
        (found,) = Path(folder).iterdir()
        if found.suffix == ".whl":
            shutil.copyfile(found, core / found.name)
            return _entry(core / found.name)
        with tarfile.open(found) as archive:
            sources = {
                member.name.partition("/src/")[2]: file.read()
                for member in archive
                if re.search(r"/src/markupsafe/\w+\.py$", member.name) and (file := archive.extractfile(member))
            }
        return _packed(core, "markupsafe", "0", sources)


def _packed(core: Path, name: str, version: str, sources: dict[str, bytes]) -> Lock:
    """A wheel of some modules."""
    path = core / f"{name}-{version}-py3-none-any.whl"
    told = {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "RECORD": ""}
    sources = sources | {f"{name}-{version}.dist-info/{file}": text.encode() for file, text in told.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in sources.items():
            archive.writestr(zipfile.ZipInfo(file), content)
    return _entry(path)


def _own(core: Path) -> Lock:
    """The wheel of the checkout, made of a copy: the build leaves nothing behind."""
    with tempfile.TemporaryDirectory() as folder:
        left_out = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "generated", "tests")
        shutil.copytree(CHECKOUT, Path(folder, "checkout"), ignore=left_out)
        script = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
        _call(sys.executable, "-c", script, str(core), cwd=f"{folder}/checkout")
    return _entry(core / f"xla2py-{VERSION}-py3-none-any.whl")


def _entry(wheel: Path) -> Lock:
    """What a lock says of a wheel."""
    name, version = wheel.name.split("-")[:2]
    return {
        "name": name,
        "version": version,
        "file_name": wheel.name,
        "install_dir": "site",
        "package_type": "package",
        "imports": [name],
        "depends": [],
        "unvendored_tests": False,
    }


def _write_lock(core: Path, lock: Lock, kept: Lock) -> None:
    """Write the lock of the packages that are kept, with the hashes that their wheels have now."""
    hashes = {name: hashlib.sha256((core / kept[name]["file_name"]).read_bytes()).hexdigest() for name in kept}
    packages = {name: {**entry, "depends": [], "sha256": hashes[name]} for name, entry in kept.items()}
    write_atomically(
        core / "pyodide-lock.json", json.dumps(lock | {"packages": packages}, indent=1, sort_keys=True).encode()
    )


def _describe(out: Path, packages: list[str]) -> None:
    """Write ``site.json``: what the worker loads, with sizes, under a version that is the hash of it all."""
    core = out / "pyodide"
    loaded = sorted(path for path in core.iterdir() if path.suffix in (".wasm", ".whl", ".zip", ".json"))
    own = sorted(path for path in out.rglob("*") if path.is_file() and path not in loaded)
    everything = hashlib.sha256(b"".join(path.read_bytes() for path in (*own, *loaded))).hexdigest()
    site = {
        "backend": "worker",
        "version": f"xla2py-{everything[:16]}",
        "pyodide": "pyodide/",
        "packages": packages,
        "files": [{"file": f"pyodide/{path.name}", "bytes": path.stat().st_size} for path in loaded],
        "own": [path.relative_to(out).as_posix() for path in own],
    }
    write_atomically(out / "site.json", json.dumps(site, indent=1).encode())
    sent = sum(_sent(path) for path in (*own, *loaded))
    print(f"{out}: {sent / 1e6:.1f} MB to load, as hosts compress it")


def _sent(path: Path) -> int:
    """The bytes that a host sends of a file."""
    content = path.read_bytes()
    return len(content) if path.suffix in (".whl", ".zip") else len(gzip.compress(content, 6))


def _call(*command: str, cwd: str | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m xla2py.documentation.page")
    parser.add_argument("out", type=Path)
    parser.add_argument("--pyodide", default=PYODIDE, help="the version of the npm package")
    parser.add_argument("--release", type=Path, help="a folder with the wheels of that version's release")
    chosen = parser.parse_args()
    try:
        build(chosen.out.resolve(), chosen.pyodide, chosen.release)
    except (Missing, OSError, subprocess.CalledProcessError) as error:
        print(f"the page cannot be made here: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
