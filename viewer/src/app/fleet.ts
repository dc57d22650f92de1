// The robots: the server's list, models, visibility, joint states. No DOM, no drawing.

import { Matrix4 } from 'three';
import * as api from './api.js';
import { chosenBase, toTransform, type Base } from './base.js';
import { Live, type JointsMessage, type LiveState } from './live.js';
import { takesLong } from './link.js';
import { load, loadLocal } from './load.js';
import type { Edition, Model, Positions } from './model.js';
import type { State } from './state.js';

/** A model that is being loaded. */
interface Coming {
  version: string;
  abort: AbortController;
}

/** A robot of a file that the user opened. */
interface Local {
  entry: api.RobotEntry;
  load(edition: Edition): Promise<Model>;
}

/** The variant sets of a robot's meshes. */
interface Tiers {
  /** The file for which they were requested. */
  version: string;
  /** Until the server responds, the previous ones. */
  sets: readonly api.TierSet[];
  /** null: answered. */
  asked: Promise<void> | null;
  /** The server had none. */
  failed: boolean;
}

/** The selectable variant sets, by their option. */
export const TIER_SETS = { meshes: 'visual_representation', colliders: 'collision_fidelity' } as const;

const CHOICES = Object.keys(TIER_SETS) as (keyof typeof TIER_SETS)[];

/** Maximum time for the preview of a robot, in milliseconds: its file is requested only then. */
const PREVIEW_TIMEOUT = 3000;

/** All robots. */
export class Fleet {
  /** The server's list, by key. */
  entries: readonly api.RobotEntry[] = [];
  /** Why the list could not be loaded, if so. */
  listProblem: string | null = null;
  /** Whether the server converts robots that are dropped on the page. */
  converts = false;
  /** Whether the list has been loaded once. */
  listed = false;
  readonly models = new Map<string, Model>();
  /** Why a robot's newest file is not shown. */
  readonly problems = new Map<string, string>();
  readonly frames = new Map<string, api.Frames>();
  /** The named poses on the server. */
  readonly poses = new Map<string, api.Poses>();
  private readonly tiers = new Map<string, Tiers>();
  /** Robots of files that the user opened, unknown to the server. */
  private readonly local = new Map<string, Local>();
  private readonly coming = new Map<string, Coming>();
  private readonly heard = new Live();
  private readonly wasLive = new Map<string, string>();
  /** The frames above a robot in a recording that plays; it has precedence over TF. */
  private readonly recorded = new Map<string, readonly Base[]>();
  /** The names of the frames above each robot, as last announced. */
  private readonly framesAbove = new Map<string, string>();
  private currentKey: string | null = null;
  private all = false;
  private refreshing: Promise<void> | null = null;
  private again = false;
  private news = false;

  constructor(private readonly state: State) {
    const choice = () => CHOICES.map((option) => state.options[option]).join('\n');
    let before = choice();
    state.on('options', () => {
      for (const key of this.models.keys()) this.stand(key);
      if (choice() === before) return;
      before = choice();
      this.loadShown();
    });
  }

  /** The current robot of the panels. */
  get current(): api.RobotEntry | null {
    return this.entries.find((entry) => entry.key === this.currentKey) ?? null;
  }

  get currentModel(): Model | null {
    return this.models.get(this.currentKey ?? '') ?? null;
  }

  get showsAll(): boolean {
    return this.all && this.entries.length > 1;
  }

  /** The keys of the visible robots. */
  shown(): string[] {
    if (this.showsAll) return this.entries.map((entry) => entry.key);
    return this.current ? [this.current.key] : [];
  }

  isLoading(key: string): boolean {
    return this.coming.has(key);
  }

  choose(key: string): void {
    if (key === this.currentKey || !this.entries.some((entry) => entry.key === key)) return;
    this.currentKey = key;
    if (this.state.selection && this.state.selection.key !== key) this.state.select(null);
    this.state.emit('current', undefined);
    this.loadShown();
    this.readMore(key);
  }

  showAll(all: boolean): void {
    if (all === this.all) return;
    this.all = all;
    this.state.emit('current', undefined);
    this.loadShown();
  }

  /** Shows a local file beside the server's robots; `others` are files that it may refer to. Returns its name. */
  addLocal(given: { path: string; file: File }, others: readonly { path: string; file: File }[]): string {
    const { file } = given;
    const name = file.name.replace(/\.[^.]*$/, '');
    // No key of a server has this prefix.
    const key = `./${name}`;
    const revision = (this.local.get(key)?.entry.revision ?? 0) + 1;
    const entry: api.RobotEntry = {
      name,
      key,
      state: 'ok',
      message: `${file.name}, opened from this machine: it stays in this browser`,
      revision,
      time: file.lastModified / 1000,
      files: [{ path: file.name, bytes: file.size }],
      diagnostics: [],
    };
    this.local.set(key, { entry, load: (edition) => loadLocal(given, others, edition) });
    this.take(this.entries.filter((one) => !this.local.has(one.key)));
    this.state.emit('robots', undefined);
    this.showAll(false);
    this.choose(key);
    return name;
  }

