import { Mesh, Texture, Vector3, type Material, type Object3D } from 'three';

import { CollisionDisplay } from './collisions.js';
import { Kinematics, type DofOf, type Engine, type JointOf, type LinkOf, type MimicOf } from './core.js';
import type { ModelData } from './extension.js';
import type { Problems } from './problems.js';

/** A rigid part. Its node's world matrix is the link's pose; its collisions are hidden until `Robot.setCollisionsVisible`. */
export type Link = LinkOf<Object3D>;
/** One scalar degree of freedom. */
export type Dof = DofOf<Object3D, Vector3>;
/** The rule that sets a joint in place of its own position. */
export type Mimic = MimicOf<Object3D, Vector3>;
/** A connection of two links. */
export type Joint = JointOf<Object3D, Vector3>;

/** Robots in three.js. */
export const THREE: Engine<Object3D, Vector3> = {
  axis: (x, y, z) => new Vector3(x, y, z),
  turn: (node, axis, angle) => void node.quaternion.setFromAxisAngle(axis, angle),
  shift: (node, axis, distance) => void node.position.copy(axis).multiplyScalar(distance),
  children: (node) => node.children,
  parent: (node) => node.parent,
  isDrawn: (node) => node instanceof Mesh,
};

/** A robot of three.js' objects. */
export class Robot extends Kinematics<Object3D, Vector3> {
  readonly #collisions: CollisionDisplay;

  /** `nodes`: the object of every node that `data` names. */
  constructor(data: ModelData, nodes: ReadonlyMap<number, Object3D>, problems: Problems) {
    super(data, nodes, problems, THREE);
    this.#collisions = new CollisionDisplay(this.links.flatMap((link) => link.collisions));
  }

  /**
   * Shows the collision shapes in `material`, or else in a default material of the robot's own, or hides them. The caller disposes of a
   * given material.
   */
  setCollisionsVisible(visible: boolean, material?: Material): void {
    if (visible) this.#collisions.show(material);
    else this.#collisions.hide();
  }

  /** Shows or hides the visual shapes. */
  setVisualsVisible(visible: boolean): void {
    for (const link of this.links) for (const node of link.visuals) node.visible = visible;
  }

  /** Removes the robot from its scene and frees its graphics resources. */
  dispose(): void {
    this.#collisions.dispose();
    this.root.removeFromParent();
    this.root.traverse((object) => {
      if (!(object instanceof Mesh)) return;
      (object as Mesh).geometry.dispose();
      const materials: Material[] = Array.isArray(object.material) ? object.material : [object.material];
      for (const material of materials) {
        for (const value of Object.values(material)) if (value instanceof Texture) value.dispose();
        material.dispose();
      }
    });
  }
}
