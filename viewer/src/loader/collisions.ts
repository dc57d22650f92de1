import { Mesh, MeshStandardMaterial, type Material, type Object3D } from 'three';

/**
 * The collision shapes of a robot, hidden by default. Files may give them invisible materials, for viewers that do not support the
 * extension; so they get another material while shown.
 */
export class CollisionDisplay {
  readonly #nodes: readonly Object3D[];
  readonly #worn = new Map<Mesh, Material | Material[]>();
  #own: Material | undefined;

  constructor(nodes: readonly Object3D[]) {
    this.#nodes = nodes;
    this.hide();
  }

  show(material: Material | undefined): void {
    const shown = material ?? (this.#own ??= standIn());
    for (const node of this.#nodes) {
      node.traverse((object) => {
        object.visible = true;
        if (!(object instanceof Mesh)) return;
        if (!this.#worn.has(object)) this.#worn.set(object, object.material);
        object.material = shown;
      });
    }
  }

  /** Hides the shapes and restores their materials. */
  hide(): void {
    for (const node of this.#nodes) node.visible = false;
    for (const [mesh, material] of this.#worn) mesh.material = material;
    this.#worn.clear();
  }

  dispose(): void {
    this.hide();
    this.#own?.dispose();
    this.#own = undefined;
  }
}

function standIn(): Material {
  return new MeshStandardMaterial({
    name: 'collision',
    color: 0xff8a00,
    roughness: 0.8,
    transparent: true,
    opacity: 0.5,
    depthWrite: false,
  });
}
