/**
 * EXT_robot_kinematics for three.js: robots in glTF files, with joints that move.
 *
 * ```ts
 * const loader = new GLTFLoader();
 * registerRobotKinematics(loader);
 * const gltf = await loader.loadAsync('arm.glb');
 * const [robot] = robotsOf(gltf);
 * robot?.setPosition('shoulder', 0.5);
 * ```
 *
 * Everything is in glTF's axes and units: y up, metres, radians. It needs no page and works wherever GLTFLoader does.
 */
import type { GLTF, GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

import { RobotKinematicsPlugin } from './plugin.js';
import type { Robot } from './robot.js';

export { EXTENSION } from './extension.js';
export type { Calibration, Dynamics, Extras, JointType, Limit, Motion, Safety } from './extension.js';
export { RobotKinematicsPlugin } from './plugin.js';
export type { Configuration, JointValue, SetOptions } from './core.js';
export { Robot } from './robot.js';
export type { Dof, Joint, Link, Mimic } from './robot.js';

/** Makes `loader` put the robots of each file into `gltf.userData.robots`. Returns the loader. */
export function registerRobotKinematics(loader: GLTFLoader): GLTFLoader {
  return loader.register((parser) => new RobotKinematicsPlugin(parser));
}

/** Returns the robots of a loaded file: `gltf.userData.robots`, with a type. */
export function robotsOf(gltf: GLTF): Robot[] {
  return (gltf.userData['robots'] as Robot[] | undefined) ?? [];
}

/** Returns the problems of a loaded file's robots, each with its place: `gltf.userData.robotProblems`, with a type. */
export function problemsOf(gltf: GLTF): string[] {
  return (gltf.userData['robotProblems'] as string[] | undefined) ?? [];
}
