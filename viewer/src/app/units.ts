// Angles in degrees or radians, as the user chose; lengths in metres. Formatting and parsing. No DOM.

import { decimal } from './format.js';

/** The unit of angles. */
export type AngleUnit = 'rad' | 'deg';

/** A full turn. */
export const TURN = 2 * Math.PI;

/** Formats a position for a field. */
export function shown(value: number, unit: 'rad' | 'm', angles: AngleUnit): string {
  if (unit === 'm') return decimal(value, 5);
  return angles === 'deg' ? decimal((value * 180) / Math.PI, 2) : decimal(value, 4);
}

/** Formats a range, as `text` writes one: "±180", "−1.57 … 2.1"; a missing side is infinite. */
export function between(lower: number | undefined, upper: number | undefined, text: (value: number) => string): string {
  const end = (value: number) => text(value).replace('-', '−');
  if (lower !== undefined && upper !== undefined && upper > 0 && text(lower) === `-${text(upper)}`) return `±${end(upper)}`;
  return `${lower === undefined ? '−∞' : end(lower)} … ${upper === undefined ? '∞' : end(upper)}`;
}

/** The unit after a number. */
export function symbol(unit: 'rad' | 'm', angles: AngleUnit): string {
  return unit === 'm' ? 'm' : angles === 'deg' ? '°' : 'rad';
}

/** The unit as a word. */
export function word(unit: 'rad' | 'm', angles: AngleUnit): string {
  return unit === 'm' ? 'metres' : angles === 'deg' ? 'degrees' : 'radians';
}

const FACTORS: Record<'rad' | 'm', Record<string, number>> = {
  rad: { rad: 1, radians: 1, deg: Math.PI / 180, degrees: Math.PI / 180, '°': Math.PI / 180, turns: TURN, turn: TURN },
  m: { m: 1, cm: 0.01, mm: 0.001 },
};

/**
 * Parses a typed position, in radians or metres: a number in the displayed unit, or with a unit of its own ("30°", "0.5 rad",
 * "12 mm", "π/2"). Null if it is invalid.
 */
export function typed(text: string, unit: 'rad' | 'm', angles: AngleUnit): number | null {
  const found = /^([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:e[+-]?\d+)?)?\s*(π|pi)?\s*(?:\/\s*(\d+(?:\.\d+)?))?\s*([a-z°]*)$/i.exec(
    text.trim().replace('−', '-').replace(/^([+-])(?=π|pi)/i, '$11'),
  );
  if (!found) return null;
  const [, number, pi, divisor, suffix = ''] = found;
  if (number === undefined && pi === undefined) return null;
  const value = (number === undefined ? 1 : Number(number.replace(',', '.'))) / (divisor === undefined ? 1 : Number(divisor));
  // π means radians, whatever the displayed unit is.
  const own = suffix === '' ? (unit === 'm' ? 'm' : pi === undefined ? angles : 'rad') : suffix.toLowerCase();
  const factor = FACTORS[unit][own];
  const result = factor === undefined ? Number.NaN : value * (pi === undefined ? 1 : Math.PI) * factor;
  return Number.isFinite(result) ? result : null;
}

/** Splits an angle into a remainder in [−π, π] and full turns. */
export function turned(angle: number): { angle: number; turns: number } {
  const turns = Math.abs(angle) <= Math.PI ? 0 : Math.round(angle / TURN);
  return { angle: angle - turns * TURN, turns };
}

/** Formats turns: "+ 95 turns"; empty without any. */
export function turnsText(turns: number): string {
  const count = Math.abs(turns);
  return turns === 0 ? '' : `${turns < 0 ? '−' : '+'} ${count.toLocaleString('en')} ${count === 1 ? 'turn' : 'turns'}`;
}

/** Formats a size in the usual unit: "1 cm", "25 mm", "1.2 m". */
export function length(metres: number): string {
  const size = Math.abs(metres);
  const [factor, unit] = size >= 1 || size === 0 ? [1, 'm'] : size >= 0.01 ? [100, 'cm'] : [1000, 'mm'];
  return `${Number((metres * factor).toPrecision(4))} ${unit}`;
}
