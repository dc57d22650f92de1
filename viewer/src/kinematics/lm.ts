/**
 * Inverse kinematics by Levenberg–Marquardt with limits: the solver `lm` of the Rust crate `kinematics`, with its parameters, defaults
 * and rules, for the page to run without a server. docs/kinematics.md documents the parameters. No DOM.
 */
import { Quaternion, Vector3 } from 'three';

import type { Joint, Link, Robot } from '../loader/index.js';
import { Chain, type Coordinate } from './chain.js';

/** The target of a link, in the frame of its robot's root: a position (metres), an orientation, or both. */
export interface Goal {
  position?: Vector3;
  orientation?: Quaternion;
}

/** The result of a run. */
export interface Outcome {
  reached: boolean;
  /** Position error in metres. */
  position: number;
  /** Orientation error in radians. */
  angle: number;
  iterations: number;
}

/** Options of a problem. */
export interface ProblemOptions {
  /** The point of the tip that is moved to the goal's position, in the tip's frame; default: its origin. */
  point?: Vector3;
  /** Joints to hold. Those with several positions, such as a floating base, are always held. */
  held?: (joint: Joint) => boolean;
}

/** Parameters, as in Rust. */
export const DEFAULTS = {
  damping: 1e-3,
  iterations: 30,
  tolerance: 1e-6,
  rotationWeight: 1,
  positionWeight: 1,
  maxStep: 0.5,
  nullSpaceBias: 0.05,
};

export type Parameters = typeof DEFAULTS;

/** A step that leaves more than this share of the squared error is slow ... */
const SLOW = 0.8;
/** ... and after this many slow steps in a row the run has converged, or will not. */
const PATIENCE = 3;
/** Maximum number of steps towards an unreachable target, unless `maxStep` is small. */
const REFINING = 1000;
/** Length of the way through the coordinates, radians and metres, for which refining has enough steps. */
const WAY = 20;
/** Maximum number of steps of refining, however small `maxStep` is. */
const MAX_REFINING = 100_000;

/** Errors, normal matrix (lower triangle, by rows) and right-hand side at one configuration. */
class Linear {
  readonly normal: Float64Array;
  readonly gradient: Float64Array;
  squares = 0;
  position = 0;
  angle = 0;

  constructor(size: number) {
    this.normal = new Float64Array(size * size);
    this.gradient = new Float64Array(size);
  }
}

/** An inverse kinematics problem of one link, with all buffers that solving needs. */
export class Problem {
  readonly chain: Chain;
  /** The chain's coordinates that may change. */
  readonly variables: readonly Coordinate[];
  /** Their indices in the chain. */
  private readonly places: readonly number[];
  private readonly q: Float64Array;
  private readonly tried: Float64Array;
  private at: Linear;
  private next: Linear;
  private readonly rhs: Float64Array;
  private readonly step: Float64Array;
  private readonly stops: Float64Array;
  private readonly factor: Float64Array;
  private readonly free: Uint8Array;
  private readonly error = new Float64Array(6);
  private readonly wanted = new Float64Array(9);

  constructor(
    private readonly robot: Robot,
    readonly tip: Link,
    options: ProblemOptions = {},
  ) {
    this.chain = new Chain(robot, tip, options.point);
    const all = this.chain.coordinates;
    const may = ({ joint }: Coordinate) => joint.dofs.length === 1 && !options.held?.(joint);
    this.places = all.flatMap((coordinate, at) => (may(coordinate) ? [at] : []));
    this.variables = this.places.map((at) => all[at]!);
    const size = this.variables.length;
    this.q = new Float64Array(all.length);
    this.tried = new Float64Array(all.length);
    this.at = new Linear(size);
    this.next = new Linear(size);
    this.rhs = new Float64Array(size);
    this.step = new Float64Array(size);
    this.stops = new Float64Array(size);
    this.factor = new Float64Array(size * size);
    this.free = new Uint8Array(size);
  }

  /** Returns the joints that are at one of their limits. */
  stopped(): Joint[] {
    const close = ({ joint, index, lower, upper, turns }: Coordinate) => {
      const at = joint.positions[index] ?? 0;
      return !turns && (at <= lower + 1e-9 || at >= upper - 1e-9);
    };
    return this.variables.filter(close).map(({ joint }) => joint);
  }

  /** Returns the positions that the last call of `solve` found, by joint. */
  positions(): Record<string, number> {
    return Object.fromEntries(this.variables.map(({ joint }, k) => [joint.name, this.q[this.places[k]!]!]));
  }

  /** Solves from the robot's current positions, until the goal is reached or progress is slow. Moves nothing: see `positions`. */
  solve(goal: Goal, parameters: Partial<Parameters> = {}): Outcome {
    const set = { ...DEFAULTS, ...parameters };
    this.chain.read(this.q);
    return this.descend(goal, set, set.iterations, PATIENCE);
  }

  /** Continues from the end of the last call, as long as the error decreases. */
  refine(goal: Goal, parameters: Partial<Parameters> = {}): Outcome {
    const set = { ...DEFAULTS, ...parameters };
    return this.descend(goal, set, clamp(Math.ceil(WAY / set.maxStep), REFINING, MAX_REFINING), Infinity);
  }

