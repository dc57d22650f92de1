// Controls of several panels: switches, selects, sliders with a filled part.

import { make } from '../dom.js';

/** A switch with its label; `set` changes it without a callback. */
export function toggle(id: string, label: string, on: boolean, changed: (on: boolean) => void) {
  const input = make('input', { type: 'checkbox', id, checked: on }, { role: 'switch' });
  input.addEventListener('change', () => changed(input.checked));
  const element = make('label', { className: 'switch', htmlFor: id }, {}, make('span', { textContent: label }), input);
  const set = (on: boolean) => {
    if (input.checked !== on) input.checked = on;
  };
  return { element, input, set };
}

/** A select with its label: `changed` receives the chosen option; `set` sets the options, their labels and the selection. */
export function choice(id: string, label: string, changed: (value: string | null) => void) {
  const select = make('select', { id });
  const element = make('label', { className: 'option-choice', htmlFor: id }, {}, make('span', { textContent: label }), select);
  let shown: readonly (readonly [string | null, string])[] = [];
  select.addEventListener('change', () => changed(shown[select.selectedIndex]?.[0] ?? null));
  const set = (options: typeof shown, chosen: string | null) => {
    // An open list must not close because of unrelated changes.
    if (JSON.stringify(options) !== JSON.stringify(shown)) {
      shown = options;
      select.replaceChildren(...options.map(([, words]) => make('option', { textContent: words })));
    }
    const at = options.findIndex(([value]) => value === chosen);
    if (select.selectedIndex !== at) select.selectedIndex = at;
  };
  return { element, set };
}

/** Options of a slider. */
export interface SliderOptions {
  id?: string;
  label: string;
  min: number;
  max: number;
  step: number;
  /** Replaces the slider's movement by a key, for values beyond the slider's ends. */
  stepped?: (by: number) => void;
}

/** Makes a slider. The browser would round values to its steps, so the steps are implemented here: arrows and the pointer move by them. */
export function slider(options: SliderOptions, changed: (value: number) => void): HTMLInputElement {
  const { label, min, max, step } = options;
  const within = (value: number) => Math.min(max, Math.max(min, value));
  const input = make('input', { type: 'range' }, { min, max, step: 'any', 'aria-label': label, id: options.id ?? null });
  input.addEventListener('input', () => {
    const rounded = toStep(Number(input.value), options);
    input.value = String(rounded);
    changed(rounded);
    fill(input);
  });
  input.addEventListener('keydown', (event) => {
    const by = stepOf(event, step);
    if (by === 0) return;
    event.preventDefault();
    if (options.stepped) return options.stepped(by);
    // Sums of tenths are inexact.
    const value = within(Number((Number(input.value) + by).toPrecision(12)));
    // The next key may arrive before the value is shown.
    input.value = String(value);
    changed(value);
    fill(input);
  });
  return input;
}

/** Returns the step nearest to a value; the ends are steps, too. 1 / `step` is an integer. */
export function toStep(value: number, { min, max, step }: Pick<SliderOptions, 'min' | 'max' | 'step'>): number {
  if (value >= max - step / 2) return max;
  if (value <= min + step / 2) return min;
  const perUnit = Math.round(1 / step);
  return Math.round(value * perUnit) / perUnit;
}

/** The movement of a slider by a key: one step for arrows, ten with shift or the page keys. */
export function stepOf(event: KeyboardEvent, step: number): number {
  const many = event.shiftKey ? 10 : 1;
  const steps = { ArrowRight: many, ArrowUp: many, ArrowLeft: -many, ArrowDown: -many, PageUp: 10, PageDown: -10 }[event.key];
  return (steps ?? 0) * step;
}

/** Fills a slider between its start (or zero, if that is in its range) and its value. */
export function fill(input: HTMLInputElement): void {
  const [min, max, value] = [Number(input.min), Number(input.max), Number(input.value)];
  const part = (at: number) => (max > min ? ((at - min) / (max - min)) * 100 : 0);
  const zero = part(Math.min(max, Math.max(min, 0)));
  const here = part(value);
  input.style.setProperty('--from', `${Math.min(zero, here).toFixed(2)}%`);
  input.style.setProperty('--to', `${Math.max(zero, here).toFixed(2)}%`);
}
