import { Object3D, Vector3 } from 'three';
import { describe, expect, it } from 'vitest';

import { beyond, controls, dofName, following, matches, onSlider, wrap } from '../../src/app/joint-model.js';
import type { Dof, Joint, JointType, Limit, Motion } from '../../src/loader/index.js';

function dof(motion: Motion, axis: [number, number, number], limit?: Limit): Dof {
  return { node: new Object3D(), motion, axis: new Vector3(...axis), default: 0, ...(limit && { limit }) };
}

function joint(name: string, type: JointType, dofs: Dof[]): Joint {
  const link = { name: 'link', node: new Object3D(), visuals: [], collisions: [], extras: {} };
  return { name, type, parent: link, child: link, origin: new Object3D(), dofs, positions: dofs.map(() => 0), extras: {} };
}

function only(joint: Joint) {
  const [control] = controls(joint);
  if (!control) throw new Error('no control');
  return control;
}

describe('controls', () => {
  it('of a revolute joint end at its limits', () => {
    const control = only(joint('elbow', 'revolute', [dof('rotation', [0, 1, 0], { lower: -1.5, upper: 2 })]));
    expect(control).toMatchObject({ name: 'elbow', unit: 'rad', lower: -1.5, upper: 2, wraps: false, step: 0.01 });
    expect(control.limited).toEqual({ lower: true, upper: true });
  });

  it('of a continuous joint go round', () => {
    const control = only(joint('wheel', 'continuous', [dof('rotation', [1, 0, 0])]));
    expect(control).toMatchObject({ lower: -Math.PI, upper: Math.PI, wraps: true, limited: { lower: false, upper: false } });
    expect(onSlider(control, 3.5 * Math.PI)).toBeCloseTo(-Math.PI / 2, 12);
  });

  it('of a joint with one limit have room on the other side of it', () => {
    const control = only(joint('lift', 'prismatic', [dof('translation', [0, 1, 0], { lower: 5 })]));
    expect(control.lower).toBe(5);
    expect(control.upper).toBeGreaterThan(5);
    expect(control.limited).toEqual({ lower: true, upper: false });
  });

  it('take steps that a short reach still has many of', () => {
    const finger = only(joint('finger', 'prismatic', [dof('translation', [1, 0, 0], { lower: 0, upper: 0.004 })]));
    expect(finger.step).toBeLessThanOrEqual(0.004 / 40);
    const stuck = only(joint('stuck', 'revolute', [dof('rotation', [1, 0, 0], { lower: 0, upper: 0 })]));
    expect(stuck.step).toBeGreaterThan(0);
  });

  it('stand up to limits that make no sense', () => {
    const turned = only(joint('turned', 'revolute', [dof('rotation', [1, 0, 0], { lower: 2, upper: -1 })]));
    expect([turned.lower, turned.upper]).toEqual([-1, 2]);
    const none = only(joint('none', 'revolute', [dof('rotation', [1, 0, 0], { lower: NaN, upper: Infinity })]));
    expect(Number.isFinite(none.lower) && Number.isFinite(none.upper)).toBe(true);
  });

  it('of a floating joint are named after the axes of ROS', () => {
    const motions: [Motion, [number, number, number]][] = [
      ['translation', [0, 0, 1]],
      ['translation', [1, 0, 0]],
      ['translation', [0, 1, 0]],
      ['rotation', [0, 0, 1]],
      ['rotation', [1, 0, 0]],
      ['rotation', [0, 1, 0]],
    ];
    const names = controls(
      joint(
        'base',
        'floating',
        motions.map(([motion, axis]) => dof(motion, axis)),
      ),
    ).map(({ name }) => name);
    expect(names).toEqual(['base: x', 'base: y', 'base: z', 'base: roll', 'base: pitch', 'base: yaw']);
  });

  it('of a planar joint with a slanted plane are numbered', () => {
    expect(dofName(dof('translation', [0.6, 0.8, 0]), 1)).toBe('2');
    expect(dofName(dof('translation', [0, 0, -1]), 0)).toBe('-x');
  });

  it('are none for a fixed joint', () => {
    expect(controls(joint('weld', 'fixed', []))).toEqual([]);
  });
});

describe('angles', () => {
  it.each([
    [0, 0],
    [Math.PI, Math.PI],
    [-Math.PI, -Math.PI],
    [Math.PI + 0.1, -Math.PI + 0.1],
    [-Math.PI - 0.1, Math.PI - 0.1],
    [20 * Math.PI + 1, 1],
  ])('%f is shown at %f', (angle, shown) => {
    expect(wrap(angle)).toBeCloseTo(shown, 9);
  });
});

describe('limits', () => {
  const control = only(joint('elbow', 'revolute', [dof('rotation', [0, 1, 0], { lower: -1, upper: 1 })]));

  it('hold the slider, not the joint', () => {
    expect([onSlider(control, 1.5), onSlider(control, -7), onSlider(control, 0.5)]).toEqual([1, -1, 0.5]);
  });

  it('are told of when a joint is beyond them', () => {
    expect([1, 1 + 1e-9, 1.01, -1.01].map((value) => beyond(control, value))).toEqual([false, false, true, true]);
    expect(beyond(only(joint('wheel', 'continuous', [dof('rotation', [1, 0, 0])])), 100)).toBe(false);
  });
});

describe('words', () => {
  it('tell what a follower does', () => {
    const driver = { name: 'finger' };
    expect(following({ joint: driver, multiplier: 1, offset: 0 })).toBe('follows finger');
    expect(following({ joint: driver, multiplier: -1, offset: 0.04 })).toBe('follows finger × -1 + 0.04');
    expect(following({ joint: driver, multiplier: 0.5, offset: -1 })).toBe('follows finger × 0.5 - 1');
  });

  it('find joints by any of their parts', () => {
    expect(matches('left_knee_joint revolute', 'KNEE left')).toBe(true);
    expect(matches('left_knee_joint revolute', 'knee right')).toBe(false);
  });
});