  private descend(goal: Goal, set: Parameters, most: number, patience: number): Outcome {
    const { q, tried, rhs, step, variables, places } = this;
    variables.forEach((variable, k) => (q[places[k]!] = clamp(q[places[k]!]!, variable.lower, variable.upper)));
    if (goal.orientation) matrixOf(goal.orientation, this.wanted);
    tried.set(q);
    this.linearise(q, goal, set, this.at);
    const least = set.tolerance ** 2;
    let damping = set.damping;
    let [iterations, slow] = [0, 0];
    while (this.at.squares > least && iterations < most && slow < patience) {
      iterations += 1;
      // More damping at a large error, less near the goal.
      const off = Math.min(1, Math.sqrt(this.at.squares));
      const damped = damping * Math.max(off, 1e-6);
      // The pull to the middle must vanish with the error. Where steps do not reduce the error, it may be the cause.
      const strength = damping <= set.damping ? damped * set.nullSpaceBias * off : 0;
      for (let k = 0; k < variables.length; k += 1) {
        const { lower, upper } = variables[k]!;
        const middle = 0.5 * (lower + upper);
        const bias = Number.isFinite(middle) ? (middle - q[places[k]!]!) * strength : 0;
        rhs[k] = this.at.gradient[k]! + bias;
      }
      if (!this.bounded(damped)) {
        damping *= 10;
        continue;
      }
      // The step is shortened as a whole, so that it keeps its direction.
      let length = 0;
      for (let k = 0; k < step.length; k += 1) length += step[k]! ** 2;
      length = Math.sqrt(length);
      const isShortened = length > set.maxStep;
      const scale = isShortened ? set.maxStep / length : 1;
      for (let k = 0; k < variables.length; k += 1) {
        tried[places[k]!] = within(variables[k]!, q[places[k]!]! + scale * step[k]!);
      }
      this.linearise(tried, goal, set, this.next);
      if (this.next.squares < this.at.squares) {
        // Small steps make slow progress far from a solution, which is no local minimum.
        slow = !isShortened && this.next.squares > SLOW * this.at.squares ? slow + 1 : 0;
        [this.at, this.next] = [this.next, this.at];
        q.set(tried);
        damping = Math.max(damping * 0.2, 1e-9);
      } else {
        if (length < 1e-12) break;
        damping = Math.min(damping * 4, 1e9);
      }
    }
    const { squares, position, angle } = this.at;
    return { reached: squares <= least, position, angle, iterations };
  }

  /** Moves the robot's joints to the positions that the last call of `solve` found. */
  apply(): void {
    this.robot.setPositions(this.positions());
  }

  private linearise(q: Float64Array, goal: Goal, set: Parameters, out: Linear): void {
    const { chain, error, places } = this;
    chain.jacobian(q);
    const { tip, columns } = chain;
    error.fill(0);
    const [position, rotation] = [goal.position ? set.positionWeight : 0, goal.orientation ? set.rotationWeight : 0];
    if (goal.position) {
      error[0] = goal.position.x - tip[3]!;
      error[1] = goal.position.y - tip[7]!;
      error[2] = goal.position.z - tip[11]!;
    }
    if (goal.orientation) missingTurn(this.wanted, tip, error);
    out.position = Math.hypot(error[0]!, error[1]!, error[2]!);
    out.angle = Math.hypot(error[3]!, error[4]!, error[5]!);
    for (let k = 0; k < 3; k += 1) {
      error[k] = error[k]! * position;
      error[k + 3] = error[k + 3]! * rotation;
    }
    out.squares = 0;
    for (let k = 0; k < 6; k += 1) out.squares += error[k]! ** 2;
    const size = places.length;
    const [pp, rr] = [position * position, rotation * rotation];
    for (let i = 0; i < size; i += 1) {
      const a = 6 * places[i]!;
      let gradient = 0;
      for (let k = 0; k < 6; k += 1) gradient += columns[a + k]! * error[k]! * (k < 3 ? position : rotation);
      out.gradient[i] = gradient;
      for (let j = 0; j <= i; j += 1) {
        const b = 6 * places[j]!;
        out.normal[i * size + j] =
          pp * (columns[a]! * columns[b]! + columns[a + 1]! * columns[b + 1]! + columns[a + 2]! * columns[b + 2]!) +
          rr * (columns[a + 3]! * columns[b + 3]! + columns[a + 4]! * columns[b + 4]! + columns[a + 5]! * columns[b + 5]!);
      }
    }
  }

