import { expect, it } from 'vitest';

import { read, write } from '../../src/app/address.js';

const NOTHING = { robot: null, joints: {}, shapes: null, meshes: null, colliders: null, camera: null };

it('an address reads back as it was written', () => {
  const shown = {
    robot: 'fleet/my arm, 2',
    joints: { 'elbow:joint': 0.75, 'a,b': -1.5, base: [0.1, 0, 2], 'ä&#=': 1 },
    shapes: ['collision' as const],
    meshes: 'mesh_low',
    colliders: 'convex_hull',
    camera: [1, 2, 3, -0.5, 0, 0.25],
  };
  expect(read(`#${write(shown)}`)).toEqual(shown);
  expect(read(`#${write({ ...shown, shapes: [] })}`).shapes).toEqual([]);
  expect(read(`#${write({ ...shown, meshes: null, colliders: null })}`)).toEqual({ ...shown, meshes: null, colliders: null });
  expect(write(NOTHING)).toBe('');
});

it('what makes no sense in an address is left out', () => {
  expect(read('')).toEqual(NOTHING);
  expect(read('#camera=1,2,3&shapes=bones,visual&joints=a,b:,:1,c:x,%25:1,d:0.5')).toEqual({
    ...NOTHING,
    joints: { d: 0.5 },
    shapes: ['visual'],
  });
  expect(read('#camera=1,2,3,4,5,NaN').camera).toBeNull();
});
