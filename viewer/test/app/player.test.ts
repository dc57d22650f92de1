import { expect, it } from 'vitest';

import type { Fleet } from '../../src/app/fleet.js';
import { Player } from '../../src/app/motion/player.js';
import type { Trajectory } from '../../src/app/motion/trajectory.js';
import { State } from '../../src/app/state.js';

const TRAJECTORY: Trajectory = { name: 'a', duration: 2, tracks: [] };

it('asks for one frame at a time, however often it is stopped and goes on', () => {
  const frames: ((time: number) => void)[] = [];
  const fleet = { models: new Map([['arm', {}]]), takeOver: () => undefined, setPositions: () => undefined } as unknown as Fleet;
  const player = new Player(new State(), fleet, (work) => frames.push(work));
  player.open('arm', TRAJECTORY);
  for (const running of [false, true, false, true]) player.run(running);
  const pass = (time: number) => {
    expect(frames).toHaveLength(1);
    frames.pop()!(time);
  };
  [0, 500, 1000].forEach(pass);
  expect(player.time).toBe(1);
  player.run(false);
  pass(1500);
  expect([player.time, frames.length]).toEqual([1, 0]);
  player.run(true);
  [2000, 3100].forEach(pass);
  expect([player.time, player.running, frames.length]).toEqual([2, false, 0]);
});
