// Findings of one kind as one, as the command line shows them.

import type { Diagnostic } from './api.js';

/** Findings of one severity, code and cause; the first stands for all. */
export type Group = [Diagnostic, ...Diagnostic[]];

/** Findings in groups, in the order in which the first of each was found. */
export function grouped(findings: Diagnostic[]): Group[] {
  const groups = new Map<string, Group>();
  for (const finding of findings) {
    const kind = JSON.stringify([finding.severity, finding.code, finding.cause ?? '']);
    const group = groups.get(kind);
    if (group) group.push(finding);
    else groups.set(kind, [finding]);
  }
  return [...groups.values()];
}
