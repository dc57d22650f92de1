/** Files with invalid extension data: each loads as a plain glTF, and the problems are reported with their places. */
import { expect, test } from 'vitest';

import { file, loadJson, modelOf, planar, robotOf, turning, type Json } from './files.js';

/** Two hinges, the second following the first, and one configuration. */
function arm(): Json {
  const hinge = (name: string, more: Json = {}) => ({ name, type: 'revolute', dofs: [turning([0, 0, 1])], more });
  return file([hinge('a'), hinge('b', { mimic: { joint: 0 } })], { configurations: { home: { jointPositions: [0, 0] } } });
}

async function problems(change: (model: Json, json: Json) => void): Promise<{ robots: Json[]; said: string[] }> {
  const json = arm();
  change(modelOf(json), json);
  const gltf = await loadJson(json);
  // The rest of the file is loaded.
  expect(gltf.scene.children[0]?.children[0]?.name).toBe('l0');
  return { robots: gltf.userData['robots'], said: gltf.userData['robotProblems'] };
}

test('the file itself is right', async () => {
  expect((await robotOf(arm())).joints).toHaveLength(2);
});

test.each<[string, (model: Json, json: Json) => void]>([
  ['models[0]', (_, json) => (json.extensions.EXT_robot_kinematics.models[0] = 7)],
  ['models[0].rootNode', (model) => (model.rootNode = 99)],
  ['models[0].rootNode', (model) => delete model.rootNode],
  ['models[0].links', (model) => (model.links = {})],
  ['models[0].links[1]', (model) => (model.links[1] = null)],
  ['models[0].links[1].node', (model) => (model.links[1].node = -1)],
  ['models[0].links[1].node', (model) => (model.links[1].node = 1.5)],
  ['models[0].links[1].node', (model) => (model.links[1].node = '1')],
  ['models[0].links[0].name', (model) => (model.links[0].name = 1)],
  ['models[0].joints', (model) => delete model.joints],
  ['models[0].joints[0]', (model) => (model.joints[0] = [])],
  ['models[0].joints[0].name', (model) => delete model.joints[0].name],
  ['models[0].joints[0].type', (model) => (model.joints[0].type = 'ball')],
  ['models[0].joints[0].type', (model) => (model.joints[0].type = 'toString')],
  ['models[0].joints[1].parentLink', (model) => (model.joints[1].parentLink = 3)],
  ['models[0].joints[1].childLink', (model) => (model.joints[1].childLink = 'l2')],
  ['models[0].joints[1].originNode', (model) => (model.joints[1].originNode = 1e9)],
  ['models[0].joints[1].dofNodes[0]', (model) => (model.joints[1].dofNodes = [99])],
  ['models[0].joints[1]', (model) => (model.joints[1].dofNodes = [])],
  ['models[0].joints[1]', (model) => Object.assign(model.joints[1], { dofNodes: [], dofs: [] })],
  ['models[0].joints[1].dofs', (model) => (model.joints[1].dofs = {})],
  ['models[0].joints[1].dofs[0]', (model) => (model.joints[1].dofs = [1])],
  ['models[0].joints[1].dofs[0].motion', (model) => (model.joints[1].dofs[0].motion = 'spin')],
  ['models[0].joints[1].dofs[0].axis', (model) => (model.joints[1].dofs[0].axis = [0, 0, 0])],
  ['models[0].joints[1].dofs[0].axis', (model) => (model.joints[1].dofs[0].axis = [0, 1])],
  ['models[0].joints[1].dofs[0].axis', (model) => (model.joints[1].dofs[0].axis = [0, 'y', 1])],
  ['models[0].joints[1].dofs[0].axis', (model) => (model.joints[1].dofs[0].axis = [1.7e308, 1.7e308, 1.7e308])],
])('without %s the model is left out', async (place, change) => {
  const { robots, said } = await problems(change);
  expect(robots).toEqual([]);
  expect(said).toHaveLength(1);
  expect(said[0]).toMatch(/; the model is left out$/);
  expect(said[0]?.startsWith(`${place}: `), said[0]).toBe(true);
});

test.each<[string, Json]>([['a list', []], ['a number', 3], ['null', null], ['models that are none', { models: 'one' }], ['nothing', {}]])(
  'the extension as %s',
  async (_, extension) => {
    const { robots, said } = await problems((_, json) => (json.extensions.EXT_robot_kinematics = extension));
    expect(robots).toEqual([]);
    expect(said).toEqual(['models: should be a list of models']);
  },
);

