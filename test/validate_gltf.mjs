// The Khronos glTF validator; asked through worker.py. It needs the npm package gltf-validator where Node looks for it, or its folder in
// GLTF_VALIDATOR.
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

const require = createRequire(import.meta.url);
const validator = require(process.env.GLTF_VALIDATOR ? resolve(process.env.GLTF_VALIDATOR) : 'gltf-validator');

/** The issues of each file: {"robot.glb": [{"code", "severity": 0 error | 1 warning | 2 information | 3 hint, "message", "pointer"}]}. */
export async function answer(...files) {
  const issues = {};
  for (const file of files) {
    const bytes = new Uint8Array(await readFile(file));
    const externalResourceFunction = async (uri) => new Uint8Array(await readFile(join(dirname(file), decodeURIComponent(uri))));
    const report = await validator.validateBytes(bytes, { uri: file, maxIssues: 0, writeTimestamp: false, externalResourceFunction });
    issues[file] = report.issues.messages;
  }
  return issues;
}
