// Keeps the picture up to date with the state: visible robots, their look, the selection. Decides nothing itself.

import { Box3, type Mesh, Vector3 } from 'three';
import type { Fleet } from '../fleet.js';
import type { Model } from '../model.js';
import type { Preset, State } from '../state.js';
import type { Theme } from '../theme.js';
import { sizeOf } from './joint-mark.js';
import { corners } from './corners.js';
import { Look, meshes } from './look.js';
import { Marks } from './marks.js';
import type { Stage } from './stage.js';

interface Shown {
  model: Model;
  look: Look;
}

/** The length of the selected link's axes as a share of the robot's size: within the mark of its joint. */
const FRAME = 0.07;

/** The robots in the picture. */
export class Show {
  private readonly shown = new Map<string, Shown>();
  private readonly marks = new Marks();
  private readonly origin: Mesh;
  /** The robots that the camera was last fitted to. */
  private fitted = '';
  /** Whether all of the robot was in view after the user moved the camera: then it stays in view. */
  private whole = true;
  /** Distance and target of the last fit; a camera that was only turned since then fits again. */
  private framed: number[] = [];
  private isToFit = false;
  /** The position of the first robot in the last frame. */
  private readonly stood = new Vector3();
  private isMovedByHand = false;

  constructor(
    private readonly state: State,
    private readonly fleet: Fleet,
    private readonly stage: Stage,
    private readonly theme: Theme,
  ) {
    this.origin = this.marks.origin(0.2);
    stage.scene.add(this.origin);
    state.onAny(['current', 'model'], () => this.arrange());
    state.on('pose', (key) => {
      if (this.shown.has(key)) stage.invalidate({ shadows: true });
    });
    state.onAny(['options', 'hidden'], () => this.look());
    state.on('placed', (key) => {
      if (!this.shown.has(key)) return;
      this.isToFit = true;
      stage.request();
    });
    stage.beforeFrame(() => {
      this.followBase();
      this.keepInView();
    });
    stage.afterFrame(() => this.judge());
    stage.onResize(() => {
      if (this.isFitted()) this.refit(true);
      else if (this.whole && !stage.eye.sees(this.points())) this.refit(true);
    });
    stage.eye.controls.addEventListener('end', () => (this.isMovedByHand = true));
    state.onAny(['selection', 'tool'], () => this.highlight());
    state.on('theme', () => this.paint());
    this.paint();
    this.look();
  }

  private paint(): void {
    this.stage.paint(this.theme.colors());
  }

  /** Places the visible robots beside each other, along ROS's y. */
  private arrange(): void {
    this.exchange();
    const models = this.fleet.shown().flatMap((key) => this.fleet.models.get(key) ?? []);
    const boxes = models.map((model) => {
      model.holder.position.set(0, 0, 0);
      return new Box3().setFromPoints(corners(model));
    });
    const widths = boxes.map((box) => (box.isEmpty() ? 1 : box.max.x - box.min.x));
    const gap = 0.35 * Math.max(0, ...widths);
    let left = 0;
    models.forEach((model, at) => {
      const box = boxes[at] ?? new Box3();
      if (models.length > 1 && !box.isEmpty()) model.holder.position.x = left - box.max.x;
      left -= (widths[at] ?? 0) + gap;
      // Feet on common ground.
      if (models.length > 1 && !box.isEmpty()) model.holder.position.y = -box.min.y;
    });
    this.look();
    this.settle();
  }

  /** Removes old models and adds new ones. */
  private exchange(): void {
    const wanted = new Map(
      this.fleet.shown().flatMap((key) => {
        const model = this.fleet.models.get(key);
        return model ? [[key, model] as const] : [];
      }),
    );
    for (const [key, { model, look }] of this.shown) {
      if (wanted.get(key) === model) continue;
      this.marks.hideFrames(model);
      this.marks.select(null, 0);
      this.stage.outline.meshes = [];
      model.holder.removeFromParent();
      look.dispose();
      this.shown.delete(key);
    }
    for (const [key, model] of wanted) {
      if (this.shown.has(key)) continue;
      this.shown.set(key, { model, look: new Look(model) });
      this.stage.scene.add(model.holder);
    }
  }