test.each<[string, (model: Json) => void]>([
  ['models[0].name', (model) => (model.name = 1)],
  ['models[0].links[0].visualNodes', (model) => (model.links[0].visualNodes = 2)],
  ['models[0].links[0].visualNodes[0]', (model) => (model.links[0].visualNodes = [99, 2])],
  ['models[0].links[0].collisionNodes[1]', (model) => (model.links[0].collisionNodes = [2, null])],
  ['models[0].links[2].name', (model) => (model.links[2].name = 'l0')],
  ['models[0].joints[1].name', (model) => (model.joints[1].name = 'a')],
  ['models[0].joints[1].mimic', (model) => (model.joints[1].mimic = { joint: 2 })],
  ['models[0].joints[1].mimic', (model) => (model.joints[1].mimic = { joint: 'a' })],
  ['models[0].joints[1].mimic', (model) => (model.joints[1].mimic = 'a')],
  ['models[0].joints[1].mimic.offset', (model) => (model.joints[1].mimic.offset = 'far')],
  ['models[0].joints[0].dynamics', (model) => (model.joints[0].dynamics = [])],
  ['models[0].joints[0].dynamics.damping', (model) => (model.joints[0].dynamics = { damping: 'much' })],
  ['models[0].joints[0].dofs[0].default', (model) => (model.joints[0].dofs[0].default = [])],
  ['models[0].joints[0].dofs[0].axis', (model) => (model.joints[0].dofs[0].axis = [0, 0, 2])],
  ['models[0].joints[0].dofs[0].limit', (model) => (model.joints[0].dofs[0].limit = { lower: 1, upper: -1 })],
  ['models[0].joints[0].dofs[0].limit.lower', (model) => (model.joints[0].dofs[0].limit = { lower: '-1' })],
  ['models[0].joints[0].dofs[0].limit', (model) => Object.assign(model.joints[0], { type: 'continuous' }).dofs[0].limit = { lower: -1 }],
  ['models[0].joints[0]', (model) => (model.joints[0].type = 'planar')],
  ['models[0].joints[0]', (model) => Object.assign(model.joints[0], { parentLink: 2 })],
  ['models[0].links[0]', (model) => (model.rootNode = 2)],
  ['models[0].joints[1].dofNodes[0]', (model) => (model.joints[1].dofNodes = model.joints[0].dofNodes)],
  ['models[0].configurations', (model) => (model.configurations = [])],
  ['models[0].configurations["home"]', (model) => (model.configurations.home = 1)],
  ['models[0].configurations["home"].jointPositions', (model) => (model.configurations.home = { jointPositions: [0] })],
  ['models[0].configurations["home"].jointPositions[1]', (model) => (model.configurations.home = { jointPositions: [0, [1, 2]] })],
  ['models[0].configurations["home"].jointPositions[0]', (model) => (model.configurations.home = { jointPositions: [null, 1] })],
  ['models[0].configurations["home"].extras.joints', (model) => (model.configurations.home.extras = { joints: [2] })],
])('%s goes alone, and the robot still moves', async (place, change) => {
  const { robots, said } = await problems(change);
  expect(said.some((line) => line.startsWith(`${place}: `)), said.join('\n')).toBe(true);
  expect(robots).toHaveLength(1);
  expect(robots[0].setPosition('a', 1)).toBe(1);
  expect(Object.values(robots[0].positions()).flat().every(Number.isFinite)).toBe(true);
});

test('one of several models can be left out', async () => {
  const json = arm();
  json.extensions.EXT_robot_kinematics.models.unshift({ name: 'broken' });
  const gltf = await loadJson(json);
  expect(gltf.userData['robots'].map((robot: Json) => robot.name)).toEqual(['robot']);
  expect(gltf.userData['robotProblems']).toHaveLength(1);
});

test('a mimic of a joint with two degrees of freedom is none', async () => {
  const json = file([{ ...planar('p') }, { name: 'j', type: 'revolute', dofs: [turning([0, 0, 1])], more: { mimic: { joint: 0 } } }]);
  const gltf = await loadJson(json);
  expect(gltf.userData['robotProblems']).toEqual(['models[0].joints[1].mimic: follower and driver need one degree of freedom each; it follows none']);
  expect(gltf.userData['robots'][0].joint('j').mimic).toBeUndefined();
});

test('bounds that are left out do not hold, and rates stay', async () => {
  const { robots } = await problems((model) => (model.joints[0].dofs[0].limit = { lower: 1, upper: -1, effort: 5 }));
  expect(robots[0].setPosition('a', 4, { clamp: true })).toBe(4);
  expect(robots[0].joint('a').dofs[0].limit).toEqual({ effort: 5 });
});

test('a model whose nodes can not be loaded is left out', async () => {
  const json = arm();
  json.nodes.push({ mesh: 5 });
  modelOf(json).links[0].visualNodes = [json.nodes.length - 1];
  const gltf = await loadJson(json);
  expect(gltf.userData['robots']).toEqual([]);
  expect(gltf.userData['robotProblems'][0]).toMatch(/^models\[0\]: a node of it can't be loaded/);
});

test('a file that is wrong everywhere is not listed to the end', async () => {
  const { said } = await problems((model) => (model.links[0].visualNodes = Array.from({ length: 100_000 }, () => 'x'.repeat(1000))));
  expect(said).toHaveLength(101);
  expect(Math.max(...said.map((line) => line.length))).toBeLessThan(200);
});
