import { Group, Mesh, MeshBasicMaterial, type Material } from 'three';
import { expect, test } from 'vitest';

import type { Robot } from '../../src/loader/index.js';
import { file, load, modelOf, turning, withTriangle, type Json } from './files.js';

/** A robot whose link `l1` has a visual (a mesh below its node) and a collision, listed in the model or not. */
async function shaped(listed: boolean): Promise<{ robot: Robot; visual: Mesh; collision: Mesh; material: Material }> {
  const json = file([{ name: 'j', type: 'revolute', dofs: [turning([0, 0, 1])] }, { name: 'k', type: 'fixed' }]);
  const model: Json = modelOf(json);
  const visual = json.nodes.push({ name: 'visual', children: [json.nodes.length + 1] }) - 1;
  json.nodes.push({ mesh: 0, scale: [2, 2, 2] });
  const collision = json.nodes.push({ name: 'collision', mesh: 0, extensions: { KHR_node_visibility: { visible: false } } }) - 1;
  json.nodes[model.links[1].node].children.push(visual, collision);
  model.links[1].collisionNodes = [collision];
  if (listed) model.links[1].visualNodes = [visual];
  const gltf = await load(withTriangle(json));
  expect(gltf.userData['robotProblems']).toEqual([]);
  const robot: Robot = gltf.userData['robots'][0];
  const link = robot.link('l1')!;
  const mesh = link.collisions[0] as Mesh;
  return { robot, visual: link.visuals[0]!.children[0] as Mesh, collision: mesh, material: mesh.material as Material };
}

test('collisions are hidden until they are shown, in a material that can be seen', async () => {
  const { robot, visual, collision, material } = await shaped(true);
  expect(visual).toBeInstanceOf(Mesh);
  expect(collision.visible).toBe(false);
  expect(material.alphaTest).toBeGreaterThan(0);
  robot.setCollisionsVisible(true);
  const own = collision.material as Material;
  expect([collision.visible, own.visible, own.alphaTest]).toEqual([true, true, 0]);
  expect(own.opacity).toBeGreaterThan(0);
  expect(visual.material).toBe(material);
  robot.setCollisionsVisible(false);
  expect(collision.visible).toBe(false);
  expect(collision.material).toBe(material);
});

test('collisions are shown in the material that is given, and can change it', async () => {
  const { robot, collision, material } = await shaped(true);
  const [red, blue] = [new MeshBasicMaterial(), new MeshBasicMaterial()];
  let disposed = 0;
  red.addEventListener('dispose', () => disposed++);
  robot.setCollisionsVisible(true, red);
  robot.setCollisionsVisible(true, blue);
  expect(collision.material).toBe(blue);
  robot.setCollisionsVisible(true, red);
  robot.dispose();
  expect(collision.material).toBe(material);
  expect(disposed).toBe(0);
});

test.each([true, false])('visuals are hidden and shown; listed: %s', async (listed) => {
  const { robot } = await shaped(listed);
  expect(robot.links.map((link) => link.visuals.map((node) => node.name))).toEqual([[], ['visual'], []]);
  const [visual] = robot.link('l1')!.visuals;
  robot.setVisualsVisible(false);
  expect(visual?.visible).toBe(false);
  robot.setVisualsVisible(true);
  expect(visual?.visible).toBe(true);
  expect(robot.link('l2')?.node.visible).toBe(true);
});

test('a robot that is disposed of leaves its scene and frees its meshes and materials', async () => {
  const { robot, visual, collision, material } = await shaped(true);
  const freed: unknown[] = [];
  for (const thing of [visual.geometry, collision.geometry, material]) thing.addEventListener('dispose', () => freed.push(thing));
  const above = new Group().add(robot.root);
  robot.dispose();
  expect(above.children).toEqual([]);
  expect(new Set(freed)).toEqual(new Set([visual.geometry, collision.geometry, material]));
});
