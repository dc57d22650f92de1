// The links and joints that a finding is about. No DOM.

import type { Diagnostic } from './api.js';

/** Maximum number of subjects of one finding. */
const MOST = 3;

/** A link, or a joint with the link that it moves. */
export interface Subject {
  name: string;
  kind: 'link' | 'joint';
  /** The link to select. */
  link: string;
}

/** The parts of a model that matter here. */
interface Named {
  link(name: string): { name: string } | undefined;
  joint(name: string): { child: { name: string } } | undefined;
}

/** Returns what the finding's element names, else what its message quotes; only what the model has. */
export function subjects({ where, message }: Diagnostic, model: Named | null): Subject[] {
  if (!model) return [];
  const found = new Map<string, Subject>();
  const add = (kind: string | undefined, name: string) => {
    const link = kind === 'joint' ? undefined : model.link(name)?.name;
    const moved = kind === 'link' || link !== undefined ? undefined : model.joint(name)?.child.name;
    if (link !== undefined) found.set(`link ${name}`, { name, kind: 'link', link });
    else if (moved !== undefined) found.set(`joint ${name}`, { name, kind: 'joint', link: moved });
  };
  for (const [, kind, name] of (where?.element ?? '').matchAll(/\b(link|joint) "([^"]+)"/g)) add(kind, name ?? '');
  if (found.size === 0) for (const [, kind, name] of message.matchAll(/(?:\b(link|joint) )?"([^"]+)"/g)) add(kind, name ?? '');
  return [...found.values()].slice(0, MOST);
}
