/** Inverse kinematics against the scene graph: three.js has the link at the target, within limits. */
import { Matrix4, Quaternion, Vector3 } from 'three';
import { describe, expect, it } from 'vitest';

import { Chain } from '../src/kinematics/chain.js';
import { Problem } from '../src/kinematics/lm.js';
import type { Link, Robot } from '../src/loader/index.js';
import { file, floating, robotOf, sliding, turning, type JointOf } from './loader/files.js';

const limit = (lower: number, upper: number) => ({ limit: { lower, upper } });
const up = (y: number, z = 0) => ({ translation: [0, y, z], rotation: [0, 0, 0, 1] });
const tilted = (y: number, z = 0) => ({ translation: [0.03, y, z], rotation: [0.1, 0.2, -0.1, Math.sqrt(0.94)] });

/** Seven joints like those of an arm, one of them without limits; their frames are rotated relative to each other. */
const ARM: JointOf[] = [
  { name: 'pan', type: 'revolute', dofs: [turning([0, 1, 0], limit(-2.9, 2.9))], origin: up(0.3) },
  { name: 'lift', type: 'revolute', dofs: [turning([1, 0, 0], limit(-1.9, 1.9))], origin: tilted(0.1) },
  { name: 'roll', type: 'continuous', dofs: [turning([0, 1, 0])], origin: up(0.3) },
  { name: 'elbow', type: 'revolute', dofs: [turning([1, 0, 0], limit(-2.6, 0.1))], origin: tilted(0.15, 0.05) },
  { name: 'forearm', type: 'revolute', dofs: [turning([0, 1, 0], limit(-2.9, 2.9))], origin: up(0.2) },
  { name: 'wrist', type: 'revolute', dofs: [turning([1, 0, 0], limit(-2, 2))], origin: up(0.15) },
  { name: 'flange', type: 'revolute', dofs: [turning([0, 0.6, 0.8], limit(-6.3, 6.3))], origin: up(0.1) },
];

/** Random numbers from 0 to 1, the same in every run. */
function chances(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
}

function random(robot: Robot, chance: () => number): void {
  for (const joint of robot.joints) {
    if (joint.mimic || joint.dofs.length !== 1) continue;
    const { lower = -Math.PI, upper = Math.PI } = joint.dofs[0]?.limit ?? {};
    robot.setPosition(joint, lower + chance() * (upper - lower));
  }
}

/** The pose of a link in its robot's root, by three.js. */
function pose(robot: Robot, link: Link): { position: Vector3; orientation: Quaternion } {
  robot.root.updateWorldMatrix(true, true);
  const matrix = new Matrix4().copy(robot.root.matrixWorld).invert().multiply(link.node.matrixWorld);
  const [position, orientation] = [new Vector3(), new Quaternion()];
  matrix.decompose(position, orientation, new Vector3());
  return { position, orientation };
}

function withinLimits(robot: Robot): boolean {
  return robot.joints.every((joint) =>
    joint.dofs.every(({ limit }, k) => {
      const at = joint.positions[k] ?? 0;
      return at >= (limit?.lower ?? -Infinity) - 1e-9 && at <= (limit?.upper ?? Infinity) + 1e-9;
    }),
  );
}

const last = (robot: Robot) => robot.links.at(-1)!;

describe('a chain', () => {
  it('is where three.js has the link, and its columns are how that changes', async () => {
    const lift: JointOf = { name: 'rail', type: 'prismatic', dofs: [sliding([0, 0.6, 0.8], limit(0, 1))], origin: tilted(0.1) };
    const robot = await robotOf(file([lift, floating('base'), ...ARM]));
    const chance = chances(1);
    const point = new Vector3(0.1, -0.2, 0.3);
    const chain = new Chain(robot, last(robot), point);
    for (let n = 0; n < 20; n += 1) {
      random(robot, chance);
      robot.setPosition('base', [chance(), chance(), chance(), chance(), chance(), chance()]);
      const q = new Float64Array(chain.coordinates.length);
      chain.read(q);
      chain.jacobian(q);
      const { position, orientation } = pose(robot, last(robot));
      const expected = point.clone().applyQuaternion(orientation).add(position);
      expect(new Vector3(chain.tip[3], chain.tip[7], chain.tip[11]).distanceTo(expected)).toBeLessThan(1e-9);
      const columns = Float64Array.from(chain.columns);
      const here = Float64Array.from(chain.tip);
      for (let c = 0; c < q.length; c += 1) {
        const moved = Float64Array.from(q);
        moved[c]! += 1e-6;
        chain.jacobian(moved);
        for (const [k, r] of [3, 7, 11].entries())
          expect((chain.tip[r]! - here[r]!) / 1e-6).toBeCloseTo(columns[6 * c + k]!, 4);
      }
    }
  });
});

