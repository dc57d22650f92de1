import { Vector3 } from 'three';
import { expect, it } from 'vitest';

import { chosenBase, parseBases, toTransform, type BasePose } from '../../src/app/base.js';
import { Live, parseJoints } from '../../src/app/live.js';
import { Drive } from '../../src/app/motion/drive.js';
import { Recording } from '../../src/app/motion/trajectory.js';

const HALF = Math.SQRT1_2;
const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 9));
const at = (x: number, y = 0, z = 0): BasePose => [x, y, z, 0, 0, 0, 1];

it('a robot stands in the chosen frame, in odom, or in the outermost', () => {
  const above = [{ frame: 'odom', pose: at(1) }, { frame: 'map', pose: at(2) }];
  expect([null, 'map', 'gone', ''].map((frame) => chosenBase(above, frame)?.frame)).toEqual(['odom', 'map', 'odom', undefined]);
  expect(chosenBase([{ frame: 'world', pose: at(1) }], null)?.frame).toBe('world');
  // ROS's x is glTF's z; a quarter turn to the left looks along ROS's y, which is glTF's x.
  const forward = new Vector3(0, 0, 1).applyMatrix4(toTransform([1, 2, 3, 0, 0, HALF, HALF]));
  expect(forward.toArray()).toEqual(close([3, 3, 1]));
  expect([...parseBases({ base: [{ frame: 'odom', pose: [1, 2] }, { frame: 'map', pose: at(2) }], other: 3 })]).toEqual([
    ['base', [{ frame: 'map', pose: at(2) }]],
    ['other', []],
  ]);
});

it('transforms in a namespace do not end joint states of the shared topic', () => {
  const live = new Live();
  const hear = (message: object) => live.receive(parseJoints(JSON.stringify(message))!);
  hear({ robot: null, live: true, stamp: 1, positions: { hip: 0.5 } });
  hear({ robot: 'r1', live: false, stamp: 0, positions: {}, bases: { base: [{ frame: 'odom', pose: at(3) }] } });
  expect(live.state('r1', () => true).live).toBe(true);
  expect(live.above('r1', ['other', 'base'])).toEqual([{ frame: 'odom', pose: at(3) }]);
  expect(live.above('r2', ['base'])).toEqual([]);
});

it('a recorded drive is that of the root through all frames above it', () => {
  const drive = new Drive();
  drive.add(10, 'map', 'odom', [0, 5, 0, 0, 0, HALF, HALF]);
  drive.add(12, 'odom', 'base', at(4));
  drive.add(10, 'odom', 'base', at(0));
  expect(drive.span(['base'])).toEqual([10, 12]);
  expect(drive.at('base', 11).map(({ frame, pose }) => [frame, pose.slice(0, 3)])).toEqual([
    ['odom', close([2, 0, 0])],
    ['map', close([0, 7, 0])],
  ]);
  // A cycle ends.
  drive.add(10, 'base', 'map', at(1));
  expect(drive.at('base', 10).length).toBeLessThan(5);
  expect(drive.span(['nothing'])).toBeNull();
});

it('a recording of transforms only is played', () => {
  const recording = new Recording();
  expect(() => recording.trajectory('a', () => true, ['base'])).toThrow('no joint positions, and no transforms');
  recording.drive.add(1, 'odom', 'base', at(0));
  recording.drive.add(3, 'odom', 'base', at(1));
  expect(recording.trajectory('a', () => true, ['base'])).toMatchObject({ duration: 2, tracks: [], drive: { start: 1 } });
});
