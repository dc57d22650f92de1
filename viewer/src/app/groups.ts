// Grouping of findings with one code and cause, as on the command line.

import type { Diagnostic } from './api.js';

/** Findings with one severity, code and cause; the first represents all. */
export type Group = [Diagnostic, ...Diagnostic[]];

/** Groups findings, in the order of the first of each. */
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
