import { describe, expect, it } from 'vitest';

import { Kept } from '../../src/app/kept.js';

const WORDS = ['dark', 'light'] as const;

/** A storage with this value. */
function storage(stored: Record<string, string> = {}) {
  const items = new Map(Object.entries(stored));
  return {
    items,
    full: false,
    getItem: (name: string) => items.get(name) ?? null,
    setItem(name: string, value: string) {
      if (this.full) throw new Error('full');
      items.set(name, value);
    },
    removeItem: (name: string) => void items.delete(name),
  };
}

describe('a choice', () => {
  it('is there on the next visit, until it is taken back', () => {
    const store = storage();
    new Kept(() => store, 'theme', WORDS).value = 'dark';
    const next = new Kept(() => store, 'theme', WORDS);
    expect(next.value).toBe('dark');
    next.value = null;
    expect([next.value, store.items.size]).toEqual([null, 0]);
  });

  it('counts though it cannot be written', () => {
    const store = storage({ theme: 'dark' });
    store.full = true;
    const kept = new Kept(() => store, 'theme', WORDS);
    kept.value = 'light';
    expect(kept.value).toBe('light');
    kept.value = null;
    expect(kept.value).toBeNull();
    store.full = false;
    kept.value = 'light';
    expect([kept.value, store.items.get('theme')]).toEqual(['light', 'light']);
  });

  it('lasts as long as the page where storage is forbidden', () => {
    const kept = new Kept(
      () => {
        throw new Error('forbidden');
      },
      'theme',
      WORDS,
    );
    expect(kept.value).toBeNull();
    kept.value = 'dark';
    expect(kept.value).toBe('dark');
  });

  it('is one of those that there are', () => {
    expect(new Kept(() => storage({ theme: 'pink' }), 'theme', WORDS).value).toBeNull();
  });
});