describe('the solver', () => {
  it('brings a link to poses that it can have, within limits', async () => {
    const [there, robot] = await Promise.all([robotOf(file(ARM)), robotOf(file(ARM))]);
    const chance = chances(7);
    const problem = new Problem(robot, last(robot));
    let reached = 0;
    const count = 200;
    for (let n = 0; n < count; n += 1) {
      random(there, chance);
      const goal = pose(there, last(there));
      // Restarts if one start fails, as the command line does.
      for (let start = 0; start < 20; start += 1) {
        if (start === 0) robot.reset();
        else random(robot, chance);
        const outcome = problem.solve(goal, { iterations: 100 });
        problem.apply();
        expect(withinLimits(robot)).toBe(true);
        if (!outcome.reached) continue;
        const got = pose(robot, last(robot));
        expect(got.position.distanceTo(goal.position)).toBeLessThan(2e-6);
        expect(got.orientation.angleTo(goal.orientation)).toBeLessThan(1e-4);
        reached += 1;
        break;
      }
    }
    expect(reached).toBeGreaterThanOrEqual(count * 0.995);
  });

  it('bounds the norm of a step, and converges by small ones', async () => {
    const [there, robot] = await Promise.all([robotOf(file(ARM)), robotOf(file(ARM))]);
    const chance = chances(3);
    const problem = new Problem(robot, last(robot));
    for (let n = 0; n < 20; n += 1) {
      random(there, chance);
      const goal = pose(there, last(there));
      robot.reset();
      const from = problem.variables.map(({ joint }) => joint.positions[0]!);
      problem.solve(goal, { maxStep: 0.02, iterations: 1 });
      const to = problem.positions();
      const changes = problem.variables.map(({ joint }, k) => to[joint.name]! - from[k]!);
      expect(Math.hypot(...changes)).toBeLessThanOrEqual(0.02 + 1e-12);
      // Small steps far from the target are not slow progress at a local minimum.
      let reached = false;
      for (let start = 0; start < 20 && !reached; start += 1) {
        if (start > 0) random(robot, chance);
        reached = problem.solve(goal, { maxStep: 0.02, iterations: 2000 }).reached;
      }
      expect(reached).toBe(true);
    }
  });

  it('refines in small steps as far as in large ones', async () => {
    const joints: JointOf[] = [{ name: 'slide', type: 'prismatic', dofs: [sliding([0, 1, 0], limit(0, 30))], origin: up(0) }];
    const robot = await robotOf(file(joints));
    const problem = new Problem(robot, last(robot));
    const goal = { position: new Vector3(0.5, 12, 0) };
    problem.solve(goal, { maxStep: 0.001 });
    problem.refine(goal, { maxStep: 0.001 });
    expect(problem.positions()['slide']).toBeCloseTo(12, 3);
  });

  it('follows a point that moves a little at a time without another start', async () => {
    const robot = await robotOf(file(ARM));
    robot.setPositions({ lift: 0.5, elbow: -1, wrist: 0.5 });
    const problem = new Problem(robot, last(robot), { point: new Vector3(0, 0.05, 0) });
    const { position, orientation } = pose(robot, last(robot));
    const from = new Vector3(0, 0.05, 0).applyQuaternion(orientation).add(position);
    for (let n = 1; n <= 60; n += 1) {
      const wanted = from.clone().add(new Vector3(0.003 * n, -0.002 * n, 0.001 * n));
      const outcome = problem.solve({ position: wanted });
      problem.apply();
      expect(outcome.reached).toBe(true);
      const now = pose(robot, last(robot));
      expect(new Vector3(0, 0.05, 0).applyQuaternion(now.orientation).add(now.position).distanceTo(wanted)).toBeLessThan(2e-6);
      expect(withinLimits(robot)).toBe(true);
    }
  });

  it('ends near what is out of reach, and says which joints stop it', async () => {
    const robot = await robotOf(file(ARM));
    const problem = new Problem(robot, last(robot));
    let outcome = problem.solve({ position: new Vector3(5, 0.5, 0) });
    for (let n = 0; n < 20; n += 1) {
      problem.apply();
      outcome = problem.solve({ position: new Vector3(5, 0.5, 0) });
    }
    problem.apply();
    expect(outcome.reached).toBe(false);
    expect(withinLimits(robot)).toBe(true);
    // Stretched out: no part of the arm reaches further in x.
    expect(pose(robot, last(robot)).position.x).toBeGreaterThan(0.75);
    robot.setPositions({ elbow: 0.1 });
    expect(problem.stopped().map((joint) => joint.name)).toContain('elbow');
  });

  it('moves leaders for followers, within the limits of both', async () => {
    const joints: JointOf[] = [
      { name: 'lead', type: 'revolute', dofs: [turning([1, 0, 0], limit(-3, 3))], origin: up(0.1) },
      { name: 'follow', type: 'revolute', dofs: [turning([1, 0, 0], limit(-0.5, 0.5))], origin: up(0.3), more: { mimic: { joint: 0, multiplier: 0.5, offset: 0.1 } } },
    ];
    const [there, robot] = await Promise.all([robotOf(file(joints)), robotOf(file(joints))]);
    const problem = new Problem(robot, last(robot), { point: new Vector3(0, 0.2, 0) });
    expect(problem.variables.map(({ joint, lower, upper }) => [joint.name, lower, upper])).toEqual([['lead', -1.2, 0.8]]);
    there.setPosition('lead', 0.6);
    const { position, orientation } = pose(there, last(there));
    const wanted = new Vector3(0, 0.2, 0).applyQuaternion(orientation).add(position);
    expect(problem.solve({ position: wanted }).reached).toBe(true);
    problem.apply();
    expect(robot.joint('lead')?.positions[0]).toBeCloseTo(0.6, 5);
    expect(robot.joint('follow')?.positions[0]).toBeCloseTo(0.4, 5);
    // Further than the follower's limits allow.
    for (let n = 0; n < 30; n += 1) {
      problem.solve({ position: new Vector3(0, -0.3, 1) });
      problem.apply();
    }
    expect(robot.joint('lead')!.positions[0]!).toBeLessThanOrEqual(0.8);
    expect(withinLimits(robot)).toBe(true);
  });

  it('leaves a base that floats where it is, and joints that are held', async () => {
    const robot = await robotOf(file([floating('base'), ...ARM]));
    const problem = new Problem(robot, last(robot), { held: (joint) => joint.name === 'pan' });
    expect(problem.variables.map(({ joint }) => joint.name)).toEqual(['lift', 'roll', 'elbow', 'forearm', 'wrist', 'flange']);
  });

  it('goes a whole turn back in place of over a limit', async () => {
    const joints: JointOf[] = [{ name: 'spin', type: 'revolute', dofs: [turning([0, 1, 0], limit(-4, 4))], origin: up(0) }];
    const robot = await robotOf(file(joints));
    const problem = new Problem(robot, last(robot), { point: new Vector3(1, 0, 0) });
    for (let n = 0; n <= 100; n += 1) {
      const angle = (n / 100) * 4 * Math.PI;
      problem.solve({ position: new Vector3(Math.cos(angle), 0, -Math.sin(angle)) });
      problem.apply();
      expect(withinLimits(robot)).toBe(true);
      const at = robot.joint('spin')!.positions[0]!;
      expect(Math.cos(at - angle)).toBeCloseTo(1, 6);
    }
  });
});
