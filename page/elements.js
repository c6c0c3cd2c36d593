// Making elements. Text goes in as text: nothing here parses markup.

export const make = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("aria-") || name === "role" || name === "for") element.setAttribute(name, value);
    else if (name.startsWith("data-")) element.dataset[name.slice(5)] = value;
    else element[name] = value;
  }
  element.append(...children);
  return element;
};

// The tokens of a line as coloured text; the kind of a token begins with the letter of its class.
export const colour = (tokens) =>
  tokens.map(([text, kind]) => (kind ? make("i", { class: kind[0] }, text) : text));

export const save = (name, bytes) => {
  const link = make("a", { href: URL.createObjectURL(new Blob([bytes])), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

export const bytesOf = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

export const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
