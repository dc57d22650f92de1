// Loads a robot, sets joints, and prints where its links are then, in metres (y up):
//
//   node example.mjs arm.glb shoulder=0.5 elbow=-1.2
import { readFile } from 'node:fs/promises';
import { Texture, Vector3 } from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { problemsOf, registerRobotKinematics, robotsOf } from 'ext-robot-kinematics';

const [file, ...settings] = process.argv.slice(2);
const loader = registerRobotKinematics(new GLTFLoader());
// Node has nothing that decodes images; a page needs no such line.
loader.register(() => ({ name: 'no textures', loadTexture: async () => new Texture() }));
const gltf = await loader.parseAsync((await readFile(file)).buffer, '');
for (const problem of problemsOf(gltf)) console.error(problem);

const [robot] = robotsOf(gltf);
for (const setting of settings) {
  const [joint, position] = setting.split('=');
  // Radians, or metres for a prismatic joint; no further than its limits.
  const reached = robot.setPosition(joint, Number(position), { clamp: true });
  if (reached === undefined) console.error(`${joint} can't be set to ${position}`);
}
gltf.scene.updateMatrixWorld(true);
for (const link of robot.links) {
  console.log(link.name, ...new Vector3().setFromMatrixPosition(link.node.matrixWorld).toArray());
}
