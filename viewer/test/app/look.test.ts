import type { Material, Mesh } from 'three';
import { expect, it } from 'vitest';

import { Model } from '../../src/app/model.js';
import { State } from '../../src/app/state.js';
import { Look, meshes } from '../../src/app/view/look.js';
import { file, load, modelOf, withTriangle } from '../loader/files.js';

/** A link with a visual and a collision shape. */
async function model(): Promise<Model> {
  const json = file([]);
  json.nodes[1].children = [2, 3];
  json.nodes.push({ name: 'visual', mesh: 0 }, { name: 'collision', mesh: 0 });
  Object.assign(modelOf(json).links[0], { visualNodes: [2], collisionNodes: [3] });
  return new Model(await load(withTriangle(json)), { revision: 1, version: '1' });
}

const facts = (mesh: Mesh | undefined) => {
  const { opacity, transparent, depthWrite, wireframe } = mesh?.material as Material & { wireframe: boolean };
  return { opacity, transparent, depthWrite, wireframe };
};

it('a model that was drawn otherwise is as the file has it when its look is gone', async () => {
  const shown = await model();
  const [link] = shown.links;
  const [visual, collision] = [link?.visuals ?? [], link?.collisions ?? []].map((shapes) => shapes.flatMap(meshes)[0]);
  for (const material of [visual?.material].flat()) if (material) material.opacity = 0.5;
  const before = facts(visual);
  const own = collision?.material;
  const options = { ...new State().options, transparency: 0.6, wireframe: true };
  for (let turn = 0; turn < 2; turn += 1) {
    const look = new Look(shown);
    look.apply(options);
    expect(facts(visual)).toEqual({ opacity: expect.closeTo(0.2, 12), transparent: true, depthWrite: false, wireframe: true });
    expect(collision?.material).not.toBe(own);
    look.dispose();
    expect(facts(visual)).toEqual(before);
    expect(collision?.material).toBe(own);
  }
});

it('a hidden link is not drawn, whatever the options say', async () => {
  const shown = await model();
  const [link] = shown.links;
  const look = new Look(shown);
  const drawn = () => [...(link?.visuals ?? []), ...(link?.collisions ?? [])].map((shape) => shape.visible);
  const options = { ...new State().options, collision: true };
  look.apply(options, new Set([link?.name ?? '']));
  expect(drawn()).toEqual([false, false]);
  look.apply(options);
  expect(drawn()).toEqual([true, true]);
});