  /** Updates ground and light; the camera only if other robots are shown than before. */
  private settle(): void {
    const points = this.points();
    const box = new Box3().setFromPoints(points);
    if (box.isEmpty()) return;
    this.stage.enclose(box, Math.min(0, box.min.y));
    const size = box.getSize(new Vector3()).length();
    this.origin.scale.setScalar(size * 0.12);
    const keys = [...this.shown.keys()].sort().join('\n');
    if (keys === this.fitted) return;
    this.refit(!this.fitted, this.fitted ? null : 'iso');
    this.fitted = keys;
  }

  private look(): void {
    const { options } = this.state;
    for (const [key, { model, look }] of this.shown) {
      look.apply(options, this.state.hidden(key));
      this.marks.showFrames(model, options);
    }
    this.stage.ground.gridShown = options.grid;
    this.stage.ground.shadowShown = options.shadows;
    // With robots beside each other, none is at the origin.
    this.origin.visible = options.grid && this.shown.size < 2;
    this.stage.shadows = options.shadows;
    this.highlight();
  }

  private highlight(): void {
    const { selection, options, tool } = this.state;
    const model = selection ? this.shown.get(selection.key)?.model : undefined;
    const link = selection && model?.link(selection.link);
    const shapes = link ? [...(options.visual ? link.visuals : []), ...(options.collision ? link.collisions : [])] : [];
    this.stage.outline.meshes = shapes.flatMap(meshes).filter((mesh) => !mesh.userData['mark']);
    // The handles of the tool have the same place.
    this.marks.select(model && link && tool !== 'move' ? link : null, model ? FRAME * sizeOf(model) : 0);
    this.stage.invalidate();
  }

  /** The models in the picture. */
  models(): [string, Model][] {
    return [...this.shown].map(([key, { model }]) => [key, model]);
  }

  /** Fits everything into view, from a preset's direction or the current one. */
  fit(preset: Preset | null): void {
    this.refit(false, preset);
  }

  private refit(atOnce: boolean, preset: Preset | null = null): void {
    // The points are where the robot is now: the next frame must not move the camera by what it drove since the last one.
    this.followBase();
    this.framed = this.stage.eye.fit(this.points(), preset, atOnce) ?? [];
    this.whole = true;
  }

  /** Whether the camera was only turned since the last fit. */
  private isFitted(): boolean {
    const now = this.stage.eye.framing();
    return this.framed.length > 0 && now.every((value, k) => Math.abs(value - (this.framed[k] ?? 0)) < 1e-2 * (now[0] ?? 1));
  }

  /** Moves ground, light and, if it follows, the camera with a robot that drives. */
  private followBase(): void {
    const at = new Vector3();
    const [[, model] = []] = this.models();
    if (model) at.setFromMatrixPosition(model.base.matrix);
    const moved = at.clone().sub(this.stood);
    if (moved.lengthSq() === 0) return;
    this.stood.copy(at);
    if (this.state.options.follow) {
      this.stage.eye.shift(moved);
      if (this.framed.length > 0) this.framed = this.framed.map((value, k) => value + (k > 0 ? moved.getComponent(k - 1) : 0));
    }
    const box = new Box3().setFromPoints(this.points());
    if (!box.isEmpty()) this.stage.enclose(box, Math.min(0, box.min.y));
  }

  /** Fits again if a pose, a recording or joint states moved the robot out of view. */
  private keepInView(): void {
    // A camera that the user moved since the last frame is judged before it is fitted.
    if (!this.isToFit || this.isMovedByHand || this.stage.eye.moves) return;
    this.isToFit = false;
    if (this.whole && !this.stage.eye.sees(this.points())) this.refit(false);
  }

  /** Once the user has moved the camera, whether all of the robot is in view. */
  private judge(): void {
    if (!this.isMovedByHand || this.stage.eye.moves) return;
    this.isMovedByHand = false;
    this.whole = this.stage.eye.sees(this.points());
  }

  private points(): Vector3[] {
    return this.models().flatMap(([key, model]) => corners(model, this.state.options, this.state.hidden(key)));
  }
}
