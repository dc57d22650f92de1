// Grouping of joints by the branches of the robot's tree. No DOM.

import type { Joint, Link } from '../loader/index.js';

/** Joints of one branch, from the root outwards. */
export interface Limb {
  name: string;
  joints: Joint[];
}

/** Words in names that do not identify a limb. */
const EVERYDAY = new Set(['joint', 'link', 'dof', 'j', 'fixed', 'continuous', 'revolute', 'prismatic']);

/**
 * Groups the moving joints by branch. A branch begins at a link with several moving children. Single joints on one link, such as its
 * wheels, form one branch, and a hand's fingers belong to the arm that carries it unless there are
 * many of them.
 */
export function limbs(joints: readonly Joint[]): Limb[] {
  const below = new Map<Link, Joint[]>();
  for (const joint of joints) below.set(joint.parent, [...(below.get(joint.parent) ?? []), joint]);
  const children = new Set(joints.map((joint) => joint.child));
  const roots = [...new Set(joints.map((joint) => joint.parent))].filter((link) => !children.has(link));
  const moving = movingBelow(roots, below);
  const groups: Joint[][] = [];
  // No recursion, since a file may have a chain of any length. Each entry is a link with the group of its joints.
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
      // Small branches stay with the branch that carries them.
      const group = many && moving > 1 ? start(groups) : next.group;
      group.push(joint);
      open.push({ link: joint.child, group });
    }
  }
  // If the links of a file form a cycle, no root leads to its joints.
  const grouped = new Set(groups.flat());
  groups.push(joints.filter((joint) => joint.dofs.length > 0 && !grouped.has(joint)));
  const found = groups.filter((group) => group.length > 0).map((group) => inTreeOrder(group, below));
  // Arms and legs before casters and other small branches.
  found.sort((a, b) => b.length - a.length);
  const names = found.map((group) => (found.length === 1 ? '' : nameOf(group)));
  return found.map((group, k) => {
    const name = names[k] ?? '';
    // Limbs with the same name get that of their first link, too.
    const isShared = name !== '' && names.filter((other) => other === name).length > 1;
    return { name: isShared ? `${name}: ${group[0]?.child.name ?? ''}` : name, joints: group };
  });
}

/** Branches with at most this many joints do not split a limb... */
const FEW = 2;
/** ... unless a link has more of them than this. */
const MOST_FINGERS = 6;

function start(groups: Joint[][]): Joint[] {
  const group: Joint[] = [];
  groups.push(group);
  return group;
}

/** The next moving joints below a link, across fixed ones. */
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

/** Whether a joint moves independently. */
const own = (joint: Joint): number => (joint.dofs.length > 0 && !joint.mimic ? 1 : 0);

/** The number of moving joints below each link. */
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

/** Sorts joints so that each directly precedes those that it carries. */
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

/** Sides as words of names have them. */
const SIDES: Record<string, string> = {
  l: 'left', r: 'right', left: 'left', right: 'right',
  lf: 'left front', fl: 'front left', rf: 'right front', fr: 'front right',
  lh: 'left hind', hl: 'hind left', rh: 'right hind', hr: 'hind right',
  rl: 'rear left', rr: 'rear right', bl: 'back left', br: 'back right',
};

/** Parts of a body, by words in the names of their joints. */
const PARTS: [string, RegExp][] = [
  ['arm', /^(?:arm|shoulder|elbow|forearm|upperarm|wrist)/],
  ['leg', /^(?:leg|hip|thigh|knee|calf|shank|ankle|foot|haa|hfe|kfe)/],
  ['hand', /^(?:hand|thumb|finger|index|middle|ring|pinky|palm|knuckle|gripper)/],
];

/** Names a limb by what the names of its joints have in common, and the part of the body that most of them name. */
function nameOf(group: readonly Joint[]): string {
  const wordsOf = (name: string) => name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '' && !/^\d+$/.test(word) && !EVERYDAY.has(word.toLowerCase()));
  const names = group.map((joint) => wordsOf(joint.name).map((word) => SIDES[word.toLowerCase()] ?? word));
  const [first = [], ...others] = names;
  const common = [...new Set(first.filter((word) => others.every((other) => other.includes(word))))];
  const votes = PARTS.map(([part, pattern]) => ({ part, count: names.filter((words) => words.some((word) => pattern.test(word.toLowerCase()))).length }));
  // A branch with an arm and a hand is an arm.
  const voted = votes.find(({ part, count }) => part !== 'hand' && count > 1) ?? votes.find(({ count }) => 2 * count > group.length);
  const isSide = (word: string) => Object.values(SIDES).includes(word);
  if (voted && common.every(isSide) && (common.length > 0 || group.length > 1)) return [...common, voted.part].join(' ');
  if (common.length > 0) return common.join(' ');
  const [from, to] = [group[0]?.child.name ?? '', group.at(-1)?.child.name ?? ''];
  return from === to ? from : `${from} … ${to}`;
}
