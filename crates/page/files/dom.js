// Elements, made from code. Names of the cluster are text here, never HTML.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || (value === false && !name.startsWith("aria-"))) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element of HTML: h("a", {href, onclick}, "text", child). */
export const h = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);

/** An element of SVG. */
export const s = (tag, attributes, ...children) => build(document.createElementNS(SVG, tag), attributes, children);

/** Replaces what is in an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Sets a text only if it is another one: a screen reader may be reading it. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets attributes that changed. */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
  }
}

/** Makes the children of an element those of a keyed list, and keeps those that are there. */
export function keyed(parent, items, keyOf, make, update) {
  const had = parent.keyed ?? new Map();
  const now = new Map();
  let place = parent.firstChild;
  for (const item of items) {
    const key = keyOf(item);
    let child = had.get(key);
    if (child) had.delete(key);
    else child = make(item);
    update?.(child, item);
    now.set(key, child);
    if (child === place) place = place.nextSibling;
    else parent.insertBefore(child, place);
  }
  for (const child of had.values()) child.remove();
  parent.keyed = now;
}

/** A line for screen readers. */
export function announce(text) {
  say(document.getElementById("said"), text);
}

/** Whether the reader asked for less motion. */
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