  /** Sets whether the server converts robots that are dropped on the page. */
  canConvert(converts: boolean): void {
    this.converts = converts;
    this.state.emit('robots', undefined);
  }

  /** Whether a robot is of a local file. */
  isLocal(key: string): boolean {
    return this.local.has(key);
  }

  /** Reloads the list; calls during a request are merged into one more. */
  refresh(): Promise<void> {
    this.again = true;
    this.refreshing ??= this.readList().finally(() => (this.refreshing = null));
    return this.refreshing;
  }

  /** The variant sets of a robot's meshes that have a choice besides that of its own file. */
  offered(key: string): readonly api.TierSet[] {
    return this.tiers.get(key)?.sets ?? [];
  }

  /** The selected variants that a robot has, without those of its own file. */
  chosen(key: string): api.Variants {
    const chosen: api.Variants = {};
    for (const { set, variants } of this.offered(key)) {
      const option = CHOICES.find((option) => TIER_SETS[option] === set);
      const name = option ? this.state.options[option] : null;
      if (name !== null && variants.indexOf(name) > 0) chosen[set] = name;
    }
    return chosen;
  }

  /** Requests the variants of a robot's meshes, once for each of its files. Waits if they are not known yet. */
  private learn({ key, files }: api.RobotEntry, version: string): Promise<void> | null {
    const before = this.tiers.get(key);
    if (before?.version === version) return before.asked;
    const mine: Tiers = { version, sets: before?.sets ?? [], asked: null, failed: false };
    this.tiers.set(key, mine);
    const answer = (sets: readonly api.TierSet[] | null) => {
      if (this.tiers.get(key) !== mine) return;
      [mine.sets, mine.asked, mine.failed] = [sets ?? [], null, sets === null];
      this.state.emit('tiers', key);
    };
    if (this.hasLayers(key, files)) mine.asked = api.tiers(key).then(answer);
    else answer([]);
    return mine.asked;
  }

  /** Whether the server can draw other meshes than those of a robot's file: they are in its layers. */
  private hasLayers(key: string, files: readonly api.AssetFile[]): boolean {
    return !this.local.has(key) && files.some((file) => !file.path.includes('/') && file.path.endsWith('.usda'));
  }

  /** Handles an event of the server. */
  happened(kind: api.EventKind, key: string | null): void {
    if (kind === 'resync') for (const [key, { failed }] of this.tiers) if (failed) this.tiers.delete(key);
    if (kind !== 'frames' && kind !== 'poses') void this.refresh();
    const wanted = key ?? this.currentKey;
    if (!wanted || wanted !== this.currentKey) return;
    if (kind === 'frames' || kind === 'resync') void this.readFrames(wanted);
    if (kind !== 'frames' && kind !== 'diagnostics') void this.readPoses(wanted);
  }

  /** Loads data of a robot that is not in the list. */
  private readMore(key: string): void {
    if (this.local.has(key)) return;
    void this.readFrames(key);
    void this.readPoses(key);
  }

  /** Loads the named poses of a robot. */
  async readPoses(key: string): Promise<void> {
    if (this.local.has(key)) return;
    const poses = await api.poses(key);
    if (!poses || !this.entries.some((entry) => entry.key === key)) return;
    this.poses.set(key, poses);
    this.state.emit('poses', key);
  }

  /** Loads the verdicts on a robot's frames. */
  async readFrames(key: string): Promise<void> {
    if (this.local.has(key)) return;
    const frames = await api.frames(key);
    if (!frames || !this.entries.some((entry) => entry.key === key)) return;
    this.frames.set(key, frames);
    this.state.emit('frames', key);
  }

  private async readList(): Promise<void> {
    while (this.again) {
      this.again = false;
      try {
        this.take(await api.robots());
        this.listProblem = null;
      } catch (error) {
        this.listProblem = reason(error);
      }
      this.listed = true;
      this.state.emit('robots', undefined);
    }
  }

  private take(listed: api.RobotEntry[]): void {
    const entries = [...listed, ...[...this.local.values()].map(({ entry }) => entry)];
    this.entries = entries;
    const keys = new Set(entries.map((entry) => entry.key));
    const known = [this.models, this.coming, this.problems, this.frames, this.poses, this.tiers, this.wasLive].flatMap((map) => [...map.keys()]);
    for (const key of new Set(known)) if (!keys.has(key)) this.remove(key);
    if (!keys.has(this.currentKey ?? '')) {
      const first = entries.find((entry) => api.drawable(entry)) ?? entries[0];
      this.currentKey = first?.key ?? null;
      this.state.emit('current', undefined);
      if (this.currentKey) this.readMore(this.currentKey);
    }
    this.loadShown();
  }

