// node compile_wheels.mjs FOLDER PROGRAM: what a tab imports from the wheels beside Pyodide's core becomes bytecode, made
// by the very Python that will run it: a tab would compile hundreds of files at each start. What is imported later stays
// source, which is smaller; what a tab never imports is left out.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const COMPILE = `
import py_compile, re, sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import xla2py
from xla2py.transpile.playground.answers import answer

for ask in ("about", "emit", "run"):
    assert not answer({"ask": ask, "text": program}).get("errors"), ask

LEFT_OUT = re.compile("/$|[.]pyi$|^xla2py/transpile/(commands|fuzzing|vendoring)/")
READ = re.compile("^xla2py/(templates/|targets/.*/prelude/)")  # what modules are made of is read as text
site = Path(xla2py.__file__).parents[1]
imported = {getattr(module, "__file__", None) for module in list(sys.modules.values())}

def compiled(name):
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(site / name), "/tmp/compiled", name, doraise=True, invalidation_mode=mode)
    return Path("/tmp/compiled").read_bytes()

for wheel in sorted(Path("/wheels").glob("*.whl")):
    with ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not LEFT_OUT.search(name)}
    with ZipFile(wheel, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            if name.endswith(".py") and str(site / name) in imported and not READ.search(name):
                name, content = f"{name}c", compiled(name)
            archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)
`;

const [folder, program] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const packages = Object.keys(JSON.parse(readFileSync(`${folder}/pyodide-lock.json`)).packages);
const python = await loadPyodide({ indexURL: `${folder}/`, packages });
python.mountNodeFS("/wheels", folder);
python.globals.set("program", readFileSync(program, "utf8"));
try {
  python.runPython(COMPILE);
} catch (error) {
  console.error(error.message); // without the source of Pyodide, which Node shows
  process.exit(1);
}
