import { expect, it } from 'vitest';

import type { Diagnostic } from '../../src/app/api.js';
import { outdated } from '../../src/app/notices.js';
import { subjects } from '../../src/app/subjects.js';

const model = {
  link: (name: string) => (['arm', 'both', 'hand link'].includes(name) ? { name } : undefined),
  joint: (name: string) => (['elbow', 'both'].includes(name) ? { child: { name: `below ${name}` } } : undefined),
};
const finding = (message: string, element?: string): Diagnostic => ({ severity: 'error', code: 'a', message, ...(element && { where: { element } }) });
const found = (...given: Parameters<typeof finding>) => subjects(finding(...given), model).map(({ kind, name, link }) => [kind, name, link]);

it('a finding is about the links and joints that it names and the model has', () => {
  expect(found('link "arm" has no mass', 'link "hand link" > inertial')).toEqual([['link', 'hand link', 'hand link']]);
  expect(found('it follows itself', 'joint "both"')).toEqual([['joint', 'both', 'below both']]);
  expect(found('"arm", "ghost" and "elbow" are odd; "arm" most', 'robot "both"')).toEqual([['link', 'arm', 'arm'], ['joint', 'elbow', 'below elbow']]);
  expect(found('nothing is named')).toEqual([]);
  expect(subjects(finding('link "arm"'), null)).toEqual([]);
});

it('a picture of an earlier description says so, with the first error', () => {
  const diagnostics: Diagnostic[] = [{ severity: 'warning', code: 'a', message: 'odd' }, { severity: 'error', code: 'b', message: 'it is broken.', where: { file: 'r.urdf', line: 3 } }];
  expect(outdated({ diagnostics }, 2)).toBe('');
  expect(outdated({ diagnostics, outdated: true }, 2)).toMatch(/last good revision, 2\..*: r\.urdf:3: it is broken\.$/);
});
