import { Matrix4, Quaternion, Vector3 } from 'three';
import { expect, it } from 'vitest';

import { inertiaBox } from '../../src/app/inertia.js';

/** The inertia of a solid box, rotated: xx, xy, xz, yy, yz, zz. */
function solid(mass: number, [x, y, z]: [number, number, number], turn: Quaternion): number[] {
  const own = [y * y + z * z, x * x + z * z, x * x + y * y].map((square) => (mass / 12) * square);
  const axes = [new Vector3(), new Vector3(), new Vector3()] as [Vector3, Vector3, Vector3];
  new Matrix4().makeRotationFromQuaternion(turn).extractBasis(...axes);
  const sum = (a: 'x' | 'y' | 'z', b: 'x' | 'y' | 'z') => axes.reduce((all, axis, k) => all + own[k]! * axis[a] * axis[b], 0);
  return [sum('x', 'x'), sum('x', 'y'), sum('x', 'z'), sum('y', 'y'), sum('y', 'z'), sum('z', 'z')];
}

it('the box of a solid box is that box, wherever it is turned', () => {
  const edges: [number, number, number] = [0.3, 0.1, 0.7];
  for (const turn of [new Quaternion(), new Quaternion(0.1, -0.4, 0.3, 0.8).normalize(), new Quaternion(0, 0, Math.SQRT1_2, Math.SQRT1_2)]) {
    const box = inertiaBox({ mass: 2.5, centre: [1, 2, 3], turn: null, inertia: solid(2.5, edges, turn) });
    expect([...box!.edges.toArray()].sort()).toEqual([0.1, 0.3, 0.7].map((edge) => expect.closeTo(edge, 9)));
    expect(box!.centre.toArray()).toEqual([1, 2, 3]);
    // Each long edge has its original direction.
    const longest = box!.edges.toArray().indexOf(Math.max(...box!.edges.toArray()));
    const along = new Vector3().setComponent(longest, 1).applyQuaternion(box!.turn);
    expect(Math.abs(along.dot(new Vector3(0, 0, 1).applyQuaternion(turn)))).toBeCloseTo(1, 9);
  }
});

it('what no solid body has gives none', () => {
  const of = (inertia: number[] | null, mass = 1) => inertiaBox({ mass, centre: null, turn: null, inertia });
  expect(of(null)).toBeNull();
  expect(of([1, 0, 0, 1, 0, 5])).toBeNull();
  expect(of([1, 0, 0, 1, 0, 1], 0)).toBeNull();
  expect(of([0, 0, 0, 0, 0, 0])?.edges.toArray()).toEqual([0, 0, 0]);
});
