// The program: a text area over a backdrop that shows numbers, colours and marks for the lines in view.

import { colour, make } from "./elements.js";
import { tokensOf } from "./colours.js";

const MARGIN = 20; // lines that are drawn above and below those in view

export class Editor {
  #box; #area; #backdrop; #lines = [""]; #problems = []; #lit = new Set(); #held = new Set(); #drawn = 0;

  constructor(box, { changed, pointed }) {
    this.#box = box;
    this.#area = box.querySelector("textarea");
    this.#backdrop = box.querySelector(".backdrop");
    this.#area.addEventListener("input", () => { this.#take(); changed(); });
    this.#area.addEventListener("scroll", () => this.#draw());
    new ResizeObserver(() => this.#draw()).observe(this.#area);
    const at = () => pointed(this.line, false);
    for (const kind of ["keyup", "click", "focus"]) this.#area.addEventListener(kind, at);
    this.#area.addEventListener("mousemove", (event) => {
      pointed(1 + Math.floor((event.offsetY + this.#area.scrollTop - this.#inset()) / this.#height()), false);
    });
    this.#area.addEventListener("mouseleave", () => pointed(null, false));
    this.#area.addEventListener("dblclick", () => pointed(this.line, true));
  }

  get text() { return this.#area.value; }

  set text(text) {
    this.#area.value = text;
    this.#area.scrollTop = 0;
    this.#take();
  }

  // The line of the caret, from 1.
  get line() { return this.text.slice(0, this.#area.selectionStart).split("\n").length; }

  focus() { this.#area.focus(); }

  set problems(problems) {
    this.#problems = problems.filter(({ line }) => line);
    this.#area.setAttribute("aria-invalid", String(problems.length > 0));
    this.#draw();
  }

  // Marks lines; with `chief`, for as long as nothing else is held, and brings that one into view.
  mark(lines, chief = 0) {
    if (chief) {
      this.#held = new Set(lines);
      this.show(chief);
    } else {
      this.#lit = new Set(lines);
    }
    this.#draw();
  }

  unhold() { this.#held = new Set(); this.#draw(); }

  // Brings a line into view.
  show(line) {
    this.#area.scrollTop = (line - 1) * this.#height() - this.#area.clientHeight / 3;
    this.#area.scrollLeft = 0;
    this.#draw();
  }

  // Puts the caret at a place and brings it into view.
  goTo(line, column, end = column) {
    const start = this.#lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    this.#area.focus({ preventScroll: true });
    this.#area.setSelectionRange(start + column - 1, start + end - 1);
    this.show(line);
  }

  #take() {
    this.#lines = this.text.split("\n");
    this.#problems = [];
    this.#lit = this.#held = new Set();
    this.#box.style.setProperty("--digits", String(Math.max(2, String(this.#lines.length).length)));
    this.#draw();
  }

  #height() { return parseFloat(getComputedStyle(this.#area).lineHeight); }
  #inset() { return parseFloat(getComputedStyle(this.#area).paddingTop); }

  #draw() {
    if (!this.#drawn) this.#drawn = requestAnimationFrame(() => { this.#drawn = 0; this.#drawNow(); });
  }

  #drawNow() {
    const { scrollTop, scrollLeft, clientHeight } = this.#area;
    const height = this.#height();
    const first = Math.max(0, Math.floor(scrollTop / height) - MARGIN);
    const last = Math.min(this.#lines.length, Math.ceil((scrollTop + clientHeight) / height) + MARGIN);
    const rows = [];
    for (let at = first; at < last; at++) rows.push(this.#row(at + 1));
    this.#backdrop.replaceChildren(...rows);
    this.#backdrop.style.transform = `translateY(${first * height - scrollTop}px)`;
    this.#backdrop.style.setProperty("--left", `${-scrollLeft}px`);
  }

  #row(number) {
    const text = this.#lines[number - 1];
    const found = this.#problems.find(({ line }) => line === number);
    const kinds = ["line"];
    if (this.#lit.has(number)) kinds.push("related");
    if (this.#held.has(number)) kinds.push("held");
    if (found) kinds.push("wrong");
    const content = make("span", { class: "content" }, ...colour(tokensOf(text)));
    if (found) {
      const mark = make("span", { class: "wave" }, text.slice(found.column - 1, Math.max(found.end - 1, found.column)) || " ");
      const wave = make("span", { class: "waves" }, text.slice(0, found.column - 1), mark);
      content.append(wave);
    }
    return make("div", { class: kinds.join(" ") }, make("span", { class: "number" }, String(number)), content);
  }
}
