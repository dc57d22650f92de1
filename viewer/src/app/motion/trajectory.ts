// Joint positions over time: recorded, or between two poses. No DOM.

import type { Positions } from '../model.js';

/** The positions of one joint, with times of its own. */
export interface Track {
  joint: string;
  /** Seconds from the start, ascending. */
  times: readonly number[];
  /** Radians or metres. */
  values: readonly number[];
}

/** A playable trajectory. */
export interface Trajectory {
  name: string;
  /** Seconds. */
  duration: number;
  tracks: readonly Track[];
}

/** The reason why a file cannot be played. */
export class Unplayable extends Error {}

/** Interpolates the positions linearly; constant before the first and after the last sample. */
export function sample(trajectory: Trajectory, time: number): Record<string, number> {
  return Object.fromEntries(trajectory.tracks.map((track) => [track.joint, at(track, time)]));
}

function at({ times, values }: Track, time: number): number {
  let [low, high] = [0, times.length - 1];
  if (time <= (times[low] ?? 0)) return values[low] ?? 0;
  if (time >= (times[high] ?? 0)) return values[high] ?? 0;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= time) low = middle;
    else high = middle;
  }
  const [from, to] = [times[low] ?? 0, times[high] ?? 0];
  const part = to > from ? (time - from) / (to - from) : 1;
  return (values[low] ?? 0) + part * ((values[high] ?? 0) - (values[low] ?? 0));
}

/** Default velocities between poses in rad/s and m/s, and the minimum duration in s. */
const SPEED = 1;
const SHORTEST = 0.5;

/** Interpolates from one pose to another with smooth start and end, all joints at once. `from` has every joint of `to`. */
export function between(name: string, from: Positions, to: Positions): Trajectory {
  const ways = Object.entries(to).flatMap(([joint, end]) => {
    const start = from[joint];
    // Named poses have no joints with several positions.
    return typeof end === 'number' && typeof start === 'number' ? [{ joint, start, end }] : [];
  });
  const longest = ways.reduce((most, { start, end }) => Math.max(most, Math.abs(end - start)), 0);
  // The maximum velocity of the smoothstep is one and a half times its mean.
  const duration = Math.max(SHORTEST, (1.5 * longest) / SPEED);
  const parts = Array.from({ length: STEPS + 1 }, (_, k) => k / STEPS);
  const times = parts.map((part) => part * duration);
  const tracks = ways.map(({ joint, start, end }) => ({
    joint,
    times,
    values: parts.map((part) => start + (end - start) * part * part * (3 - 2 * part)),
  }));
  return { name, duration, tracks };
}

const STEPS = 60;

/** Samples of a recording, in any order. */
export class Recording {
  private readonly tracks = new Map<string, { time: number; value: number }[]>();

  add(time: number, joint: string, value: number): void {
    if (!Number.isFinite(time) || !Number.isFinite(value)) return;
    const track = this.tracks.get(joint);
    if (track) track.push({ time, value });
    else this.tracks.set(joint, [{ time, value }]);
  }

  /** Returns the recorded trajectory of these joints. Throws `Unplayable`. */
  trajectory(name: string, has: (joint: string) => boolean): Trajectory {
    const own = [...this.tracks].filter(([joint]) => has(joint));
    if (this.tracks.size === 0) throw new Unplayable('it has no joint positions');
    if (own.length === 0) {
      const names = [...this.tracks.keys()];
      const some = names.slice(0, 3).join(', ');
      throw new Unplayable(`none of its joints is one of this robot's: ${some}${names.length > 3 ? ', …' : ''}`);
    }
    let [first, last] = [Infinity, -Infinity];
    for (const [, samples] of own) {
      samples.sort((a, b) => a.time - b.time);
      first = Math.min(first, samples[0]?.time ?? first);
      last = Math.max(last, samples.at(-1)?.time ?? last);
    }
    const tracks = own.map(([joint, samples]) => ({
      joint,
      times: samples.map(({ time }) => time - first),
      values: samples.map(({ value }) => value),
    }));
    return { name, duration: last - first, tracks };
  }
}

/** Parses CSV: a header with `time` (seconds) and joint names, then a line for each sample. Throws `Unplayable`. */
export function readCsv(text: string): Recording {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const head = lines[0] ?? '';
  const mark = [',', ';', '\t'].find((mark) => head.includes(mark)) ?? ',';
  const names = cells(head, mark);
  const time = names.findIndex((name) => name.toLowerCase() === 'time');
  if (time < 0) throw new Unplayable('line 1: there is no column "time" (seconds); the first line names the columns: time, then joints');
  const recording = new Recording();
  lines.slice(1).forEach((line, k) => {
    if (line.trim() === '') return;
    const values = cells(line, mark);
    const at = number(values[time]);
    if (at === null) throw new Unplayable(`line ${k + 2}: "${values[time] ?? ''}" is not a time in seconds`);
    names.forEach((name, column) => {
      const cell = values[column] ?? '';
      // An empty cell is an unknown position.
      if (column === time || name === '' || cell === '') return;
      const value = number(cell);
      if (value === null) throw new Unplayable(`line ${k + 2}: "${cell}" is not a position of ${name} (radians or metres)`);
      recording.add(at, name, value);
    });
  });
  return recording;
}

function cells(line: string, mark: string): string[] {
  const found: string[] = [];
  let [cell, quoted] = ['', false];
  for (let k = 0; k < line.length; k += 1) {
    const letter = line[k] ?? '';
    if (letter === '"') {
      if (quoted && line[k + 1] === '"') {
        cell += '"';
        k += 1;
      } else quoted = !quoted;
    } else if (letter === mark && !quoted) {
      found.push(cell.trim());
      cell = '';
    } else cell += letter;
  }
  found.push(cell.trim());
  return found;
}

function number(text: string | undefined): number | null {
  if (text === undefined || text === '') return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}
