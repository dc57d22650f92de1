// The curves of a trajectory: positions, velocities, efforts of its joints over time. No DOM.

import type { Track, Trajectory } from './trajectory.js';

/** The quantities that can be plotted. */
export const QUANTITIES = ['position', 'velocity', 'effort'] as const;

export type Quantity = (typeof QUANTITIES)[number];

/** A quantity of one joint over time. */
export interface Curve {
  joint: string;
  times: readonly number[];
  values: readonly number[];
}

/** Maximum number of points of a drawn curve. */
const MOST = 600;

/** Returns the curves of a quantity. Velocities that were not recorded are computed from the positions. */
export function curves({ tracks }: Trajectory, quantity: Quantity): Curve[] {
  return tracks.flatMap((track) => {
    const { joint, times, values, velocities, efforts } = track;
    if (quantity === 'position') return [{ joint, times, values }];
    if (quantity === 'velocity') return [{ joint, times, values: velocities ?? differences(track) }];
    return efforts ? [{ joint, times, values: efforts }] : [];
  });
}

/** Computes velocities as central differences; over equal times they are 0. */
function differences({ times, values }: Track): number[] {
  return times.map((_, k) => {
    const [from, to] = [Math.max(0, k - 1), Math.min(times.length - 1, k + 1)];
    const span = (times[to] ?? 0) - (times[from] ?? 0);
    return span > 0 ? ((values[to] ?? 0) - (values[from] ?? 0)) / span : 0;
  });
}

/** Returns the value at a time, linearly interpolated; null where it is unknown. */
export function valueAt({ times, values }: Pick<Curve, 'times' | 'values'>, time: number): number | null {
  let [low, high] = [0, times.length - 1];
  const end = time <= (times[low] ?? 0) ? low : time >= (times[high] ?? 0) ? high : null;
  if (end !== null) return known(values[end]);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= time) low = middle;
    else high = middle;
  }
  const [from, to] = [times[low] ?? 0, times[high] ?? 0];
  const [a, b] = [known(values[low]), known(values[high])];
  return a === null || b === null ? null : a + (to > from ? (time - from) / (to - from) : 1) * (b - a);
}

function known(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}

/** Thins a curve, keeping the least and the greatest value of each stretch, so that no peak is lost. */
export function thinned({ joint, times, values }: Curve): Curve {
  if (times.length <= MOST) return { joint, times, values };
  const kept: number[] = [];
  const size = (2 * times.length) / MOST;
  for (let begin = 0; begin < times.length; begin += size) {
    const stretch = Array.from({ length: Math.min(Math.ceil(size), times.length - Math.floor(begin)) }, (_, k) => Math.floor(begin) + k);
    const rank = (k: number, sign: number) => (Number.isNaN(values[k]) ? -Infinity : sign * (values[k] ?? 0));
    const by = (sign: number) => stretch.reduce((best, k) => (rank(k, sign) > rank(best, sign) ? k : best));
    kept.push(...[by(-1), by(1)].sort((a, b) => a - b));
  }
  const places = [...new Set([0, ...kept, times.length - 1])];
  return { joint, times: places.map((k) => times[k] ?? 0), values: places.map((k) => values[k] ?? 0) };
}

/** Returns the least and greatest known value of curves, at least a little apart. */
export function extent(all: readonly Curve[]): [number, number] {
  let [least, most] = [Infinity, -Infinity];
  for (const { values } of all) {
    for (const value of values) {
      if (value < least) least = value;
      if (value > most) most = value;
    }
  }
  if (least > most) return [-1, 1];
  return most - least > 1e-9 ? [least, most] : [least - 0.5, most + 0.5];
}
