// Joint states out of an MCAP file as rosbag2 writes them. Loaded only when such a file is opened.

import { CdrReader } from '@foxglove/cdr';
import { McapIndexedReader, type McapTypes } from '@mcap/core';
import { decompress } from 'fzstd';
import { Recording, Unplayable } from './trajectory.js';

const TYPE = 'sensor_msgs/msg/JointState';

/** Reads the joint states of a file. Throws `Unplayable`. */
export async function readMcap(file: Blob): Promise<Recording> {
  const readable: McapTypes.IReadable = {
    size: () => Promise.resolve(BigInt(file.size)),
    read: async (offset, size) => new Uint8Array(await file.slice(Number(offset), Number(offset + size)).arrayBuffer()),
  };
  const decompressHandlers: McapTypes.DecompressHandlers = {
    zstd: (buffer, size) => decompress(buffer, new Uint8Array(Number(size))),
  };
  const reader = await McapIndexedReader.Initialize({ readable, decompressHandlers }).catch((error: unknown) => {
    throw new Unplayable(`it is no whole MCAP file (${reason(error)}); ros2 bag reindex makes a recording whole that was cut off`);
  });
  const channels = [...reader.channelsById.values()].filter(({ schemaId }) => reader.schemasById.get(schemaId)?.name === TYPE);
  if (channels.length === 0) {
    const topics = [...reader.channelsById.values()].map(({ topic }) => topic).slice(0, 4);
    throw new Unplayable(`it has no topic of the type ${TYPE}${topics.length ? `, only ${topics.join(', ')}` : ''}`);
  }
  const odd = channels.find(({ messageEncoding }) => messageEncoding !== 'cdr');
  if (odd) throw new Unplayable(`${odd.topic} is encoded as ${odd.messageEncoding}, and only cdr (ROS 2) is read`);
  const recording = new Recording();
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
    throw new Unplayable(`it can't be read to its end: ${reason(error)}`);
  }
  return recording;
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
