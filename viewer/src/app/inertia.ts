// The solid box with the same mass and inertia as a link. No DOM.

import { Matrix4, Quaternion, Vector3 } from 'three';
import type { Inertial } from './extras.js';

/** A box: its pose in the link's frame, and its edges in metres. */
export interface InertiaBox {
  centre: Vector3;
  turn: Quaternion;
  edges: Vector3;
}

/** Returns the box of mass properties; null if they are incomplete or no solid body can have them. */
export function inertiaBox({ mass, centre, turn, inertia }: Inertial): InertiaBox | null {
  if (!inertia || !(mass > 0)) return null;
  const [xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0] = inertia;
  const { values, vectors } = principal([
    [xx, xy, xz],
    [xy, yy, yz],
    [xz, yz, zz],
  ]);
  const [a = 0, b = 0, c = 0] = values;
  const squares = [b + c - a, a + c - b, a + b - c].map((sum) => (6 * sum) / mass);
  // The triangle inequality may fail by the rounding of a file's digits.
  const slack = 1e-6 * Math.max(...squares.map(Math.abs));
  if (squares.some((square) => !(square >= -slack))) return null;
  const edges = new Vector3(...(squares.map((square) => Math.sqrt(Math.max(square, 0))) as [number, number, number]));
  const axes = vectors.map((axis) => new Vector3(...axis)) as [Vector3, Vector3, Vector3];
  if (axes[0].clone().cross(axes[1]).dot(axes[2]) < 0) axes[2].negate();
  const own = new Quaternion().setFromRotationMatrix(new Matrix4().makeBasis(...axes));
  return { centre: new Vector3(...(centre ?? [0, 0, 0])), turn: new Quaternion(...(turn ?? [0, 0, 0, 1])).multiply(own), edges };
}

type Row = [number, number, number];

/** Computes eigenvalues and eigenvectors of a symmetric matrix by Jacobi rotations. */
function principal(m: [Row, Row, Row]): { values: number[]; vectors: Row[] } {
  const a = m.map((row) => [...row]);
  const v = [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ];
  const at = (matrix: number[][], r: number, c: number) => matrix[r]?.[c] ?? 0;
  const set = (matrix: number[][], r: number, c: number, value: number) => {
    const row = matrix[r];
    if (row) row[c] = value;
  };
  for (let sweep = 0; sweep < 30; sweep += 1) {
    for (const [p, q] of [
      [0, 1],
      [0, 2],
      [1, 2],
    ] as const) {
      const off = at(a, p, q);
      if (Math.abs(off) < 1e-300) continue;
      const theta = (at(a, q, q) - at(a, p, p)) / (2 * off);
      const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
      const c = 1 / Math.hypot(t, 1);
      const s = t * c;
      for (let k = 0; k < 3; k += 1) {
        const [x, y] = [at(a, k, p), at(a, k, q)];
        set(a, k, p, c * x - s * y);
        set(a, k, q, s * x + c * y);
      }
      for (let k = 0; k < 3; k += 1) {
        const [x, y] = [at(a, p, k), at(a, q, k)];
        set(a, p, k, c * x - s * y);
        set(a, q, k, s * x + c * y);
        const [u, w] = [at(v, k, p), at(v, k, q)];
        set(v, k, p, c * u - s * w);
        set(v, k, q, s * u + c * w);
      }
    }
  }
  const vectors = [0, 1, 2].map((c): Row => [at(v, 0, c), at(v, 1, c), at(v, 2, c)]);
  return { values: [at(a, 0, 0), at(a, 1, 1), at(a, 2, 2)], vectors };
}
