/**
 * The joints from a robot's root to one of its links, as steps of one degree of freedom in flat arrays: the pose of the link, and its
 * Jacobian. Nothing is allocated after set-up. No DOM.
 */
import { Matrix4, type Object3D, type Vector3 } from 'three';

import type { Dof, Joint, Link, Robot } from '../loader/index.js';

/** A position of a joint that follows no other. */
export interface Coordinate {
  readonly joint: Joint;
  /** The index of the joint's position. */
  readonly index: number;
  readonly isAngle: boolean;
  /** Its range, narrowed so that every joint that follows it is within its own limits, too, if that is possible. */
  readonly lower: number;
  readonly upper: number;
  /** Whether a full turn more gives the same pose, and the range has room for one. */
  readonly turns: boolean;
}

/** A rotation about, or translation along, an axis by `factor` · coordinate + `offset`, after a constant transform. */
interface Step {
  /** Rows of a 3 by 4 matrix. */
  before: Float64Array;
  axis: readonly [number, number, number];
  isTurn: boolean;
  /** Index in the chain's coordinates; −1: constant. */
  coordinate: number;
  factor: number;
  offset: number;
}

/** The path from the root to a link. */
export class Chain {
  readonly coordinates: readonly Coordinate[];
  private readonly steps: readonly Step[];
  private readonly tail: Float64Array;
  /** The pose of the tip, as rows of a 3 by 4 matrix in the root's frame; after `jacobian`. */
  readonly tip = new Float64Array(12);
  /** Linear velocity of the point, then angular velocity, for each coordinate; after `jacobian`. */
  readonly columns: Float64Array;
  /** Origin and axis of each step, for the columns. */
  private readonly origins: Float64Array;
  private readonly frame = new Float64Array(12);
  private readonly next = new Float64Array(12);

  /** The path to `tip`; `point` (metres, in the tip's frame) is the point of the Jacobian. */
  constructor(robot: Robot, tip: Link, point?: Vector3) {
    const dofs = dofsByNode(robot);
    const nodes: Object3D[] = [];
    for (let at: Object3D | null = tip.node; at && at !== robot.root; at = at.parent) nodes.unshift(at);
    const coordinates: Coordinate[] = [];
    const steps: Step[] = [];
    const index = (joint: Joint, dof: number) => {
      const known = coordinates.findIndex((one) => one.joint === joint && one.index === dof);
      return known >= 0 ? known : coordinates.push(coordinateOf(robot, joint, dof)) - 1;
    };
    let before = new Matrix4();
    for (const node of nodes) {
      const found = dofs.get(node);
      if (!found) {
        node.updateMatrix();
        before.multiply(node.matrix);
        continue;
      }
      const { joint, dof, at } = found;
      // The first position of a follower follows, its others are constant.
      const leads = joint.mimic && at === 0 ? joint.mimic : undefined;
      const held = joint.mimic !== undefined && at > 0;
      // The constant part of the node: the translation of a rotation, the orientation of a translation.
      const still = new Matrix4();
      if (dof.motion === 'rotation') still.setPosition(node.position);
      steps.push({
        before: rows(before.multiply(still)),
        axis: [dof.axis.x, dof.axis.y, dof.axis.z],
        isTurn: dof.motion === 'rotation',
        coordinate: held ? -1 : leads ? index(leads.joint, 0) : index(joint, at),
        factor: leads?.multiplier ?? 1,
        offset: leads?.offset ?? 0,
      });
      before = new Matrix4();
      if (dof.motion === 'translation') before.makeRotationFromQuaternion(node.quaternion);
      before.scale(node.scale);
    }
    if (point) before.multiply(new Matrix4().makeTranslation(point));
    this.coordinates = coordinates;
    this.steps = steps;
    this.tail = rows(before);
    this.columns = new Float64Array(6 * coordinates.length);
    this.origins = new Float64Array(6 * steps.length);
  }

  /** Reads the positions of the robot's joints. */
  read(q: Float64Array): void {
    this.coordinates.forEach(({ joint, index }, at) => (q[at] = joint.positions[index] ?? 0));
  }

