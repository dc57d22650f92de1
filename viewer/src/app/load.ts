// Fetches a file and makes a model of it.

import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';
import { registerRobotKinematics } from '../loader/index.js';
import { Model, type Edition } from './model.js';

/** Loads the file at `url`. What the loader itself draws nothing of (broken textures) is not an error. */
export async function load(url: string, edition: Edition, signal: AbortSignal): Promise<Model> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`.trim());
  const data = await response.arrayBuffer();
  const loader = new GLTFLoader();
  loader.setMeshoptDecoder(MeshoptDecoder);
  registerRobotKinematics(loader);
  const gltf = await loader.parseAsync(data, new URL('.', url).href);
  return new Model(gltf, edition);
}
