import { describe, expect, test } from 'vitest';

import { document, file, floating, loadJson, modelOf, planar, pose, robotOf, sliding, turning } from './files.js';
import type { Json } from './files.js';

const AXIS = [0, 0, 1];
const hinge = (name: string, more: Json = {}, dof: Json = {}) => ({ name, type: 'revolute', dofs: [turning(AXIS, dof)], more });
const limited = hinge('j', {}, { limit: { lower: -1, upper: 0.5, velocity: 2, effort: 50 }, default: 0.25 });

describe('what a model says', () => {
  test('links, joints and how they hang together', async () => {
    const json = file([limited, { ...planar('p'), origin: { translation: [1, 0, 0] } }]);
    const written = modelOf(json);
    Object.assign(written, { source: { format: 'urdf' }, extras: { loops: [] } });
    written.links[1].extras = { inertial: { mass: 2 } };
    Object.assign(written.joints[0], {
      dynamics: { damping: 0.1, friction: 0.2 },
      safety: { softLowerLimit: -0.9, softUpperLimit: 0.4, kPosition: 10, kVelocity: 20 },
      calibration: { rising: 0.3 },
      extras: { referencePosition: 1 },
    });
    const robot = await robotOf(json);
    expect(robot.name).toBe('robot');
    expect(robot.root.name).toBe('robot');
    expect(robot.source).toEqual({ format: 'urdf' });
    expect(robot.extras).toEqual({ loops: [] });
    expect(robot.links.map((link) => [link.name, link.node.name])).toEqual([['l0', 'l0'], ['l1', 'l1'], ['l2', 'l2']]);
    expect(robot.link('l1')?.extras).toEqual({ inertial: { mass: 2 } });
    const joint = robot.joint('j');
    expect(joint?.parent).toBe(robot.links[0]);
    expect(joint?.child).toBe(robot.link('l1'));
    expect(joint?.origin.name).toBe('joint_j_origin');
    expect(joint?.dofs[0]?.node.name).toBe('joint_j_dof0');
    expect(joint?.dofs[0]?.axis.toArray()).toEqual(AXIS);
    expect(joint?.dofs[0]).toMatchObject({ motion: 'rotation', default: 0.25, limit: { lower: -1, upper: 0.5, velocity: 2, effort: 50 } });
    expect(joint).toMatchObject({
      dynamics: { damping: 0.1, friction: 0.2 },
      safety: { softLowerLimit: -0.9, softUpperLimit: 0.4, kPosition: 10, kVelocity: 20 },
      calibration: { rising: 0.3 },
      extras: { referencePosition: 1 },
    });
    expect(robot.joint('p')?.dofs.map((dof) => dof.motion)).toEqual(['translation', 'translation']);
    expect(robot.link('nothing')).toBeUndefined();
    expect(robot.joint('nothing')).toBeUndefined();
  });

  test('names that three.js would change, and names that recur among nodes', async () => {
    const json = file([hinge('a.b/c [x]'), hinge('l1')]);
    modelOf(json).links[1].name = 'tool 0/tip.é';
    json.nodes.forEach((node: Json) => (node.name = 'same'));
    const robot = await robotOf(json);
    expect(robot.setPosition('a.b/c [x]', 0.5)).toBe(0.5);
    expect(pose(robot, 'tool 0/tip.é').x[1]).toBeCloseTo(Math.sin(0.5), 10);
  });

  test('names that JavaScript has a meaning for', async () => {
    const json = file([hinge('__proto__'), hinge('constructor')]);
    const robot = await robotOf(json);
    expect(robot.setPosition('__proto__', 0.5)).toBe(0.5);
    expect(Object.entries(robot.positions())).toEqual([['__proto__', 0.5], ['constructor', 0]]);
    expect(robot.joint('toString')).toBeUndefined();
  });

  test('several models, each with its own joints', async () => {
    const [left, right] = [file([hinge('j')]), file([hinge('j'), hinge('k')])];
    const offset = left.nodes.length;
    const moved = right.nodes.map((n: Json) => ({ ...n, children: n.children?.map((c: number) => c + offset) }));
    const model = modelOf(right);
    model.rootNode += offset;
    model.links.forEach((link: Json) => (link.node += offset));
    model.joints.forEach((joint: Json) => {
      joint.originNode += offset;
      joint.dofNodes = joint.dofNodes.map((n: number) => n + offset);
    });
    const gltf = await loadJson(document([...left.nodes, ...moved], [modelOf(left), { ...model, name: 'second' }], [0, offset]));
    expect(gltf.userData['robotProblems']).toEqual([]);
    const [first, second] = gltf.userData['robots'];
    expect([first.name, second.name]).toEqual(['robot', 'second']);
    second.setPosition('j', 1);
    expect(first.positions()).toEqual({ j: 0 });
    expect(second.positions()).toEqual({ j: 1, k: 0 });
    expect(first.setPosition(second.joint('j'), 1)).toBeUndefined();
  });

  test('a file without the extension has no robots', async () => {
    const gltf = await loadJson({ asset: { version: '2.0' }, scenes: [{ nodes: [0] }], nodes: [{ name: 'a' }] });
    expect(gltf.userData).toMatchObject({ robots: [], robotProblems: [] });
  });
});

