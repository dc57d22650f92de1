// Joint positions over time: recorded, or between two poses. No DOM.

import type { Positions } from '../model.js';
import { valueAt } from './curves.js';
import { Drive } from './drive.js';

/** The positions of one joint, with times of its own. */
export interface Track {
  joint: string;
  /** Seconds from the start, ascending. */
  times: readonly number[];
  /** Radians or metres. */
  values: readonly number[];
  /** Recorded velocities and efforts at these times, NaN where there is none. */
  velocities?: readonly number[];
  efforts?: readonly number[];
}

/** A playable trajectory. */
export interface Trajectory {
  name: string;
  /** Seconds. */
  duration: number;
  tracks: readonly Track[];
  /** The drive of the robot, if it is recorded: times are `start` later than those of the tracks. */
  drive?: { recorded: Drive; start: number };
}

/** The reason why a file cannot be played. */
export class Unplayable extends Error {}

/** Interpolates the positions linearly; constant before the first and after the last sample. */
export function sample(trajectory: Trajectory, time: number): Record<string, number> {
  return Object.fromEntries(trajectory.tracks.map((track) => [track.joint, valueAt(track, time) ?? 0]));
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

/** A sample of a joint. */
interface Sample {
  time: number;
  value: number;
  velocity: number;
  effort: number;
}

/** Samples of a recording, in any order. */
export class Recording {
  private readonly tracks = new Map<string, Sample[]>();

  /** Adds a sample; without a velocity or an effort, that is NaN. */
  add(time: number, joint: string, value: number, velocity = Number.NaN, effort = Number.NaN): void {
    if (!Number.isFinite(time) || !Number.isFinite(value)) return;
    const track = this.tracks.get(joint) ?? [];
    this.tracks.set(joint, track);
    track.push({ time, value, velocity, effort });
  }

  /** The transforms above the robot. */
  readonly drive = new Drive();

  /** Returns the recorded trajectory of these joints, and of a robot with these roots. Throws `Unplayable`. */
  trajectory(name: string, has: (joint: string) => boolean, roots: readonly string[] = []): Trajectory {
    const own = [...this.tracks].filter(([joint]) => has(joint));
    const driven = this.drive.span(roots);
    if (this.tracks.size === 0 && !driven) throw new Unplayable('it has no joint positions, and no transforms of this robot');
    if (own.length === 0 && !driven) {
      const names = [...this.tracks.keys()];
      const some = names.slice(0, 3).join(', ');
      throw new Unplayable(`none of its joints is one of this robot's: ${some}${names.length > 3 ? ', …' : ''}`);
    }
    let [first, last] = driven ?? [Infinity, -Infinity];
    for (const [, samples] of own) {
      samples.sort((a, b) => a.time - b.time);
      first = Math.min(first, samples[0]?.time ?? first);
      last = Math.max(last, samples.at(-1)?.time ?? last);
    }
    const tracks = own.map(([joint, samples]) => ({
      joint,
      times: samples.map(({ time }) => time - first),
      values: samples.map(({ value }) => value),
      ...(samples.some(({ velocity }) => Number.isFinite(velocity)) && { velocities: samples.map(({ velocity }) => velocity) }),
      ...(samples.some(({ effort }) => Number.isFinite(effort)) && { efforts: samples.map(({ effort }) => effort) }),
    }));
    return { name, duration: last - first, tracks, ...(driven && { drive: { recorded: this.drive, start: first } }) };
  }
}

/**
 * Parses CSV: a header with `time` (seconds) and joint names, then a line for each sample. Columns `NAME.velocity` and `NAME.effort` are
 * those of the joint NAME. Throws `Unplayable`.
 */
export function readCsv(text: string): Recording {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const head = lines[0] ?? '';
  const mark = [',', ';', '\t'].find((mark) => head.includes(mark)) ?? ',';
  const names = cells(head, mark);
  const time = names.findIndex((name) => name.toLowerCase() === 'time');
  if (time < 0) throw new Unplayable('line 1: there is no column "time" (seconds); the first line names the columns: time, then joints');
  const columns = new Map(names.map((name, column) => [name, column]));
  const besides = new Set(names.filter((name) => /\.(?:velocity|effort)$/.test(name) && columns.has(name.replace(/\.\w+$/, ''))));
  const recording = new Recording();
  lines.slice(1).forEach((line, k) => {
    if (line.trim() === '') return;
    const values = cells(line, mark);
    const at = number(values[time]);
    if (at === null) throw new Unplayable(`line ${k + 2}: "${values[time] ?? ''}" is not a time in seconds`);
    const read = (name: string, what: string) => {
      const cell = values[columns.get(name) ?? -1] ?? '';
      // An empty cell is an unknown value.
      const value = cell === '' ? Number.NaN : number(cell);
      if (value === null) throw new Unplayable(`line ${k + 2}: "${cell}" is not ${what}`);
      return value;
    };
    names.forEach((name, column) => {
      if (column === time || name === '' || besides.has(name)) return;
      const [velocity, effort] = [read(`${name}.velocity`, `a velocity of ${name}`), read(`${name}.effort`, `an effort of ${name}`)];
      recording.add(at, name, read(name, `a position of ${name} (radians or metres)`), velocity, effort);
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
