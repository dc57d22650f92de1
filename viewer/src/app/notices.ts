// Sentences over the picture. No DOM.

import type { RobotEntry } from './api.js';
import { place } from './format.js';

/** Says that the picture is of an earlier description, and the first error of the newest; empty if it is not. */
export function outdated({ outdated, diagnostics }: Pick<RobotEntry, 'outdated' | 'diagnostics'>, revision: number | null): string {
  if (!outdated) return '';
  const error = diagnostics.find(({ severity }) => severity === 'error') ?? diagnostics[0];
  // The folders of the file are in the tab Diagnostics.
  const at = place(error?.where).split('/').at(-1) ?? '';
  const why = error ? `${at ? `${at}: ` : ''}${error.message}` : 'the tab Diagnostics says why';
  return `This is the last good revision${revision === null ? '' : `, ${revision}`}. The newest description can't be converted: ${why.replace(/\.$/, '')}.`;
}
