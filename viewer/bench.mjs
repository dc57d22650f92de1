// Times the page's solver on the arms of GLB files: node bench.mjs FILE.glb TIP [TARGETS [ANSWERS ROBOT.urdf]].
//
// Targets are poses of the tip at random positions within limits; each is solved from the middle of all ranges, from one start. Then a
// drag: small steps towards a target, each from the end of the last, as the page does for every frame.
// With a build of the example `answers` of crates/kinematics and the URDF that the GLB was made from, the Rust solver gets the same targets
// from the same start, and its success rate is printed, too. `bench/ik` times it.
import { execFileSync } from 'node:child_process';
import { build } from 'esbuild';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [file, tip, count = '1000', answers, urdf] = process.argv.slice(2);
if (!file || !tip) throw new Error('usage: node bench.mjs FILE.glb TIP [TARGETS]');

const out = await mkdtemp(join(here, 'node_modules', '.bench-'));
const program = `
  export { Matrix4, Quaternion, Texture, Vector3 } from 'three';
  export { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
  export { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';
  export { registerRobotKinematics, robotsOf } from './src/loader/index.js';
  export { Problem } from './src/kinematics/lm.js';`;
await build({
  stdin: { contents: program, resolveDir: here },
  bundle: true,
  format: 'esm',
  platform: 'node',
  outfile: join(out, 'bench.js'),
  logLevel: 'warning',
});
globalThis.self ??= globalThis;
const { GLTFLoader, Matrix4, MeshoptDecoder, Problem, Quaternion, Texture, Vector3, registerRobotKinematics, robotsOf } = await import(
  pathToFileURL(join(out, 'bench.js'))
);
await rm(out, { recursive: true });

const loader = registerRobotKinematics(new GLTFLoader()).setMeshoptDecoder(MeshoptDecoder);
// Node cannot decode images.
loader.register(() => ({ name: 'no textures', loadTexture: () => Promise.resolve(new Texture()) }));
const bytes = await readFile(file);
const gltf = await loader.parseAsync(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), '');
const robot = robotsOf(gltf).find((robot) => robot.link(tip));
if (!robot) throw new Error(`${file} has no link ${tip}`);
const link = robot.link(tip);
const problem = new Problem(robot, link);

let state = 1;
const chance = () => (state = (state * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
const ends = ({ lower, upper }) => (Number.isFinite(lower) && Number.isFinite(upper) ? [lower, upper] : [-Math.PI, Math.PI]);
const put = (at) => robot.setPositions(Object.fromEntries(problem.variables.map((one) => [one.joint.name, at(...ends(one))])));

function pose() {
  robot.root.updateWorldMatrix(true, true);
  const [position, orientation] = [new Vector3(), new Quaternion()];
  new Matrix4().copy(robot.root.matrixWorld).invert().multiply(link.node.matrixWorld).decompose(position, orientation, new Vector3());
  return { position, orientation };
}

const targets = Array.from({ length: Number(count) }, () => {
  put((lower, upper) => lower + chance() * (upper - lower));
  return pose();
});

function solved(goals, start) {
  const [times, steps] = [[], []];
  let reached = 0;
  for (const goal of goals) {
    start();
    const begin = performance.now();
    const outcome = problem.solve(goal);
    times.push(1000 * (performance.now() - begin));
    steps.push(outcome.iterations);
    if (outcome.reached) reached += 1;
  }
  const sorted = [...times].sort((a, b) => a - b);
  const all = times.reduce((a, b) => a + b, 0);
  const perStep = all / Math.max(1, steps.reduce((a, b) => a + b, 0));
  const at = (part) => sorted[Math.floor(part * (sorted.length - 1))].toFixed(1);
  return `${((100 * reached) / goals.length).toFixed(1)} % reached, median ${at(0.5)} µs, p99 ${at(0.99)} µs, ${perStep.toFixed(2)} µs per step`;
}

const middle = () => put((lower, upper) => 0.5 * (lower + upper));
// Warm-up for the JIT compiler.
solved(targets, middle);
console.log(`${tip}, ${problem.variables.length} joints`);
console.log(`  poses, one start    ${solved(targets, middle)}`);
const places = targets.flatMap((to, k) => {
  const from = targets[(k || targets.length) - 1];
  return Array.from({ length: 20 }, (_, n) => ({ position: from.position.clone().lerp(to.position, (n + 1) / 20) }));
});
console.log(`  dragged             ${solved(places, () => problem.apply())}`);

if (answers && urdf) {
  const ask = (questions) => {
    const input = questions.map((question) => JSON.stringify(question)).map((line) => `${line}\n`).join('');
    return execFileSync(answers, [urdf], { input, maxBuffer: 1 << 30 }).toString().trim().split('\n').map((line) => JSON.parse(line));
  };
  const [{ coordinates }] = ask([]);
  const start = coordinates.map(({ lower, upper }) => (lower === null || upper === null ? 0 : 0.5 * (lower + upper)));
  const base = robot.links.find((one) => !robot.joints.some((joint) => joint.child === one)).name;
  // glTF's x, y, z are ROS's y, z, x.
  const solve = targets.map(({ position: p, orientation: o }) => ({
    solve: [{ base, tip, pose: [p.z, p.x, p.y, o.z, o.x, o.y, o.w] }],
    start,
    attempts: 1,
    seed: 0,
  }));
  const [, ...told] = ask(solve);
  const rust = told.map((one) => one.reached ?? one.is_reached);
  const here = targets.map((goal) => {
    middle();
    // As the Rust library does after its last start.
    return problem.solve(goal).reached || problem.refine(goal).reached;
  });
  const both = here.filter((reached, k) => reached === rust[k]).length;
  const share = (list) => `${((100 * list.filter(Boolean).length) / list.length).toFixed(1)} %`;
  console.log(`  same targets, same start: here ${share(here)} reached, in Rust ${share(rust)}, alike ${((100 * both) / here.length).toFixed(1)} %`);
}
