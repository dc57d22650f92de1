// Writes a GLB anew without EXT_meshopt_compression, by meshoptimizer's own decoder; asked through worker.py. It needs the npm package
// meshoptimizer beside the one that GLTF_VALIDATOR names.
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

const require = createRequire(resolve(process.env.GLTF_VALIDATOR ?? '.', 'package.json'));
const { MeshoptDecoder } = require('meshoptimizer');
await MeshoptDecoder.ready;

export function answer(input, output) {
  const bytes = readFileSync(input);
  const jsonLength = bytes.readUInt32LE(12);
  const json = JSON.parse(bytes.subarray(20, 20 + jsonLength).toString('utf8'));
  const binary = bytes.subarray(20 + jsonLength + 8);

  const parts = [];
  let length = 0;
  for (const view of json.bufferViews ?? []) {
    const packed = view.extensions?.EXT_meshopt_compression;
    let content;
    if (packed) {
      content = new Uint8Array(packed.count * packed.byteStride);
      const source = binary.subarray(packed.byteOffset ?? 0, (packed.byteOffset ?? 0) + packed.byteLength);
      MeshoptDecoder.decodeGltfBuffer(content, packed.count, packed.byteStride, source, packed.mode, packed.filter);
      if (content.length !== view.byteLength) throw new Error(`a view of ${view.byteLength} bytes holds ${content.length}`);
      delete view.extensions;
    } else {
      content = binary.subarray(view.byteOffset ?? 0, (view.byteOffset ?? 0) + view.byteLength);
    }
    Object.assign(view, { buffer: 0, byteOffset: length });
    const padded = Buffer.concat([content, Buffer.alloc((4 - (content.length % 4)) % 4)]);
    parts.push(padded);
    length += padded.length;
  }
  json.buffers = length ? [{ byteLength: length }] : undefined;
  for (const list of ['extensionsUsed', 'extensionsRequired']) {
    json[list] = json[list]?.filter((name) => name !== 'EXT_meshopt_compression');
    if (!json[list]?.length) delete json[list];
  }
  const text = Buffer.from(JSON.stringify(json));
  const textPadded = Buffer.concat([text, Buffer.alloc((4 - (text.length % 4)) % 4, 0x20)]);
  const chunk = (kind, data) => {
    const head = Buffer.alloc(8);
    head.writeUInt32LE(data.length, 0);
    head.write(kind, 4, 'latin1');
    return Buffer.concat([head, data]);
  };
  const body = Buffer.concat([chunk('JSON', textPadded), ...(length ? [chunk('BIN\0', Buffer.concat(parts))] : [])]);
  const head = Buffer.alloc(12);
  head.write('glTF', 0, 'latin1');
  head.writeUInt32LE(2, 4);
  head.writeUInt32LE(12 + body.length, 8);
  writeFileSync(output, Buffer.concat([head, body]));
  return { views: parts.length };
}
