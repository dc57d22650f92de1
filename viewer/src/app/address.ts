// The view in the address: robot, shapes, joints, camera. Everyone who opens the address sees the same view.

import { TIER_SETS, type Fleet } from './fleet.js';
import type { Positions } from './model.js';
import type { State } from './state.js';

const SHAPES = ['visual', 'collision'] as const;

/** The kinds of shapes. */
export type Shape = (typeof SHAPES)[number];

/** The contents of an address. */
export interface Shown {
  robot: string | null;
  joints: Positions;
  /** The visible shapes; null: the defaults. */
  shapes: Shape[] | null;
  /** The variants of visual and collision shapes; null: those of the robot's own file. */
  meshes: string | null;
  colliders: string | null;
  /** Position and target of the camera, metres in glTF's axes: six numbers. */
  camera: number[] | null;
}

/** Parses the part of an address after #. Invalid parts are ignored. */
export function read(hash: string): Shown {
  const query = new URLSearchParams(hash.replace(/^#/, ''));
  const joints: Positions = {};
  for (const part of (query.get('joints') ?? '').split(',')) {
    const at = part.lastIndexOf(':');
    const name = decode(part.slice(0, at));
    const values = part.slice(at + 1).split(';').map(Number);
    if (at <= 0 || name === null || !values.every(Number.isFinite) || part.endsWith(':')) continue;
    joints[name] = values.length === 1 ? (values[0] ?? 0) : values;
  }
  const numbers = (query.get('camera') ?? '').split(',').map(Number);
  const camera = query.has('camera') && numbers.length === 6 && numbers.every(Number.isFinite) ? numbers : null;
  const named = query.get('shapes')?.split(',');
  const shapes = named ? SHAPES.filter((shape) => named.includes(shape)) : null;
  return { robot: query.get('robot'), joints, shapes, meshes: query.get('meshes'), colliders: query.get('colliders'), camera };
}

/** Formats the part of an address after #. */
export function write({ robot, joints, shapes, meshes, colliders, camera }: Shown): string {
  const query = new URLSearchParams();
  if (robot !== null) query.set('robot', robot);
  if (shapes) query.set('shapes', shapes.join(','));
  if (meshes !== null) query.set('meshes', meshes);
  if (colliders !== null) query.set('colliders', colliders);
  const parts = Object.entries(joints).map(([name, value]) => {
    const values = [value].flat().map((one) => Number(one.toFixed(5)));
    return `${encodeURIComponent(name)}:${values.join(';')}`;
  });
  if (parts.length > 0) query.set('joints', parts.join(','));
  if (camera) query.set('camera', camera.map((one) => Number(one.toPrecision(5))).join(','));
  // Characters that need no escape stay readable.
  return query.toString().replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%3B', ';').replaceAll('%2F', '/');
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The camera's interface for the address. */
export interface Camera {
  get(): number[];
  set(numbers: number[]): void;
  /** Calls back after every movement. */
  moved(work: () => void): void;
}

/** Delay in milliseconds between the last change and the update of the address. */
const REST_MS = 400;

/** Applies the address, then keeps it up to date. */
export function address(state: State, fleet: Fleet, camera: Camera): void {
  let wanted: Shown | null = read(location.hash);
  // Before anything is loaded, so that the default file is not loaded first.
  const choose = ({ meshes, colliders }: Pick<Shown, 'meshes' | 'colliders'>) => {
    state.set('meshes', meshes);
    state.set('colliders', colliders);
  };
  choose(wanted);
  const says = [wanted.robot, wanted.camera, wanted.shapes, wanted.meshes, wanted.colliders].some((part) => part !== null);
  if (!says && Object.keys(wanted.joints).length === 0) wanted = null;
  /** Whether the address must be updated. False before the first change by hand, so that a plain address stays plain. */
  let timer = 0;
  const apply = () => {
    if (!wanted) return;
    const { robot, joints } = wanted;
    if (robot !== null && fleet.current?.key !== robot) {
      if (!fleet.entries.some((entry) => entry.key === robot)) {
        // Not in this method: local files mean nothing to others.
        if (!fleet.listed) return;
        wanted = null;
        return choose({ meshes: null, colliders: null });
      }
      fleet.choose(robot);
    }
    const key = fleet.current?.key;
    if (key === undefined || !fleet.models.has(key)) return;
    const { camera: then, shapes } = wanted;
    wanted = null;
    if (shapes) for (const shape of SHAPES) state.set(shape, shapes.includes(shape));
    if (Object.keys(joints).length > 0) fleet.setPositions(key, joints);
    if (then) camera.set(then);
    else state.emit('placed', key);
  };
  state.onAny(['robots', 'model', 'current'], apply);
  const keep = () => {
    if (wanted) return;
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      const key = fleet.current?.key;
      if (key === undefined || fleet.isLocal(key) || fleet.showsAll) return;
      const model = fleet.models.get(key);
      const moved = fleet.live(key).following ? {} : (model?.moved() ?? {});
      const drawn = SHAPES.filter((shape) => state.options[shape]);
      const shapes = drawn.join() === 'visual' ? null : drawn;
      const chosen = fleet.chosen(key);
      const [meshes, colliders] = [chosen[TIER_SETS.meshes] ?? null, chosen[TIER_SETS.colliders] ?? null];
      const text = write({ robot: key, joints: moved, shapes, meshes, colliders, camera: camera.get() });
      if (`#${text}` !== location.hash) history.replaceState(history.state, '', `#${text}`);
    }, REST_MS);
  };
  state.onAny(['pose', 'current', 'options'], () => fleet.currentModel && keep());
  camera.moved(keep);
}
