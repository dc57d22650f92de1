// Client of the server: robots, verdicts on their frames, events, joint positions. URLs are relative, so the viewer also works below a
// path of another server. No DOM beyond fetch, EventSource and WebSocket.

import { parseJoints, type JointsMessage } from './live.js';
import { Reconnecting } from './reconnect.js';

export type Severity = 'error' | 'warning' | 'info';

/** A place in a source. */
export interface Place {
  file?: string | null;
  line?: number | null;
  column?: number | null;
  element?: string | null;
}

/** A finding of a conversion. */
export interface Diagnostic {
  severity: Severity;
  code: string;
  message: string;
  where?: Place | null;
  help?: string | null;
  /** The common cause of several findings, as a sentence: those of one code and cause are shown as one. */
  cause?: string | null;
}

/** A file of an asset. */
export interface AssetFile {
  path: string;
  bytes: number;
  /** SHA-256 of the content, lower-case hex. */
  sha256?: string;
}

/** A robot of `/api/robots`. */
export interface RobotEntry {
  name: string;
  key: string;
  /** The ROS namespace of its description. */
  namespace?: string;
  /** Whether its description is published; if not, its asset stays. */
  presence?: 'live' | 'gone';
  state: 'ok' | 'warning' | 'error';
  message: string;
  /** Whether its newest description could not be converted, so that the files are those of an earlier one. */
  outdated?: boolean;
  revision: number | null;
  /** Seconds since 1970. */
  time: number;
  files: AssetFile[];
  counts?: Record<string, number> | null;
  diagnostics: Diagnostic[];
  frames?: { ok: number; total: number } | null;
}

/** A frame of the asset, compared with TF. */
export interface FrameVerdict {
  name: string;
  /** The name in the robot, the glTF and TF, if no prim can have it. */
  alias: string | null;
  parent: string | null;
  static: boolean;
  /** null: no TF yet. */
  verdict: string | null;
  detail: string | null;
}

/** A frame of TF. */
export interface TfFrame {
  frame: string;
  parent: string;
  static: boolean;
  /** Seconds since its last transform. */
  age: number;
}

/** `/api/frames/KEY`. */
export interface Frames {
  frames: FrameVerdict[];
  /** Common causes of several verdicts, as sentences. */
  causes: string[];
  tf: TfFrame[];
}

/** A named pose on the server. */
export interface NamedPose {
  name: string;
  group: string | null;
  /** Radians or metres by joint name; a list for several degrees of freedom. */
  joints: Record<string, number | number[]>;
  /** Whether all are within their limits. */
  valid: boolean;
}

/** `/api/poses/KEY`. */
export interface Poses {
  poses: NamedPose[];
  /** Why no pose can be stored or deleted, as a sentence; null if they can. */
  locked: string | null;
}

/** A variant set of meshes with its variants, from fine to coarse; the robot's own GLB shows the first. */
export interface TierSet {
  set: string;
  variants: string[];
}

/** Variants by their set. */
export type Variants = Record<string, string>;

/** A refusal by the server. */
export class Refusal extends Error {
  constructor(
    message: string,
    /** The field that the message is about. */
    readonly field: string | null,
  ) {
    super(message);
  }
}

const url = (path: string) => new URL(path, document.baseURI).href;
const encoded = (path: string) => path.split('/').map(encodeURIComponent).join('/');

/** The URL of an asset's file; with revision and content hash it is unique for caches. */
export function assetUrl(key: string, path: string, revision?: number | null, sha256?: string): string {
  const query = new URLSearchParams();
  if (revision !== undefined && revision !== null) query.set('revision', String(revision));
  if (sha256) query.set('sha256', sha256);
  const text = query.toString();
  return url(`assets/${encoded(key)}/${encoded(path)}${text && `?${text}`}`);
}

/** Chooses the coarsest meshes of a robot, compressed; the server has none if they are those of its own GLB. */
export const COARSEST: Variants = { detail: 'coarsest' };

/** The URL of a robot's GLB in other variants than its own. */
export function drawingUrl(key: string, variants: Variants): string {
  return url(`variants/${encoded(key)}?${new URLSearchParams(variants).toString()}`);
}

/** The file that the viewer shows: NAME.glb, else any GLB at the top, else a glTF. */
export function drawable(entry: Pick<RobotEntry, 'name' | 'files'>): AssetFile | null {
  const top = (ending: string) =>
    entry.files.filter((file) => !file.path.includes('/') && file.path.toLowerCase().endsWith(ending));
  const [glb, gltf] = [top('.glb'), top('.gltf')];
  return glb.find((file) => file.path === `${entry.name}.glb`) ?? glb[0] ?? gltf[0] ?? null;
}

/**
 * Identifies a drawable file among all others of the same robot. The revision alone does not, since a restarted server counts from 1
 * again. A glTF is identified by all files of the asset, since any of them may be a part of it.
 */
export function version(entry: Pick<RobotEntry, 'revision' | 'files'>, file: AssetFile): string {
  const parts = file.path.toLowerCase().endsWith('.gltf') ? entry.files : [];
  return JSON.stringify([entry.revision, ...[file, ...parts].map(({ path, sha256 }) => [path, sha256 ?? ''])]);
}

