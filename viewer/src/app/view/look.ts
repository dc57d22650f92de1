// How a model is drawn: visual and collision shapes, transparency, wireframe. Puts everything back when it is turned off.

import { Mesh, MeshStandardMaterial, type Material, type Object3D } from 'three';
import type { Model } from '../model.js';
import type { Options } from '../state.js';

/** Collision shapes are drawn in one colour, so that nobody takes them for the robot. */
const COLLISION = 0xf28c28;

type Drawn = Material & { wireframe?: boolean };

/** A material as the file has it. */
interface Original {
  opacity: number;
  transparent: boolean;
  depthWrite: boolean;
}

/** The look of one model. */
export class Look {
  private readonly originals = new Map<Drawn, Original>();
  private readonly visuals: Object3D[];
  private readonly collisions: Object3D[];
  private readonly solid = new MeshStandardMaterial({
    color: COLLISION,
    roughness: 0.7,
    transparent: true,
    opacity: 0.38,
    depthWrite: false,
    // In front of a visual shape with the same surface.
    polygonOffset: true,
    polygonOffsetFactor: -1,
    polygonOffsetUnits: -1,
  });

  constructor(model: Model) {
    this.visuals = model.links.flatMap((link) => link.visuals);
    this.collisions = model.links.flatMap((link) => link.collisions);
    const collisionMeshes = new Set(this.collisions.flatMap(meshes));
    for (const mesh of meshes(model.holder)) {
      if (collisionMeshes.has(mesh)) {
        mesh.material = this.solid;
        mesh.renderOrder = 1;
        continue;
      }
      mesh.castShadow = true;
      mesh.receiveShadow = true;
      for (const material of [mesh.material].flat()) {
        const { opacity, transparent, depthWrite } = material;
        this.originals.set(material, { opacity, transparent, depthWrite });
      }
    }
  }

  apply(options: Options): void {
    for (const visual of this.visuals) visual.visible = options.visual;
    for (const collision of this.collisions) collision.visible = options.collision;
    for (const [material, original] of this.originals) {
      const clear = options.transparency > 0;
      const transparent = original.transparent || clear;
      // A change of `transparent` needs another program.
      if (material.transparent !== transparent) material.needsUpdate = true;
      material.opacity = original.opacity * (1 - options.transparency);
      material.transparent = transparent;
      material.depthWrite = clear ? false : original.depthWrite;
      if ('wireframe' in material) material.wireframe = options.wireframe;
    }
    this.solid.wireframe = options.wireframe;
    this.solid.opacity = options.wireframe ? 0.8 : 0.38;
  }

  /** Leaves the materials as the file has them: another look may come. */
  dispose(): void {
    for (const [material, original] of this.originals) {
      Object.assign(material, original);
      if ('wireframe' in material) material.wireframe = false;
      material.needsUpdate = true;
    }
    this.solid.dispose();
  }
}

/** All meshes at and below an object. */
export function meshes(object: Object3D): Mesh[] {
  const found: Mesh[] = [];
  object.traverse((at) => {
    if (at instanceof Mesh) found.push(at);
  });
  return found;
}
