import { describe, expect, it } from 'vitest';

import { takesLong, type Transfer } from '../../src/app/link.js';

/** A file of so many bytes that took so many milliseconds. */
const file = (transferSize: number, time: number) => ({ transferSize, responseStart: 100, responseEnd: 100 + time });

/** The storage of a tab. */
function tab() {
  const kept = new Map<string, string>();
  const storage = { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, value: string) => void kept.set(name, value) };
  return (bytes: number, files: readonly Transfer[]) => takesLong(bytes, files, () => storage);
}

const forbidden = () => {
  throw new Error('forbidden');
};

describe('a transfer', () => {
  it('takes long by the speed of the largest file', () => {
    const slow = [file(1000, 900), file(240_000, 192), file(6000, 5)];
    expect([tab()(12_000_000, slow), tab()(1_000_000, slow)]).toEqual([true, false]);
    expect(tab()(12_000_000, [file(240_000, 4)])).toBe(false);
    expect(takesLong(12_000_000, slow, forbidden)).toBe(true);
  });

  it('does not where nothing is known', () => {
    expect([tab()(1e9, []), tab()(1e9, [file(0, 0), file(300, 90)])]).toEqual([false, false]);
    expect(takesLong(1e9, [], forbidden)).toBe(false);
  });

  it('takes as long as on the last visit if the files are cached', () => {
    const takes = tab();
    const cached = [file(0, 0), file(300, 20)];
    takes(1, [file(240_000, 192)]);
    expect([takes(12_000_000, cached), takes(1_000_000, cached)]).toEqual([true, false]);
    takes(1, [file(240_000, 1)]);
    expect(takes(12_000_000, cached)).toBe(false);
  });
});
