// One of the modules that the page shows of a program: a target, options, and the lines that they give.

import { bytesOf, count, make, save } from "./elements.js";
import { Listing } from "./listing.js";

export class Side {
  target; options; answer = null;
  #element; #listing; #about; #changed; #number; #links = [];

  // `ask` answers questions about this side, `changed` is called when a person chose something, `pointed` as Listing's.
  constructor(number, about, { target, options }, { ask, changed, pointed, say }) {
    this.#number = number;
    this.#about = about;
    this.#changed = changed;
    this.target = about.targets.some(({ name }) => name === target) ? target : "numpy";
    this.options = this.#known(options);
    this.#element = document.getElementById("side").content.firstElementChild.cloneNode(true);
    this.#listing = new Listing(this.#find(".listing"), pointed);
    this.#addTargets();
    this.#addOptions();
    this.#find(".copy").addEventListener("click", async () => {
      await navigator.clipboard.writeText(this.answer?.source ?? "");
      say("The module is on the clipboard");
    });
    this.#find(".download").addEventListener("click", async () => {
      const { file, content, errors } = await ask({ ask: "download", ...this.choice });
      if (errors) say(errors[0].message);
      else save(file, bytesOf(content));
    });
    this.#name();
  }

  get element() { return this.#element; }
  get choice() { return { target: this.target, options: this.options }; }
  get title() { return this.#about.targets.find(({ name }) => name === this.target).title; }

  // The options of this side in words, with its target.
  get description() {
    const chosen = Object.entries(this.options).map(([name, value]) => `${name} ${value}`);
    return [this.title, ...chosen].join(", ");
  }

  show(answer, changed) {
    this.answer = answer;
    this.#links = Object.entries(answer.links);
    this.#element.classList.remove("stale");
    this.#listing.show(answer.rows, changed);
    this.#find(".download").title = answer.constants ? `With ${count(answer.constants, "byte")} of constants` : "";
  }

  // The lines of the program that statements are of, each with whether it gives the value of one.
  linesOf(statements) {
    const isWanted = (each) => statements.includes(each);
    return this.#links.filter(([, [parts]]) => parts.some(isWanted)).map(([line, [, mains]]) => [Number(line), mains.some(isWanted)]);
  }

  statementsAt(line) { return this.#links.find(([each]) => Number(each) === line)?.[1][0] ?? []; }

  // The program is another than the one that was emitted.
  unlink() { this.#links = []; }

  set isStale(isStale) { this.#element.classList.toggle("stale", isStale); }

  mark(statements, holds) { this.#listing.mark(statements, holds); }

  #find(selector) { return this.#element.querySelector(selector); }

  #known(options) {
    const names = new Set(this.#about.settings.map(({ name }) => name));
    return Object.fromEntries(Object.entries(options).filter(([name]) => names.has(name)));
  }

  #name() {
    const name = `Python for ${this.title}`;
    this.#find("h2").textContent = name;
    this.#element.setAttribute("aria-label", name);
    this.#find(".listing").setAttribute("aria-label", name);
  }

  #addTargets() {
    const group = this.#find(".targets");
    group.setAttribute("aria-label", "Array library");
    for (const { name, title } of this.#about.targets) {
      const input = make("input", { type: "radio", name: `target-${this.#number}`, value: name, checked: name === this.target });
      input.addEventListener("change", () => { this.target = name; this.#name(); this.#changed(); });
      group.append(make("label", {}, input, make("span", {}, title)));
    }
  }

  #addOptions() {
    const form = this.#find(".options"), button = this.#find(".options-button");
    form.id = `options-${this.#number}`;
    button.setAttribute("aria-controls", form.id);
    button.addEventListener("click", () => {
      form.hidden = !form.hidden;
      button.setAttribute("aria-expanded", String(!form.hidden));
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const setting of this.#about.settings) form.append(this.#field(setting));
    this.#mark();
  }

  #field(setting) {
    const { name, help, choices, bounds } = setting, id = `${name}-${this.#number}`, value = this.options[name] ?? setting.default;
    let input;
    if (typeof setting.default === "boolean") input = make("input", { type: "checkbox", checked: value });
    else if (choices.length) input = make("select", {}, ...choices.map((word) => make("option", { value: word, selected: word === value }, word)));
    else if (bounds) input = make("input", { type: "number", min: bounds[0], max: bounds[1], value });
    else input = make("input", { type: "text", value, spellcheck: false });
    Object.assign(input, { id, name });
    input.setAttribute("aria-describedby", `${id}-help`);
    input.addEventListener("change", () => this.#choose(setting, input));
    const label = make("label", { for: id }, name.replaceAll("-", " "));
    return make("div", { class: "option" }, label, input, make("small", { id: `${id}-help` }, help));
  }

  #choose(setting, input) {
    const value = input.type === "checkbox" ? input.checked : input.type === "number" ? Number(input.value) : input.value;
    const rest = Object.entries(this.options).filter(([name]) => name !== setting.name);
    this.options = Object.fromEntries(value === setting.default ? rest : [...rest, [setting.name, value]]);
    this.#mark();
    this.#changed();
  }

  // How many options are no defaults.
  #mark() {
    const many = Object.keys(this.options).length;
    this.#find(".options-button").textContent = many ? `Options (${many})` : "Options";
  }
}
