// Fetches a file and makes a model of it.

import { LoadingManager } from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';
import { registerRobotKinematics } from '../loader/index.js';
import { Model, type Edition } from './model.js';

/** Loads the file at `url`. Problems that the loader itself tolerates (broken textures) are no errors. */
export async function load(url: string, edition: Edition, signal: AbortSignal): Promise<Model> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(await whyNot(response));
  const data = await response.arrayBuffer();
  // Nothing is relative to contents without a place.
  return parse(data, /^(?:blob|data):/.test(url) ? '' : new URL('.', url).href, edition);
}

/** Returns why a request failed: the server's message, or the status. */
async function whyNot(response: Response): Promise<string> {
  const { message } = ((await response.json().catch(() => null)) ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : `${response.status} ${response.statusText}`.trim();
}

/** Loads a local file with those that it refers to, by their paths. */
export async function loadLocal(
  given: { path: string; file: Blob },
  others: readonly { path: string; file: Blob }[],
  edition: Edition,
): Promise<Model> {
  const folder = given.path.includes('/') ? given.path.slice(0, given.path.lastIndexOf('/') + 1) : '';
  const urls: string[] = [];
  const missing = new Set<string>();
  const find = (url: string) => {
    const wanted = plain(folder + decoded(url));
    // Files that were chosen individually have no folders.
    const found =
      others.find(({ path }) => path === wanted) ?? others.find(({ path }) => path === (wanted.split('/').at(-1) ?? ''));
    if (!found) missing.add(wanted);
    return found?.file;
  };
  const data = await given.file.arrayBuffer();
  // Checked before loading, since the loader would report only consequential errors.
  for (const url of references(data)) find(url);
  if (missing.size > 0) throw new Error(lacking(missing));
  const manager = new LoadingManager();
  manager.setURLModifier((url) => {
    if (/^(?:blob|data):/.test(url)) return url;
    const made = URL.createObjectURL(find(url.replace(/^local:/, '')) ?? new Blob([]));
    urls.push(made);
    return made;
  });
  try {
    return await parse(data, 'local:', edition, manager);
  } finally {
    for (const url of urls) URL.revokeObjectURL(url);
  }
}

/** Returns the external references in the JSON of a glTF (the first chunk of a GLB). */
function references(data: ArrayBuffer): string[] {
  const view = new DataView(data);
  const isBinary = data.byteLength >= 20 && view.getUint32(0, true) === 0x46546c67;
  const json = isBinary ? new Uint8Array(data, 20, Math.min(view.getUint32(12, true), data.byteLength - 20)) : new Uint8Array(data);
  try {
    const { buffers, images } = JSON.parse(new TextDecoder().decode(json)) as Record<string, { uri?: unknown }[] | undefined>;
    const uris = [...(buffers ?? []), ...(images ?? [])].map(({ uri }) => uri);
    return uris.filter((uri): uri is string => typeof uri === 'string' && !/^(?:blob|data):/.test(uri));
  } catch {
    // The loader reports the error.
    return [];
  }
}

function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

function lacking(missing: ReadonlySet<string>): string {
  return `it refers to ${[...missing].join(', ')}: drop that together with it, or the whole folder`;
}

/** Normalises a path: removes "." and "..". */
function plain(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return parts.join('/');
}

async function parse(data: ArrayBuffer, base: string, edition: Edition, manager?: LoadingManager): Promise<Model> {
  const loader = new GLTFLoader(manager);
  loader.setMeshoptDecoder(MeshoptDecoder);
  registerRobotKinematics(loader);
  return new Model(await loader.parseAsync(data, base), edition);
}
