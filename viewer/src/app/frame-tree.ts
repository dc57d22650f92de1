// Frames as trees: the asset's own and that of TF. TF data is untrusted: a frame may be its own ancestor. No frame is lost, and traversal
// ends. No DOM.

import type { FrameVerdict, TfFrame } from './api.js';
import type { Model } from './model.js';

/** Maximum number of displayed levels. */
const DEEPEST = 64;

/** A frame with its children. */
export interface FrameNode {
  name: string;
  children: FrameNode[];
}

/** The tree of a model's links, with the asset's frames that are no links; of the frames only, without a model. */
export function linkTree(model: Pick<Model, 'links' | 'joints'> | null, frames: readonly FrameVerdict[]): FrameNode[] {
  const edges = new Map<string, string | null>();
  for (const link of model?.links ?? []) edges.set(link.name, null);
  for (const joint of model?.joints ?? []) edges.set(joint.child.name, joint.parent.name);
  const aliases = new Map(frames.map((frame) => [frame.name, frame.alias]));
  const known = (name: string | null) => {
    const alias = name === null ? null : (aliases.get(name) ?? null);
    return alias !== null && edges.has(alias) ? alias : name;
  };
  for (const frame of frames) {
    const name = known(frame.name) ?? frame.name;
    if (!edges.has(name)) edges.set(name, known(frame.parent));
  }
  return grow(edges);
}

/** The verdicts by every name of a frame. */
export function byName(frames: readonly FrameVerdict[]): Map<string, FrameVerdict> {
  const aliases = frames.flatMap((frame) => (frame.alias === null ? [] : [[frame.alias, frame] as const]));
  return new Map([...aliases, ...frames.map((frame) => [frame.name, frame] as const)]);
}

/** TF's tree. */
export function tfTree(frames: readonly TfFrame[]): FrameNode[] {
  return grow(new Map(frames.map((frame) => [frame.frame, frame.parent])));
}

/** Returns the nodes that match, with their ancestors. */
export function sought(nodes: readonly FrameNode[], matches: (name: string) => boolean): FrameNode[] {
  return nodes.flatMap(({ name, children }) => {
    const below = sought(children, matches);
    return below.length > 0 || matches(name) ? [{ name, children: below }] : [];
  });
}

/** Builds trees from children and their parents. Parents that are no children are roots, and so is the first frame of a cycle. */
export function grow(edges: ReadonlyMap<string, string | null>): FrameNode[] {
  const children = new Map<string, string[]>();
  const roots: string[] = [];
  for (const [name, parent] of edges) {
    if (parent === null) {
      roots.push(name);
      continue;
    }
    if (!edges.has(parent) && !children.has(parent)) roots.push(parent);
    const siblings = children.get(parent) ?? [];
    siblings.push(name);
    children.set(parent, siblings);
  }
  const taken = new Set<string>();
  const take = (root: string): FrameNode => {
    taken.add(root);
    const top: FrameNode = { name: root, children: [] };
    // Without recursion, since a chain may have any length. Frames deeper than the page can nest are children of the deepest that it can.
    const open = [{ name: root, host: top, depth: 0 }];
    for (let at = open.pop(); at; at = open.pop()) {
      for (const name of children.get(at.name) ?? []) {
        if (taken.has(name)) continue;
        taken.add(name);
        const child: FrameNode = { name, children: [] };
        at.host.children.push(child);
        open.push({ name, host: at.depth < DEEPEST ? child : at.host, depth: at.depth + 1 });
      }
    }
    return top;
  };
  const trees = roots.map(take);
  for (const name of edges.keys()) if (!taken.has(name)) trees.push(take(name));
  return trees;
}
