import { CdrWriter } from '@foxglove/cdr';
import { McapWriter, type McapTypes } from '@mcap/core';
import { expect, it } from 'vitest';

import { readMcap } from '../../src/app/motion/mcap.js';
import { Recording } from '../../src/app/motion/trajectory.js';

/** Frames with uncompressed content, which both formats allow. */
const COMPRESSIONS: Record<string, (data: Uint8Array) => Uint8Array> = {
  '': (data) => data,
  lz4: (data) => {
    const out = new DataView(new ArrayBuffer(data.length + 15));
    // Version 1, independent blocks of up to 64 KiB; the header checksum.
    [0x184d2204, 0x00824060].forEach((word, k) => out.setUint32(4 * k, word, true));
    out.setUint32(7, (data.length | 0x80000000) >>> 0, true);
    const frame = new Uint8Array(out.buffer);
    frame.set(data, 11);
    return frame;
  },
  zstd: (data) => {
    const out = new DataView(new ArrayBuffer(data.length + 12));
    out.setUint32(0, 0xfd2fb528, true);
    // The size of the content in four bytes; one block, the last, uncompressed.
    out.setUint8(4, 0xa0);
    out.setUint32(5, data.length, true);
    const header = (data.length << 3) | 1;
    [0, 8, 16].forEach((shift, k) => out.setUint8(9 + k, (header >> shift) & 255));
    const frame = new Uint8Array(out.buffer);
    frame.set(data, 12);
    return frame;
  },
};

async function bag(compression: string): Promise<Blob> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const writable = {
    position: () => BigInt(size),
    write: (part: Uint8Array) => {
      parts.push(part.slice());
      size += part.length;
      return Promise.resolve();
    },
  };
  const compress = COMPRESSIONS[compression]!;
  const compressChunk = (data: Uint8Array) => ({ compression, compressedData: compress(data) });
  const options: ConstructorParameters<typeof McapWriter>[0] = compression ? { writable, compressChunk } : { writable };
  const writer = new McapWriter(options);
  await writer.start({ profile: 'ros2', library: '' } satisfies Omit<McapTypes.Header, 'type'>);
  const schemaId = await writer.registerSchema({ name: 'sensor_msgs/msg/JointState', encoding: 'ros2msg', data: new Uint8Array() });
  const channelId = await writer.registerChannel({ schemaId, topic: '/joint_states', messageEncoding: 'cdr', metadata: new Map() });
  for (const [sequence, position] of [0.25, 1.25].entries()) {
    const cdr = new CdrWriter();
    cdr.int32(0).uint32(0).string('').sequenceLength(1).string('elbow').float64Array([position], true).float64Array([2], true).float64Array([sequence], true);
    const time = BigInt(10 + 4 * sequence) * 1_000_000_000n;
    await writer.addMessage({ channelId, sequence, logTime: time, publishTime: time, data: cdr.data });
  }
  const type = { name: 'tf2_msgs/msg/TFMessage', encoding: 'ros2msg', data: new Uint8Array() };
  const transforms = { schemaId: await writer.registerSchema(type), topic: '/tf', messageEncoding: 'cdr', metadata: new Map() };
  const tf = await writer.registerChannel(transforms);
  for (const [sequence, x] of [0, 3].entries()) {
    const cdr = new CdrWriter();
    cdr.sequenceLength(2);
    for (const [parent, child] of [['/odom', 'base'], ['base', 'wheel']] as const) {
      cdr.int32(0).uint32(0).string(parent).string(child);
      [x, 0, 0, 0, 0, 0, 1].forEach((value) => cdr.float64(value));
    }
    const time = BigInt(10 + 4 * sequence) * 1_000_000_000n;
    await writer.addMessage({ channelId: tf, sequence, logTime: time, publishTime: time, data: cdr.data });
  }
  await writer.end();
  return new Blob(parts as BlobPart[]);
}

it.each(Object.keys(COMPRESSIONS))('chunks of a bag are read, compressed by "%s"', async (compression) => {
  const recording = new Recording();
  await readMcap(await bag(compression), recording, (frame) => frame !== 'wheel');
  const trajectory = recording.trajectory('moves', () => true);
  expect([trajectory.tracks.length, trajectory.duration]).toEqual([1, 4]);
  expect(recording.drive.at('base', 12)).toEqual([{ frame: 'odom', pose: [1.5, 0, 0, 0, 0, 0, 1] }]);
  expect(recording.drive.at('wheel', 12)).toEqual([]);
  expect(trajectory.tracks[0]).toMatchObject({ velocities: [2, 2], efforts: [0, 1] });
});

it('chunks that are compressed by something else are named', async () => {
  COMPRESSIONS['brotli'] = (data) => data;
  await expect(readMcap(await bag('brotli'), new Recording(), () => true)).rejects.toThrow('brotli');
});
