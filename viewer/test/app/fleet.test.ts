import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { RobotEntry, TierSet } from '../../src/app/api.js';
import { Fleet } from '../../src/app/fleet.js';
import { takesLong } from '../../src/app/link.js';
import { load } from '../../src/app/load.js';
import { Model, type Edition } from '../../src/app/model.js';
import { State } from '../../src/app/state.js';
import { file, loadJson, turning } from '../loader/files.js';

vi.mock('../../src/app/link.js', () => ({ takesLong: vi.fn(() => false) }));
vi.mock('../../src/app/load.js', () => ({ load: vi.fn() }));

/** A pending request for a model. */
interface Request {
  url: string;
  edition: Edition;
  signal: AbortSignal;
  arrive(): Promise<void>;
  fail(error: Error): Promise<void>;
}

let listed: RobotEntry[] = [];
let requests: Request[] = [];
let fleet: Fleet;
let state: State;
/** The server's variants, and the number of requests for them. */
let sets: TierSet[] | null = [];
let asked = 0;

/** Resolves once all pending promises are done. */
const quiet = () => new Promise<void>((resolve) => setTimeout(resolve));

function entry(more: Partial<RobotEntry> = {}): RobotEntry {
  const files = [{ path: 'arm.glb', bytes: 1, sha256: 'aa' }];
  return { name: 'arm', key: 'arm', state: 'ok', message: '', revision: 1, time: 0, files, diagnostics: [], ...more };
}

const holding = (sha256: string) => [{ path: 'arm.glb', bytes: 1, sha256 }];

/** Sets the server's list and waits until the fleet has it. */
async function list(...entries: RobotEntry[]): Promise<void> {
  listed = entries;
  await fleet.refresh();
  await quiet();
}

beforeEach(() => {
  [listed, requests, sets, asked] = [[], [], [], 0];
  state = new State();
  fleet = new Fleet(state);
  vi.stubGlobal('document', { baseURI: 'http://robot/' });
  vi.stubGlobal('fetch', async (address: string) => {
    if (address.includes('api/variants/')) {
      asked += 1;
      return new Response(JSON.stringify({ sets }), { status: sets ? 200 : 500 });
    }
    const answer = address.endsWith('api/robots') ? listed : { frames: [], tf: [] };
    return new Response(JSON.stringify(answer));
  });
  vi.mocked(load).mockImplementation(
    (url, edition, signal) =>
      new Promise<Model>((resolve, reject) => {
        const arrive = async () => {
          resolve(new Model(await loadJson(file([{ name: 'elbow', type: 'revolute', dofs: [turning([0, 1, 0])] }])), edition));
          await quiet();
        };
        const fail = (error: Error) => {
          reject(error);
          return quiet();
        };
        requests.push({ url, edition, signal, arrive, fail });
      }),
  );
});

