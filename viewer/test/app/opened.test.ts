import { expect, it } from 'vitest';

import { command, opening } from '../../src/app/opened.js';

it('of a folder, what a browser can show counts most, and what is nearest to the top', () => {
  expect(opening(['r/urdf/r.urdf', 'r/meshes/a.stl', 'r/out/r.glb'])).toEqual({ kind: 'robot', path: 'r/out/r.glb' });
  expect(opening(['a/b/c.GLTF', 'z.gltf'])).toEqual({ kind: 'robot', path: 'z.gltf' });
  expect(opening(['r/urdf/r.urdf', 'r/urdf/r.urdf.xacro'])).toEqual({ kind: 'description', path: 'r/urdf/r.urdf.xacro' });
  expect(opening(['bag/a.db3', 'moves.csv'])).toEqual({ kind: 'recording', path: 'moves.csv' });
  expect(opening(['notes.txt'])).toBeNull();
  expect(opening(['r/urdf/r.urdf', 'r/meshes/arm.glb', 'r/meshes/hand.gltf'])).toEqual({ kind: 'description', path: 'r/urdf/r.urdf' });
  expect(opening(['arm/arm.isaac.usda', 'arm/payloads/a.usd', 'arm/arm.usda', 'arm/arm.glb'])).toEqual({ kind: 'robot', path: 'arm/arm.glb' });
  expect(opening(['arm/arm.isaac.usda', 'arm/arm.usda'])).toEqual({ kind: 'description', path: 'arm/arm.usda' });
});

it('a description comes with the command that shows it', () => {
  expect(command('r/urdf/r.urdf')).toMatch(/Run: urdf_usd view r\/urdf\/r\.urdf$/);
  expect(command("it's mine.usda")).toMatch(/view 'it'\\''s mine\.usda'$/);
});