describe('positions', () => {
  test('a robot stands at its defaults when loaded, and after a reset', async () => {
    const robot = await robotOf(file([limited, floating('f')]));
    const home = { j: 0.25, f: [0, 0, 0, 0, 0, 0] };
    expect(robot.positions()).toEqual(home);
    expect(pose(robot, 'l1').x[1]).toBeCloseTo(Math.sin(0.25), 10);
    robot.setPositions({ j: 0.4, f: [1, 2, 3, 4, 5, 6] });
    expect(robot.positions()).toEqual({ j: 0.4, f: [1, 2, 3, 4, 5, 6] });
    expect(robot.joint('f')?.positions).toEqual([1, 2, 3, 4, 5, 6]);
    robot.reset();
    expect(robot.positions()).toEqual(home);
    expect(pose(robot, 'l2').at).toEqual([0, 0, 0]);
  });

  test('limits hold only where asked for', async () => {
    const robot = await robotOf(file([limited]));
    expect(robot.setPosition('j', 3)).toBe(3);
    expect(robot.setPosition('j', 3, { clamp: true })).toBe(0.5);
    expect(robot.setPosition('j', -3, { clamp: true })).toBe(-1);
    expect(robot.setPosition('j', 0.1, { clamp: true })).toBe(0.1);
    expect(robot.setPositions({ j: -9 }, { clamp: true })).toEqual({ j: -1 });
  });

  test('a limit on one side, or on one of several degrees of freedom', async () => {
    const slide = sliding([1, 0, 0], { limit: { upper: 1 } });
    const robot = await robotOf(file([{ name: 'p', type: 'planar', dofs: [slide, sliding([0, 1, 0], { limit: { lower: null } })] }]));
    expect(robot.setPosition('p', [-5, 5], { clamp: true })).toEqual([-5, 5]);
    expect(robot.setPosition('p', [5, 5], { clamp: true })).toEqual([1, 5]);
  });

  test.each<[string, Json]>([
    ['no such joint', ['x', 1]],
    ['no number', ['j', NaN]],
    ['infinite', ['j', Infinity]],
    ['a list that is too long', ['j', [1, 2]]],
    ['a list that is too short', ['p', [1]]],
    ['a number for two degrees of freedom', ['p', 1]],
    ['a hole', ['p', [1, undefined]]],
    ['a text', ['j', '1']],
  ])('what does not fit moves nothing: %s', async (_, [joint, value]) => {
    const robot = await robotOf(file([limited, planar('p')]));
    expect(robot.setPosition(joint, value)).toBeUndefined();
    expect(robot.setPositions({ [joint]: value })).toEqual({});
    expect(robot.positions()).toEqual({ j: 0.25, p: [0, 0] });
  });

  test('what is given and handed out is not shared', async () => {
    const robot = await robotOf(file([planar('p')]));
    const given = [1, 2];
    const set = robot.setPosition(robot.joint('p')!, given) as number[];
    given[0] = set[1] = 9;
    (robot.positions()['p'] as number[])[0] = 9;
    expect(robot.positions()).toEqual({ p: [1, 2] });
  });
});

describe('mimics', () => {
  const gripper = () =>
    file([
      hinge('finger', {}, { limit: { lower: 0, upper: 0.8 } }),
      { name: 'slider', type: 'prismatic', dofs: [sliding(AXIS, { limit: { upper: 0.1 } })], more: { mimic: { joint: 0, multiplier: -2, offset: 0.5 } } },
      hinge('same', { mimic: { joint: 0 } }),
    ]);

  test('followers move with their driver, from the start', async () => {
    const robot = await robotOf(gripper());
    expect(robot.positions()).toEqual({ finger: 0, slider: 0.5, same: 0 });
    expect(robot.joint('slider')?.mimic).toEqual({ joint: robot.joint('finger'), multiplier: -2, offset: 0.5 });
    expect(robot.joint('finger')?.mimic).toBeUndefined();
    robot.setPosition('finger', 0.25);
    expect(robot.positions()).toEqual({ finger: 0.25, slider: 0, same: 0.25 });
    expect(pose(robot, 'l2').at).toEqual([0, 0, 0]);
    robot.setPosition('finger', 2, { clamp: true });
    expect(robot.positions()).toEqual({ finger: 0.8, slider: -1.1, same: 0.8 });
    robot.reset();
    expect(robot.positions()).toEqual({ finger: 0, slider: 0.5, same: 0 });
  });

  test('the driver decides, whatever is set and in any order', async () => {
    const robot = await robotOf(gripper());
    expect(robot.setPositions({ slider: 0.01, finger: 0.25 })).toEqual({ slider: 0, finger: 0.25 });
    expect(robot.setPositions({ finger: 0.3, same: 9 })).toEqual({ finger: 0.3, same: 0.3 });
    expect(robot.setPosition('slider', 0.02)).toBeCloseTo(-0.1, 12);
    expect(robot.positions()).toEqual({ finger: 0.3, slider: 0.5 - 0.6, same: 0.3 });
    expect(pose(robot, 'l2').at[2]).toBeCloseTo(-0.1, 12);
  });

  test('chains are followed to their driver', async () => {
    const robot = await robotOf(
      file([
        hinge('c', { mimic: { joint: 1, multiplier: 2, offset: 0.1 } }),
        hinge('b', { mimic: { joint: 2, multiplier: -3, offset: 1 } }),
        hinge('a'),
      ]),
    );
    robot.setPosition('a', 0.5);
    const { a, b, c } = robot.positions();
    expect([a, b]).toEqual([0.5, -0.5]);
    expect(c).toBeCloseTo(-0.9, 12);
    expect(robot.joint('c')?.mimic?.joint.name).toBe('a');
  });

  test.each<[string, number[], boolean[]]>([
    ['itself', [0], [false]],
    ['each other', [1, 0], [false, false]],
    ['a circle of others', [1, 2, 1], [false, false, false]],
  ])('a joint that follows %s follows none', async (_, mimics, follows) => {
    const gltf = await loadJson(file(mimics.map((joint, k) => hinge(`j${k}`, { mimic: { joint } }))));
    const [robot] = gltf.userData['robots'];
    expect(robot.joints.map((joint: Json) => joint.mimic !== undefined)).toEqual(follows);
    expect(gltf.userData['robotProblems']).toHaveLength(mimics.length);
    expect(gltf.userData['robotProblems'][0]).toContain('models[0].joints[0].mimic: ');
    expect(robot.setPosition('j0', 1)).toBe(1);
  });
});

