// Runs the Khronos glTF validator over the files named on the command line and prints, as one JSON object, the issues of each
// file: {"robot.glb": [{"code", "severity": 0 error | 1 warning | 2 information | 3 hint, "message", "pointer"}]}.
// It needs the npm package gltf-validator where Node looks for it, or its folder in GLTF_VALIDATOR.
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

const require = createRequire(import.meta.url);
const validator = require(process.env.GLTF_VALIDATOR ? resolve(process.env.GLTF_VALIDATOR) : 'gltf-validator');

const issues = {};
for (const file of process.argv.slice(2)) {
  const bytes = new Uint8Array(await readFile(file));
  const externalResourceFunction = async (uri) => new Uint8Array(await readFile(join(dirname(file), decodeURIComponent(uri))));
  const report = await validator.validateBytes(bytes, { uri: file, maxIssues: 0, writeTimestamp: false, externalResourceFunction });
  issues[file] = report.issues.messages;
}
process.stdout.write(JSON.stringify(issues, null, 1) + '\n');
