// The lines of an emitted module, each of which can be pointed at, held, or walked to by keys.

import { colour, make } from "./elements.js";

let listings = 0;

export class Listing {
  #box; #pointed; #rows = []; #cursor = null; #name = `listing-${listings++}`;

  // `pointed(statements, holds)` is told what is under the mouse or the cursor; null for nothing.
  constructor(box, pointed) {
    this.#box = box;
    this.#pointed = pointed;
    box.addEventListener("mouseover", ({ target }) => pointed(this.#statements(target.closest("code")), false));
    box.addEventListener("mouseleave", () => pointed(null, false));
    box.addEventListener("click", ({ target }) => {
      const row = target.closest("code");
      if (row && !String(getSelection())) this.#choose(row, true);
    });
    box.addEventListener("keydown", (event) => this.#press(event));
  }

  show(rows, changed = []) {
    const marked = new Set(changed);
    this.#cursor = null;
    this.#box.removeAttribute("aria-activedescendant");
    this.#rows = rows.map(([tokens, statements], at) => {
      const row = make("code", { role: "option", id: `${this.#name}-${at + 1}` }, ...colour(tokens));
      row.dataset.n = at + 1;
      if (statements.length) row.dataset.s = statements.join(" ");
      if (marked.has(at + 1)) row.classList.add("changed");
      return row;
    });
    this.#box.replaceChildren(...this.#rows);
  }

  mark(statements, holds = false) {
    const wanted = new Set(statements);
    const name = holds ? "held" : "related";
    let first = null;
    for (const row of this.#rows) {
      const isOf = (this.#statements(row) ?? []).some((each) => wanted.has(each));
      row.classList.toggle(name, isOf);
      if (isOf) first ??= row;
    }
    if (holds && first) this.#box.scrollTop = first.offsetTop - this.#box.offsetTop - this.#box.clientHeight / 3;
  }

  #statements(row) { return row?.dataset.s ? row.dataset.s.split(" ").map(Number) : null; }

  #choose(row, holds) {
    this.#cursor?.classList.remove("cursor");
    this.#cursor?.setAttribute("aria-selected", "false");
    this.#cursor = row;
    row.classList.add("cursor");
    row.setAttribute("aria-selected", "true");
    this.#box.setAttribute("aria-activedescendant", row.id);
    row.scrollIntoView({ block: "nearest" });
    this.#pointed(this.#statements(row), holds);
  }

  #press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.#rows.length) return;
    const at = this.#rows.indexOf(this.#cursor);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity };
    if (event.key in steps) {
      const next = at < 0 ? 0 : Math.min(Math.max(at + steps[event.key], 0), this.#rows.length - 1);
      this.#choose(this.#rows[next], false);
    } else if ((event.key === "Enter" || event.key === " ") && this.#cursor) {
      this.#choose(this.#cursor, true);
    } else if (event.key === "Escape") {
      this.#pointed(null, true);
    } else {
      return;
    }
    event.preventDefault();
  }
}
