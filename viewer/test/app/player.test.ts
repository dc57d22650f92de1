import { expect, it } from 'vitest';

import type { Fleet } from '../../src/app/fleet.js';
import { Player } from '../../src/app/motion/player.js';
import type { Trajectory } from '../../src/app/motion/trajectory.js';
import { State } from '../../src/app/state.js';

const TRAJECTORY: Trajectory = { name: 'a', duration: 2, tracks: [] };

/** A fleet with these robots in the picture. */
function fleet(shown: string[]): Fleet {
  const nothing = () => undefined;
  return { models: new Map([['arm', {}]]), shown: () => shown, live: () => ({}), takeOver: nothing, setPositions: nothing } as unknown as Fleet;
}

it('asks for one frame at a time, however often it is stopped and goes on', () => {
  const frames: ((time: number) => void)[] = [];
  const player = new Player(new State(), fleet(['arm']), (work) => frames.push(work));
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

it('begins again at its end if it repeats, and ends with its robot', () => {
  const frames: ((time: number) => void)[] = [];
  const [state, shown] = [new State(), ['arm']];
  const player = new Player(state, fleet(shown), (work) => frames.push(work));
  player.loop = true;
  player.open('arm', TRAJECTORY);
  [0, 1500, 2500].forEach((time) => frames.pop()!(time));
  expect([player.time, player.running]).toEqual([0.5, true]);
  state.emit('current', undefined);
  expect(player.playing).not.toBeNull();
  shown[0] = 'another';
  state.emit('current', undefined);
  expect(player.playing).toBeNull();
});
