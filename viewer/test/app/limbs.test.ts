import { Object3D, Vector3 } from 'three';
import { describe, expect, it } from 'vitest';

import { limbs } from '../../src/app/limbs.js';
import type { Joint, Link } from '../../src/loader/index.js';

const known = new Map<string, Link>();
function link(name: string): Link {
  const found = known.get(name) ?? { name, node: new Object3D(), visuals: [], collisions: [], extras: {} };
  known.set(name, found);
  return found;
}

function joint(name: string, parent: string, child: string, fixed = false): Joint {
  const dof = { node: new Object3D(), motion: 'rotation' as const, axis: new Vector3(0, 1, 0), default: 0 };
  const dofs = fixed ? [] : [dof];
  return {
    name,
    type: fixed ? 'fixed' : 'revolute',
    parent: link(parent),
    child: link(child),
    origin: new Object3D(),
    dofs,
    positions: dofs.map(() => 0),
    extras: {},
  };
}

const chain = (side: string, from: string, parts: string[]) =>
  parts.map((part, n) => joint(`${side}_${part}_joint`, n ? `${side}_${parts[n - 1]}` : from, `${side}_${part}`));
const names = (joints: readonly Joint[]) => limbs(joints).map((limb) => [limb.name, limb.joints.map((one) => one.name)]);

describe('limbs', () => {
  it('of a robot that is one chain are one without a name', () => {
    const arm = chain('a', 'base', ['shoulder', 'elbow', 'wrist']);
    expect(names(arm)).toEqual([['', ['a_shoulder_joint', 'a_elbow_joint', 'a_wrist_joint']]]);
  });

  it('are the branches, by what their names have in common; wheels are together', () => {
    const joints = [
      joint('wheel_1', 'base', 'wheel_1'),
      ...chain('left_arm', 'torso', ['shoulder', 'elbow', 'wrist']),
      joint('torso_lift', 'base', 'lift'),
      joint('lift_torso', 'lift', 'torso', true),
      ...chain('right_arm', 'torso', ['shoulder', 'elbow', 'wrist']),
      joint('wheel_2', 'base', 'wheel_2'),
    ];
    const found = limbs(joints);
    expect(found.map((limb) => limb.name)).toEqual(['wheel_1 … wheel_2', 'left arm', 'right arm']);
    expect(found[0]?.joints.map((one) => one.name)).toEqual(['wheel_1', 'torso_lift', 'wheel_2']);
    expect(found.flatMap((limb) => limb.joints)).toHaveLength(9);
  });

  it('have the names of limbs, with their side', () => {
    const side = (letter: string, hand: string) => [
      ...chain(letter, 'torso', ['shoulder_pitch', 'elbow', 'wrist']),
      joint(`${hand}_thumb_joint`, `${letter}_wrist`, `${letter}_thumb`),
    ];
    const leg = (corner: string) => ['HAA', 'HFE', 'KFE'].map((part, n) => joint(`${corner}_${part}`, n ? `${corner}_${n - 1}` : 'torso', `${corner}_${n}`));
    const found = limbs([...side('l', 'L'), ...side('right', 'R'), ...leg('LF'), ...leg('RH')]);
    expect(found.map(({ name }) => name)).toEqual(['left arm', 'right arm', 'left front leg', 'right hind leg']);
  });

  it('of one name have different ones', () => {
    const finger = (n: number) => [0, 1, 2].map((k) => joint(`joint_${n}${k}.0`, k ? `f${n}_${k - 1}` : 'palm', `f${n}_${k}`));
    const found = limbs([...finger(0), ...finger(1)]).map(({ name }) => name);
    expect(new Set(found).size).toBe(2);
  });

  it('end where the tree goes in a circle', () => {
    expect(limbs([joint('a', 'x', 'y'), joint('b', 'y', 'x')]).flatMap((limb) => limb.joints)).toHaveLength(2);
    const deep = Array.from({ length: 5000 }, (_, n) => joint(`j${n}`, `l${n}`, `l${n + 1}`));
    expect(limbs(deep)[0]?.joints).toHaveLength(5000);
  });
});
