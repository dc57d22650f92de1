// The camera: orbit, presets in ROS's directions, and fitting everything into view.

import { Box3, PerspectiveCamera, Sphere, Spherical, Vector3 } from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import type { Preset } from '../state.js';

/** From the robot to the camera, in glTF's axes: x is ROS's y (left), y its z (up), z its x (forward). */
const DIRECTIONS: Record<Preset, readonly [number, number, number]> = {
  front: [0, 0.12, 1],
  back: [0, 0.12, -1],
  left: [1, 0.12, 0],
  right: [-1, 0.12, 0],
  // Not exactly from above, so that forward is up in the picture.
  top: [0, 1, -1e-3],
  iso: [0.8, 0.62, 1],
};

const MOVE_MS = 350;

/** Factor of the distance, for a margin. */
const MARGIN = 1.12;

interface Move {
  from: { position: Vector3; target: Vector3 };
  to: { position: Vector3; target: Vector3 };
  start: number | null;
}

/** The camera and how a person moves it. */
export class Eye {
  readonly camera = new PerspectiveCamera(35, 1, 0.01, 100);
  readonly controls: OrbitControls;
  private move: Move | null = null;
  /** The part of the picture's height that no control covers. */
  private free = 1;
  /** The visible range of y in normalised device coordinates, between the covered margins. */
  private range: readonly [number, number] = [-1, 1];

  constructor(
    canvas: HTMLCanvasElement,
    changed: () => void,
    private readonly calm: () => boolean,
  ) {
    this.camera.position.set(0.8, 0.62, 1).multiplyScalar(3);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = !calm();
    this.controls.dampingFactor = 0.12;
    this.controls.maxPolarAngle = Math.PI * 0.98;
    this.controls.addEventListener('change', changed);
    this.controls.addEventListener('start', () => {
      this.move = null;
      this.controls.enableDamping = !this.calm();
    });
  }

  /** Sets the picture's size in CSS pixels, and the covered margins at top and bottom: the target is centred between them. */
  resize(width: number, height: number, covered: { top: number; bottom: number }): void {
    this.camera.aspect = width / height;
    this.free = Math.max(0.15, 1 - (covered.top + covered.bottom) / height);
    this.range = [(2 * covered.bottom) / height - 1, 1 - (2 * covered.top) / height];
    this.camera.setViewOffset(width, height, 0, (covered.bottom - covered.top) / 2, width, height);
  }

  /** Sets the near and far planes for a scene of this radius. */
  scale(radius: number): void {
    this.camera.near = radius / 200;
    this.camera.far = radius * 200;
    this.controls.minDistance = radius / 20;
    this.controls.maxDistance = radius * 40;
    this.camera.updateProjectionMatrix();
  }

  /** Brings points into view, from a preset's direction or the current one. Returns distance and target, as `framing`. */
  fit(points: readonly Vector3[], preset: Preset | null, atOnce = false): number[] | undefined {
    if (points.length === 0) return undefined;
    const { center, radius } = new Box3().setFromPoints([...points]).getBoundingSphere(new Sphere());
    const direction = preset ? new Vector3(...DIRECTIONS[preset]) : this.camera.position.clone().sub(this.controls.target);
    if (direction.lengthSq() < 1e-12) direction.set(...DIRECTIONS.iso);
    direction.normalize();
    const right = new Vector3().crossVectors(this.camera.up, direction).normalize();
    const up = new Vector3().crossVectors(direction, right);
    const seen = points
      .map((point) => point.clone().sub(center))
      .map((at) => [at.dot(right), at.dot(up), at.dot(direction)] as const);
    const middle = (k: 0 | 1) => (least(seen.map((at) => at[k])) + most(seen.map((at) => at[k]))) / 2;
    const [x, y] = [middle(0), middle(1)];
    // The distance at which each point is within the picture's height and width.
    const tangent = Math.tan((this.camera.fov * Math.PI) / 360);
    const needed = seen.map(
      (at) => Math.max(Math.abs(at[1] - y) / this.free, Math.abs(at[0] - x) / this.camera.aspect) / tangent + at[2],
    );
    const distance = Math.max(most(needed) * MARGIN, radius * 0.5, this.controls.minDistance);
    const target = center.addScaledVector(right, x).addScaledVector(up, y);
    this.go(target.clone().addScaledVector(direction, distance), target, atOnce);
    return [distance, ...target.toArray()];
  }

