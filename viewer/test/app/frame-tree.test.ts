import { describe, expect, it } from 'vitest';

import { byName, grow, linkTree, tfTree, type FrameNode, sought } from '../../src/app/frame-tree.js';
import type { Model } from '../../src/app/model.js';

const shape = (node: FrameNode): string =>
  node.children.length ? `${node.name}(${node.children.map(shape).join(' ')})` : node.name;
const shapes = (nodes: FrameNode[]) => nodes.map(shape).join(' ');
const heard = (...pairs: [string, string][]) => pairs.map(([parent, frame]) => ({ frame, parent, static: false, age: 0 }));
const names = (nodes: FrameNode[]): string[] => nodes.flatMap((node) => [node.name, ...names(node.children)]);
const depth = (nodes: FrameNode[]): number => (nodes.length ? 1 + Math.max(...nodes.map((node) => depth(node.children))) : 0);

describe('the TF tree', () => {
  it('hangs on parents that nobody broadcasts', () => {
    expect(shapes(tfTree(heard(['odom', 'base'], ['base', 'arm'], ['map', 'odom'], ['base', 'leg'])))).toBe(
      'map(odom(base(arm leg)))',
    );
  });

  it('may be several', () => {
    expect(shapes(tfTree(heard(['a', 'b'], ['c', 'd'])))).toBe('a(b) c(d)');
  });

  it('may go in a circle, of which nothing is lost and nothing is shown twice', () => {
    expect(shapes(tfTree(heard(['b', 'a'], ['a', 'b'], ['b', 'c'])))).toBe('a(b(c))');
    expect(shapes(tfTree(heard(['a', 'a'])))).toBe('a');
  });

  it('may be a very long chain, which is shown as deep as a page can', () => {
    const chain = heard(...Array.from({ length: 5000 }, (_, k): [string, string] => [`f${k}`, `f${k + 1}`]));
    const tree = tfTree(chain);
    expect(names(tree).length).toBe(5001);
    expect(depth(tree)).toBeLessThan(80);
  });
});

describe('the tree of links', () => {
  it('is the frames where there is no model', () => {
    const frame = { alias: null, static: true, verdict: null, detail: null };
    expect(
      shapes(
        linkTree(null, [
          { name: 'a', parent: null, ...frame },
          { name: 'b', parent: 'a', ...frame },
        ]),
      ),
    ).toBe('a(b)');
  });

  it('has a frame once that the robot calls otherwise', () => {
    const link = (name: string) => ({ name }) as Model['links'][number];
    const [base, arm] = [link('r1/base'), link('r1/arm')];
    const model = { links: [base, arm], joints: [{ parent: base, child: arm } as Model['joints'][number]] };
    const frame = { static: true, verdict: 'ok', detail: null };
    const frames = [
      { name: 'r1_base', alias: 'r1/base', parent: null, ...frame },
      { name: 'r1_arm', alias: 'r1/arm', parent: 'r1_base', ...frame },
      { name: 'tip', alias: null, parent: 'r1_arm', ...frame },
    ];
    expect(shapes(linkTree(model, frames))).toBe('r1/base(r1/arm(tip))');
    expect(byName(frames).get('r1/arm')).toBe(frames[1]);
    expect(byName(frames).get('r1_arm')).toBe(frames[1]);
  });

  it('has roots in their order', () => {
    expect(
      shapes(
        grow(
          new Map([
            ['b', null],
            ['a', null],
            ['c', 'a'],
          ]),
        ),
      ),
    ).toBe('b a(c)');
  });
});

it('a search keeps the ancestors of what it finds', () => {
  const leaf = (name: string) => ({ name, children: [] });
  const tree = [{ name: 'base', children: [{ name: 'arm', children: [leaf('hand'), leaf('camera')] }, leaf('wheel')] }];
  expect(sought(tree, (name) => name === 'hand')).toEqual([{ name: 'base', children: [{ name: 'arm', children: [leaf('hand')] }] }]);
  expect(sought(tree, () => false)).toEqual([]);
});