async function json(path: string): Promise<unknown> {
  const response = await fetch(url(path), { headers: { accept: 'application/json' }, cache: 'no-store' });
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`.trim());
  return response.json();
}

/** Fetches all robots. */
export async function robots(): Promise<RobotEntry[]> {
  const entries = await json('api/robots');
  if (!Array.isArray(entries)) throw new Error('api/robots is not a list');
  return (entries as RobotEntry[]).map((entry) => ({ ...entry, files: entry.files ?? [], diagnostics: entry.diagnostics ?? [] }));
}

/** Fetches the frames of a robot with their verdicts, and the TF tree; null if the server has none. */
export async function frames(key: string): Promise<Frames | null> {
  const answer = await json(`api/frames/${encoded(key)}`).catch(() => null);
  if (typeof answer !== 'object' || answer === null) return null;
  const { frames, causes, tf } = answer as Partial<Frames>;
  const list = <T>(value: T[] | undefined) => (Array.isArray(value) ? value : []);
  return { frames: list(frames), causes: list(causes), tf: list(tf) };
}

/** Fetches the named poses of a robot; null if the server has none. */
export async function poses(key: string): Promise<Poses | null> {
  const answer = await json(`api/poses/${encoded(key)}`).catch(() => null);
  if (typeof answer !== 'object' || answer === null) return null;
  const { poses, locked } = answer as Partial<Poses>;
  return Array.isArray(poses) ? { poses, locked: locked ?? null } : null;
}

/** Fetches the variant sets of a robot's meshes; null if the server has none. */
export async function tiers(key: string): Promise<TierSet[] | null> {
  const answer = await json(`api/variants/${encoded(key)}`).catch(() => null);
  if (typeof answer !== 'object' || answer === null) return null;
  const { sets } = answer as { sets?: TierSet[] };
  return Array.isArray(sets) ? sets : null;
}

/** Stores a pose, replacing one of the same name and group. Throws a `Refusal`. */
export async function storePose(key: string, pose: Pick<NamedPose, 'name' | 'group' | 'joints'>): Promise<void> {
  const { name, group, joints } = pose;
  await change('POST', key, { name, group, joints });
}

/** Deletes a pose. Throws a `Refusal`. */
export async function deletePose(key: string, { name, group }: Pick<NamedPose, 'name' | 'group'>): Promise<void> {
  await change('DELETE', key, { name, group });
}

async function change(method: string, key: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const asked = fetch(url(`api/poses/${encoded(key)}`), { method, headers, body: JSON.stringify(body) });
  const response = await asked.catch(() => {
    throw new Refusal('The server does not answer.', null);
  });
  if (response.ok) return;
  const { message, field } = ((await response.json().catch(() => null)) ?? {}) as { message?: string; field?: string };
  throw new Refusal(message ?? `The server responded ${response.status} ${response.statusText}`.trim(), field ?? null);
}

/** A robot that the server has converted. */
export interface Converted {
  key: string;
  name: string;
  state: RobotEntry['state'];
}

/** The server needs to know which of these files to convert. */
export class Ambiguous extends Error {
  constructor(
    message: string,
    readonly files: string[],
  ) {
    super(message);
  }
}

/** Returns whether the server converts robots that are sent to it: null if it has no such service; else why it does not, or ''. */
export async function converts(): Promise<string | null> {
  const answer = (await json('api/uploads').catch(() => null)) as { locked?: string | null } | null;
  return answer === null ? null : (answer.locked ?? '');
}

/** Sends the files of a robot to be converted, by their paths; `chosen` names the file to convert. Throws an `Ambiguous` or a `Refusal`. */
export async function convert(files: readonly { path: string; file: Blob }[], chosen: string | null): Promise<Converted> {
  const body = new FormData();
  for (const { path, file } of files) body.append('file', file, path);
  const query = chosen === null ? '' : `?file=${encodeURIComponent(chosen)}`;
  const response = await fetch(url(`api/uploads${query}`), { method: 'POST', body }).catch(() => {
    throw new Refusal('The server does not answer.', null);
  });
  const answer = ((await response.json().catch(() => null)) ?? {}) as Partial<Converted> & { message?: string; files?: string[] };
  const { key, name, state } = answer;
  if (response.ok && key !== undefined && name !== undefined && state !== undefined) return { key, name, state };
  const message = answer.message ?? `The server responded ${response.status} ${response.statusText}`.trim();
  if (answer.files && answer.files.length > 0) throw new Ambiguous(message, answer.files);
  throw new Refusal(message, null);
}

/** The events of `/events`. */
export type EventKind = 'revision' | 'diagnostics' | 'frames' | 'poses' | 'resync';

const EVENTS: EventKind[] = ['revision', 'diagnostics', 'frames', 'poses', 'resync'];

/** Subscribes to `/events`. The browser reconnects by itself unless the server refuses; then this class does. `stopped`: only after `resume`. */
export function listen(
  heard: (kind: EventKind, key: string | null) => void,
  connected: (yes: boolean) => void,
  stopped = false,
): Reconnecting {
  return new Reconnecting(({ opened, closed }) => {
    const source = new EventSource(url('events'));
    source.onopen = opened;
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) closed();
      else connected(false);
    };
    for (const kind of EVENTS) source.addEventListener(kind, (event) => heard(kind, keyOf(event)));
    return source;
  }, connected, stopped);
}

function keyOf(event: MessageEvent<string>): string | null {
  try {
    const { key } = JSON.parse(event.data) as { key?: unknown };
    return typeof key === 'string' ? key : null;
  } catch {
    return null;
  }
}

/** Subscribes to `/joints`. `stopped`: only after `resume`. */
export function listenToJoints(
  heard: (message: JointsMessage) => void,
  connected: (yes: boolean) => void,
  stopped = false,
): Reconnecting {
  return new Reconnecting(({ opened, closed }) => {
    const address = new URL(url('joints'));
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(address);
    socket.onopen = opened;
    socket.onclose = closed;
    socket.onmessage = (event: MessageEvent<unknown>) => {
      const message = typeof event.data === 'string' ? parseJoints(event.data) : null;
      if (message) heard(message);
    };
    return socket;
  }, connected, stopped);
}
