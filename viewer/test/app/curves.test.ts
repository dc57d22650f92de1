import { expect, it } from 'vitest';

import { curves, extent, thinned, valueAt } from '../../src/app/motion/curves.js';
import { readCsv } from '../../src/app/motion/trajectory.js';

const read = (text: string) => readCsv(text).trajectory('a', () => true);

it('velocities and efforts are those of the recording, as far as it has them', () => {
  const given = read('time,a,a.velocity,a.effort,b\n0,0,5,1,1\n1,2,6,,1\n2,4,7,3,2\n');
  expect(given.tracks.map(({ joint }) => joint)).toEqual(['a', 'b']);
  const [a, b] = curves(given, 'velocity');
  expect(a?.values).toEqual([5, 6, 7]);
  // From the positions.
  expect(b?.values).toEqual([0, 0.5, 1]);
  const efforts = curves(given, 'effort');
  expect(efforts.map(({ joint }) => joint)).toEqual(['a']);
  expect([0, 0.5, 2].map((time) => valueAt(efforts[0]!, time))).toEqual([1, null, 3]);
  expect(extent(efforts)).toEqual([1, 3]);
  expect(() => read('time,a,a.effort\n0,0,much\n')).toThrow('line 2: "much" is not an effort of a');
});

it('a joint may have a name that ends like a velocity', () => {
  expect(read('time,a.velocity\n0,1\n').tracks[0]?.joint).toBe('a.velocity');
});

it('a long curve is thinned, with all of its peaks', () => {
  const times = Array.from({ length: 50_000 }, (_, k) => k);
  const values = times.map((k) => (k === 12_345 ? 9 : k === 40_000 ? -9 : Math.sin(k)));
  const drawn = thinned({ joint: 'a', times, values });
  expect(drawn.times.length).toBeLessThan(650);
  expect(extent([drawn])).toEqual([-9, 9]);
  expect([...drawn.times]).toEqual([...drawn.times].sort((a, b) => a - b));
});
