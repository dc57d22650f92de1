// Keeps the picture up to date with the state: visible robots, their look, the selection. Decides nothing itself.

import { Box3, type Mesh, Vector3 } from 'three';
import type { Fleet } from '../fleet.js';
import type { Model } from '../model.js';
import type { Preset, State } from '../state.js';
import type { Theme } from '../theme.js';
import { Look, meshes } from './look.js';
import { Marks } from './marks.js';
import type { Stage } from './stage.js';

interface Shown {
  model: Model;
  look: Look;
}

/** The robots in the picture. */
export class Show {
  private readonly shown = new Map<string, Shown>();
  private readonly marks = new Marks();
  private readonly origin: Mesh;
  /** The robots that the camera was last fitted to. */
  private fitted = '';

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
    state.onAny(['options'], () => this.look());
    state.on('selection', () => this.highlight());
    state.on('theme', () => this.paint());
    this.paint();
    this.look();
  }

  private paint(): void {
    const colors = this.theme.colors();
    this.marks.color = colors.accent;
    this.stage.paint(colors);
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
      this.marks.highlight(null, this.state.options);
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
    this.stage.eye.fit(points, this.fitted ? null : 'iso', !this.fitted);
    this.fitted = keys;
  }

  private look(): void {
    const { options } = this.state;
    for (const { model, look } of this.shown.values()) {
      look.apply(options);
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
    const { selection, options } = this.state;
    const link = selection && this.shown.get(selection.key)?.model.link(selection.link);
    this.marks.highlight(link ?? null, options);
    this.stage.invalidate();
  }

  /** The models in the picture. */
  models(): [string, Model][] {
    return [...this.shown].map(([key, { model }]) => [key, model]);
  }

  /** Fits everything into view, from a preset's direction or the current one. */
  fit(preset: Preset | null): void {
    this.stage.eye.fit(this.points(), preset);
  }

  private points(): Vector3[] {
    return this.models().flatMap(([, model]) => corners(model, this.state.options));
  }
}

/**
 * Returns the corners of the bounding boxes of a model's drawn shapes, the visual ones unless others are drawn; of its frames, with a
 * margin, if none is.
 */
function corners(model: Model, shown = { visual: true, collision: false }): Vector3[] {
  model.holder.updateMatrixWorld(true);
  const collisions = new Set(model.links.flatMap((link) => link.collisions).flatMap(meshes));
  const all = meshes(model.holder).filter((mesh) => !mesh.userData['mark']);
  const visuals = all.filter((mesh) => !collisions.has(mesh));
  const seen = all.filter((mesh) => (collisions.has(mesh) ? shown.collision : shown.visual));
  const drawn = [seen, visuals, all].find((meshes) => meshes.length) ?? [];
  const points = drawn.flatMap((mesh) => {
    if (!mesh.geometry.boundingBox) mesh.geometry.computeBoundingBox();
    const { min, max } = mesh.geometry.boundingBox ?? new Box3();
    if (!(min.x <= max.x)) return [];
    const ends = [min, max] as const;
    const corner = (x: 0 | 1, y: 0 | 1, z: 0 | 1) => new Vector3(ends[x].x, ends[y].y, ends[z].z).applyMatrix4(mesh.matrixWorld);
    return SIDES.flatMap((x) => SIDES.flatMap((y) => SIDES.map((z) => corner(x, y, z))));
  });
  if (points.length) return points.filter((point) => Number.isFinite(point.lengthSq()));
  const room = new Vector3(0.1, 0.1, 0.1);
  return model.links.flatMap(({ node }) => {
    const at = new Vector3().setFromMatrixPosition(node.matrixWorld);
    return [at.clone().add(room), at.clone().sub(room)];
  });
}

const SIDES = [0, 1] as const;
