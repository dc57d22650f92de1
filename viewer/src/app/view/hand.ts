// Moving a robot with the pointer: a grabbed link follows the pointer, or handles rotate and move it, and the joints above it follow within
// their limits. Moves the picture only, never a robot.

import { Matrix4, Object3D, Plane, Quaternion, Raycaster, Vector3 } from 'three';
import { TransformControls } from 'three/addons/controls/TransformControls.js';
import { Problem, type Goal, type Outcome } from '../../kinematics/lm.js';
import type { Link, Robot } from '../../loader/index.js';
import type { Fleet } from '../fleet.js';
import type { Model } from '../model.js';
import type { State } from '../state.js';
import { AXIS_COLORS } from './marks.js';
import { pick, pointer } from './pick.js';
import type { Show } from './show.js';
import type { Stage } from './stage.js';

/** A pointer that moved less than this, in CSS pixels, selects. */
const STILL = 4;
/** Step of a key in metres; with rotation handles, in radians. */
const KEY_METRES = 0.01;
const KEY_RADIANS = 0.05;

/** The grabbed link. */
interface Grip {
  key: string;
  problem: Problem;
  robot: Robot;
  /** In the world; converted to the robot's frame when it is solved. */
  goal: Goal;
  /** The positions of all joints before, for cancelling. */
  before: Record<string, number | number[]>;
  /** Whether there is something to solve before the next frame. */
  isNew: boolean;
}

