import { Euler, Object3D, Quaternion } from 'three';
import { expect, it } from 'vitest';

import { poseText, relative, toMatrix, toPose } from '../../src/app/link-pose.js';

const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 9));

it('a pose is in the axes of ROS, with the angles of URDF', () => {
  // glTF's x, y, z are ROS's y, z, x: a quarter turn about glTF's y is a yaw.
  const [base, tool] = [new Object3D(), new Object3D()];
  base.add(tool);
  tool.position.set(0.2, 0.3, 0.1);
  tool.rotation.y = Math.PI / 2;
  const pose = toPose(relative(tool, base));
  expect(pose.position).toEqual(close([0.1, 0.2, 0.3]));
  expect(pose.rpy).toEqual(close([0, 0, Math.PI / 2]));
  expect(pose.quaternion).toEqual(close([0, 0, Math.SQRT1_2, Math.SQRT1_2]));
  // From the tool's view, the base is to its left and behind it.
  expect(toPose(relative(base, tool)).position).toEqual(close([-0.2, 0.1, -0.3]));
  expect(poseText('tool', 'base', pose)).toContain('xyz="0.1 0.2 0.3" rpy="0 0 1.570796"');
});

it('typed numbers give the pose that they name', () => {
  const rpy: [number, number, number] = [0.3, -1.1, 2.5];
  const position: [number, number, number] = [1, -2, 3];
  const pose = toPose(toMatrix({ position, rpy }));
  expect(pose.position).toEqual(close(position));
  expect(pose.rpy).toEqual(close(rpy));
  // Fixed axes: about x first, about z last.
  const about = (x: number, y: number, z: number) => new Quaternion().setFromEuler(new Euler(x, y, z));
  const fixed = about(0, 0, rpy[2]).multiply(about(0, rpy[1], 0)).multiply(about(rpy[0], 0, 0));
  const sign = fixed.w < 0 ? -1 : 1;
  expect(pose.quaternion).toEqual(close(fixed.toArray().map((value) => sign * value)));
});