  /** Whether all points are in the picture, where no control covers it. */
  sees(points: readonly Vector3[]): boolean {
    this.camera.updateMatrixWorld();
    const [low, high] = this.range;
    return points.every((point) => {
      const { x, y, z } = point.clone().project(this.camera);
      return Math.abs(x) <= 1 && y >= low && y <= high && z < 1;
    });
  }

  /** Moves camera and target together. */
  shift(by: Vector3): void {
    for (const at of [this.camera.position, this.controls.target]) at.add(by);
    for (const end of [this.move?.from, this.move?.to]) for (const at of end ? [end.position, end.target] : []) at.add(by);
    this.controls.dispatchEvent({ type: 'change' });
  }

  /** Whether the camera is moving by itself. */
  get moves(): boolean {
    return this.move !== null;
  }

  /** Distance and target of the camera: what a turn leaves. */
  framing(): number[] {
    return [this.camera.position.distanceTo(this.controls.target), ...this.controls.target.toArray()];
  }

  /** Sets position and target at once. */
  look(position: Vector3, target: Vector3): void {
    this.go(position, target, true);
    this.controls.dispatchEvent({ type: 'end' });
  }

  /** Moves there, in one step if the user prefers reduced motion. */
  private go(position: Vector3, target: Vector3, atOnce: boolean): void {
    const from = { position: this.camera.position.clone(), target: this.controls.target.clone() };
    this.move = { from, to: { position, target: target.clone() }, start: null };
    if (atOnce || this.calm()) this.step(1);
    this.controls.dispatchEvent({ type: 'change' });
  }

  private step(part: number): void {
    if (!this.move) return;
    const { from, to } = this.move;
    const eased = part * part * (3 - 2 * part);
    this.controls.target.lerpVectors(from.target, to.target, eased);
    // On an arc about the target, so that the robot keeps its size during the movement.
    const [a, b] = [from.position.clone().sub(from.target), to.position.clone().sub(to.target)];
    const length = a.length() + (b.length() - a.length()) * eased;
    const offset = a.normalize().lerp(b.clone().normalize(), eased);
    if (offset.lengthSq() < 1e-6) offset.set(0, 1, 0).addScaledVector(b, 1e-3);
    this.camera.position.copy(this.controls.target).addScaledVector(offset.normalize(), length);
    if (part < 1) return;
    this.camera.position.copy(to.position);
    this.move = null;
  }

  /** Rotates about the target by angles in radians, and scales the distance. */
  turn(about: number, up: number, nearer: number): void {
    this.move = null;
    const round = new Spherical().setFromVector3(this.camera.position.clone().sub(this.controls.target));
    round.theta += about;
    round.phi = Math.min(this.controls.maxPolarAngle, Math.max(1e-3, round.phi + up));
    round.radius = Math.min(this.controls.maxDistance, Math.max(this.controls.minDistance, round.radius * nearer));
    this.camera.position.copy(this.controls.target).add(new Vector3().setFromSpherical(round));
    for (const type of ['change', 'end'] as const) this.controls.dispatchEvent({ type });
  }

  /** Advances the movement to this time. Returns whether it continues. */
  update(time: number): boolean {
    if (this.move) {
      this.move.start ??= time;
      this.step(Math.min(1, (time - this.move.start) / MOVE_MS));
    }
    const turned = this.controls.update();
    return turned || this.move !== null;
  }
}

// A loop, since a call cannot have arbitrarily many arguments.
const least = (values: number[]) => values.reduce((a, b) => Math.min(a, b), Infinity);
const most = (values: number[]) => values.reduce((a, b) => Math.max(a, b), -Infinity);
