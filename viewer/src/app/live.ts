// Joint positions as they come from the robot: what the newest state of each robot is, and whether it is followed. No DOM, no socket.

/** A message of `/joints`: a whole state. */
export interface JointsMessage {
  /** The asset's key; null: every robot that has these joints. */
  robot: string | null;
  /** Whether somebody publishes. */
  live: boolean;
  /** Seconds. */
  stamp: number;
  /** Radians or metres by the joint's name. */
  positions: ReadonlyMap<string, number>;
}

/** Reads a message; null if it is none. Positions that are not finite numbers are left out. */
export function parseJoints(text: string): JointsMessage | null {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof data !== 'object' || data === null) return null;
  const { robot, live, stamp, positions } = data as Record<string, unknown>;
  if (robot !== null && robot !== undefined && typeof robot !== 'string') return null;
  const entries = typeof positions === 'object' && positions !== null ? Object.entries(positions) : [];
  const finite = entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1]));
  return {
    robot: robot ?? null,
    live: live === true,
    stamp: typeof stamp === 'number' ? stamp : 0,
    positions: new Map(finite),
  };
}

/** What is heard of a robot. */
export interface LiveState {
  /** Whether somebody publishes its joints. */
  live: boolean;
  /** Whether the shown robot follows. */
  following: boolean;
  /** The newest positions, of its own joints only. */
  positions: ReadonlyMap<string, number>;
}

const SILENT: ReadonlyMap<string, number> = new Map();

/** The newest states. */
export class Live {
  private readonly newest = new Map<string | null, JointsMessage>();
  private readonly detached = new Set<string>();

  /** Takes in a message: it replaces the one before it for the same robot. */
  receive(message: JointsMessage): void {
    this.newest.set(message.robot, message);
  }

  /** The connection is gone: nobody is known to publish. */
  lost(): void {
    this.newest.clear();
  }

  /** Follows a robot's joint states, or lets a person move it. */
  follow(key: string, follow: boolean): void {
    if (follow) this.detached.delete(key);
    else this.detached.add(key);
  }

  /**
   * What is heard of the robot with this key, which has these joints. A robot that has joint states of its own never follows those of
   * another with the same joints, not even when its own are silent.
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
