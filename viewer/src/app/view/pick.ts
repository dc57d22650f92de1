// Clicking a part selects its link, clicking beside the robot clears the selection; hovering over a part highlights its joint.

import { Mesh, type Object3D, Raycaster, Vector2, type Vector3 } from 'three';
import type { Fleet } from '../fleet.js';
import type { Model } from '../model.js';
import type { State } from '../state.js';
import type { Show } from './show.js';
import type { Stage } from './stage.js';

/** A pointer that moved farther than this, in CSS pixels, turned the camera. */
const STILL = 4;
/** Delay in milliseconds before hovering counts. */
const REST_MS = 60;

/** A part at a point of the picture. */
export interface Hit {
  key: string;
  link: string;
  /** The hit point in the world. */
  point: Vector3;
  distance: number;
}

/** Makes parts of robots selectable with the pointer. `opened`: called after a click selects a link. */
export function pickable(
  canvas: HTMLCanvasElement,
  state: State,
  fleet: Fleet,
  stage: Stage,
  show: Show,
  opened: () => void,
): void {
  const at = (event: PointerEvent) => pointer(event, canvas);
  let down: { x: number; y: number } | null = null;
  let resting = 0;
  canvas.addEventListener('pointerdown', (event) => {
    down = event.isPrimary && event.button === 0 ? { x: event.clientX, y: event.clientY } : null;
  });
  canvas.addEventListener('pointerup', (event) => {
    if (!down || Math.hypot(event.clientX - down.x, event.clientY - down.y) > STILL) return;
    down = null;
    if (state.tool === 'measure') return;
    const found = pick(at(event), stage, show.models());
    if (found) fleet.choose(found.key);
    state.select(found);
    if (found && state.tool === 'look') opened();
  });
  const forget = () => {
    clearTimeout(resting);
    state.point(null);
  };
  canvas.addEventListener('pointermove', (event) => {
    clearTimeout(resting);
    if (event.pointerType === 'touch' || event.buttons !== 0) return;
    resting = window.setTimeout(() => {
      const found = pick(at(event), stage, show.models());
      const model = found && fleet.models.get(found.key);
      const joint = found && model?.movedBy(model.link(found.link));
      state.point(found && joint ? { key: found.key, joint: joint.name } : null);
    }, REST_MS);
  });
  canvas.addEventListener('pointerleave', forget);
  canvas.addEventListener('pointerdown', forget, { capture: true });
}

/** The point of the picture that a pointer is at, from -1 to 1. */
export function pointer(event: PointerEvent, canvas: HTMLCanvasElement): Vector2 {
  const box = canvas.getBoundingClientRect();
  return new Vector2(((event.clientX - box.left) / box.width) * 2 - 1, 1 - ((event.clientY - box.top) / box.height) * 2);
}

/** The link at a point of the picture. */
export function pick(at: Vector2, stage: Stage, models: Iterable<readonly [string, Model]>): Hit | null {
  const ray = new Raycaster();
  ray.setFromCamera(at, stage.eye.camera);
  let nearest: Hit | null = null;
  for (const [key, model] of models) {
    for (const { object, distance, point } of ray.intersectObject(model.holder, true)) {
      if (!(object instanceof Mesh) || !visible(object) || (nearest && distance >= nearest.distance)) continue;
      const link = model.linkAt(object);
      if (link) nearest = { distance, point, key, link: link.name };
    }
  }
  return nearest;
}

function visible(object: Object3D): boolean {
  for (let at: Object3D | null = object; at; at = at.parent) if (!at.visible) return false;
  return true;
}
