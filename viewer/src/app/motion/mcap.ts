// Joint states and transforms of an MCAP file of rosbag2. Loaded lazily; it imports no module of the page,
// since shared modules would become a chunk of their own.

import { CdrReader } from '@foxglove/cdr';
import { McapIndexedReader, McapStreamReader, type McapTypes } from '@mcap/core';
import { decompress } from 'fzstd';
import { decompressLz4 } from './lz4.js';
import type { Recording } from './trajectory.js';

const JOINTS = 'sensor_msgs/msg/JointState';
const TRANSFORMS = 'tf2_msgs/msg/TFMessage';
const TYPES = [JOINTS, TRANSFORMS];

/** The magic bytes of a file. */
const MAGIC = [0x89, 0x4d, 0x43, 0x41, 0x50, 0x30, 0x0d, 0x0a];

/** Bytes per read of a file without an index. */
const PIECE = 1 << 20;

/**
 * Adds the joint states of a file to a recording, and the transforms of frames that are `above` the robot. Throws an error with a sentence
 * for the user.
 */
export async function readMcap(file: Blob, recording: Recording, above: (frame: string) => boolean): Promise<void> {
  const magic = new Uint8Array(await file.slice(0, MAGIC.length).arrayBuffer());
  if (MAGIC.some((byte, k) => byte !== magic[k])) throw new Error('it is not an MCAP file');
  const decompressHandlers: McapTypes.DecompressHandlers = {
    lz4: (buffer, size) => decompressLz4(buffer, Number(size)),
    zstd: (buffer, size) => decompress(buffer, new Uint8Array(Number(size))),
  };
  const readable: McapTypes.IReadable = {
    size: () => Promise.resolve(BigInt(file.size)),
    read: async (offset, size) => new Uint8Array(await file.slice(Number(offset), Number(offset + size)).arrayBuffer()),
  };
  const reader = await McapIndexedReader.Initialize({ readable, decompressHandlers }).catch(() => null);
  // A truncated recording has no index, and one without chunking has no chunks.
  if (!reader || reader.chunkIndexes.length === 0) return readOn(file, new McapStreamReader({ decompressHandlers }), recording, above);
  const channels = [...reader.channelsById.values()].filter(({ schemaId }) => TYPES.includes(reader.schemasById.get(schemaId)?.name ?? ''));
  if (channels.length === 0) throw none([...reader.channelsById.values()].map(({ topic }) => topic));
  channels.forEach(readableChannel);
  try {
    const topics = channels.map(({ topic }) => topic);
    const transforms = new Set(channels.filter(({ schemaId }) => reader.schemasById.get(schemaId)?.name === TRANSFORMS).map(({ id }) => id));
    for await (const message of reader.readMessages({ topics })) take(message, transforms.has(message.channelId), recording, above);
  } catch (error) {
    throw new Error(`it can't be read to its end: ${reason(error)}`);
  }
}

/** Reads a file sequentially; of a truncated one, as much as it has. */
async function readOn(file: Blob, reader: McapStreamReader, recording: Recording, above: (frame: string) => boolean): Promise<void> {
  const states = new Map<number, boolean>();
  const schemas = new Map<number, string>();
  const topics: string[] = [];
  let count = 0;
  try {
    for (let at = 0; at < file.size; at += PIECE) {
      reader.append(new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer()));
      for (let record = reader.nextRecord(); record; record = reader.nextRecord()) {
        if (record.type === 'Schema') schemas.set(record.id, record.name);
        else if (record.type === 'Channel') {
          topics.push(record.topic);
          const type = schemas.get(record.schemaId) ?? '';
          if (!TYPES.includes(type)) continue;
          readableChannel(record);
          states.set(record.id, type === TRANSFORMS);
        } else if (record.type === 'Message' && states.has(record.channelId)) {
          take(record, states.get(record.channelId) ?? false, recording, above);
          count += 1;
        }
      }
    }
  } catch (error) {
    if (count === 0) throw new Error(`it can't be read: ${reason(error)}`);
  }
  if (states.size === 0) throw none(topics);
}

function none(topics: readonly string[]): Error {
  const some = topics.slice(0, 4).join(', ');
  return new Error(`it has no topic of the type ${TYPES.join(' or ')}${some ? `, only ${some}` : ''}`);
}

function readableChannel({ topic, messageEncoding }: { topic: string; messageEncoding: string }): void {
  if (messageEncoding !== 'cdr') throw new Error(`${topic} is encoded as ${messageEncoding}, and only cdr (ROS 2) is supported`);
}

function take(
  { data, logTime }: { data: Uint8Array; logTime: bigint },
  isTransforms: boolean,
  recording: Recording,
  above: (frame: string) => boolean,
): void {
  const time = Number(logTime) / 1e9;
  // Only the length of the header is used: stamps of several publishers may be of different clocks.
  const cdr = new CdrReader(data);
  if (isTransforms) {
    for (let count = cdr.sequenceLength(); count > 0; count -= 1) {
      cdr.int32();
      cdr.uint32();
      const [parent, child] = [frameName(cdr.string()), frameName(cdr.string())];
      const [x, y, z] = [cdr.float64(), cdr.float64(), cdr.float64()];
      const pose = [x, y, z, cdr.float64(), cdr.float64(), cdr.float64(), cdr.float64()] as const;
      if (above(child)) recording.drive.add(time, parent, child, pose);
    }
    return;
  }
  cdr.int32();
  cdr.uint32();
  cdr.string();
  const names = cdr.stringArray();
  const [positions, velocities, efforts] = [cdr.float64Array(), cdr.float64Array(), cdr.float64Array()];
  names.forEach((name, k) => recording.add(time, name, positions[k] ?? Number.NaN, velocities[k], efforts[k]));
}

/** Frames of TF may begin with a slash, from ROS 1. */
function frameName(name: string): string {
  return name.replace(/^\//, '');
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
