// The pose of a link in the frame of another, in ROS's axes and conventions. No DOM.

import { Euler, Matrix4, type Object3D, Quaternion, Vector3 } from 'three';
import { decimal, rosVector } from './format.js';

type Triple = [number, number, number];

/** A pose in ROS's axes. */
export interface LinkPose {
  /** Metres. */
  position: Triple;
  /** Rotations about the fixed x, y and z axes in radians, as in URDF. */
  rpy: Triple;
  /** x, y, z, w; w is not negative. */
  quaternion: [number, number, number, number];
}

/** Returns the transform of a node in the frame of another, in glTF's axes. */
export function relative(node: Object3D, reference: Object3D): Matrix4 {
  for (const one of [node, reference]) one.updateWorldMatrix(true, false);
  return new Matrix4().copy(reference.matrixWorld).invert().multiply(node.matrixWorld);
}

/** Converts a transform in glTF's axes. */
export function toPose(matrix: Matrix4): LinkPose {
  const [at, turn] = [new Vector3(), new Quaternion()];
  matrix.decompose(at, turn, new Vector3());
  const [x, y, z] = rosVector([turn.x, turn.y, turn.z]);
  const ros = new Quaternion(x, y, z, turn.w);
  if (ros.w < 0) ros.set(-ros.x, -ros.y, -ros.z, -ros.w);
  const { x: roll, y: pitch, z: yaw } = new Euler().setFromQuaternion(ros, 'ZYX');
  return { position: rosVector([at.x, at.y, at.z]), rpy: [roll, pitch, yaw], quaternion: [ros.x, ros.y, ros.z, ros.w] };
}

/** Converts a pose to a transform in glTF's axes. */
export function toMatrix({ position, rpy: [roll, pitch, yaw] }: Pick<LinkPose, 'position' | 'rpy'>): Matrix4 {
  const { x, y, z, w } = new Quaternion().setFromEuler(new Euler(roll, pitch, yaw, 'ZYX'));
  return new Matrix4().compose(
    new Vector3(...gltfVector(position)),
    new Quaternion(...gltfVector([x, y, z]), w),
    new Vector3(1, 1, 1),
  );
}

/** Converts a vector from ROS's axes to glTF's. */
function gltfVector([x, y, z]: Triple): Triple {
  return [y, z, x];
}

/** Formats a pose for the clipboard: metres and radians, as in URDF, then the quaternion. */
export function poseText(link: string, reference: string, { position, rpy, quaternion }: LinkPose): string {
  const numbers = (values: readonly number[]) => values.map((value) => decimal(value, 6)).join(' ');
  return `${link} in ${reference}\nxyz="${numbers(position)}" rpy="${numbers(rpy)}"\nquaternion (x y z w): ${numbers(quaternion)}\n`;
}
