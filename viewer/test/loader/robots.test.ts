/**
 * Every GLB below the folder `GLB_DIR`: link frames of the loader against those computed from the file's JSON alone by section 5 of the
 * extension, with matrices and without three.js.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import type { Robot } from '../../src/loader/index.js';
import { load, type Json } from './files.js';

const folder = process.env['GLB_DIR'];
const files = folder
  ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.glb')).sort()
  : [];
const POSES = 20;

/** A 4×4 matrix, by rows. */
type Matrix = number[][];

const IDENTITY: Matrix = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]];

function times(a: Matrix, b: Matrix): Matrix {
  return a.map((row) => [0, 1, 2, 3].map((c) => row.reduce((sum, value, k) => sum + value * b[k]![c]!, 0)));
}

/** Rodrigues' formula. */
function turned([x, y, z]: [number, number, number], angle: number): Matrix {
  const [c, s, t] = [Math.cos(angle), Math.sin(angle), 1 - Math.cos(angle)];
  return [
    [t * x * x + c, t * x * y - s * z, t * x * z + s * y, 0],
    [t * x * y + s * z, t * y * y + c, t * y * z - s * x, 0],
    [t * x * z - s * y, t * y * z + s * x, t * z * z + c, 0],
    [0, 0, 0, 1],
  ];
}

function moved([x, y, z]: number[]): Matrix {
  return [[1, 0, 0, x!], [0, 1, 0, y!], [0, 0, 1, z!], [0, 0, 0, 1]];
}

/** A node's own transform. */
function local(node: Json): Matrix {
  const [x, y, z, w] = node.rotation ?? [0, 0, 0, 1];
  const sine = Math.hypot(x, y, z);
  const turn = sine > 0 ? turned([x / sine, y / sine, z / sine], 2 * Math.atan2(sine, w)) : IDENTITY;
  return times(moved(node.translation ?? [0, 0, 0]), turn);
}

/** Random numbers from 0 to 1, the same in every run (a linear congruential generator). */
function chances(): () => number {
  let state = 12345;
  return () => (state = (state * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
}

/** A position within the limits for every joint that follows none; followers at the positions of their drivers. */
function randomPositions(model: Json, chance: () => number): number[][] {
  const within = ({ limit }: Json) => {
    const [lower, upper] = [limit?.lower ?? -Math.PI, limit?.upper ?? Math.PI];
    return lower + chance() * (upper - lower);
  };
  const alone: number[][] = model.joints.map((joint: Json) => joint.dofs.map(within));
  return model.joints.map(({ mimic }: Json, k: number) =>
    mimic ? [mimic.multiplier * alone[mimic.joint]![0]! + mimic.offset] : alone[k]!,
  );
}

/** Link frames in the scene. */
function frames(json: Json, model: Json, positions: number[][]): Matrix[] {
  const motions = new Map<number, Matrix>();
  model.joints.forEach((joint: Json, j: number) =>
    joint.dofs.forEach(({ motion, axis }: Json, k: number) => {
      const q = positions[j]![k]!;
      motions.set(joint.dofNodes[k], motion === 'rotation' ? turned(axis, q) : moved(axis.map((a: number) => a * q)));
    }),
  );
  const above = new Map<number, number>();
  json.nodes.forEach((node: Json, k: number) => node.children?.forEach((child: number) => above.set(child, k)));
  const world = (k: number): Matrix => {
    const own = motions.get(k) ?? local(json.nodes[k]);
    const parent = above.get(k);
    return parent === undefined ? own : times(world(parent), own);
  };
  return model.links.map((link: Json) => world(link.node));
}

describe.skipIf(files.length === 0)('converted robots', () => {
  test.each(files)('%s', { timeout: 600_000 }, async (file) => {
    const bytes = readFileSync(join(folder!, file));
    const size = bytes.readUInt32LE(12);
    const json = JSON.parse(bytes.subarray(20, 20 + size).toString('utf8'));
    const model = json.extensions.EXT_robot_kinematics.models[0];
    const gltf = await load(new Uint8Array(bytes).buffer);
    expect(gltf.userData['robotProblems']).toEqual([]);
    const robot: Robot = gltf.userData['robots'][0];
    const chance = chances();
    for (let pose = 0; pose < POSES; pose++) {
      const positions = randomPositions(model, chance);
      for (const [k, joint] of robot.joints.entries()) if (!joint.mimic) robot.setPosition(joint, positions[k]!);
      gltf.scene.updateMatrixWorld(true);
      let worst = 0;
      frames(json, model, positions).forEach((expected, k) => {
        const actual = robot.links[k]!.node.matrixWorld.elements;
        expected.forEach((row, r) => row.forEach((value, c) => (worst = Math.max(worst, Math.abs(value - actual[4 * c + r]!)))));
      });
      expect(worst).toBeLessThan(1e-9);
      expect(robot.joints.map((joint) => [...joint.positions])).toEqual(positions);
    }
  });
});
