// The arrays of a run: shapes, statistics, pictures; and how far two runs differ.

import { count, make } from "./elements.js";

const number = (value) => (value === null ? "–" : Number(value.toPrecision(5)).toString());

export const showRun = (run) => [
  make("div", { class: "cards" }, ...run.results.map((view) => card(view, "result")), ...run.arguments.map((view) => card(view, "argument"))),
];

const card = ({ name, dtype, shape, statistics, text, picture }, kind) => {
  const facts = [["least", statistics.minimum], ["largest", statistics.maximum], ["mean", statistics.mean]];
  const odd = [[statistics.nans, "NaN"], [statistics.infinities, "infinite"], [statistics.zeros, "zero"]];
  const said = odd.filter(([many]) => many).map(([many, what]) => `${many.toLocaleString("en")} ${what}`);
  const list = make("dl", {}, ...facts.map(([term, value]) => make("div", {}, make("dt", {}, term), make("dd", {}, number(value)))));
  const type = make("code", {}, `${dtype}[${shape.join(", ")}]`);
  const parts = [make("h3", {}, make("code", {}, name)), make("p", { class: "type" }, type, ` ${kind}`), list];
  if (said.length) parts.push(make("p", { class: "quiet" }, said.join(", ")));
  if (picture) parts.push(draw(name, picture));
  if (text) parts.push(make("pre", {}, text));
  return make("article", { class: "card" }, ...parts);
};

const draw = (name, picture) => {
  const canvas = picture.kind === "map" ? heatMap(picture.rows) : curve(picture.low, picture.high);
  const shown = `${name}${picture.part}`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${picture.kind === "map" ? "Heat map" : "Curve"} of ${shown}, from ${number(canvas.low)} to ${number(canvas.high)}`);
  const caption = make("figcaption", { class: "quiet" }, `${picture.part ? `${shown}: ` : ""}${number(canvas.low)} to ${number(canvas.high)}`);
  return make("figure", {}, canvas, caption);
};

const range = (values) => {
  const known = values.filter((value) => value !== null);
  return known.length ? [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))] : [null, null];
};

// Dark blue over teal to yellow, about even in lightness, and clear to those who do not see red and green apart.
const STOPS = [[38, 24, 74], [46, 78, 126], [33, 138, 141], [94, 190, 116], [246, 224, 72]];
const shade = (part) => {
  const at = Math.min(part, 0.99999) * (STOPS.length - 1), stop = Math.floor(at), rest = at - stop;
  return STOPS[stop].map((from, channel) => Math.round(from + (STOPS[stop + 1][channel] - from) * rest));
};

const heatMap = (rows) => {
  const [low, high] = range(rows.flat());
  const canvas = make("canvas", { width: rows[0].length, height: rows.length, class: "map" });
  const image = new ImageData(canvas.width, canvas.height);
  rows.flat().forEach((value, at) => {
    const [r, g, b] = value === null ? [200, 60, 90] : shade(high > low ? (value - low) / (high - low) : 0.5);
    image.data.set([r, g, b, 255], 4 * at);
  });
  canvas.getContext("2d").putImageData(image, 0, 0);
  return Object.assign(canvas, { low, high });
};

const curve = (low, high) => {
  const [least, largest] = [range(low)[0], range(high)[1]];
  const canvas = make("canvas", { width: 512, height: 160, class: "curve" });
  const context = canvas.getContext("2d");
  const span = largest > least ? largest - least : 1, flat = largest > least ? 0 : 0.5;
  const x = (at) => 4 + (504 * (at + (low.length > 1 ? 0 : 0.5))) / Math.max(low.length - 1, 1);
  const y = (value) => 154 - 148 * ((value - least) / span + flat);
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
  context.lineWidth = 2.5;
  context.lineJoin = "round";
  let isDown = false;
  context.beginPath();
  low.forEach((value, at) => {
    if (value === null) { isDown = false; return; }
    context[isDown ? "lineTo" : "moveTo"](x(at), y(value));
    if (!isDown) context.lineTo(x(at) + 0.5, y(value));
    if (high[at] !== value) context.lineTo(x(at), y(high[at]));
    isDown = true;
  });
  context.stroke();
  return Object.assign(canvas, { low: least, high: largest });
};

const VERDICTS = {
  equal: "equal", close: "close", differs: "differs", nan: "NaN on one side", inf: "infinite on one side",
  shape: "another shape", dtype: "another type",
};

export const showComparison = ({ results, runs }, titles) => {
  const head = make("tr", {}, ...["Result", "Verdict", "Largest difference", "In ulp", "Elements outside"].map((text) => make("th", { scope: "col" }, text)));
  const rows = results.map(({ name, verdict, is_good, absolute, ulps, mismatches, size, note }) =>
    make("tr", {},
      make("th", { scope: "row" }, make("code", {}, name)),
      make("td", {}, make("span", { class: is_good ? "good" : "bad" }, VERDICTS[verdict] ?? verdict), note ? ` (${note})` : ""),
      make("td", {}, number(absolute)), make("td", {}, number(ulps)),
      make("td", {}, `${mismatches.toLocaleString("en")} of ${size.toLocaleString("en")}`)));
  const table = make("table", {}, make("caption", { class: "quiet" }, `${titles[1]} beside ${titles[0]}, on the same arguments`), make("thead", {}, head), make("tbody", {}, ...rows));
  const sides = runs.map((run, at) => make("details", {}, make("summary", {}, `${titles[at]}: ${count(run.results.length, "result")} in ${time(run.seconds)}`), ...showRun(run)));
  return [make("div", { class: "scrolls", tabIndex: 0, role: "region", "aria-label": "Comparison" }, table), ...sides];
};

export const time = (seconds) => (seconds < 1 ? `${Number((seconds * 1000).toPrecision(3))} ms` : `${seconds.toFixed(1)} s`);
