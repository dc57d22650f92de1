// Joint states of the robots: the latest of each robot, and whether it is followed. No DOM, no socket.

import { parseBases, type Base, type Bases } from './base.js';

/** A message of `/joints`: a whole state. */
export interface JointsMessage {
  /** The asset's key; null: every robot that has these joints. */
  robot: string | null;
  /** Whether a publisher is active. */
  live: boolean;
  /** Seconds. */
  stamp: number;
  /** Radians or metres by joint name. */
  positions: ReadonlyMap<string, number>;
  /** The poses of roots in the frames above them in TF. */
  bases?: Bases;
}

/** Parses a message; null if it is invalid. Positions that are not finite numbers are left out. */
export function parseJoints(text: string): JointsMessage | null {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof data !== 'object' || data === null) return null;
  const { robot, live, stamp, positions, bases } = data as Record<string, unknown>;
  if (robot !== null && robot !== undefined && typeof robot !== 'string') return null;
  const entries = typeof positions === 'object' && positions !== null ? Object.entries(positions) : [];
  const finite = entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1]));
  return {
    robot: robot ?? null,
    live: live === true,
    stamp: typeof stamp === 'number' ? stamp : 0,
    positions: new Map(finite),
    ...(bases !== undefined && { bases: parseBases(bases) }),
  };
}

/** The live state of a robot. */
export interface LiveState {
  /** Whether its joint states are published. */
  live: boolean;
  /** Whether the picture follows them. */
  following: boolean;
  /** The latest positions, of its own joints only. */
  positions: ReadonlyMap<string, number>;
}

const SILENT: ReadonlyMap<string, number> = new Map();

/** The latest states. */
export class Live {
  private readonly newest = new Map<string | null, JointsMessage>();
  private readonly bases = new Map<string | null, Bases>();
  private readonly detached = new Set<string>();

  /** Takes a message, which replaces the previous one for the same robot. */
  receive(message: JointsMessage): void {
    if (message.bases) this.bases.set(message.robot, message.bases);
    // A robot in a namespace may have transforms there, and joint states in the shared topic.
    if (message.robot !== null && message.positions.size === 0 && !this.newest.has(message.robot)) return;
    this.newest.set(message.robot, message);
  }

  /** Returns the frames above the first of these roots that has any, with its pose in them. */
  above(key: string, roots: readonly string[]): readonly Base[] {
    for (const bases of [this.bases.get(key), this.bases.get(null)]) {
      for (const root of roots) {
        const found = bases?.get(root);
        if (found?.length) return found;
      }
    }
    return [];
  }

  /** The connection is closed: no publisher is known. */
  lost(): void {
    this.newest.clear();
  }

  /** Follows a robot's joint states, or lets the user move it. */
  follow(key: string, follow: boolean): void {
    if (follow) this.detached.delete(key);
    else this.detached.add(key);
  }

  /**
   * Returns the live state of the robot with this key and these joints. A robot with joint states of its own never follows those of
   * another robot with the same joints, even if its own publisher is silent.
   */
  state(key: string, has: (joint: string) => boolean): LiveState {
    const message = this.newest.get(key) ?? this.newest.get(null);
    const positions = message?.live ? own(message.positions, has) : SILENT;
    if (positions.size === 0) return { live: false, following: false, positions: SILENT };
    return { live: true, following: !this.detached.has(key), positions };
  }
}

function own(positions: ReadonlyMap<string, number>, has: (joint: string) => boolean): ReadonlyMap<string, number> {
  return new Map([...positions].filter(([joint]) => has(joint)));
}
