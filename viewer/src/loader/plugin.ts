import type { Object3D } from 'three';
import type { GLTF, GLTFLoaderPlugin, GLTFParser } from 'three/addons/loaders/GLTFLoader.js';

import { checkTree, nodesOf } from './core.js';
import { EXTENSION, readModels, type ModelData } from './extension.js';
import { Problems } from './problems.js';
import { Robot, THREE } from './robot.js';

/**
 * Puts the robots of a file into `gltf.userData.robots`, and the problems of their data into `gltf.userData.robotProblems`.
 * The file is loaded in any case: unusable parts of the extension do not affect the rest of the glTF.
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
      checkTree(model, objects, THREE, problems);
      robots.push(new Robot(model, objects, problems));
    }
  }

  /** Returns the objects of all nodes that a model names. Names would not do, since three.js makes them unique. */
  async #objects(model: ModelData, problems: Problems): Promise<Map<number, Object3D> | undefined> {
    const object = async (index: number): Promise<[number, Object3D]> => [index, await this.#parser.getDependency('node', index)];
    try {
      return new Map(await Promise.all([...nodesOf(model)].map(object)));
    } catch (error) {
      // Only nodes outside of all scenes: with any other, loading the file would have failed.
      problems.add(model.place, `a node of it can't be loaded (${String(error)}); the model is left out`);
      return undefined;
    }
  }
}