  private remove(key: string): void {
    this.callOff(key);
    const model = this.models.get(key);
    const maps = [this.models, this.problems, this.frames, this.poses, this.tiers, this.wasLive, this.recorded, this.framesAbove];
    for (const map of maps) map.delete(key);
    if (this.state.selection?.key === key) this.state.select(null);
    this.state.emit('model', key);
    model?.dispose();
  }

  /** Cancels a load. Returns whether there was one. */
  private callOff(key: string): boolean {
    this.coming.get(key)?.abort.abort();
    return this.coming.delete(key);
  }

  private loadShown(): void {
    for (const key of this.shown()) {
      const entry = this.entries.find((entry) => entry.key === key);
      if (entry) void this.loadEntry(entry);
    }
  }

  /** Loads a robot's newest file unless it is loaded or loading. The old model stays until the new one is complete. */
  private async loadEntry(entry: api.RobotEntry): Promise<void> {
    const { key, revision } = entry;
    const file = api.drawable(entry);
    if (!file) return this.lack(key, revision === null ? `There is no asset yet. ${entry.message}`.trim() : NO_GLB);
    const own = api.version(entry, file);
    const learning = this.learn(entry, own);
    if (learning && CHOICES.some((option) => this.state.options[option] !== null)) return this.await(key, own, learning);
    const chosen = this.chosen(key);
    const isOwn = Object.keys(chosen).length === 0;
    const version = isOwn ? own : `${own} ${JSON.stringify(chosen)}`;
    if (this.models.get(key)?.edition.version === version) return this.have(key);
    if (this.coming.get(key)?.version === version) return;
    const mine = this.begin(key, version);
    try {
      if (isOwn && !this.models.has(key) && this.hasLayers(key, entry.files) && takesLong(file.bytes)) await this.preview(entry, mine);
      if (this.coming.get(key) !== mine) return;
      const url = isOwn ? api.assetUrl(key, file.path, revision, file.sha256) : api.drawingUrl(key, chosen);
      const edition = { revision, version };
      const model = await (this.local.get(key)?.load(edition) ?? load(url, edition, mine.abort.signal));
      if (this.coming.get(key) !== mine) return model.dispose();
      this.coming.delete(key);
      this.swap(key, model);
    } catch (error) {
      if (this.coming.get(key) !== mine) return;
      this.coming.delete(key);
      const what = isOwn ? file.path : `${file.path} with ${Object.values(chosen).join(' and ')}`;
      this.problems.set(key, `${what} could not be shown: ${reason(error)}`);
      this.state.emit('model', key);
    }
  }

  /** Shows the coarsest meshes before the file itself is loaded; nothing if the robot has none or they take too long. */
  private async preview({ key, revision }: api.RobotEntry, mine: Coming): Promise<void> {
    const edition = { revision, version: `${mine.version} preview` };
    const abort = new AbortController();
    const stop = () => abort.abort();
    const stopped = new Promise<null>((resolve) => abort.signal.addEventListener('abort', () => resolve(null)));
    const timer = setTimeout(stop, PREVIEW_TIMEOUT);
    mine.abort.signal.addEventListener('abort', stop);
    const loading = load(api.drawingUrl(key, api.COARSEST), edition, abort.signal).catch(() => null);
    // Aborting ends the request, but not the parsing of its response.
    const model = await Promise.race([loading, stopped]);
    clearTimeout(timer);
    mine.abort.signal.removeEventListener('abort', stop);
    if (this.coming.get(key) === mine && model) this.swap(key, model);
    else void loading.then((late) => late?.dispose());
  }

  /** Starts a load and cancels any other. */
  private begin(key: string, version: string): Coming {
    this.callOff(key);
    const mine: Coming = { version, abort: new AbortController() };
    this.coming.set(key, mine);
    this.state.emit('model', key);
    return mine;
  }

  /** Loads the wanted file once the robot's variants are known. */
  private async await(key: string, own: string, learning: Promise<void>): Promise<void> {
    const version = `${own} ?`;
    if (this.coming.get(key)?.version === version) return;
    const mine = this.begin(key, version);
    await learning;
    if (this.coming.get(key) !== mine) return;
    this.coming.delete(key);
    this.loadShown();
    // Listeners must not see a moment without a load in between.
    if (!this.coming.has(key)) this.state.emit('model', key);
  }