describe('a model', () => {
  it('is loaded once for a file, and again for another with the same revision', async () => {
    await list(entry());
    await list(entry());
    expect(requests.map(({ url }) => url)).toEqual(['http://robot/assets/arm/arm.glb?revision=1&sha256=aa']);
    await requests[0]?.arrive();
    await list(entry());
    expect(requests.length).toBe(1);
    const first = fleet.currentModel;
    await list(entry({ files: holding('bb') }));
    expect(requests[1]?.url).toBe('http://robot/assets/arm/arm.glb?revision=1&sha256=bb');
    expect(fleet.currentModel).toBe(first);
    await requests[1]?.arrive();
    expect(fleet.currentModel).not.toBe(first);
  });

  it('is not the one on its way if that is of another file', async () => {
    await list(entry());
    await list(entry({ files: holding('bb') }));
    expect(requests.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    await requests[1]?.arrive();
    await requests[0]?.arrive();
    expect(fleet.currentModel?.edition).toEqual(requests[1]?.edition);
  });
});

describe('why a file is not shown', () => {
  it('is told no more when the file that is shown is listed again', async () => {
    await list(entry());
    await requests[0]?.arrive();
    await list(entry({ files: [] }));
    expect(fleet.problems.get('arm')).toContain('no GLB');
    await list(entry());
    expect([fleet.problems.size, requests.length]).toEqual([0, 1]);
    await list(entry({ files: holding('bb') }));
    await requests[1]?.fail(new Error('404'));
    expect(fleet.problems.get('arm')).toContain('404');
    await list(entry());
    expect([fleet.problems.size, requests.length]).toEqual([0, 2]);
  });

  it('is not forgotten because of a file that was on its way', async () => {
    await list(entry());
    await list(entry({ files: [] }));
    expect([requests[0]?.signal.aborted, fleet.isLoading('arm')]).toEqual([true, false]);
    await requests[0]?.arrive();
    expect([fleet.problems.size, fleet.models.size]).toEqual([1, 0]);
  });
});

describe('a file on its way', () => {
  it('is called off when the one that is shown is listed again', async () => {
    await list(entry());
    await requests[0]?.arrive();
    const shown = fleet.currentModel;
    await list(entry({ files: holding('bb') }));
    await list(entry());
    expect([requests[1]?.signal.aborted, fleet.isLoading('arm')]).toEqual([true, false]);
    await requests[1]?.arrive();
    expect([fleet.currentModel, requests.length]).toEqual([shown, 2]);
  });
});

describe('a robot that is gone', () => {
  it('does not come in afterwards', async () => {
    await list(entry());
    await list();
    expect([requests[0]?.signal.aborted, fleet.isLoading('arm')]).toEqual([true, false]);
    await requests[0]?.arrive();
    expect(fleet.models.size).toBe(0);
  });

  it('leaves nothing behind, whether it was shown or not', async () => {
    await list(entry({ files: [] }));
    expect([fleet.problems.size, fleet.frames.size]).toEqual([1, 1]);
    await list(entry({ key: 'leg', name: 'leg', files: [] }));
    expect([[...fleet.problems.keys()], [...fleet.frames.keys()]]).toEqual([['leg'], ['leg']]);
    await list();
    expect([fleet.problems.size, fleet.frames.size]).toEqual([0, 0]);
  });
});

describe('over a slow link', () => {
  const layered = { files: [...holding('aa'), { path: 'arm.usda', bytes: 1, sha256: 'aa' }] };
  const COARSEST = 'http://robot/variants/arm?detail=coarsest';
  const OWN = 'http://robot/assets/arm/arm.glb?revision=1&sha256=aa';
  beforeEach(() => vi.mocked(takesLong).mockReturnValue(true));
  afterEach(() => {
    vi.mocked(takesLong).mockReturnValue(false);
    vi.useRealTimers();
  });

  it('the coarsest meshes come first, then the published file', async () => {
    await list(entry(layered));
    expect(requests.map(({ url }) => url)).toEqual([COARSEST]);
    await requests[0]?.arrive();
    expect([fleet.currentModel?.edition, fleet.isLoading('arm')]).toEqual([requests[0]?.edition, true]);
    fleet.setPosition('arm', 'elbow', 0.5);
    expect(requests[1]?.url).toBe(OWN);
    await requests[1]?.arrive();
    expect([fleet.isLoading('arm'), fleet.currentModel?.positions()]).toEqual([false, { elbow: 0.5 }]);
    expect(fleet.currentModel?.edition).toEqual(requests[1]?.edition);
    // The next revision replaces whole meshes, so it needs no preview.
    await list(entry({ ...layered, revision: 2 }));
    expect(requests.map(({ url }) => url).slice(2)).toEqual([OWN.replace('revision=1', 'revision=2')]);
  });

  it('the file itself comes if the server has no preview', async () => {
    await list(entry(layered));
    await requests[0]?.fail(new Error('404'));
    expect(requests.map(({ url }) => url)).toEqual([COARSEST, OWN]);
    await list(entry());
    expect(requests.length).toBe(2);
  });

  it('the file itself comes if the preview takes too long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    listed = [entry(layered)];
    await fleet.refresh();
    await vi.advanceTimersByTimeAsync(2999);
    expect([requests.length, requests[0]?.signal.aborted]).toEqual([1, false]);
    await vi.advanceTimersByTimeAsync(1);
    expect([requests.length, requests[0]?.signal.aborted, requests[1]?.url]).toEqual([2, true, OWN]);
    vi.useRealTimers();
    await requests[1]?.arrive();
    // The response was complete, but parsed late.
    await requests[0]?.arrive();
    expect([fleet.currentModel?.edition, fleet.isLoading('arm')]).toEqual([requests[1]?.edition, false]);
  });

  it('a removed robot ends its preview', async () => {
    await list(entry(layered));
    await list();
    await requests[0]?.arrive();
    expect([requests.length, requests[0]?.signal.aborted, fleet.models.size]).toEqual([1, true, 0]);
  });
});

