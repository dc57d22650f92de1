import { expect, test } from 'vitest';

import type { Diagnostic } from '../../src/app/api.js';
import { grouped } from '../../src/app/groups.js';

const finding = (code: string, message: string, more: Partial<Diagnostic> = {}): Diagnostic => ({
  severity: 'warning',
  code,
  message,
  ...more,
});

test('findings of one code and cause are one', () => {
  const all = [
    finding('link-without-mass', 'a'),
    finding('package', 'b', { cause: 'no package p' }),
    finding('link-without-mass', 'c'),
    finding('package', 'd', { cause: 'no package q' }),
    finding('package', 'e', { cause: 'no package p' }),
    finding('link-without-mass', 'f', { severity: 'error' }),
  ];
  const messages = grouped(all).map((group) => group.map((item) => item.message).join(''));
  expect(messages).toEqual(['ac', 'be', 'd', 'f']);
});

test('nothing is nothing', () => {
  expect(grouped([])).toEqual([]);
});
