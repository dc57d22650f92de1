// The place of a robot: the pose of its root in the frames above it in TF, such as odom and map. No DOM.

import { Matrix4, Quaternion, Vector3 } from 'three';

/** x, y, z in metres, then the quaternion x, y, z, w, in ROS's axes. */
export type BasePose = readonly [number, number, number, number, number, number, number];

/** The pose of a root in a frame above it. */
export interface Base {
  frame: string;
  pose: BasePose;
}

/** The frames above a root, the nearest first, by the root's name. */
export type Bases = ReadonlyMap<string, readonly Base[]>;

/** The choice of no frame: the robot stays at the origin. */
export const NO_FRAME = '';

/** Parses the field `bases` of a message. Invalid entries are left out. */
export function parseBases(value: unknown): Bases {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value as Record<string, unknown>) : [];
  return new Map(entries.map(([root, above]) => [root, (Array.isArray(above) ? above : []).filter(isBase)]));
}

function isBase(value: unknown): value is Base {
  if (typeof value !== 'object' || value === null) return false;
  const { frame, pose } = value as Record<string, unknown>;
  return typeof frame === 'string' && Array.isArray(pose) && pose.length === 7 && pose.every(Number.isFinite);
}

/** Returns the pose in the chosen frame; `null` chooses odom if there is one, else the outermost. */
export function chosenBase(above: readonly Base[], frame: string | null): Base | null {
  if (frame === NO_FRAME) return null;
  const found = (name: string) => above.find((base) => base.frame === name);
  return (frame === null ? undefined : found(frame)) ?? found('odom') ?? above.at(-1) ?? null;
}

/** Converts a pose to a transform in glTF's axes. */
export function toTransform([x, y, z, u, v, w, s]: BasePose): Matrix4 {
  return new Matrix4().compose(new Vector3(y, z, x), new Quaternion(v, w, u, s).normalize(), new Vector3(1, 1, 1));
}

/** Multiplies two poses: the second is in the frame of the first. */
export function after(a: BasePose, b: BasePose): BasePose {
  const turn = new Quaternion(a[3], a[4], a[5], a[6]);
  const at = new Vector3(b[0], b[1], b[2]).applyQuaternion(turn).add(new Vector3(a[0], a[1], a[2]));
  const { x, y, z, w } = turn.multiply(new Quaternion(b[3], b[4], b[5], b[6]));
  return [at.x, at.y, at.z, x, y, z, w];
}

/** Interpolates between poses. */
export function between(a: BasePose, b: BasePose, part: number): BasePose {
  const at = new Vector3(a[0], a[1], a[2]).lerp(new Vector3(b[0], b[1], b[2]), part);
  const { x, y, z, w } = new Quaternion(a[3], a[4], a[5], a[6]).slerp(new Quaternion(b[3], b[4], b[5], b[6]), part);
  return [at.x, at.y, at.z, x, y, z, w];
}
