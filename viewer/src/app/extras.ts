// Mass properties in the `extras` of links, validated, since any program may have written the file.
// No DOM.

import type { Link } from '../loader/index.js';

/** Mass properties of a link, in glTF's axes. */
export interface Inertial {
  /** kg. */
  mass: number;
  /** Centre of mass in the link's frame, metres. */
  centre: [number, number, number] | null;
  /** The orientation of the inertia's frame in the link's frame: quaternion x, y, z, w. */
  turn: [number, number, number, number] | null;
  /** kg·m² about the centre of mass: xx, xy, xz, yy, yz, zz. */
  inertia: number[] | null;
}

/** Reads the mass properties in a link's extras; null if there are none. */
export function inertialOf(link: Pick<Link, 'extras'>): Inertial | null {
  return inertial(field(link.extras, 'inertial'));
}

function inertial(value: unknown): Inertial | null {
  const mass = field(value, 'mass');
  if (typeof mass !== 'number') return null;
  const centre = numbers(field(field(value, 'origin'), 'translation'), 3);
  const turn = numbers(field(field(value, 'origin'), 'rotation'), 4) as [number, number, number, number] | null;
  return { mass, centre: centre as [number, number, number] | null, turn, inertia: numbers(field(value, 'inertia'), 6) };
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function numbers(value: unknown, count: number): number[] | null {
  return Array.isArray(value) && value.length === count && value.every(Number.isFinite) ? (value as number[]) : null;
}
