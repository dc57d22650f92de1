/** The loader for Babylon.js: robots have the same poses as in three.js, in scenes of both handednesses. */
import '@babylonjs/loaders/glTF/2.0/index.js';
import { NullEngine } from '@babylonjs/core/Engines/nullEngine.js';
import { LoadAssetContainerAsync } from '@babylonjs/core/Loading/sceneLoader.js';
import { Matrix } from '@babylonjs/core/Maths/math.vector.js';
import { Scene } from '@babylonjs/core/scene.js';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { registerRobotKinematics, robotsOf, type Robot } from '../../src/loader/babylon.js';
import { file, floating, load, modelOf, planar, sliding, turning, withTriangle } from './files.js';

const problems: string[] = [];
registerRobotKinematics((problem) => problems.push(problem));

const MIXED = () => {
  const limit = { lower: -1, upper: 0.5 };
  return file(
    [
      { name: 'turn', type: 'revolute', dofs: [turning([0, 0.6, 0.8], { limit, default: 0.25 })], origin: { translation: [0.1, 0.2, 0.3], rotation: [0.5, 0.5, 0.5, 0.5] } },
      { name: 'slide', type: 'prismatic', dofs: [sliding([1, 0, 0])], origin: { translation: [0, 1, 0] } },
      planar('plane'),
      floating('free'),
      { name: 'follower', type: 'revolute', dofs: [turning([1, 0, 0])], more: { mimic: { joint: 0, multiplier: -2, offset: 0.1 } } },
    ],
    { configurations: { bent: { jointPositions: [0.5, 0.1, [0.2, 0.3], [1, 2, 3, 0.1, 0.2, 0.3], 0] } } },
  );
};

/** Loads a file in Babylon. */
async function babylon(bytes: ArrayBuffer, rightHanded = true): Promise<{ robots: Robot[]; scene: Scene }> {
  const scene = new Scene(new NullEngine());
  scene.useRightHandedSystem = rightHanded;
  // A scene draws with a camera; loading needs none, nor textures, which Node cannot decode.
  const loaded = await LoadAssetContainerAsync(new Uint8Array(bytes), scene, {
    pluginExtension: '.glb',
    pluginOptions: { gltf: { skipMaterials: true } },
  });
  loaded.addAllToScene();
  return { robots: robotsOf(loaded), scene };
}

/** The poses of the links in the frame of the robot's root, in glTF's axes. */
function links(robot: Robot): number[][] {
  const toRoot = Matrix.Invert(robot.root.computeWorldMatrix(true));
  return robot.links.map(({ node }) => [...node.computeWorldMatrix(true).multiply(toRoot).asArray()]);
}

async function sameAsThree(bytes: ArrayBuffer, rightHanded: boolean): Promise<Robot> {
  const [theirs] = (await load(bytes)).userData['robots'];
  const { robots } = await babylon(bytes, rightHanded);
  const ours = robots[0]!;
  expect(ours.positions()).toEqual(theirs.positions());
  const middle = Object.fromEntries(
    ours.joints.filter((joint) => !joint.mimic && joint.dofs.length > 0).map((joint, k) => [joint.name, joint.dofs.map((_, d) => 0.3 + 0.1 * k - 0.2 * d)]),
  );
  for (const positions of [{}, middle]) {
    expect(ours.setPositions(positions)).toEqual(theirs.setPositions(positions));
    theirs.root.updateWorldMatrix(true, true);
    const toRoot = theirs.root.matrixWorld.clone().invert();
    const found = links(ours);
    theirs.links.forEach(({ node }: { node: { matrixWorld: { elements: number[] } } }, k: number) => {
      const expected = toRoot.clone().multiply(node.matrixWorld).elements as number[];
      // Babylon computes in single precision.
      expected.forEach((value, at) => expect(Math.abs(found[k]![at]! - value)).toBeLessThan(1e-5));
    });
  }
  return ours;
}

test.each([true, false])('links are where three.js has them (right-handed scene: %s)', async (rightHanded) => {
  const robot = await sameAsThree(withTriangle(MIXED()), rightHanded);
  expect(robot.setPosition('turn', 99, { clamp: true })).toBe(0.5);
  expect(robot.joint('follower')?.positions[0]).toBeCloseTo(-0.9, 12);
  expect(robot.applyConfiguration('bent')).toBe(true);
  expect(robot.positions()['free']).toEqual([1, 2, 3, 0.1, 0.2, 0.3]);
  robot.reset();
  expect(robot.positions()['turn']).toBe(0.25);
  expect(problems).toEqual([]);
});

test('shapes are shown and hidden, and a robot goes with all that it has', async () => {
  const json = file([{ name: 'j', type: 'revolute', dofs: [turning([0, 0, 1])] }]);
  const shape = (name: string, of: number) => {
    json.nodes[of].children = [...(json.nodes[of].children ?? []), json.nodes.length];
    return json.nodes.push({ name, mesh: 0 }) - 1;
  };
  const link = modelOf(json).links[1];
  shape('seen', link.node);
  link.collisionNodes = [shape('hit', link.node)];
  const { robots, scene } = await babylon(withTriangle(json));
  const [robot] = robots;
  expect(robot?.link('l1')?.visuals.map((node) => node.name)).toEqual(['seen']);
  const hit = robot!.link('l1')!.collisions[0]!;
  expect(hit.isEnabled()).toBe(false);
  robot?.setCollisionsVisible(true);
  expect(hit.isEnabled() && scene.getMeshByName('hit')?.material?.alpha).toBe(0.5);
  robot?.setVisualsVisible(false);
  expect(scene.getMeshByName('seen')?.isEnabled()).toBe(false);
  robot?.dispose();
  expect(scene.getMeshByName('hit') ?? scene.getMeshByName('seen')).toBeNull();
});

test('what is wrong with a file is told, and its meshes are loaded', async () => {
  const json = MIXED();
  modelOf(json).links[1].node = 99;
  const { robots } = await babylon(withTriangle(json));
  expect(robots).toEqual([]);
  expect(problems.splice(0).join()).toContain('99 is no node');
});

const folder = process.env['GLB_DIR'];
const files = folder ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.glb')).sort() : [];

test.skipIf(files.length === 0).each(files)('%s stands as in three.js', { timeout: 60_000 }, async (path) => {
  const bytes = readFileSync(join(folder!, path));
  await sameAsThree(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer, true);
});
