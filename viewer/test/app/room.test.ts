import { PMREMGenerator } from 'three';
import { expect, test } from 'vitest';
import { SmallGenerator } from '../../src/app/view/room.js';

test('three still sets the size of the room in one place, and its own is too large', () => {
  const set = (Class: typeof PMREMGenerator): unknown => {
    const generator = Object.create(Class.prototype) as SmallGenerator;
    generator._setSize(64);
    return generator._cubeSize;
  };
  expect(set(PMREMGenerator)).toBe(256);
  expect(set(SmallGenerator)).toBe(64);
});
