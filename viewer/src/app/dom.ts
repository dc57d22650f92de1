// DOM helpers. Names come from the network: text is set by textContent, and nothing is ever parsed as HTML.

type Attributes = Record<string, string | number | boolean | null>;

/** Makes an element with properties, attributes (`aria-…`, `data-…`, `role`, …) and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = Object.assign(document.createElement(tag), properties);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

/** Sets attributes; `null` and `false` remove one, `true` sets it empty. ARIA's own true and false are given as strings. */
export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

/** Returns the element of index.html with this id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no #${id}`);
  return element as T;
}

/** Writes text only if it differs, which avoids announcements and layout. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

const SVG = 'http://www.w3.org/2000/svg';

/** Makes an SVG element. */
export function svg(tag: string, attributes: Attributes = {}, ...children: (Node | string)[]): SVGElement {
  const element = document.createElementNS(SVG, tag) as SVGElement;
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

/** Makes a 16 by 16 icon of one path, for a button or beside text; hidden from screen readers. */
export function icon(path: string): SVGElement {
  return svg('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true', focusable: 'false' }, svg('path', { d: path }));
}
