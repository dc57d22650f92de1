/** Small hand-made glTF files, and loading them in Node. */
import { Texture, type Object3D } from 'three';
import { GLTFLoader, type GLTF } from 'three/addons/loaders/GLTFLoader.js';

import { registerRobotKinematics, type Robot } from '../../src/loader/index.js';

// Tests make values of wrong types.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any;

/** Loads a file of these bytes in three.js, without textures, which Node cannot decode. */
export function load(bytes: ArrayBuffer): Promise<GLTF> {
  const loader = registerRobotKinematics(new GLTFLoader());
  loader.register(() => ({ name: 'no textures', loadTexture: () => Promise.resolve(new Texture()) }));
  return loader.parseAsync(bytes, '');
}

export function loadJson(json: Json): Promise<GLTF> {
  return load(new TextEncoder().encode(JSON.stringify(json)).buffer as ArrayBuffer);
}

/** The only robot of a file without problems. */
export async function robotOf(json: Json): Promise<Robot> {
  const gltf = await loadJson(json);
  if (gltf.userData['robotProblems'].length > 0) throw new Error(gltf.userData['robotProblems'].join('\n'));
  if (gltf.userData['robots'].length !== 1) throw new Error('one robot was expected');
  return gltf.userData['robots'][0];
}

/** A joint of `file`: its data in the extension, and its `origin` as a node. */
export interface JointOf {
  name: string;
  type: string;
  dofs?: Json[];
  origin?: Json;
  more?: Json;
}

export const turning = (axis: number[], more: Json = {}): Json => ({ motion: 'rotation', axis, ...more });
export const sliding = (axis: number[], more: Json = {}): Json => ({ motion: 'translation', axis, ...more });

const [X, Y, Z] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]] as const;
export const planar = (name: string): JointOf => ({ name, type: 'planar', dofs: [sliding([...X]), sliding([...Z])] });
export const floating = (name: string): JointOf => ({
  name,
  type: 'floating',
  dofs: [sliding([...X]), sliding([...Y]), sliding([...Z]), turning([...X]), turning([...Y]), turning([...Z])],
});

/** A robot of links `l0`, `l1`, … in a chain, connected by `joints`. Node 0 is its root, node 1 the frame of `l0`. */
export function file(joints: JointOf[], more: Json = {}): Json {
  const nodes: Json[] = [{ name: 'robot', children: [1] }, { name: 'l0' }];
  const add = (node: Json): number => {
    nodes[nodes.length - 1].children = [nodes.length];
    return nodes.push(node) - 1;
  };
  const links: Json[] = [{ name: 'l0', node: 1 }];
  const written = joints.map((joint, k) => {
    const originNode = add({ name: `joint_${joint.name}_origin`, ...joint.origin });
    const dofNodes = (joint.dofs ?? []).map((_, d) => add({ name: `joint_${joint.name}_dof${d}` }));
    links.push({ name: `l${k + 1}`, node: add({ name: `l${k + 1}` }) });
    const { name, type, dofs = [] } = joint;
    return { name, type, parentLink: k, childLink: k + 1, originNode, dofNodes, dofs, ...joint.more };
  });
  return document(nodes, [{ name: 'robot', rootNode: 0, links, joints: written, ...more }], [0]);
}

export function document(nodes: Json[], models: Json, roots: number[]): Json {
  return {
    asset: { version: '2.0' },
    extensionsUsed: ['EXT_robot_kinematics'],
    scene: 0,
    scenes: [{ nodes: roots }],
    nodes,
    extensions: { EXT_robot_kinematics: { models } },
  };
}

/** The first model of a file, for modification. */
export const modelOf = (json: Json): Json => json.extensions.EXT_robot_kinematics.models[0];

/** A file with one triangle as mesh 0, in an invisible material. */
export function withTriangle(json: Json): ArrayBuffer {
  const points = new Float32Array([0, 0, 0, 1, 0, 0, 0, 1, 0]);
  return glb(
    {
      ...json,
      buffers: [{ byteLength: points.byteLength }],
      bufferViews: [{ buffer: 0, byteLength: points.byteLength }],
      accessors: [{ bufferView: 0, componentType: 5126, count: 3, type: 'VEC3', min: [0, 0, 0], max: [1, 1, 0] }],
      materials: [{ alphaMode: 'MASK', pbrMetallicRoughness: { baseColorFactor: [1, 1, 1, 0] } }],
      meshes: [{ primitives: [{ attributes: { POSITION: 0 }, material: 0 }] }],
    },
    new Uint8Array(points.buffer),
  );
}

function glb(json: Json, binary: Uint8Array): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(json));
  const padded = text.length + ((4 - (text.length % 4)) % 4);
  const bytes = new Uint8Array(28 + padded + binary.length);
  const view = new DataView(bytes.buffer);
  [0x46546c67, 2, bytes.length, padded, 0x4e4f534a].forEach((word, k) => view.setUint32(4 * k, word, true));
  bytes.fill(0x20, 20, 20 + padded).set(text, 20);
  view.setUint32(20 + padded, binary.length, true);
  view.setUint32(24 + padded, 0x004e4942, true);
  bytes.set(binary, 28 + padded);
  return bytes.buffer;
}

/** The pose of a link in the scene: its x, y and z axes and its position, as columns. */
export function pose(robot: Robot, link: string): { x: number[]; y: number[]; z: number[]; at: number[] } {
  const node = robot.link(link)?.node as Object3D;
  node.updateWorldMatrix(true, false);
  const m = node.matrixWorld.elements.map((value) => Math.round(value * 1e12) / 1e12 + 0);
  return { x: m.slice(0, 3), y: m.slice(4, 7), z: m.slice(8, 11), at: m.slice(12, 15) };
}
