import { expect, test } from 'vitest';

import { toStep } from '../../src/app/panels/controls.js';

test('a slider stands on whole steps and on its ends', () => {
  const reach = { min: -Math.PI, max: Math.PI, step: 0.01 };
  expect([0.704, 0.7049999, -1.2345, 3.139, -99].map((value) => toStep(value, reach))).toEqual([
    0.7,
    0.7,
    -1.23,
    Math.PI,
    -Math.PI,
  ]);
  expect(toStep(0.0123456, { min: 0, max: 0.03, step: 0.0001 })).toBe(0.0123);
  expect(toStep(0.33, { min: 0, max: 0.95, step: 0.05 })).toBe(0.35);
});

test('a slider whose ends are one has one place', () => {
  expect(toStep(5, { min: 1, max: 1, step: 0.01 })).toBe(1);
});
