/**
 * EXT_robot_kinematics for Babylon.js: robots in glTF files, with joints that move.
 *
 * ```ts
 * import '@babylonjs/loaders/glTF/2.0/index.js';
 * registerRobotKinematics();
 * const loaded = await ImportMeshAsync('arm.glb', scene);
 * const [robot] = robotsOf(loaded);
 * robot?.setPosition('shoulder', 0.5);
 * ```
 *
 * Everything is in glTF's axes and units: y up, metres, radians, in the frame of the file's root.
 */
import type { Material } from '@babylonjs/core/Materials/material.js';
import { StandardMaterial } from '@babylonjs/core/Materials/standardMaterial.js';
import { Color3 } from '@babylonjs/core/Maths/math.color.js';
import { Quaternion, Vector3 } from '@babylonjs/core/Maths/math.vector.js';
import { AbstractMesh } from '@babylonjs/core/Meshes/abstractMesh.js';
import { TransformNode } from '@babylonjs/core/Meshes/transformNode.js';
import type { GLTFLoader } from '@babylonjs/loaders/glTF/2.0/glTFLoader.js';
import type { IGLTFLoaderExtension } from '@babylonjs/loaders/glTF/2.0/glTFLoaderExtension.js';
import { registerGLTFExtension } from '@babylonjs/loaders/glTF/2.0/glTFLoaderExtensionRegistry.js';

import { checkTree, Kinematics, nodesOf, type DofOf, type Engine, type JointOf, type LinkOf } from './core.js';
import { EXTENSION, readModels, type ModelData } from './extension.js';
import { Problems } from './problems.js';

export { EXTENSION } from './extension.js';
export type { Configuration, JointValue, SetOptions } from './core.js';
export type Link = LinkOf<TransformNode>;
export type Dof = DofOf<TransformNode, Vector3>;
export type Joint = JointOf<TransformNode, Vector3>;

const BABYLON: Engine<TransformNode, Vector3> = {
  axis: (x, y, z) => new Vector3(x, y, z),
  turn: (node, axis, angle) => void (node.rotationQuaternion = Quaternion.RotationAxis(axis, angle)),
  shift: (node, axis, distance) => void node.position.copyFrom(axis).scaleInPlace(distance),
  children: (node) => node.getChildren((child): child is TransformNode => child instanceof TransformNode),
  parent: (node) => (node.parent instanceof TransformNode ? node.parent : null),
  isDrawn: (node) => node instanceof AbstractMesh && node.getTotalVertices() > 0,
};

/** A robot of Babylon's nodes. */
export class Robot extends Kinematics<TransformNode, Vector3> {
  readonly #worn = new Map<AbstractMesh, Material | null>();
  #own: Material | undefined;

  /** `nodes`: the Babylon node of every node that `data` names. */
  constructor(data: ModelData, nodes: ReadonlyMap<number, TransformNode>, problems: Problems) {
    super(data, nodes, problems, BABYLON);
    this.setCollisionsVisible(false);
  }

  /** Shows the collision shapes in `material`, or else in a default material of the robot's own, or hides them. */
  setCollisionsVisible(visible: boolean, material?: Material): void {
    const nodes = this.links.flatMap((link) => link.collisions);
    for (const node of nodes) node.setEnabled(visible);
    for (const [mesh, worn] of this.#worn) mesh.material = worn;
    this.#worn.clear();
    if (!visible) return;
    // Files may give collision shapes invisible materials.
    const shown = material ?? (this.#own ??= standIn(this.root));
    for (const mesh of nodes.flatMap((node) => [node, ...node.getChildMeshes()])) {
      if (!(mesh instanceof AbstractMesh)) continue;
      this.#worn.set(mesh, mesh.material);
      mesh.material = shown;
    }
  }

  /** Shows or hides the visual shapes. */
  setVisualsVisible(visible: boolean): void {
    for (const link of this.links) for (const node of link.visuals) node.setEnabled(visible);
  }

  /** Removes the robot from its scene and disposes of its meshes, materials and textures. */
  dispose(): void {
    this.setCollisionsVisible(false);
    this.#own?.dispose();
    this.root.dispose(false, true);
  }
}

function standIn(root: TransformNode): Material {
  const material = new StandardMaterial('collision', root.getScene());
  material.diffuseColor = new Color3(1, 0.54, 0);
  material.alpha = 0.5;
  return material;
}

/** The robot of each root node. */
const robots = new WeakMap<object, Robot>();

/** Finds the robots of a file once its nodes exist. */
class RobotKinematics implements IGLTFLoaderExtension {
  readonly name = EXTENSION;
  readonly order = 1000;
  enabled = true;

  constructor(
    private readonly loader: GLTFLoader,
    private readonly tell: (problem: string) => void,
  ) {}

  onLoading(): void {
    // Instances share their source's material, so a collision shape could not have another than a visual.
    if (this.loader.gltf.extensions?.[EXTENSION] !== undefined) this.loader.parent.createInstances = false;
  }

  onReady(): void {
    const problems = new Problems();
    const { extensions, nodes = [] } = this.loader.gltf;
    if (extensions?.[EXTENSION] === undefined) return;
    for (const model of readModels(extensions[EXTENSION], nodes.length, problems)) {
      const found = [...nodesOf(model)].map((index) => [index, nodes[index]?._babylonTransformNode] as const);
      const there = new Map(found.filter((entry): entry is [number, TransformNode] => entry[1] !== undefined));
      if (there.size < found.length) {
        problems.add(model.place, 'a node of it is in no scene; the model is left out');
        continue;
      }
      checkTree(model, there, BABYLON, problems);
      const robot = new Robot(model, there, problems);
      robots.set(robot.root, robot);
    }
    for (const problem of problems.list) this.tell(problem);
  }

  dispose(): void {}
}

/** Makes Babylon's glTF loader find robots. `tell` receives every problem of a file's robots, with its place. */
export function registerRobotKinematics(tell: (problem: string) => void = console.warn): void {
  registerGLTFExtension(EXTENSION, true, (loader) => new RobotKinematics(loader as GLTFLoader, tell));
}

/** Returns the robots of a result of `ImportMeshAsync` or `LoadAssetContainerAsync`, or of a scene. Copies of nodes are no robots. */
export function robotsOf(loaded: { meshes: readonly AbstractMesh[]; transformNodes: readonly TransformNode[] }): Robot[] {
  return [...loaded.transformNodes, ...loaded.meshes].flatMap((node) => robots.get(node) ?? []);
}
