// Angles in degrees or radians, as a person chose; lengths in metres. Text to numbers and back. No DOM.

import { decimal } from './format.js';

/** What angles are shown in. */
export type AngleUnit = 'rad' | 'deg';

/** A whole turn. */
export const TURN = 2 * Math.PI;

/** A position as a field shows it. */
export function shown(value: number, unit: 'rad' | 'm', angles: AngleUnit): string {
  if (unit === 'm') return decimal(value, 5);
  return angles === 'deg' ? decimal((value * 180) / Math.PI, 2) : decimal(value, 4);
}

/** What lies between two limits, as `text` writes one: "±180", "−1.57 … 2.1"; a side that is not given has none. */
export function between(lower: number | undefined, upper: number | undefined, text: (value: number) => string): string {
  const end = (value: number) => text(value).replace('-', '−');
  if (lower !== undefined && upper !== undefined && upper > 0 && text(lower) === `-${text(upper)}`) return `±${end(upper)}`;
  return `${lower === undefined ? '−∞' : end(lower)} … ${upper === undefined ? '∞' : end(upper)}`;
}

/** What follows it. */
export function symbol(unit: 'rad' | 'm', angles: AngleUnit): string {
  return unit === 'm' ? 'm' : angles === 'deg' ? '°' : 'rad';
}

/** The unit in words. */
export function word(unit: 'rad' | 'm', angles: AngleUnit): string {
  return unit === 'm' ? 'metres' : angles === 'deg' ? 'degrees' : 'radians';
}

const FACTORS: Record<'rad' | 'm', Record<string, number>> = {
  rad: { rad: 1, radians: 1, deg: Math.PI / 180, degrees: Math.PI / 180, '°': Math.PI / 180, turns: TURN, turn: TURN },
  m: { m: 1, cm: 0.01, mm: 0.001 },
};

/**
 * A position that was typed, in radians or metres: a number in the unit that is shown, or with a unit of its own ("30°", "0.5 rad",
 * "12 mm", "π/2"). Null if it is none.
 */
export function typed(text: string, unit: 'rad' | 'm', angles: AngleUnit): number | null {
  const found = /^([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:e[+-]?\d+)?)?\s*(π|pi)?\s*(?:\/\s*(\d+(?:\.\d+)?))?\s*([a-z°]*)$/i.exec(
    text.trim().replace('−', '-').replace(/^([+-])(?=π|pi)/i, '$11'),
  );
  if (!found) return null;
  const [, number, pi, divisor, suffix = ''] = found;
  if (number === undefined && pi === undefined) return null;
  const value = (number === undefined ? 1 : Number(number.replace(',', '.'))) / (divisor === undefined ? 1 : Number(divisor));
  // Nobody means π degrees.
  const own = suffix === '' ? (unit === 'm' ? 'm' : pi === undefined ? angles : 'rad') : suffix.toLowerCase();
  const factor = FACTORS[unit][own];
  const result = factor === undefined ? Number.NaN : value * (pi === undefined ? 1 : Math.PI) * factor;
  return Number.isFinite(result) ? result : null;
}

/** An angle in [−π, π], and how many whole turns come on top. */
export function turned(angle: number): { angle: number; turns: number } {
  const turns = Math.abs(angle) <= Math.PI ? 0 : Math.round(angle / TURN);
  return { angle: angle - turns * TURN, turns };
}

/** "+ 95 turns"; nothing if there is none. */
export function turnsText(turns: number): string {
  const count = Math.abs(turns);
  return turns === 0 ? '' : `${turns < 0 ? '−' : '+'} ${count.toLocaleString('en')} ${count === 1 ? 'turn' : 'turns'}`;
}

/** A length that says how large something is, in the unit that people use for it: "1 cm", "25 mm", "1.2 m". */
export function length(metres: number): string {
  const size = Math.abs(metres);
  const [factor, unit] = size >= 1 || size === 0 ? [1, 'm'] : size >= 0.01 ? [100, 'cm'] : [1000, 'mm'];
  return `${Number((metres * factor).toPrecision(4))} ${unit}`;
}
