// The page: a program on the left, the modules that xla2py makes of it on the right, what they compute below.

import "./theme.js";
import { connect } from "./backend.js";
import { Editor } from "./editor.js";
import { count, make } from "./elements.js";
import { showComparison, showRun, time } from "./results.js";
import { fragmentOf, stateOf } from "./share.js";
import { Side } from "./side.js";

const find = (id) => document.getElementById(id);
const PAUSE = 150; // ms without a key before a program is read
const WATCH = 1000; // ms between looks at a watched file
const LARGEST = 64e6; // bytes of a file that is opened

const FRESH = { text: "", sides: [{ target: "numpy", options: {} }] };

class Page {
  #backend; #site; #about; #editor; #sides = []; #examples = new Map(); #timer = 0; #isWanted = false; #isEmitting = false; #isRunning = false; #queue = Promise.resolve(); #seen = "";

  async start() {
    this.#site = await (await fetch("site.json")).json();
    this.#backend = connect(this.#site, (progress) => this.#load(progress));
    this.#editor = new Editor(find("editor"), { changed: () => this.#typed(), pointed: (line, holds) => this.#pointAtLine(line, holds) });
    this.#listen();
    this.#say("Loading");
    const shared = await stateOf(location.hash.slice(1));
    await this.#listExamples();
    if (shared) this.#editor.text = shared.text;
    else if (!this.#site.watches) await this.#choose([...this.#examples.keys()][0]);
    this.#about = await this.#backend.ask({ ask: "about" });
    find("progress").hidden = true;
    if (this.#about.errors) return this.#say(`This page cannot work: ${this.#about.errors[0].message}`);
    this.#setSides((shared ?? FRESH).sides);
    if (this.#site.watches && !shared) await this.#watch();
    if (this.#site.watches) setInterval(() => document.hidden || this.#watch(), WATCH);
    this.#refresh();
    if (this.#site.version) navigator.serviceWorker?.register(`service_worker.js?version=${this.#site.version}`).catch(() => {});
  }

  #listen() {
    find("run").addEventListener("click", () => this.#run());
    find("stop").addEventListener("click", () => this.#stop());
    find("share").addEventListener("click", () => this.#share());
    find("compare").addEventListener("change", ({ target }) => this.#toggleComparison(target.checked));
    find("close-results").addEventListener("click", () => { find("results").hidden = true; find("run").focus(); });
    find("example").addEventListener("change", async ({ target }) => {
      if (target.value) await this.#choose(target.value);
      target.value = "";
      this.#refresh();
    });
    find("open").addEventListener("click", () => find("file").click());
    find("file").addEventListener("change", ({ target }) => { this.#open(target.files[0]); target.value = ""; });
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => { event.preventDefault(); this.#open(event.dataTransfer.files[0]); });
    addEventListener("hashchange", async () => {
      const shared = await stateOf(location.hash.slice(1));
      if (!shared || !this.#about || this.#about.errors) return;
      this.#editor.text = shared.text;
      this.#setSides(shared.sides);
      this.#refresh();
    });
    addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.#run(); }
    });
  }

  // ---- the program

  async #listExamples() {
    for (const { title, file } of await (await fetch("examples.json")).json()) {
      this.#examples.set(title, file);
      find("example").append(make("option", { value: title }, title));
    }
  }

  async #choose(title) {
    const file = this.#examples.get(title);
    if (file) this.#editor.text = await (await fetch(`examples/${file}`)).text();
  }

  async #open(file) {
    if (!file) return;
    if (file.size > LARGEST) return this.#say(`${file.name} is too large for this page`);
    const bytes = new Uint8Array(await file.arrayBuffer());
    try {
      this.#editor.text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replaceAll("\r\n", "\n");
    } catch { // not text: xla2py knows what it is
      const content = btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
      const { text, errors } = await this.#backend.ask({ ask: "read", content });
      if (errors) return this.#say(errors[0].message);
      this.#editor.text = text;
    }
    this.#refresh();
  }

  async #watch() {
    const answer = await fetch(`program?seen=${this.#seen}`).catch(() => null);
    if (answer?.status !== 200) return;
    const { version, text, problem } = await answer.json();
    this.#seen = version;
    if (problem) return this.#say(problem);
    if (text === this.#editor.text) return;
    this.#editor.text = text;
    this.#refresh();
  }

  #typed() {
    for (const side of this.#sides) side.unlink();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#refresh(), PAUSE);
  }

  // ---- the modules

  #setSides(states) {
    const hooks = (side) => ({
      ask: (question) => this.#backend.ask({ text: this.#editor.text, ...question }),
      changed: () => this.#refresh(),
      pointed: (statements, holds) => this.#pointAt(statements, holds, side()),
      say: (text) => this.#say(text),
    });
    this.#sides = states.slice(0, 2).map((state, at) => new Side(at, this.#about, state, hooks(() => this.#sides[at])));
    find("sides").replaceChildren(...this.#sides.map(({ element }) => element));
    find("compare").checked = this.#sides.length > 1;
    document.body.classList.toggle("comparing", this.#sides.length > 1);
  }

  #toggleComparison(isOn) {
    const [{ choice }] = this.#sides;
    const other = this.#about.targets.find(({ name }) => name !== choice.target)?.name ?? choice.target;
    this.#setSides(isOn ? [choice, { target: other, options: choice.options }] : [choice]);
    this.#refresh();
  }

  // Emits what is there now; of what is typed meanwhile, the last.
  async #refresh() {
    clearTimeout(this.#timer);
    this.#isWanted = true;
    if (this.#isEmitting || !this.#sides.length) return;
    this.#isEmitting = true;
    await this.#working("Emitting", async () => {
      while (this.#isWanted) {
        this.#isWanted = false;
        await this.#emit(this.#editor.text, this.#sides);
      }
    });
    this.#isEmitting = false;
  }

  async #emit(text, sides) {
    if (!text.trim()) return this.#empty();
    const started = performance.now();
    const answers = [];
    for (const side of sides) {
      answers.push(await this.#backend.ask({ ask: "emit", text, ...side.choice }));
      if (answers.at(-1).stopped) break;
    }
    const isStopped = answers.at(-1).stopped;
    if (!isStopped && (text !== this.#editor.text || sides !== this.#sides)) { this.#isWanted = true; return; }
    const took = (performance.now() - started) / 1000;
    const isSound = answers.every(({ errors }) => !errors);
    const changed = isSound && sides.length > 1
      ? (await this.#backend.ask({ ask: "compare", only_text: true, text, sides: sides.map(({ choice }) => choice) })).changed : [];
    sides.forEach((side, at) => {
      if (isStopped || answers[at].errors) side.isStale = true;
      else side.show(answers[at], changed?.[at]);
    });
    const good = answers.find(({ errors }) => !errors);
    const problems = answers.flatMap(({ errors }) => errors ?? []);
    this.#show(problems, good?.notes ?? []);
    find("program-facts").textContent = good ? `${count(good.instructions, "instruction")}, emitted in ${time(took)}` : "";
    this.#say(isStopped ? "Stopped" : problems.length ? `${count(problems.length, "problem")}` : "");
  }

  // Ends what is worked on, and does not begin with what was typed meanwhile.
  #stop() {
    clearTimeout(this.#timer);
    this.#isWanted = false;
    this.#backend.stop();
  }

  #empty() {
    this.#show([], []);
    find("program-facts").textContent = "";
    this.#say("");
  }

  // Problems and notes below the program, each a way to its place.
  #show(problems, notes) {
    const told = new Map([...problems.map((each) => [each, "error"]), ...notes.map((each) => [each, "note"])].map(([each, kind]) => [JSON.stringify(each), [each, kind]]));
    this.#editor.problems = problems;
    find("problems").replaceChildren(...[...told.values()].map(([each, kind]) => this.#problem(each, kind)));
  }

  #problem({ code, message, hint, line, column, end }, kind) {
    const parts = [make("b", { class: kind }, `${kind}${/^XP/.test(code) ? `[${code}]` : ""}`), ` ${message}`];
    if (line) parts.push(make("button", { type: "button", class: "place", onclick: () => this.#editor.goTo(line, column, end) }, `line ${line}, column ${column}`));
    if (hint) parts.push(make("span", { class: "hint" }, `help: ${hint}`));
    return make("p", { class: `problem ${kind}` }, ...parts);
  }

  // A line of the program: what of each module belongs to it.
  #pointAtLine(line, holds) {
    for (const side of this.#sides) side.mark(side.statementsAt(line), holds);
    const [side] = this.#sides;
    this.#editor.mark(side ? side.linesOf(side.statementsAt(line)).map(([each]) => each) : []);
  }

  // Statements of a module: what of the program belongs to them. To hold nothing lets go of what is held.
  #pointAt(statements, holds, side) {
    const lines = side.linesOf(statements ?? []);
    side.mark(statements ?? [], holds);
    if (holds && !lines.length) this.#editor.unhold();
    else this.#editor.mark(lines.map(([line]) => line), holds ? (lines.find(([, isChief]) => isChief) ?? lines[0])[0] : 0);
  }

  // ---- what is computed

  async #run() {
    if (this.#isRunning || !this.#sides.length || !this.#editor.text.trim()) return;
    this.#isRunning = true;
    const text = this.#editor.text, sides = this.#sides.map(({ choice }) => choice);
    const seed = Math.max(0, Math.trunc(Number(find("seed").value)) || 0);
    await this.#working("Running", async () => {
      const isComparison = sides.length > 1;
      const answer = await this.#backend.ask(isComparison ? { ask: "compare", text, sides, seed } : { ask: "run", text, ...sides[0], seed });
      if (answer.errors) {
        this.#show(answer.errors, []);
        return this.#say(answer.stopped ? "Stopped" : `It cannot run: ${answer.errors[0].message}`);
      }
      const titles = this.#sides.map(({ description }) => description);
      find("results-body").replaceChildren(...(isComparison ? showComparison(answer, titles) : showRun(answer)));
      const notes = [...new Set((answer.runs ?? [answer]).map(({ note }) => note).filter(Boolean))];
      find("results-facts").textContent = [isComparison ? titles.join(" | ") : `${titles[0]}, ${time(answer.seconds)}`, ...notes].join("; ");
      find("results").hidden = false;
      this.#say(isComparison ? verdictOf(answer.results) : `It ran in ${time(answer.seconds)}`);
      find("results").focus({ preventScroll: false });
    });
    this.#isRunning = false;
  }

  // Does one thing after the other; shows what is worked on once it takes long, and how to stop it.
  #working(what, work) {
    this.#queue = this.#queue.then(async () => {
      const started = performance.now();
      const tick = setInterval(() => {
        find("stop").hidden = false;
        if (find("progress").hidden) this.#say(`${what}, ${Math.round((performance.now() - started) / 1000)} s`);
      }, 1000);
      await work().catch((error) => this.#say(`This page has a fault: ${error.message}`));
      clearInterval(tick);
      find("stop").hidden = true;
      find("progress").hidden = true;
    });
    return this.#queue;
  }

  async #share() {
    const state = { text: this.#editor.text, sides: this.#sides.map(({ choice }) => choice) };
    history.replaceState(null, "", `#${await fragmentOf(state)}`);
    const link = location.href;
    try {
      await navigator.clipboard.writeText(link);
      this.#say(`The link is on the clipboard: ${count(link.length, "character")}, with the program in it`);
    } catch {
      this.#say("The link is in the address bar, with the program in it");
    }
  }

  #load({ text, part }) {
    const bar = find("progress");
    bar.hidden = part === 1 && !text;
    if (part === null) bar.removeAttribute("value");
    else bar.value = part;
    this.#say(text);
  }

  #say(text) {
    if (find("status").textContent !== text) find("status").textContent = text;
  }
}

const verdictOf = (results) => {
  const bad = results.filter(({ is_good }) => !is_good).length;
  if (bad) return `${count(bad, "result")} of ${results.length} differ${bad === 1 ? "s" : ""}`;
  return results.every(({ verdict }) => verdict === "equal") ? "All results are equal" : "All results agree within rounding";
};

new Page().start().catch((error) => { find("status").textContent = `This page cannot start: ${error.message}`; });
