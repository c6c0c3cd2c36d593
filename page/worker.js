// xla2py in a worker: Pyodide, the packages that its lock names, and one function that answers questions.

const START = `
import json
from xla2py.transpile.playground.answers import answer
lambda question: json.dumps(answer(json.loads(question)))
`;

let answer;

const report = (text, part = null) => postMessage({ progress: { text, part } });

// What is large is kept by the browser under the version of the site, so that the page works without a network, too.
const open = async (version) => {
  try {
    return await caches.open(version);
  } catch {
    return null; // an origin without storage
  }
};

// The files of the site at once, which tells how much is there; Pyodide's own fetches find them here.
const fetchAll = async (files, version) => {
  const kept = await open(version);
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const bodies = new Map();
  let done = 0;
  const fetchOne = async ({ file, bytes }) => {
    const url = new URL(file, location.href).href;
    const found = await kept?.match(url);
    const response = found ?? (await fetch(url));
    if (!response.ok) throw new Error(`${file} is missing from this site`);
    const copy = found || !kept ? null : kept.put(url, response.clone());
    bodies.set(url, await response.blob());
    done += bytes;
    report(`Loading, ${(done / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`, done / total);
    await copy?.catch(() => {}); // there is no room
  };
  await Promise.all(files.map(fetchOne));
  const asked = globalThis.fetch;
  globalThis.fetch = (url, ...more) => {
    const body = bodies.get(new URL(url.url ?? url, location.href).href);
    const type = String(url.url ?? url).endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    return body ? Promise.resolve(new Response(body, { headers: { "Content-Type": type } })) : asked(url, ...more);
  };
};

const start = async ({ pyodide, packages, files, version }) => {
  report("Loading", 0);
  await fetchAll(files, version);
  report("Starting Python");
  const { loadPyodide } = await import(`./${pyodide}pyodide.mjs`);
  const python = await loadPyodide({ indexURL: new URL(pyodide, location.href).href, packages });
  report("Starting xla2py");
  answer = python.runPython(START);
  postMessage({ ready: true });
};

onmessage = async ({ data }) => {
  try {
    if (data.site) await start(data.site);
    else postMessage({ id: data.id, answer: JSON.parse(answer(JSON.stringify(data.question))) });
  } catch (error) {
    const message = String(error.message ?? error).trim().split("\n").at(-1);
    if (data.site) postMessage({ failed: message });
    else postMessage({ id: data.id, answer: { errors: [{ code: "bug", message: `internal error: ${message}` }] } });
  }
};
