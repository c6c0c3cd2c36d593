// node compile_wheels.mjs FOLDER EXAMPLES: what a tab imports for the examples, from the wheels beside Pyodide's core and
// from Python's own library, becomes bytecode, made by the very Python that will run it: a tab would compile hundreds of
// files at each start. What is imported later stays source, which is smaller; what a tab never opens is left out.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const COMPILE = `
import ast, marshal, re, sys
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from xla2py.transpile.playground.answers import answer

for text in (path.read_text(encoding="utf-8") for path in sorted(Path("/examples").iterdir())):
    for ask in ("about", "emit", "run"):
        assert not answer({"ask": ask, "text": text}).get("errors"), ask

LEFT_OUT = re.compile(
    "/$|[.](pyi|pxd|h|a)$|[.]dist-info/(RECORD|sboms/)|^numpy/(.*/)?(tests|f2py|distutils)/"
    "|^xla2py/transpile/(commands|fuzzing|vendoring)/"
)
READ = re.compile("^xla2py/(templates/|targets/.*/prelude/)")  # what modules are made of is read as text
imported = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
packages = next(path for path in sys.path if path.endswith("/site-packages"))
library = next(path for path in sys.path if path.endswith(".zip"))

def compiled(source, name):
    """The bytecode of a module, whose docstrings nobody reads here."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
            node.body[0].value.value = ""
    unchecked = (1).to_bytes(4, "little") + source_hash(source)
    return MAGIC_NUMBER + unchecked + marshal.dumps(compile(tree, name, "exec", dont_inherit=True))

for path in (*sorted(Path("/core").glob("*.whl")), Path("/core/python_stdlib.zip")):
    site = packages if path.suffix == ".whl" else library
    with ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not LEFT_OUT.search(name)}
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            if name.endswith(".py") and f"{site}/{name}" in imported and not READ.search(name):
                name, content = f"{name}c", compiled(content, name)
            archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)
`;

const [folder, examples] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const packages = Object.keys(JSON.parse(readFileSync(`${folder}/pyodide-lock.json`)).packages);
const python = await loadPyodide({ indexURL: `${folder}/`, packages });
python.mountNodeFS("/core", folder);
python.mountNodeFS("/examples", examples);
try {
  python.runPython(COMPILE);
} catch (error) {
  console.error(error.message); // without the source of Pyodide, which Node shows
  process.exit(1);
}
