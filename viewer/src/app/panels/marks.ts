// Marks with more than a colour: an icon and a word for a state, a severity or a verdict.

import { icon, make } from '../dom.js';
import { verdict } from '../format.js';

const DRAWINGS = {
  ok: 'M3 8.5l3.2 3.2L13 4.9',
  warning: 'M8 2.5l6.2 11H1.8zM8 6.8v3M8 11.6v.4',
  error: 'M4 4l8 8M12 4l-8 8',
  info: 'M8 14.2A6.2 6.2 0 108 1.8a6.2 6.2 0 000 12.4M8 7.4v3.6M8 4.9v.1',
  none: 'M4 8h8',
} as const;

/** The severity of a mark. */
export type Kind = keyof typeof DRAWINGS;

/** Makes an icon with a word. */
export function mark(kind: Kind, word: string): HTMLElement {
  return make('span', { className: `mark ${kind}` }, {}, icon(DRAWINGS[kind]), make('span', { textContent: word }));
}

/** Makes the mark of a verdict on a frame. */
export function verdictMark(word: string | null): HTMLElement {
  return mark(verdictKind(word), verdict(word));
}

/** The severity of a verdict: a displaced frame is worse than a missing one. */
export function verdictKind(word: string | null): Kind {
  if (word === null) return 'none';
  if (word === 'ok') return 'ok';
  return word === 'extra' || word === 'stale' ? 'warning' : 'error';
}