/** The hand. */
export class Hand {
  private grip: Grip | null = null;
  private down: { id: number; x: number; y: number; plane: Plane; moved: boolean; hit: { key: string; link: string } } | null = null;
  private readonly handles: TransformControls;
  private readonly target = new Object3D();
  private readonly ray = new Raycaster();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly state: State,
    private readonly fleet: Fleet,
    private readonly stage: Stage,
    private readonly show: Show,
  ) {
    this.handles = new TransformControls(stage.eye.camera, canvas);
    this.handles.size = 0.8;
    // ROS's x, y, z are glTF's z, x, y.
    const [x, y, z] = AXIS_COLORS;
    this.handles.setColors(y, z, x, '#ffb224');
    const helper = this.handles.getHelper();
    helper.traverse((object) => (object.userData['mark'] = true));
    stage.scene.add(this.target, helper);
    this.handles.enabled = false;
    this.handles.addEventListener('change', () => stage.invalidate());
    this.handles.addEventListener('dragging-changed', ({ value }) => {
      stage.eye.controls.enabled = value !== true;
      if (value === true) this.grabHandles();
      else this.release();
    });
    this.handles.addEventListener('objectChange', () => this.place());
    // Before the camera gets the pointer.
    canvas.addEventListener('pointerdown', (event) => this.press(event), { capture: true });
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.lift(event));
    canvas.addEventListener('pointercancel', (event) => event.pointerId === this.down?.id && this.giveUp());
    addEventListener('keydown', (event) => this.escape(event), { capture: true });
    canvas.addEventListener('keydown', (event) => this.key(event), { capture: true });
    state.onAny(['tool', 'selection', 'model', 'current'], () => this.arrange());
    state.on('pose', (key) => {
      if (key === state.selection?.key && !this.handles.dragging) this.seat();
    });
    // Joint states are published from now on.
    state.on('live', (key) => {
      if (key !== this.grip?.key || !fleet.live(key).following) return;
      fleet.takeOver(key);
      this.grip.isNew = true;
      stage.request();
    });
    stage.beforeFrame(() => this.work());
  }

  /** Whether the handles rotate or move the link. */
  set turning(turning: boolean) {
    this.handles.setMode(turning ? 'rotate' : 'translate');
  }

  get turning(): boolean {
    return this.handles.mode === 'rotate';
  }

  /** Shows handles on the selected link while links are moved by hand. */
  private arrange(): void {
    const found = this.state.tool === 'move' ? this.selected() : null;
    if (this.grip && (this.state.tool !== 'move' || !this.models().has(this.grip.key))) this.drop();
    this.canvas.dataset['tool'] = this.state.tool;
    const can = found !== null && new Problem(found.robot, found.link).variables.length > 0;
    this.handles.enabled = can;
    if (can) {
      this.handles.attach(this.target);
      this.seat();
    } else this.handles.detach();
    this.stage.invalidate();
  }

  private models(): Map<string, Model> {
    return new Map(this.show.models());
  }

  private selected(): { key: string; robot: Robot; link: Link } | null {
    const { selection } = this.state;
    return selection && this.find(selection.key, selection.link);
  }

  private find(key: string, name: string): { key: string; robot: Robot; link: Link } | null {
    const model = this.models().get(key);
    const link = model?.link(name);
    const robot = link && model?.robots.find((robot) => robot.links.includes(link));
    return link && robot ? { key, robot, link } : null;
  }

  /** Places the handles at the link. */
  private seat(): void {
    const found = this.selected();
    if (!found) return;
    found.link.node.updateWorldMatrix(true, false);
    found.link.node.matrixWorld.decompose(this.target.position, this.target.quaternion, new Vector3());
    this.stage.invalidate();
  }

  // ---- Dragging a link ----

  private press(event: PointerEvent): void {
    if (this.state.tool !== 'move' || !event.isPrimary || event.button !== 0) return;
    const at = pointer(event, this.canvas);
    if (this.handles.enabled) {
      // A touch does not hover before it presses.
      (this.handles as unknown as { pointerHover(at: object): void }).pointerHover({ x: at.x, y: at.y, button: -1 });
      if (this.handles.axis !== null) return;
    }
    const hit = pick(at, this.stage, this.show.models());
    const found = hit && this.find(hit.key, hit.link);
    if (!hit || !found) return;
    const point = found.link.node.worldToLocal(hit.point.clone());
    const problem = new Problem(found.robot, found.link, { point });
    if (problem.variables.length === 0) return;
    event.stopImmediatePropagation();
    this.state.point(null);
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    const facing = this.stage.eye.camera.getWorldDirection(new Vector3());
    const plane = new Plane().setFromNormalAndCoplanarPoint(facing, hit.point);
    this.down = { id: event.pointerId, x: event.clientX, y: event.clientY, plane, moved: false, hit };
    this.hold(found, problem, { position: hit.point.clone() });
  }

  private hold({ key, robot }: { key: string; robot: Robot }, problem: Problem, goal: Goal): void {
    const before = this.models().get(key)?.positions() ?? {};
    this.grip = { key, problem, robot, goal, before, isNew: false };
  }

  private move(event: PointerEvent): void {
    const { down, grip } = this;
    if (!down || !grip || event.pointerId !== down.id) return;
    if (!down.moved && Math.hypot(event.clientX - down.x, event.clientY - down.y) <= STILL) return;
    down.moved = true;
    this.ray.setFromCamera(pointer(event, this.canvas), this.stage.eye.camera);
    const at = this.ray.ray.intersectPlane(down.plane, new Vector3());
    if (!at) return;
    grip.goal = { position: at };
    grip.isNew = true;
    this.stage.request();
  }

  private lift(event: PointerEvent): void {
    const { down } = this;
    if (!down || event.pointerId !== down.id) return;
    // The last move is applied before the end.
    this.work();
    this.release();
    if (down.moved) return;
    this.fleet.choose(down.hit.key);
    this.state.select(down.hit);
  }

  /** Releases the link: the positions stay. */
  private release(): void {
    this.down = null;
    this.grip = null;
    this.state.stop(null);
    this.seat();
  }

  /** Releases the link without accessing the robot, which may be gone. */
  private drop(): void {
    this.down = null;
    this.grip = null;
    this.state.stop(null);
  }

  /** Releases the link and restores the positions. */
  private giveUp(): void {
    const { grip } = this;
    if (!grip) return;
    this.fleet.setPositions(grip.key, grip.before);
    if (this.handles.dragging) this.handles.reset();
    this.release();
  }

  private escape(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || !this.grip) return;
    event.preventDefault();
    event.stopPropagation();
    const dragging = this.handles.dragging;
    this.giveUp();
    if (!dragging) return;
    // Otherwise the handles would continue until the pointer is lifted.
    this.handles.dragging = false;
    this.handles.axis = null;
  }

  // ---- Handles and keys ----

  private grabHandles(): Problem | null {
    const found = this.selected();
    if (!found) return null;
    const problem = new Problem(found.robot, found.link);
    this.hold(found, problem, {});
    return problem;
  }

  /** The handles were moved. */
  private place(): void {
    const { grip } = this;
    if (!grip) return;
    grip.goal = { position: this.target.position.clone(), orientation: this.target.quaternion.clone() };
    grip.isNew = true;
    this.stage.request();
  }

  /** With shift, arrows and the page keys move the selected link relative to the camera, or rotate it. */
  private key(event: KeyboardEvent): void {
    if (this.state.tool !== 'move' || !event.shiftKey || event.ctrlKey || event.metaKey || event.altKey || this.grip) return;
    const [x, y, z] = KEYS[event.key] ?? [0, 0, 0];
    const found = this.selected();
    if ((!x && !y && !z) || !found || !this.handles.enabled) return;
    event.preventDefault();
    event.stopPropagation();
    const way = new Vector3(x, y, z).applyQuaternion(this.stage.eye.camera.quaternion);
    this.seat();
    if (this.turning) {
      const about = new Vector3(-y, x, -z).applyQuaternion(this.stage.eye.camera.quaternion);
      this.target.quaternion.premultiply(new Quaternion().setFromAxisAngle(about, KEY_RADIANS));
    } else this.target.position.addScaledVector(way, KEY_METRES);
    const problem = this.grabHandles();
    this.place();
    this.work();
    const stopped = problem?.stopped().map((joint) => joint.name) ?? [];
    this.release();
    if (stopped.length) this.state.stop({ key: found.key, joints: stopped });
  }

  // ---- Solving ----

  /** Moves a link towards a pose in the world, or without `orientation` to a position; null if no joint moves it. */
  moveTo(key: string, link: string, goal: Goal): Outcome | null {
    const found = this.find(key, link);
    const problem = found && new Problem(found.robot, found.link);
    if (!found || !problem || problem.variables.length === 0) return null;
    this.fleet.takeOver(key);
    const inRoot = inRootOf(found.robot, goal);
    let outcome = problem.solve(inRoot);
    if (!outcome.reached) outcome = problem.refine(inRoot);
    this.fleet.setPositions(key, problem.positions());
    return outcome;
  }

  /** Moves the link as near to its target as possible, once per frame. */
  private work(): void {
    const { grip } = this;
    if (!grip?.isNew) return;
    grip.isNew = false;
    const { key, problem, robot, goal } = grip;
    // Joint states may have been published meanwhile.
    this.fleet.takeOver(key);
    const outcome = problem.solve(inRootOf(robot, goal));
    this.fleet.setPositions(key, problem.positions());
    const stopped = problem.stopped().map((joint) => joint.name);
    this.state.stop(stopped.length ? { key, joints: stopped } : null);
    // A long way takes more than one frame.
    const off = outcome.position + outcome.angle;
    const far = !outcome.reached && Math.abs(off - (this.last ?? Infinity)) > 1e-5;
    this.last = outcome.reached ? null : off;
    if (far) {
      grip.isNew = true;
      this.stage.request();
    }
  }

  private last: number | null = null;
}

/** Converts a goal in the world to the robot's frame. */
export function inRootOf(robot: Robot, goal: Goal): Goal {
  robot.root.updateWorldMatrix(true, false);
  const inverse = new Matrix4().copy(robot.root.matrixWorld).invert();
  const inRoot: Goal = {};
  if (goal.position) inRoot.position = goal.position.clone().applyMatrix4(inverse);
  if (goal.orientation) inRoot.orientation = new Quaternion().setFromRotationMatrix(inverse).multiply(goal.orientation);
  return inRoot;
}

const KEYS: Record<string, [number, number, number]> = {
  ArrowLeft: [-1, 0, 0],
  ArrowRight: [1, 0, 0],
  ArrowUp: [0, 1, 0],
  ArrowDown: [0, -1, 0],
  PageUp: [0, 0, -1],
  PageDown: [0, 0, 1],
};

