// Clicking a part selects its link; clicking beside the robot selects nothing.

import { Mesh, type Object3D, Raycaster, Vector2 } from 'three';
import type { Fleet } from '../fleet.js';
import type { State } from '../state.js';
import type { Show } from './show.js';
import type { Stage } from './stage.js';

/** A pointer that moved further than this, in CSS pixels, turned the camera. */
const STILL = 4;

/** Makes parts of robots selectable with the pointer. */
export function pickable(canvas: HTMLCanvasElement, state: State, fleet: Fleet, stage: Stage, show: Show): void {
  let down: { x: number; y: number } | null = null;
  canvas.addEventListener('pointerdown', (event) => {
    down = event.isPrimary && event.button === 0 ? { x: event.clientX, y: event.clientY } : null;
  });
  canvas.addEventListener('pointerup', (event) => {
    if (!down || Math.hypot(event.clientX - down.x, event.clientY - down.y) > STILL) return;
    down = null;
    const box = canvas.getBoundingClientRect();
    const at = new Vector2(((event.clientX - box.left) / box.width) * 2 - 1, 1 - ((event.clientY - box.top) / box.height) * 2);
    const found = pick(at, stage, show);
    if (found) fleet.choose(found.key);
    state.select(found);
  });
}

/** The link at a point of the picture. */
function pick(at: Vector2, stage: Stage, show: Show): { key: string; link: string } | null {
  const ray = new Raycaster();
  ray.setFromCamera(at, stage.eye.camera);
  let nearest: { distance: number; key: string; link: string } | null = null;
  for (const [key, model] of show.models()) {
    for (const { object, distance } of ray.intersectObject(model.holder, true)) {
      if (!(object instanceof Mesh) || !visible(object) || (nearest && distance >= nearest.distance)) continue;
      const link = model.linkAt(object);
      if (link) nearest = { distance, key, link: link.name };
    }
  }
  return nearest && { key: nearest.key, link: nearest.link };
}

function visible(object: Object3D): boolean {
  for (let at: Object3D | null = object; at; at = at.parent) if (!at.visible) return false;
  return true;
}
