import type { Object3D } from 'three';
import type { GLTF, GLTFLoaderPlugin, GLTFParser } from 'three/addons/loaders/GLTFLoader.js';

import { EXTENSION, readModels, type ModelData } from './extension.js';
import { Problems } from './problems.js';
import { Robot } from './robot.js';

/**
 * Puts the robots of a file into `gltf.userData.robots`, and what is wrong with their data into `gltf.userData.robotProblems`.
 * A file is loaded in any case: whatever of the extension can't be used, the rest is the glTF that it is.
 */
export class RobotKinematicsPlugin implements GLTFLoaderPlugin {
  readonly name = EXTENSION;
  readonly #parser: GLTFParser;

  constructor(parser: GLTFParser) {
    this.#parser = parser;
  }

  async afterRoot(gltf: GLTF): Promise<void> {
    const problems = new Problems();
    const robots: Robot[] = [];
    gltf.userData['robots'] = robots;
    gltf.userData['robotProblems'] = problems.list;
    const { extensions, nodes } = this.#parser.json;
    const extension: unknown = extensions?.[EXTENSION];
    if (extension === undefined) return;
    for (const model of readModels(extension, Array.isArray(nodes) ? nodes.length : 0, problems)) {
      const objects = await this.#objects(model, problems);
      if (objects === undefined) continue;
      checkTree(model, objects, problems);
      robots.push(new Robot(model, objects, problems));
    }
  }

  /** The objects of all nodes that a model names. Names would not do: three.js changes them so that none recurs. */
  async #objects(model: ModelData, problems: Problems): Promise<Map<number, Object3D> | undefined> {
    const named = new Set([
      model.rootNode,
      ...model.links.flatMap((link) => [link.node, ...(link.visualNodes ?? []), ...link.collisionNodes]),
      ...model.joints.flatMap((joint) => [joint.originNode, ...joint.dofs.map((dof) => dof.node)]),
    ]);
    const object = async (index: number): Promise<[number, Object3D]> => [index, await this.#parser.getDependency('node', index)];
    try {
      return new Map(await Promise.all([...named].map(object)));
    } catch (error) {
      // Only nodes that no scene holds: with any other, the file itself would not have loaded.
      problems.add(model.place, `a node of it can't be loaded (${String(error)}); the model is left out`);
      return undefined;
    }
  }
}

/** Notes what the node tree has elsewhere than the model says, so that moving a joint or the root moves something else (section 4). */
function checkTree(model: ModelData, objects: ReadonlyMap<number, Object3D>, problems: Problems): void {
  const inRobot = new Set<Object3D | undefined>();
  objects.get(model.rootNode)?.traverse((object) => inRobot.add(object));
  model.links.forEach((link, k) => {
    if (!inRobot.has(objects.get(link.node))) problems.add(`${model.place}.links[${k}]`, 'its node is not below the root node');
  });
  model.joints.forEach((joint, k) => {
    const ends = [model.links[joint.parentLink]?.node, model.links[joint.childLink]?.node];
    const chain = [ends[0], joint.originNode, ...joint.dofs.map((dof) => dof.node), ends[1]];
    const broken = chain.slice(1).some((node, n) => !isBelow(objects.get(node ?? -1), objects.get(chain[n] ?? -1)));
    if (broken) problems.add(`${model.place}.joints[${k}]`, 'its nodes are no chain from the parent link to the child link');
  });
}

function isBelow(node: Object3D | undefined, above: Object3D | undefined): boolean {
  let at = node?.parent;
  while (at && at !== above) at = at.parent;
  return at !== null && at !== undefined && at === above;
}