describe('configurations', () => {
  const arm = () =>
    file([hinge('a', {}, { limit: { upper: 1 } }), hinge('b', { mimic: { joint: 0, multiplier: -1 } }), planar('p'), { name: 'f', type: 'fixed' }], {
      configurations: {
        home: { jointPositions: [0, 0, [0, 0], []] },
        up: { jointPositions: [2, -2, [3, 4], []], extras: { group: 'arm' } },
        aside: { jointPositions: [9, 9, [5, 6], []], extras: { group: 'base', joints: [2] } },
        lists: { jointPositions: [[0.5], [-0.5], [0, 0], 0] },
      },
    });

  test('set every joint', async () => {
    const robot = await robotOf(arm());
    expect(robot.configurations).toEqual(['home', 'up', 'aside', 'lists']);
    expect(robot.applyConfiguration('up')).toBe(true);
    expect(robot.positions()).toEqual({ a: 2, b: -2, p: [3, 4] });
    robot.applyConfiguration('up', { clamp: true });
    expect(robot.positions()).toEqual({ a: 1, b: -1, p: [3, 4] });
    robot.applyConfiguration('lists');
    expect(robot.positions()).toEqual({ a: 0.5, b: -0.5, p: [0, 0] });
    expect(robot.applyConfiguration('nothing')).toBe(false);
  });

  test('that are of some joints leave the others where they are', async () => {
    const robot = await robotOf(arm());
    robot.setPosition('a', 0.5);
    expect(robot.applyConfiguration('aside')).toBe(true);
    expect(robot.positions()).toEqual({ a: 0.5, b: -0.5, p: [5, 6] });
    expect(robot.configuration('aside')).toEqual({ name: 'aside', positions: { p: [5, 6] }, extras: { group: 'base', joints: [2] } });
    expect(robot.configuration('up')?.positions).toEqual({ a: 2, b: -2, p: [3, 4] });
    expect(robot.configuration('nothing')).toBeUndefined();
  });

  test('that contradict a mimic leave it to the driver', async () => {
    const json = arm();
    modelOf(json).configurations = {
      apart: { jointPositions: [0.5, 7, [0, 0], []] },
      only: { jointPositions: [0.1, 7, [0, 0], []], extras: { joints: [1] } },
    };
    const robot = await robotOf(json);
    expect(robot.configuration('apart')?.positions).toEqual({ a: 0.5, b: -0.5, p: [0, 0] });
    robot.applyConfiguration('apart');
    expect(robot.positions()).toEqual({ a: 0.5, b: -0.5, p: [0, 0] });
    expect(robot.configuration('only')?.positions).toEqual({});
    robot.applyConfiguration('only');
    expect(robot.positions()).toEqual({ a: 0.5, b: -0.5, p: [0, 0] });
  });

  test('may have one number per degree of freedom in a row', async () => {
    const json = arm();
    modelOf(json).configurations = { row: { jointPositions: [0.5, -0.5, 3, 4] } };
    expect((await robotOf(json)).configuration('row')?.positions).toEqual({ a: 0.5, b: -0.5, p: [3, 4] });
    const more = file([floating('f'), hinge('a')], { configurations: { row: { jointPositions: [1, 2, 3, 4, 5, 6, 7] } } });
    expect((await robotOf(more)).configuration('row')?.positions).toEqual({ f: [1, 2, 3, 4, 5, 6], a: 7 });
  });
});
