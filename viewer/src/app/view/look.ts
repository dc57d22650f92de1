// The drawing style of a model: visual and collision shapes, transparency, wireframe. Restores everything on disposal.

import { Mesh, MeshStandardMaterial, type Material, type Object3D } from 'three';
import type { Model } from '../model.js';
import type { Options } from '../state.js';

/** Collision shapes have one colour, to distinguish them from the robot. */
const COLLISION = 0xf28c28;

type Drawn = Material & { wireframe?: boolean };

/** The overridden properties of a material. */
interface Original {
  opacity: number;
  transparent: boolean;
  depthWrite: boolean;
  wireframe: boolean;
}

/** The look of one model. */
export class Look {
  private readonly originals = new Map<Drawn, Original>();
  /** The file's materials of collision meshes. */
  private readonly covered = new Map<Mesh, Mesh['material']>();
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

  constructor(private readonly model: Model) {
    const collisionMeshes = new Set(model.links.flatMap((link) => link.collisions).flatMap(meshes));
    for (const mesh of meshes(model.holder)) {
      if (collisionMeshes.has(mesh)) {
        this.covered.set(mesh, mesh.material);
        mesh.material = this.solid;
        mesh.renderOrder = 1;
        continue;
      }
      mesh.castShadow = true;
      mesh.receiveShadow = true;
      for (const material of [mesh.material].flat() as Drawn[]) {
        const { opacity, transparent, depthWrite, wireframe = false } = material;
        this.originals.set(material, { opacity, transparent, depthWrite, wireframe });
      }
    }
  }

  /** `hidden`: names of links that are not drawn. */
  apply(options: Options, hidden: ReadonlySet<string> = new Set()): void {
    for (const { name, visuals, collisions } of this.model.links) {
      for (const visual of visuals) visual.visible = options.visual && !hidden.has(name);
      for (const collision of collisions) collision.visible = options.collision && !hidden.has(name);
    }
    for (const [material, original] of this.originals) {
      const clear = options.transparency > 0;
      dress(material, {
        opacity: original.opacity * (1 - options.transparency),
        transparent: original.transparent || clear,
        depthWrite: clear ? false : original.depthWrite,
        wireframe: original.wireframe || options.wireframe,
      });
    }
    this.solid.wireframe = options.wireframe;
    this.solid.opacity = options.wireframe ? 0.8 : 0.38;
  }

  /** Restores the model as in the file. */
  dispose(): void {
    for (const [material, original] of this.originals) dress(material, original);
    for (const [mesh, material] of this.covered) mesh.material = material;
    this.solid.dispose();
  }
}

function dress(material: Drawn, { opacity, transparent, depthWrite, wireframe }: Original): void {
  // A change of `transparent` needs another shader program.
  if (material.transparent !== transparent) material.needsUpdate = true;
  Object.assign(material, { opacity, transparent, depthWrite });
  if ('wireframe' in material) material.wireframe = wireframe;
}

/** Returns all meshes at and below an object. */
export function meshes(object: Object3D): Mesh[] {
  const found: Mesh[] = [];
  object.traverse((at) => {
    if (at instanceof Mesh) found.push(at);
  });
  return found;
}
