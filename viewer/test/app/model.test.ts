import { describe, expect, it } from 'vitest';

import { Model } from '../../src/app/model.js';
import { file, loadJson, planar, sliding, turning, type Json, type JointOf } from '../loader/files.js';

/** Makes a model of a file with these joints. */
async function modelOf(...joints: JointOf[]): Promise<Model> {
  return new Model(await loadJson(file(joints)), { revision: 1, version: '1' });
}

const hinge = (name: string, dof: Json = {}, more: Json = {}): JointOf => ({
  name,
  type: 'revolute',
  dofs: [turning([0, 1, 0], dof)],
  more,
});
const mimic = (multiplier: number, offset = 0) => ({ mimic: { joint: 0, multiplier, offset } });

describe('a model that comes in place of an older one', () => {
  it('moves its followers as it says itself', async () => {
    const old = await modelOf(hinge('driver'), hinge('follower', {}, mimic(1)));
    const model = await modelOf(hinge('driver'), hinge('follower', {}, mimic(-2, 0.5)));
    old.setPosition('driver', 0.25);
    model.standAs(old);
    expect(model.positions()).toEqual({ driver: 0.25, follower: 0 });
  });

  it('keeps a joint within its new limits', async () => {
    const old = await modelOf(hinge('a'), hinge('b'), hinge('c'));
    const limit = { limit: { lower: -1, upper: 0.5 } };
    const model = await modelOf(hinge('a', limit), hinge('b', limit), hinge('c', limit));
    old.setPositions({ a: 2, b: -2, c: 0.25 });
    model.standAs(old);
    expect(model.positions()).toEqual({ a: 0.5, b: -1, c: 0.25 });
  });

  it('puts what nobody moved at the new defaults', async () => {
    const old = await modelOf(hinge('still', { default: 0.5 }), hinge('moved', { default: 0.5 }), planar('plane'));
    const model = await modelOf(hinge('still', { default: 1 }), hinge('moved', { default: 1 }), planar('plane'), hinge('new'));
    old.setPositions({ moved: 0.25, plane: [0, 3] });
    model.standAs(old);
    expect(model.positions()).toEqual({ still: 1, moved: 0.25, plane: [0, 3], new: 0 });
  });

  it('takes no metres for radians', async () => {
    const old = await modelOf({ name: 'a', type: 'prismatic', dofs: [sliding([0, 1, 0])] });
    const model = await modelOf(hinge('a', { default: 1 }));
    old.setPosition('a', 0.25);
    model.standAs(old);
    expect(model.positions()).toEqual({ a: 1 });
  });
});
