// Joint states out of an MCAP file as rosbag2 writes them. Loaded only when such a file is opened; it imports nothing that the page has
// already, since what two parts share would be loaded apart from both.

import { CdrReader } from '@foxglove/cdr';
import { McapIndexedReader, type McapTypes } from '@mcap/core';
import { decompress } from 'fzstd';
import type { Recording } from './trajectory.js';

const TYPE = 'sensor_msgs/msg/JointState';

/** Adds the joint states of a file to a recording. Throws an error with the reason, to be shown, where it can't. */
export async function readMcap(file: Blob, recording: Recording): Promise<void> {
  const readable: McapTypes.IReadable = {
    size: () => Promise.resolve(BigInt(file.size)),
    read: async (offset, size) => new Uint8Array(await file.slice(Number(offset), Number(offset + size)).arrayBuffer()),
  };
  const decompressHandlers: McapTypes.DecompressHandlers = {
    zstd: (buffer, size) => decompress(buffer, new Uint8Array(Number(size))),
  };
  const reader = await McapIndexedReader.Initialize({ readable, decompressHandlers }).catch((error: unknown) => {
    throw new Error(`it is no whole MCAP file (${reason(error)}); ros2 bag reindex makes a recording whole that was cut off`);
  });
  const channels = [...reader.channelsById.values()].filter(({ schemaId }) => reader.schemasById.get(schemaId)?.name === TYPE);
  if (channels.length === 0) {
    const topics = [...reader.channelsById.values()].map(({ topic }) => topic).slice(0, 4);
    throw new Error(`it has no topic of the type ${TYPE}${topics.length ? `, only ${topics.join(', ')}` : ''}`);
  }
  const odd = channels.find(({ messageEncoding }) => messageEncoding !== 'cdr');
  if (odd) throw new Error(`${odd.topic} is encoded as ${odd.messageEncoding}, and only cdr (ROS 2) is read`);
  try {
    for await (const { data, logTime } of reader.readMessages({ topics: channels.map(({ topic }) => topic) })) {
      // Of the header only its length matters: stamps of several publishers need not be of one clock.
      const cdr = new CdrReader(data);
      cdr.int32();
      cdr.uint32();
      cdr.string();
      const names = cdr.stringArray();
      const positions = cdr.float64Array();
      const time = Number(logTime) / 1e9;
      names.forEach((name, k) => recording.add(time, name, positions[k] ?? Number.NaN));
    }
  } catch (error) {
    throw new Error(`it can't be read to its end: ${reason(error)}`);
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
