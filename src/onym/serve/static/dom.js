// DOM helpers. Values are only ever inserted as text; no script of the page parses HTML.

export const byId = (id) => document.getElementById(id);

// Creates an element with properties and children (elements or text).
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("aria-") || name === "role" || name === "scope") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

export function announce(text) {
  byId("status").textContent = text;
}

export const number = (value) => value.toLocaleString("en");

export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

export function showError(error) {
  announce("");
  const parts = [make("h2", {}, error.what || "Something went wrong")];
  if (error.fix) parts.push(make("p", {}, error.fix));
  if (error.code) parts.push(make("p", { class: "quiet" }, "Error ", make("code", {}, error.code), error.where ? ` in ${error.where}` : ""));
  const close = make("button", { type: "button" }, "Dismiss");
  close.addEventListener("click", clearError);
  fill(byId("error"), make("div", { class: "card error" }, ...parts, close));
}

export function clearError() {
  fill(byId("error"));
}

// Downloads a file. Its content never becomes part of a URL.
export function save(name, type, ...parts) {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  const anchor = make("a", { href: address, download: name, hidden: true });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  announce(`${name} was downloaded.`);
}

// Shows a confidence as a bar and a number, or "not calibrated" if it is null.
export function confidence(value) {
  if (value === null || value === undefined) return make("span", { class: "quiet" }, "not calibrated");
  const meter = make("meter", { min: 0, max: 1, value, "aria-hidden": "true" });
  return make("span", { class: "confidence" }, meter, value.toFixed(2));
}