  /** Handles a robot without a file to show. */
  private lack(key: string, problem: string): void {
    const calledOff = this.callOff(key);
    if (this.problems.get(key) === problem && !calledOff) return;
    this.problems.set(key, problem);
    this.state.emit('model', key);
  }

  /** Clears the problem, since the wanted file is shown. */
  private have(key: string): void {
    const calledOff = this.callOff(key);
    if (this.problems.delete(key) || calledOff) this.state.emit('model', key);
  }

  private swap(key: string, model: Model): void {
    const old = this.models.get(key);
    if (old) model.standAs(old);
    this.models.set(key, model);
    this.problems.delete(key);
    this.state.emit('model', key);
    old?.dispose();
    this.stand(key);
    this.followLive(key);
    const selection = this.state.selection;
    if (selection?.key === key && !model.link(selection.link)) this.state.select(null);
  }

  /** The live joint state of a robot. */
  live(key: string): LiveState {
    const model = this.models.get(key);
    return this.heard.state(key, (joint) => model?.joint(joint) !== undefined);
  }

  /** Takes joint states; `applyLive` applies them once per frame. */
  hear(message: JointsMessage): void {
    this.heard.receive(message);
    this.news = true;
  }

  /** The connection for joint states is closed. */
  deaf(): void {
    this.heard.lost();
    this.news = true;
  }

  follow(key: string, follow: boolean): void {
    this.heard.follow(key, follow);
    this.followLive(key);
  }

  /** Moves the robots to their latest joint states, if there are new ones. */
  applyLive(): void {
    if (!this.news) return;
    this.news = false;
    for (const key of this.models.keys()) {
      this.stand(key);
      this.followLive(key);
    }
  }

  /** The frames above a robot, with its pose in them. */
  above(key: string): readonly Base[] {
    return this.recorded.get(key) ?? this.heard.above(key, this.models.get(key)?.roots() ?? []);
  }

  /** Places a robot by a recording; null: by TF again. */
  drive(key: string, above: readonly Base[] | null): void {
    if (above) this.recorded.set(key, above);
    else this.recorded.delete(key);
    this.stand(key);
  }

  /** Places a robot where it stands in the chosen frame. */
  private stand(key: string): void {
    const above = this.above(key);
    const base = chosenBase(above, this.state.options.fixedFrame);
    const model = this.models.get(key);
    if (model?.stand(base ? toTransform(base.pose) : new Matrix4())) {
      this.state.emit('pose', key);
      this.state.emit('placed', key);
    }
    const names = JSON.stringify(above.map(({ frame }) => frame));
    if (this.framesAbove.get(key) === names) return;
    this.framesAbove.set(key, names);
    this.state.emit('bases', key);
  }

  private followLive(key: string): void {
    const { live, following, positions } = this.live(key);
    if (following) {
      this.models.get(key)?.setPositions(Object.fromEntries(positions));
      this.state.emit('pose', key);
      this.state.emit('placed', key);
    }
    const now = `${live} ${following}`;
    if (this.wasLive.get(key) === now) return;
    this.wasLive.set(key, now);
    this.state.emit('live', key);
  }

  /** Moves a joint. */
  setPosition(key: string, joint: string, value: number | number[], index = 0): boolean {
    const moved = this.models.get(key)?.setPosition(joint, value, index) ?? false;
    if (moved) this.state.emit('pose', key);
    return moved;
  }

  /** Moves joints. */
  setPositions(key: string, positions: Positions): void {
    this.models.get(key)?.setPositions(positions);
    this.state.emit('pose', key);
  }

  /** The user moves a robot in the picture, so it stops following joint states, if there are any. */
  takeOver(key: string): void {
    if (this.live(key).following) this.follow(key, false);
  }

  /** The named poses of a robot: those of the server, then those of the file that the server lacks. */
  posesOf(key: string): (api.NamedPose & { kept: boolean })[] {
    const kept = this.poses.get(key)?.poses ?? [];
    const names = new Set(kept.map((pose) => pose.name));
    const others = (this.models.get(key)?.poses() ?? []).filter((pose) => !names.has(pose.name));
    return [...kept.map((pose) => ({ ...pose, kept: true })), ...others.map((pose) => ({ ...pose, kept: false }))];
  }

  /** Moves the joints of a pose, and their followers; all others stay. */
  applyPose(key: string, { joints }: Pick<api.NamedPose, 'joints'>): void {
    this.models.get(key)?.setPositions(joints);
    this.state.emit('pose', key);
    this.state.emit('placed', key);
  }

  reset(key: string): void {
    this.models.get(key)?.reset();
    this.state.emit('pose', key);
    this.state.emit('placed', key);
  }
}

const NO_GLB =
  'This robot has no GLB among its files, so there is nothing to draw. Let the conversion write one: add glb to the formats.';

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
