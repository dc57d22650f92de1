import { expect, it } from 'vitest';

import { cellOf } from '../../src/app/view/ground.js';

it('the grid has cells of a round size, some across any robot', () => {
  expect([0.04, 0.1, 0.4, 0.9, 2, 5].map(cellOf)).toEqual([0.01, 0.02, 0.1, 0.2, 0.5, 1]);
  for (let radius = 1e-3; radius < 100; radius *= 1.3) {
    expect(radius / cellOf(radius)).toBeGreaterThanOrEqual(4 - 1e-6);
    expect(radius / cellOf(radius)).toBeLessThan(10 + 1e-6);
  }
});