describe('other meshes', () => {
  const TIERS = { set: 'visual_representation', variants: ['mesh_high', 'mesh_medium', 'mesh_low'] };
  const LOW = 'http://robot/variants/arm?visual_representation=mesh_low';
  const layered = (sha256 = 'aa', more: Partial<RobotEntry> = {}) =>
    entry({ files: [...holding(sha256), { path: 'arm.usda', bytes: 1, sha256 }], ...more });

  it('are loaded in place of those of the file, and the joints stay', async () => {
    sets = [TIERS];
    await list(layered());
    await requests[0]?.arrive();
    fleet.setPosition('arm', 'elbow', 0.5);
    state.set('meshes', 'mesh_low');
    expect(requests[1]?.url).toBe(LOW);
    await requests[1]?.arrive();
    expect([fleet.chosen('arm'), fleet.currentModel?.positions()]).toEqual([{ visual_representation: 'mesh_low' }, { elbow: 0.5 }]);
    // Another revision has them, too, and they are requested again.
    await list(layered('bb', { revision: 2 }));
    expect([asked, requests[2]?.url, requests[2]?.edition.revision]).toEqual([2, LOW, 2]);
    await requests[2]?.arrive();
    state.set('meshes', null);
    await requests[3]?.arrive();
    expect(requests[3]?.url).toBe('http://robot/assets/arm/arm.glb?revision=2&sha256=bb');
    expect(fleet.currentModel?.edition).toEqual(requests[3]?.edition);
  });

  it('are loaded first where an address says so, once it is known what there is', async () => {
    sets = [TIERS];
    state.set('meshes', 'mesh_low');
    const told: boolean[] = [];
    state.on('model', () => told.push(fleet.isLoading('arm')));
    await list(layered());
    expect(requests.map(({ url }) => url)).toEqual([LOW]);
    // It is loading all the time.
    expect([fleet.isLoading('arm'), new Set(told)]).toEqual([true, new Set([true])]);
  });

  it('are those of the file where there are no others', async () => {
    sets = [TIERS];
    state.set('colliders', 'spheres');
    state.set('meshes', 'mesh_high');
    await list(layered());
    await requests[0]?.arrive();
    expect(requests.map(({ url }) => url)).toEqual(['http://robot/assets/arm/arm.glb?revision=1&sha256=aa']);
    expect(fleet.chosen('arm')).toEqual({});
    // Without layers there is no request.
    await list(entry({ files: holding('cc') }));
    expect([asked, fleet.offered('arm')]).toEqual([1, []]);
  });

  it('are asked for again after the server was away', async () => {
    sets = null;
    state.set('meshes', 'mesh_low');
    await list(layered());
    await requests[0]?.arrive();
    expect(requests[0]?.url).toContain('assets/arm/arm.glb');
    sets = [TIERS];
    fleet.happened('resync', null);
    await quiet();
    await quiet();
    expect(requests[1]?.url).toBe(LOW);
  });

  it('that fail leave those that are shown', async () => {
    sets = [TIERS];
    await list(layered());
    await requests[0]?.arrive();
    const shown = fleet.currentModel;
    state.set('meshes', 'mesh_low');
    await requests[1]?.fail(new Error('the disk is full'));
    expect([fleet.currentModel, fleet.problems.get('arm')]).toEqual([shown, 'arm.glb with mesh_low could not be shown: the disk is full']);
    state.set('meshes', null);
    expect([fleet.problems.size, requests.length]).toEqual([0, 2]);
  });
});