  /** Computes `tip` and `columns` for these coordinates. */
  jacobian(q: Float64Array): void {
    const { steps, frame, next, origins, columns, tip } = this;
    identity(frame);
    for (let k = 0; k < steps.length; k += 1) {
      const step = steps[k]!;
      multiply(frame, step.before, next);
      const [x, y, z] = step.axis;
      // The axis in the root frame; rotation about it does not change it.
      let ax = next[0]! * x + next[1]! * y + next[2]! * z;
      let ay = next[4]! * x + next[5]! * y + next[6]! * z;
      let az = next[8]! * x + next[9]! * y + next[10]! * z;
      const by = step.coordinate < 0 ? step.offset : step.factor * q[step.coordinate]! + step.offset;
      if (step.isTurn) {
        turn(next, x, y, z, by, frame);
        const length = Math.hypot(ax, ay, az) || 1;
        [ax, ay, az] = [ax / length, ay / length, az / length];
      } else {
        frame.set(next);
        frame[3] = frame[3]! + ax * by;
        frame[7] = frame[7]! + ay * by;
        frame[11] = frame[11]! + az * by;
      }
      const o = 6 * k;
      origins[o] = frame[3]!;
      origins[o + 1] = frame[7]!;
      origins[o + 2] = frame[11]!;
      origins[o + 3] = ax;
      origins[o + 4] = ay;
      origins[o + 5] = az;
    }
    multiply(frame, this.tail, tip);
    columns.fill(0);
    for (let k = 0; k < steps.length; k += 1) {
      const { coordinate, factor, isTurn } = steps[k]!;
      if (coordinate < 0) continue;
      const [o, c] = [6 * k, 6 * coordinate];
      const [ax, ay, az] = [origins[o + 3]! * factor, origins[o + 4]! * factor, origins[o + 5]! * factor];
      if (isTurn) {
        const [rx, ry, rz] = [tip[3]! - origins[o]!, tip[7]! - origins[o + 1]!, tip[11]! - origins[o + 2]!];
        columns[c] = columns[c]! + ay * rz - az * ry;
        columns[c + 1] = columns[c + 1]! + az * rx - ax * rz;
        columns[c + 2] = columns[c + 2]! + ax * ry - ay * rx;
        columns[c + 3] = columns[c + 3]! + ax;
        columns[c + 4] = columns[c + 4]! + ay;
        columns[c + 5] = columns[c + 5]! + az;
      } else {
        columns[c] = columns[c]! + ax;
        columns[c + 1] = columns[c + 1]! + ay;
        columns[c + 2] = columns[c + 2]! + az;
      }
    }
  }
}

function dofsByNode(robot: Robot): Map<Object3D, { joint: Joint; dof: Dof; at: number }> {
  return new Map(robot.joints.flatMap((joint) => joint.dofs.map((dof, at) => [dof.node, { joint, dof, at }] as const)));
}

function coordinateOf(robot: Robot, joint: Joint, index: number): Coordinate {
  const dof = joint.dofs[index]!;
  const isAngle = dof.motion === 'rotation';
  let [lower, upper] = limitsOf(dof);
  let isWhole = true;
  for (const follower of robot.joints) {
    if (index !== 0 || follower.mimic?.joint !== joint || !follower.dofs[0]) continue;
    const { multiplier, offset } = follower.mimic;
    if (follower.dofs[0].motion !== 'rotation' || multiplier % 1 !== 0) isWhole = false;
    if (multiplier === 0) continue;
    const ends = limitsOf(follower.dofs[0]).map((end) => (end - offset) / multiplier);
    const [from, to] = [Math.max(lower, Math.min(...ends)), Math.min(upper, Math.max(...ends))];
    if (from <= to) [lower, upper] = [from, to];
  }
  return { joint, index, isAngle, lower, upper, turns: isAngle && isWhole && upper - lower >= 2 * Math.PI };
}

/** Orders a range; missing sides are infinite. */
function limitsOf(dof: Dof): [number, number] {
  const [lower, upper] = [dof.limit?.lower ?? -Infinity, dof.limit?.upper ?? Infinity];
  return lower <= upper ? [lower, upper] : [upper, lower];
}

function rows(matrix: Matrix4): Float64Array {
  const e = matrix.elements;
  return Float64Array.of(e[0]!, e[4]!, e[8]!, e[12]!, e[1]!, e[5]!, e[9]!, e[13]!, e[2]!, e[6]!, e[10]!, e[14]!);
}

function identity(out: Float64Array): void {
  out.fill(0);
  out[0] = out[5] = out[10] = 1;
}

function multiply(a: Float64Array, b: Float64Array, out: Float64Array): void {
  for (let r = 0; r < 12; r += 4) {
    const [x, y, z, t] = [a[r]!, a[r + 1]!, a[r + 2]!, a[r + 3]!];
    out[r] = x * b[0]! + y * b[4]! + z * b[8]!;
    out[r + 1] = x * b[1]! + y * b[5]! + z * b[9]!;
    out[r + 2] = x * b[2]! + y * b[6]! + z * b[10]!;
    out[r + 3] = x * b[3]! + y * b[7]! + z * b[11]! + t;
  }
}

/** Rotates `m` about one of its own axes (Rodrigues). */
function turn(m: Float64Array, x: number, y: number, z: number, angle: number, out: Float64Array): void {
  const [s, c] = [Math.sin(angle), Math.cos(angle)];
  const t = 1 - c;
  const [a, b, d] = [t * x * x + c, t * x * y - s * z, t * x * z + s * y];
  const [e, f, g] = [t * x * y + s * z, t * y * y + c, t * y * z - s * x];
  const [h, i, j] = [t * x * z - s * y, t * y * z + s * x, t * z * z + c];
  for (let r = 0; r < 12; r += 4) {
    const [u, v, w] = [m[r]!, m[r + 1]!, m[r + 2]!];
    out[r] = u * a + v * e + w * h;
    out[r + 1] = u * b + v * f + w * i;
    out[r + 2] = u * d + v * g + w * j;
    out[r + 3] = m[r + 3]!;
  }
}
