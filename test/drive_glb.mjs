// Drives a robot in a GLB with a loader of EXT_robot_kinematics and tells where its links are; asked through worker.py. It needs the
// packages of viewer/package.json in viewer/node_modules.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const viewer = join(dirname(dirname(fileURLToPath(import.meta.url))), 'viewer');

/** How each loader is imported, and how a robot of it is moved and looked at. */
const OURS = `
  export { registerRobotKinematics } from './src/loader/index.ts';
  export const robotOf = (gltf) => gltf.userData.robots[0];
  export const problemsOf = (gltf) => gltf.userData.robotProblems;
  export const set = (robot, positions) => { robot.reset(); robot.setPositions(positions); };
`;
// Its limits hold unless told otherwise, those of followers too: mimics may lead out of them, in the URDF as in the extension.
const THEIRS = (checkout) => `
  export { registerRobotKinematics } from ${JSON.stringify(join(resolve(checkout), 'src/loader/RobotKinematicsPlugin.ts'))};
  export const robotOf = (gltf) => gltf.userData.robotKinematics[0];
  export const problemsOf = () => [];
  export const set = (robot, positions) => robot.setJointValues(positions, { clamp: false });
`;

/** Bundles viewer/src/loader ("ours"), or a checkout of three-gltf-robot, with three. */
async function bundle(which, outfile) {
  const { build } = createRequire(join(viewer, 'package.json'))('esbuild');
  const three = `
    export { Texture } from 'three';
    export { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
  `;
  await build({
    stdin: { contents: three + (which === 'ours' ? OURS : THEIRS(which)), resolveDir: viewer, loader: 'ts' },
    nodePaths: [join(viewer, 'node_modules')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    logLevel: 'warning',
    outfile,
    tsconfigRaw: '{}',
  });
  return outfile;
}

/** The file as the loader has it, and what the bundle exports. */
async function load(bundled, file) {
  const exported = await import(pathToFileURL(resolve(bundled)));
  const { GLTFLoader, Texture, registerRobotKinematics, robotOf, problemsOf } = exported;
  const loader = new GLTFLoader();
  registerRobotKinematics(loader);
  // There is nothing to decode images with here; samplers and transforms of textures are the loader's all the same.
  loader.register((parser) => {
    parser.loadImageSource = () => Promise.resolve(new Texture());
    return { name: 'no images' };
  });
  const gltf = await loader.parseAsync(new Uint8Array(readFileSync(file)).buffer, '');
  if (problemsOf(gltf).length > 0) throw new Error(problemsOf(gltf).join('\n'));
  return { ...exported, gltf, robot: robotOf(gltf) };
}

/** For each of the poses, {joint: position}, where the links are: {link: its world matrix, column by column}. */
async function pose(bundled, file, poses) {
  const { gltf, robot, set } = await load(bundled, file);
  return poses.map((positions) => {
    set(robot, positions);
    gltf.scene.updateMatrixWorld(true);
    return Object.fromEntries(robot.links.map((link) => [link.name, [...link.node.matrixWorld.elements]]));
  });
}

/** The lights, with the link that each is on and the matrix of its node in that, column by column. */
async function lights(bundled, file) {
  const { gltf, robot } = await load(bundled, file);
  gltf.scene.updateMatrixWorld(true);
  const found = [];
  gltf.scene.traverse((light) => {
    if (!light.isLight) return;
    const { name, type, color, intensity, angle, penumbra } = light;
    let node = light;
    while (node && !robot.links.some((link) => link.node === node)) node = node.parent;
    const link = robot.links.find((link) => link.node === node);
    const inLink = link.node.matrixWorld.clone().invert().multiply(light.matrixWorld).elements;
    found.push({ name, type, color: color.toArray(), intensity, angle, penumbra, link: link.name, inLink: [...inLink] });
  });
  return found;
}

/** The box of all that is drawn in its link, copy by copy; 0 copies: no instances: [{collides, copies, boxes: [[low, high], …]}]. */
async function boxes(bundled, file) {
  const { gltf, robot } = await load(bundled, file);
  gltf.scene.updateMatrixWorld(true);
  const found = [];
  gltf.scene.traverse((mesh) => {
    if (!mesh.isMesh) return;
    let node = mesh;
    while (node && !robot.links.some((link) => link.node === node)) node = node.parent;
    const link = robot.links.find((link) => link.node === node);
    const inLink = link.node.matrixWorld.clone().invert().multiply(mesh.matrixWorld);
    const copies = mesh.isInstancedMesh ? mesh.count : 1;
    const drawn = Array.from({ length: copies }, (_, copy) => {
      const matrix = inLink.clone();
      if (mesh.isInstancedMesh) {
        const own = matrix.clone();
        mesh.getMatrixAt(copy, own);
        matrix.multiply(own);
      }
      const corner = mesh.position.clone();
      const [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
      for (let k = 0; k < mesh.geometry.attributes.position.count; k += 1) {
        corner.fromBufferAttribute(mesh.geometry.attributes.position, k).applyMatrix4(matrix).toArray().forEach((x, axis) => {
          low[axis] = Math.min(low[axis], x);
          high[axis] = Math.max(high[axis], x);
        });
      }
      return [low, high];
    });
    const collides = mesh.material.opacity === 0;
    found.push({ collides, copies: mesh.isInstancedMesh ? copies : 0, boxes: drawn });
  });
  return found;
}

/** What a material shows, as three.js has it. */
function look(material) {
  const { color, opacity, transparent, alphaTest, roughness, metalness, ior, clearcoat, clearcoatRoughness } = material;
  const { specularIntensity, specularColor, map } = material;
  map?.updateMatrix();
  return {
    name: material.name, color: color.toArray(), opacity, transparent, alphaTest, roughness, metalness, ior, clearcoat, clearcoatRoughness,
    specularIntensity, specularColor: specularColor?.toArray(), map: map && { wrap: [map.wrapS, map.wrapT], matrix: map.matrix.elements },
  };
}

/**
 * All triangles that are drawn, with what they show in a look (KHR_materials_variants), or by themselves:
 * [{look, geometry, triangles: [[{point, color, uv}, …], …]}], points in the axes of their link, uv on the image with v downwards.
 */
async function surfaces(bundled, file, variant) {
  const { gltf, robot } = await load(bundled, file);
  const { parser } = gltf;
  gltf.scene.updateMatrixWorld(true);
  const named = parser.json.extensions?.KHR_materials_variants?.variants ?? [];
  const index = named.findIndex(({ name }) => name === variant);
  if (variant !== undefined && index < 0) throw new Error(`no variant ${variant} among ${JSON.stringify(named)}`);
  const meshes = [];
  gltf.scene.traverse((mesh) => {
    if (mesh.isMesh) meshes.push(mesh);
  });
  const found = [];
  for (const mesh of meshes) {
    let node = mesh;
    while (node && !robot.links.some((link) => link.node === node)) node = node.parent;
    const toLink = node.matrixWorld.clone().invert().multiply(mesh.matrixWorld);
    const mappings = mesh.userData.gltfExtensions?.KHR_materials_variants?.mappings ?? [];
    const mapping = mappings.find(({ variants }) => variants.includes(index));
    if (mapping) {
      mesh.material = await parser.getDependency('material', mapping.material);
      parser.assignFinalMaterial(mesh);
    }
    if (mesh.material.opacity === 0 && mesh.material.alphaTest > 0) continue;
    const shown = look(mesh.material);
    const { position, color, uv } = mesh.geometry.attributes;
    const corners = mesh.geometry.index ? [...mesh.geometry.index.array] : [...Array(position.count).keys()];
    const corner = (k) => {
      const point = mesh.position.clone().fromBufferAttribute(position, k).applyMatrix4(toLink).toArray();
      const own = color && mesh.material.vertexColors ? [color.getX(k), color.getY(k), color.getZ(k), color.itemSize > 3 ? color.getW(k) : 1] : null;
      const [a, b] = uv ? [uv.getX(k), uv.getY(k)] : [0, 0];
      const m = shown.map?.matrix;
      return { point, color: own, uv: uv && m ? [m[0] * a + m[3] * b + m[6], m[1] * a + m[4] * b + m[7]] : null };
    };
    const triangles = [];
    for (let k = 0; k + 2 < corners.length; k += 3) triangles.push([0, 1, 2].map((n) => corner(corners[k + n])));
    found.push({ look: shown, triangles, geometry: mesh.geometry.uuid });
  }
  return found;
}

/** The cameras, with the matrix of each in its link, column by column. */
async function cameras(bundled, file) {
  const { gltf, robot } = await load(bundled, file);
  gltf.scene.updateMatrixWorld(true);
  const found = [];
  gltf.scene.traverse((camera) => {
    if (!camera.isCamera) return;
    let node = camera;
    while (node && !robot.links.some((link) => link.node === node)) node = node.parent;
    const inLink = node.matrixWorld.clone().invert().multiply(camera.matrixWorld).elements;
    const { type, fov, aspect, near, far, left, right, top, bottom } = camera;
    found.push({ type, fov, aspect, near, far, size: [right - left, top - bottom], inLink: [...inLink] });
  });
  return found;
}

export const answer = (command, ...rest) => ({ bundle, pose, lights, boxes, surfaces, cameras })[command](...rest);
