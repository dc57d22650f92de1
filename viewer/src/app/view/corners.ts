// The extent of a model's drawn shapes.

import { Box3, Vector3 } from 'three';
import type { Model } from '../model.js';
import { meshes } from './look.js';

/**
 * Returns the corners of the bounding boxes of a model's drawn shapes, the visual ones unless others are drawn; of its frames, with a
 * margin, if none is.
 */
export function corners(model: Model, shown = { visual: true, collision: false }, hidden: ReadonlySet<string> = new Set()): Vector3[] {
  model.holder.updateMatrixWorld(true);
  const collisions = new Set(model.links.flatMap((link) => link.collisions).flatMap(meshes));
  const left = new Set(model.links.filter(({ name }) => hidden.has(name)).flatMap(({ visuals, collisions }) => [...visuals, ...collisions]).flatMap(meshes));
  const all = meshes(model.holder).filter((mesh) => !mesh.userData['mark'] && !left.has(mesh));
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
