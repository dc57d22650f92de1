import { describe, expect, it } from 'vitest';

import { Live, parseJoints, type JointsMessage } from '../../src/app/live.js';

const has =
  (...joints: string[]) =>
  (joint: string) =>
    joints.includes(joint);

function message(positions: Record<string, number>, more: Partial<JointsMessage> = {}): JointsMessage {
  return { robot: null, live: true, stamp: 0, positions: new Map(Object.entries(positions)), ...more };
}

describe('messages', () => {
  it('are read with care', () => {
    expect(parseJoints('{"robot":"a/b","live":true,"stamp":1.5,"positions":{"j":0.5}}')).toEqual({
      robot: 'a/b',
      live: true,
      stamp: 1.5,
      positions: new Map([['j', 0.5]]),
    });
    for (const text of ['', 'null', '3', '[]x', '{"robot":7}']) expect(parseJoints(text)).toBeNull();
  });

  it('keep only numbers', () => {
    const read = parseJoints('{"robot":null,"live":true,"positions":{"a":1,"b":"2","c":null,"d":1e999}}');
    expect([...(read?.positions ?? [])]).toEqual([['a', 1]]);
    expect(parseJoints('{"live":"yes"}')).toMatchObject({ live: false, robot: null });
  });

  it('may have a joint of any name', () => {
    expect(parseJoints('{"live":true,"positions":{"__proto__":1,"constructor":2}}')?.positions.get('__proto__')).toBe(1);
  });
});

describe('live joints', () => {
  it('are of every robot that has them, and of no other', () => {
    const live = new Live();
    live.receive(message({ elbow: 1, wrist: 2 }));
    expect(live.state('arm', has('elbow', 'other'))).toEqual({ live: true, following: true, positions: new Map([['elbow', 1]]) });
    expect(live.state('rover', has('wheel'))).toMatchObject({ live: false, following: false });
  });

  it('of one robot are not of another with the same joints', () => {
    const live = new Live();
    live.receive(message({ elbow: 1 }, { robot: 'left' }));
    expect(live.state('left', has('elbow')).live).toBe(true);
    expect(live.state('right', has('elbow')).live).toBe(false);
  });

  it("are a robot's own where it has some, also while they are silent", () => {
    const live = new Live();
    live.receive(message({ elbow: 2 }));
    expect(live.state('arm', has('elbow')).positions.get('elbow')).toBe(2);
    live.receive(message({ elbow: 1 }, { robot: 'arm' }));
    live.receive(message({ elbow: 3 }));
    expect(live.state('arm', has('elbow')).positions.get('elbow')).toBe(1);
    expect(live.state('twin', has('elbow')).positions.get('elbow')).toBe(3);
    live.receive(message({ elbow: 1 }, { robot: 'arm', live: false }));
    expect(live.state('arm', has('elbow')).live).toBe(false);
  });

  it('of others do not hide those of this robot', () => {
    const live = new Live();
    live.receive(message({ elbow: 1 }, { robot: 'arm' }));
    live.receive(message({ wheel: 2 }));
    expect(live.state('arm', has('elbow')).positions.get('elbow')).toBe(1);
  });

  it('end when nobody publishes, and when the connection is lost', () => {
    const live = new Live();
    live.receive(message({ elbow: 1 }));
    live.receive(message({ elbow: 1 }, { live: false }));
    expect(live.state('arm', has('elbow'))).toEqual({ live: false, following: false, positions: new Map() });
    live.receive(message({ elbow: 1 }));
    live.lost();
    expect(live.state('arm', has('elbow')).live).toBe(false);
  });

  it('need not be followed, robot by robot', () => {
    const live = new Live();
    live.follow('arm', false);
    live.receive(message({ elbow: 1 }));
    expect(live.state('arm', has('elbow'))).toMatchObject({ live: true, following: false });
    expect(live.state('twin', has('elbow'))).toMatchObject({ live: true, following: true });
    live.follow('arm', true);
    expect(live.state('arm', has('elbow')).following).toBe(true);
  });
});