  /**
   * Finds the step that solves (A + damping) x = b as well as possible within limits: coordinates that would exceed theirs stop there,
   * and the others compensate. Returns false if there is none.
   */
  private bounded(damping: number): boolean {
    const { variables, places, q, rhs, step, stops, free, at } = this;
    const size = variables.length;
    for (let k = 0; k < size; k += 1) {
      const { lower, upper, turns } = variables[k]!;
      const here = q[places[k]!]!;
      const isStopped = (here <= lower && rhs[k]! < 0) || (here >= upper && rhs[k]! > 0);
      free[k] = !isStopped || turns ? 1 : 0;
      stops[k] = 0;
    }
    for (;;) {
      step.set(rhs);
      for (let i = 0; i < size; i += 1) {
        for (let c = 0; c < size; c += 1) {
          if (free[c] || stops[c] === 0) continue;
          step[i] = step[i]! - at.normal[Math.max(i, c) * size + Math.min(i, c)]! * stops[c]!;
        }
      }
      if (!this.cholesky(damping)) return false;
      let over = false;
      for (let k = 0; k < size; k += 1) {
        const { lower, upper, turns } = variables[k]!;
        const from = q[places[k]!]!;
        const to = from + step[k]!;
        if (!free[k] || turns || (to >= lower && to <= upper)) continue;
        free[k] = 0;
        stops[k] = clamp(to, lower, upper) - from;
        over = true;
      }
      if (!over) break;
    }
    for (let k = 0; k < size; k += 1) if (!free[k]) step[k] = stops[k]!;
    return true;
  }

  /** Solves for the free coordinates by a Cholesky factorisation; `step` is the right-hand side, then the solution. */
  private cholesky(damping: number): boolean {
    const { factor, free, step, at } = this;
    const size = step.length;
    factor.set(at.normal);
    for (let i = 0; i < size; i += 1) {
      if (!free[i]) {
        step[i] = 0;
        continue;
      }
      for (let j = 0; j <= i; j += 1) {
        if (!free[j]) continue;
        let sum = factor[i * size + j]!;
        for (let k = 0; k < j; k += 1) if (free[k]) sum -= factor[i * size + k]! * factor[j * size + k]!;
        if (i !== j) factor[i * size + j] = sum / factor[j * size + j]!;
        else {
          const pivot = sum + damping;
          if (!(pivot > 0) || !Number.isFinite(pivot)) return false;
          factor[i * size + i] = Math.sqrt(pivot);
        }
      }
    }
    for (let i = 0; i < size; i += 1) {
      if (!free[i]) continue;
      let sum = step[i]!;
      for (let k = 0; k < i; k += 1) if (free[k]) sum -= factor[i * size + k]! * step[k]!;
      step[i] = sum / factor[i * size + i]!;
    }
    for (let i = size - 1; i >= 0; i -= 1) {
      if (!free[i]) continue;
      let sum = step[i]!;
      for (let k = i + 1; k < size; k += 1) if (free[k]) sum -= factor[k * size + i]! * step[k]!;
      step[i] = sum / factor[i * size + i]!;
    }
    return true;
  }
}

const clamp = (value: number, lower: number, upper: number) => Math.min(Math.max(value, lower), upper);

/** Clamps to a coordinate's range, or moves by a full turn if that is within. */
function within({ lower, upper, turns }: Coordinate, position: number): number {
  const turn = 2 * Math.PI;
  if (turns && position > upper) return Math.max(lower, position - turn * Math.ceil((position - upper) / turn));
  if (turns && position < lower) return Math.min(upper, position + turn * Math.ceil((lower - position) / turn));
  return clamp(position, lower, upper);
}

/** Returns the rotation matrix of a quaternion, by rows. */
function matrixOf(quaternion: Quaternion, out: Float64Array): void {
  const { x, y, z, w } = quaternion.clone().normalize();
  out.set([
    1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
    2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
    2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
  ]); // prettier-ignore
}

/** Writes axis times angle of the rotation from the tip (rows of 3 by 4) to the target into `error`, from its fourth element on. */
function missingTurn(wanted: Float64Array, tip: Float64Array, error: Float64Array): void {
  const m = (r: number, c: number) =>
    wanted[3 * r]! * tip[4 * c]! + wanted[3 * r + 1]! * tip[4 * c + 1]! + wanted[3 * r + 2]! * tip[4 * c + 2]!;
  const [x, y, z] = [m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1)];
  const [a, b, c] = [m(0, 0), m(1, 1), m(2, 2)];
  const [sine, cosine] = [0.5 * Math.hypot(x, y, z), 0.5 * (a + b + c - 1)];
  if (sine < 1e-4 && cosine < 0) {
    // Near half a turn the sine gives a poor axis: the largest column of (M + 1) / 2 is parallel to it.
    const largest = a >= b && a >= c ? 0 : b >= c ? 1 : 2;
    const axis = [0, 1, 2].map((r) => (r === largest ? m(r, r) + 1 : 0.5 * (m(r, largest) + m(largest, r))));
    const length = Math.hypot(...axis);
    const angle = Math.atan2(sine, cosine);
    for (let k = 0; k < 3; k += 1) error[3 + k] = (axis[k]! / length) * angle;
    return;
  }
  const factor = sine < 1e-9 ? 0.5 : (0.5 * Math.atan2(sine, cosine)) / sine;
  [error[3], error[4], error[5]] = [x * factor, y * factor, z * factor];
}
