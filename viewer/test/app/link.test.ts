import { describe, expect, it } from 'vitest';

import { takesLong } from '../../src/app/link.js';

/** A file of so many bytes that took so many milliseconds. */
const file = (transferSize: number, time: number) => ({ transferSize, responseStart: 100, responseEnd: 100 + time });

describe('a transfer', () => {
  it('takes long by the speed of the largest file', () => {
    const slow = [file(1000, 900), file(240_000, 192), file(6000, 5)];
    expect([takesLong(12_000_000, slow), takesLong(1_000_000, slow)]).toEqual([true, false]);
    expect(takesLong(12_000_000, [file(240_000, 4)])).toBe(false);
  });

  it('does not where nothing is known', () => {
    expect([takesLong(1e9, []), takesLong(1e9, [file(0, 0), file(300, 90)])]).toEqual([false, false]);
  });
});
