import { CdrWriter } from '@foxglove/cdr';
import { McapWriter } from '@mcap/core';
import { describe, expect, it } from 'vitest';

import { readMcap } from '../../src/app/motion/mcap.js';
import { between, readCsv, Recording, sample } from '../../src/app/motion/trajectory.js';

const any = () => true;

describe('a table', () => {
  it('is what its joints do over time, from its first moment on', () => {
    const played = readCsv('time,"a, b",elbow\n10,0,1\n11,2,\n12,4,3\n').trajectory('x.csv', any);
    expect(played.duration).toBe(2);
    expect(sample(played, 0)).toEqual({ 'a, b': 0, elbow: 1 });
    expect(sample(played, 0.5)).toEqual({ 'a, b': 1, elbow: 1.5 });
    // Constant before and after; samples may be in any order.
    expect(sample(played, -5)).toEqual(sample(played, 0));
    expect(sample(played, 99)).toEqual({ 'a, b': 4, elbow: 3 });
    const shuffled = readCsv('elbow;Time\r\n3;12\r\n1;10\r\n').trajectory('x.csv', any);
    expect(sample(shuffled, 1)).toEqual({ elbow: 2 });
  });

  it('has only the joints of the robot', () => {
    const played = readCsv('time,a,b\n0,1,2\n1,2,3').trajectory('x.csv', (joint) => joint === 'b');
    expect(played.tracks.map((track) => track.joint)).toEqual(['b']);
    expect(() => readCsv('time,a\n0,1').trajectory('x.csv', () => false)).toThrow(/none of its joints is one of this robot's: a/);
  });

  it('says where it is none', () => {
    expect(() => readCsv('seconds,a\n0,1')).toThrow(/line 1: there is no column "time"/);
    expect(() => readCsv('time,a\n0,1\nx,2')).toThrow(/line 3: "x" is not a time/);
    expect(() => readCsv('time,a\n0,left')).toThrow(/line 2: "left" is not a position of a/);
    expect(() => readCsv('time,a\n').trajectory('x.csv', any)).toThrow(/no joint positions/);
  });
});

describe('between two poses', () => {
  it('all joints arrive at once, slow at both ends, and none faster than 1 rad/s', () => {
    const played = between('a to b', { near: 0, far: 1, other: 5 }, { near: 0.1, far: -2 });
    expect(sample(played, 0)).toEqual({ near: 0, far: 1 });
    expect(sample(played, played.duration)).toEqual({ near: 0.1, far: -2 });
    expect(sample(played, played.duration / 2)['far']).toBeCloseTo(-0.5, 9);
    const step = played.duration / 600;
    for (let k = 0; k < 600; k += 1) {
      const [from, to] = [sample(played, k * step), sample(played, (k + 1) * step)];
      expect(Math.abs((to['far']! - from['far']!) / step)).toBeLessThanOrEqual(1.001);
    }
  });
});

/** A file in the layout of rosbag2. */
async function bag(
  messages: { time: number; names: string[]; positions: number[] }[],
  type = 'sensor_msgs/msg/JointState',
  options: object = {},
): Promise<Blob> {
  const parts: Uint8Array[] = [];
  let length = 0n;
  const writable = {
    write: async (part: Uint8Array) => {
      parts.push(Uint8Array.from(part));
      length += BigInt(part.length);
    },
    position: () => length,
  };
  const writer = new McapWriter({ writable, ...options });
  await writer.start({ profile: 'ros2', library: 'test' });
  const schemaId = await writer.registerSchema({ name: type, encoding: 'ros2msg', data: new Uint8Array() });
  const channelId = await writer.registerChannel({ schemaId, topic: '/joint_states', messageEncoding: 'cdr', metadata: new Map() });
  for (const [sequence, { time, names, positions }] of messages.entries()) {
    const cdr = new CdrWriter();
    cdr.int32(Math.floor(time));
    cdr.uint32(0);
    cdr.string('base');
    cdr.sequenceLength(names.length);
    for (const name of names) cdr.string(name);
    cdr.float64Array(positions, true);
    cdr.float64Array([], true);
    cdr.float64Array([], true);
    const at = BigInt(Math.round(time * 1e9));
    await writer.addMessage({ channelId, sequence, logTime: at, publishTime: at, data: cdr.data });
  }
  await writer.end();
  return new Blob(parts as BlobPart[]);
}

describe('a bag', () => {
  it('is what its joint states say, whoever published them', async () => {
    const file = await bag([
      { time: 100, names: ['elbow', 'wrist'], positions: [0, 1] },
      { time: 100.5, names: ['finger'], positions: [0.02] },
      { time: 101, names: ['elbow', 'wrist'], positions: [2, -1] },
    ]);
    const recording = new Recording();
    await readMcap(file, recording, () => true);
    const played = recording.trajectory('x.mcap', any);
    expect(played.duration).toBeCloseTo(1, 9);
    expect(sample(played, 0.5)).toEqual({ elbow: 1, wrist: 0, finger: 0.02 });
  });

  it('may be compressed, without chunks, or cut off', async () => {
    const messages = Array.from({ length: 200 }, (_, k) => ({ time: k / 100, names: ['elbow'], positions: [k / 100] }));
    const played = async (file: Blob) => {
      const recording = new Recording();
      await readMcap(file, recording, () => true);
      return recording.trajectory('x.mcap', any);
    };
    /** A Zstandard frame with one uncompressed block. */
    const zstd = (data: Uint8Array) => {
      const head = new Uint8Array(12 + data.length);
      const view = new DataView(head.buffer);
      view.setUint32(0, 0xfd2fb528, true);
      view.setUint8(4, 0b1010_0000);
      view.setUint32(5, data.length, true);
      const block = (data.length << 3) | 1;
      for (let k = 0; k < 3; k += 1) view.setUint8(9 + k, (block >> (8 * k)) & 0xff);
      head.set(data, 12);
      return { compression: 'zstd', compressedData: head };
    };
    for (const options of [{ compressChunk: zstd }, { useChunks: false }]) {
      const whole = await played(await bag(messages, undefined, options));
      expect(whole.duration).toBeCloseTo(1.99, 9);
      expect(sample(whole, 0.505)['elbow']).toBeCloseTo(0.505, 9);
    }
    const file = await bag(messages, undefined, { useChunks: false });
    const cut = await played(file.slice(0, file.size / 2));
    expect(cut.duration).toBeGreaterThan(0.5);
    expect(cut.duration).toBeLessThan(1.5);
    const plain = (compression: string) => bag(messages, undefined, { compressChunk: (data: Uint8Array) => ({ compression, compressedData: data }) });
    await expect(played(await plain('snappy'))).rejects.toThrow(/snappy/);
    await expect(played(await plain('lz4'))).rejects.toThrow(/not an LZ4 frame/);
  });

  it('says why it is none', async () => {
    const read = (file: Blob) => readMcap(file, new Recording(), () => true);
    await expect(read(new Blob(['no bag']))).rejects.toThrow(/not an MCAP file/);
    await expect(read(await bag([], 'std_msgs/msg/String'))).rejects.toThrow(/no topic of the type sensor_msgs/);
    const whole = await bag([{ time: 1, names: ['a'], positions: [0] }]);
    const bytes = new Uint8Array(await whole.arrayBuffer());
    for (let k = 60; k < bytes.length - 60; k += 7) {
      const broken = bytes.slice();
      broken[k] = broken[k]! ^ 0xff;
      // A broken file gives an error with a sentence, nothing worse.
      await read(new Blob([broken])).catch((error: Error) => expect(error.message.length).toBeGreaterThan(10));
    }
  });
});
