// Formatting of numbers, places and times. No DOM.

import type { Place } from './api.js';

/** Formats a number with at most `digits` decimals, never "-0". */
export function decimal(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return value > 0 ? '∞' : value < 0 ? '-∞' : '–';
  const text = Math.abs(value).toFixed(digits);
  const short = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  return value < 0 && Number(short) !== 0 ? `-${short}` : short;
}

/** Formats a number with four significant digits. */
export function significant(value: number): string {
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-3 && size < 1e5)) return decimal(Number(value.toPrecision(4)), 6);
  return Number.isFinite(value) ? value.toExponential(3) : decimal(value);
}

/** Formats radians as degrees with one decimal. */
export function degrees(radians: number): string {
  return `${decimal((radians * 180) / Math.PI, 1)}°`;
}

/** Formats a position for a screen reader: both units of an angle. */
export function position(value: number, unit: 'rad' | 'm'): string {
  return unit === 'rad' ? `${decimal(value)} rad, ${degrees(value)}` : `${decimal(value, 4)} m`;
}

/** Formats the size of a file. */
export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) {
    count /= 1000;
    unit += 1;
  }
  return `${unit ? count.toFixed(1) : count} ${units[unit]}`;
}

/** Formats a count with its noun: "1 joint", "2 joints", "12,380 triangles". */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? noun : `${noun}s`}`;
}

/** Formats FILE:LINE:COLUMN, as far as they are known. */
export function place(where: Place | null | undefined): string {
  if (!where) return '';
  const line = where.line ? `:${where.line}${where.column ? `:${where.column}` : ''}` : '';
  return `${where.file ?? (line ? 'description' : '')}${line}`;
}

/** Formats seconds as an age. */
export function age(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

/** The label of a verdict on a frame. */
export function verdict(word: string | null): string {
  return word === null ? 'not heard' : word.replaceAll(/[_-]/g, ' ');
}

/** Converts a vector from glTF's axes (x left, y up, z forward) to ROS's (x forward, y left, z up). */
export function rosVector([x, y, z]: readonly [number, number, number]): [number, number, number] {
  return [z, x, y];
}

/** Formats a vector. */
export function vector(values: readonly number[]): string {
  return values.map(significant).join(', ');
}
