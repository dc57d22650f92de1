/** The motion of each joint type, against numbers computed by hand. */
import { describe, expect, test } from 'vitest';

import { file, floating, modelOf, planar, pose, robotOf, sliding, turning } from './files.js';

const SIXTH = Math.PI / 6;
const QUARTER = Math.PI / 2;
const UNTURNED = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] };
/** A quarter turn about y, as a node's rotation: z goes to x. */
const ABOUT_Y = [0, Math.SQRT1_2, 0, Math.SQRT1_2];

function close(actual: ReturnType<typeof pose>, expected: Partial<ReturnType<typeof pose>>) {
  for (const [key, values] of Object.entries(expected)) {
    const found = actual[key as keyof typeof actual];
    values.forEach((value, k) => expect(found[k], `${key}[${k}]`).toBeCloseTo(value, 10));
  }
}

describe('one joint', () => {
  test('fixed: the child stands at the origin', async () => {
    const robot = await robotOf(file([{ name: 'j', type: 'fixed', origin: { translation: [1, 2, 3], rotation: ABOUT_Y } }]));
    close(pose(robot, 'l1'), { x: [0, 0, -1], y: [0, 1, 0], z: [1, 0, 0], at: [1, 2, 3] });
    expect(robot.joint('j')).toMatchObject({ type: 'fixed', dofs: [], positions: [] });
    expect(robot.positions()).toEqual({});
  });

  test.each(['revolute', 'continuous'])('%s: turns about its axis, at the origin', async (type) => {
    const robot = await robotOf(file([{ name: 'j', type, origin: { translation: [0, 0.1, 0] }, dofs: [turning([0, 0, 1])] }]));
    expect(robot.setPosition('j', SIXTH)).toBe(SIXTH);
    const [c, s] = [Math.sqrt(3) / 2, 0.5];
    close(pose(robot, 'l1'), { x: [c, s, 0], y: [-s, c, 0], z: [0, 0, 1], at: [0, 0.1, 0] });
    robot.setPosition('j', -QUARTER);
    close(pose(robot, 'l1'), { x: [0, -1, 0], y: [1, 0, 0] });
  });

  test('about a slanted axis: a third of a turn about (1, 1, 1) hands the axes on', async () => {
    const third = Math.sqrt(1 / 3);
    const robot = await robotOf(file([{ name: 'j', type: 'revolute', dofs: [turning([third, third, third])] }]));
    robot.setPosition('j', (2 * Math.PI) / 3);
    close(pose(robot, 'l1'), { x: [0, 1, 0], y: [0, 0, 1], z: [1, 0, 0], at: [0, 0, 0] });
  });

  test('prismatic: slides along its axis, in the frame of its origin', async () => {
    const origin = { translation: [1, 0, 0], rotation: ABOUT_Y };
    const robot = await robotOf(file([{ name: 'j', type: 'prismatic', origin, dofs: [sliding([0, 0, 1])] }]));
    expect(robot.setPosition('j', 0.25)).toBe(0.25);
    close(pose(robot, 'l1'), { x: [0, 0, -1], z: [1, 0, 0], at: [1.25, 0, 0] });
  });

  test('planar: slides along both its axes', async () => {
    const robot = await robotOf(file([{ ...planar('j'), origin: { translation: [0, 5, 0] } }]));
    expect(robot.setPosition('j', [2, -3])).toEqual([2, -3]);
    close(pose(robot, 'l1'), { ...UNTURNED, at: [2, 5, -3] });
  });

  test('floating: is moved, then turned about x, the new y, the new z', async () => {
    const robot = await robotOf(file([floating('j')]));
    expect(robot.joint('j')?.dofs).toHaveLength(6);
    robot.setPosition('j', [1, 2, 3, QUARTER, 0, 0]);
    close(pose(robot, 'l1'), { x: [1, 0, 0], y: [0, 0, 1], z: [0, -1, 0], at: [1, 2, 3] });
    // About x: y to z. About the new y, which is z: x to y, and the new z, which was -y, to x. About the new z, which is x: no more.
    robot.setPosition('j', [0, 0, 0, QUARTER, QUARTER, 0]);
    close(pose(robot, 'l1'), { x: [0, 1, 0], y: [0, 0, 1], z: [1, 0, 0], at: [0, 0, 0] });
    robot.setPosition('j', [0, 0, 0, QUARTER, QUARTER, QUARTER]);
    close(pose(robot, 'l1'), { x: [0, 0, 1], y: [0, -1, 0], z: [1, 0, 0] });
  });
});

test('joints in a row add up', async () => {
  const robot = await robotOf(
    file([
      { name: 'turn', type: 'revolute', origin: { translation: [0, 1, 0] }, dofs: [turning([0, 1, 0])] },
      { name: 'slide', type: 'prismatic', origin: { translation: [0, 0, 2] }, dofs: [sliding([0, 0, 1])] },
      { name: 'tip', type: 'fixed', origin: { translation: [0.5, 0, 0] } },
    ]),
  );
  expect(robot.setPositions({ turn: QUARTER, slide: 0.5 })).toEqual({ turn: QUARTER, slide: 0.5 });
  // A quarter turn about y takes z to x and x to -z.
  close(pose(robot, 'l1'), { at: [0, 1, 0] });
  close(pose(robot, 'l2'), { at: [2.5, 1, 0] });
  close(pose(robot, 'l3'), { x: [0, 0, -1], y: [0, 1, 0], z: [1, 0, 0], at: [2.5, 1, -0.5] });
  robot.reset();
  close(pose(robot, 'l3'), { ...UNTURNED, at: [0.5, 1, 2] });
});

test('a node above the robot moves all of it', async () => {
  const json = file([{ name: 'j', type: 'revolute', dofs: [turning([1, 0, 0])] }]);
  json.nodes[0].translation = [7, 0, 0];
  const robot = await robotOf(json);
  robot.setPosition('j', QUARTER);
  close(pose(robot, 'l1'), { at: [7, 0, 0], y: [0, 0, 1] });
});

test('a root node may turn axes with z up to those of glTF', async () => {
  const json = file([{ name: 'j', type: 'revolute', origin: { translation: [0.3, 0, 0.1] }, dofs: [turning([0, 0, 1])] }]);
  json.nodes[0].rotation = [-0.5, -0.5, -0.5, 0.5];
  const robot = await robotOf(json);
  robot.setPosition('j', QUARTER);
  // Forward, x of the source, is glTF's z; left is x and up is y. A quarter turn to the left takes forward to left.
  close(pose(robot, 'l1'), { at: [0, 0.1, 0.3], x: [1, 0, 0], y: [0, 0, -1], z: [0, 1, 0] });
});

test('several root links keep their places', async () => {
  const json = file([{ name: 'j', type: 'revolute', origin: { translation: [0, 0.1, 0] }, dofs: [turning([0, 0, 1])] }]);
  json.nodes[1].translation = [0, 1, 0];
  json.nodes[0].children.push(json.nodes.push({ name: 'second', translation: [0, 0, 5] }) - 1);
  modelOf(json).links.push({ name: 'second', node: json.nodes.length - 1 });
  const robot = await robotOf(json);
  robot.setPosition('j', 1);
  expect([pose(robot, 'l1').at, pose(robot, 'second').at]).toEqual([[0, 1.1, 0], [0, 0, 5]]);
});
