// Which joints belong together: the branches of the robot's tree. No DOM.

import type { Joint, Link } from '../loader/index.js';

/** Joints of one branch, from the root outwards. */
export interface Limb {
  name: string;
  joints: Joint[];
}

/** Words that say nothing of where a joint is. */
const EVERYDAY = new Set(['joint', 'link', 'dof', 'j', 'fixed', 'continuous', 'revolute', 'prismatic']);

/**
 * The joints that move, in the branches that they are in. A branch begins where a link has several others on it that move; single
 * joints on one link, such as its wheels, are a branch together, and a hand's fingers are one with the arm that carries it unless
 * they are many.
 */
export function limbs(joints: readonly Joint[]): Limb[] {
  const below = new Map<Link, Joint[]>();
  for (const joint of joints) below.set(joint.parent, [...(below.get(joint.parent) ?? []), joint]);
  const children = new Set(joints.map((joint) => joint.child));
  const roots = [...new Set(joints.map((joint) => joint.parent))].filter((link) => !children.has(link));
  const moving = movingBelow(roots, below);
  const groups: Joint[][] = [];
  // No recursion: a file may have a chain of any length. Each entry is a link with the group that its joints go on in.
  const open = roots.map((link) => ({ link, group: start(groups) }));
  const seen = new Set<Link>();
  while (open.length > 0) {
    const next = open.shift();
    if (!next || seen.has(next.link)) continue;
    seen.add(next.link);
    const branches = onward(next.link, below).map((joint) => ({
      joint,
      moving: (moving.get(joint.child) ?? 0) + own(joint),
    }));
    const many = branches.filter(({ moving }) => moving > FEW).length > 1 || branches.length > MOST_FINGERS;
    for (const { joint, moving } of branches) {
      // What is small stays with what carries it.
      const group = many && moving > 1 ? start(groups) : next.group;
      group.push(joint);
      open.push({ link: joint.child, group });
    }
  }
  // A file whose links hang on each other in a circle has joints that no root leads to.
  const grouped = new Set(groups.flat());
  groups.push(joints.filter((joint) => joint.dofs.length > 0 && !grouped.has(joint)));
  const found = groups.filter((group) => group.length > 0).map((group) => inTreeOrder(group, below));
  // Arms and legs before casters and what else is small.
  found.sort((a, b) => b.length - a.length);
  return found.map((group) => ({ name: found.length === 1 ? '' : nameOf(group), joints: group }));
}

/** Branches with at most so many joints never part a limb... */
const FEW = 2;
/** ... unless a link has more of them than this. */
const MOST_FINGERS = 6;

function start(groups: Joint[][]): Joint[] {
  const group: Joint[] = [];
  groups.push(group);
  return group;
}

/** The next joints that move below a link, past fixed ones. */
function onward(from: Link, below: ReadonlyMap<Link, Joint[]>): Joint[] {
  const found: Joint[] = [];
  const open = [...(below.get(from) ?? [])];
  const seen = new Set<Joint>();
  while (open.length > 0) {
    const joint = open.shift();
    if (!joint || seen.has(joint)) continue;
    seen.add(joint);
    if (joint.dofs.length > 0) found.push(joint);
    else open.push(...(below.get(joint.child) ?? []));
  }
  return found;
}

/** Whether a joint moves of its own. */
const own = (joint: Joint): number => (joint.dofs.length > 0 && !joint.mimic ? 1 : 0);

/** How many joints move below each link. */
function movingBelow(roots: readonly Link[], below: ReadonlyMap<Link, Joint[]>): Map<Link, number> {
  const order = [...roots];
  const seen = new Set(order);
  for (let at = 0; at < order.length; at += 1) {
    for (const { child } of below.get(order[at]!) ?? []) {
      if (seen.has(child)) continue;
      seen.add(child);
      order.push(child);
    }
  }
  const moving = new Map<Link, number>();
  for (const link of order.reverse()) {
    const carried = below.get(link) ?? [];
    moving.set(link, carried.reduce((sum, joint) => sum + own(joint) + (moving.get(joint.child) ?? 0), 0));
  }
  return moving;
}

/** Each joint directly before those that it carries. */
function inTreeOrder(group: readonly Joint[], below: ReadonlyMap<Link, Joint[]>): Joint[] {
  const rest = new Set(group);
  const ordered: Joint[] = [];
  for (const first of group) {
    const open = [first];
    while (open.length > 0) {
      const joint = open.pop();
      if (!joint || (joint.dofs.length > 0 && !rest.delete(joint))) continue;
      if (joint.dofs.length > 0) ordered.push(joint);
      open.push(...[...(below.get(joint.child) ?? [])].reverse());
    }
  }
  return ordered;
}

/** What the names of all joints have in common, or else from where to where they lead. */
function nameOf(group: readonly Joint[]): string {
  const words = (name: string) => name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
  const [first, ...others] = group.map((joint) => words(joint.name));
  const common = (first ?? []).filter(
    (word) => !EVERYDAY.has(word.toLowerCase()) && others.every((other) => other.includes(word)),
  );
  if (common.length > 0) return common.join(' ');
  const [from, to] = [group[0]?.child.name ?? '', group.at(-1)?.child.name ?? ''];
  return from === to ? from : `${from} … ${to}`;
}
