// The view state and its changes, shared by the panels and the 3D side. No DOM, no three.

import { Emitter } from './emitter.js';
import type { AngleUnit } from './units.js';

/** Display options. */
export interface Options {
  visual: boolean;
  collision: boolean;
  /** The variant of `visual_representation` for visual shapes, if a robot has it; null: that of its own file. */
  meshes: string | null;
  /** The variant of `collision_fidelity` for collision shapes, likewise. */
  colliders: string | null;
  /** 0 is opaque, 1 invisible. */
  transparency: number;
  wireframe: boolean;
  /** The frame of every link. */
  axes: boolean;
  /** Metres. */
  axesSize: number;
  labels: boolean;
  /** Centres of mass, and boxes of the same inertia. */
  inertia: boolean;
  grid: boolean;
  shadows: boolean;
  /** The frame of TF in which robots are placed; null: odom or the outermost; empty: none. */
  fixedFrame: string | null;
  /** The size of saved pictures, as "WIDTHxHEIGHT" in pixels; null: as shown. */
  pictureSize: string | null;
  /** Whether saved pictures have no background. */
  transparentPicture: boolean;
  /** Whether the camera moves with the robot. */
  follow: boolean;
}

/** A link of a robot. */
export interface Selection {
  key: string;
  link: string;
}

/** A joint of a robot. */
export interface Pointed {
  key: string;
  joint: string;
}

/** Joints of a robot that are at their limits. */
export interface Stopped {
  key: string;
  joints: string[];
}

/** The action of the pointer in the picture: turn the camera and select, move links, or measure. */
export type Tool = 'look' | 'move' | 'measure';

/** Camera presets in ROS's directions: "front" looks at the robot's front. */
export type Preset = 'front' | 'back' | 'left' | 'right' | 'top' | 'iso';

/** The kinds of changes, each with the key of the robot if it concerns one. */
export interface Changes {
  /** The list of robots, or the data of one. */
  robots: undefined;
  /** The current robot of the panels, or the visible robots. */
  current: undefined;
  /** A robot's model was loaded, removed or replaced, or could not be loaded. */
  model: string;
  /** Positions of a robot's joints. */
  pose: string;
  /** A robot was moved by a pose, a recording, joint states or the address, not by hand. */
  placed: string;
  /** Whether a robot's joints are published, or whether it is followed. */
  live: string;
  selection: undefined;
  /** The hidden links of a robot. */
  hidden: string;
  /** The highlighted joint. */
  pointed: undefined;
  /** The joints at a limit while a link is moved. */
  stopped: undefined;
  /** The action of the pointer in the picture. */
  tool: undefined;
  /** The playing trajectory, and its time. */
  player: undefined;
  /** The unit of angles. */
  angles: undefined;
  options: undefined;
  /** The verdicts on a robot's frames. */
  frames: string;
  /** The frames above a robot in TF. */
  bases: string;
  /** The named poses of a robot. */
  poses: string;
  /** The available meshes of a robot. */
  tiers: string;
  connection: undefined;
  theme: undefined;
}

/** The state of the connection. */
export interface Connection {
  /** null: not known yet. */
  events: boolean | null;
  joints: boolean | null;
}

const NONE: ReadonlySet<string> = new Set();

/** State that belongs neither to a robot nor to the server. */
export class State extends Emitter<Changes> {
  readonly options: Options = {
    visual: true,
    collision: false,
    meshes: null,
    colliders: null,
    transparency: 0,
    wireframe: false,
    axes: false,
    axesSize: 0.1,
    labels: false,
    inertia: false,
    grid: true,
    shadows: true,
    fixedFrame: null,
    pictureSize: null,
    transparentPicture: false,
    follow: false,
  };
  readonly connection: Connection = { events: null, joints: null };
  private selected: Selection | null = null;
  private readonly concealed = new Map<string, ReadonlySet<string>>();
  private at: Pointed | null = null;
  private atLimits: Stopped | null = null;
  private inHand: Tool = 'look';
  private angleUnit: AngleUnit = 'rad';

  get selection(): Selection | null {
    return this.selected;
  }

  /** Selects a link, or none. */
  select(selection: Selection | null): void {
    if (selection?.key === this.selected?.key && selection?.link === this.selected?.link) return;
    this.selected = selection;
    this.emit('selection', undefined);
  }

  /** The hidden links of a robot. */
  hidden(key: string): ReadonlySet<string> {
    return this.concealed.get(key) ?? NONE;
  }

  /** Hides these links of a robot, and shows all others. */
  hide(key: string, links: Iterable<string>): void {
    this.concealed.set(key, new Set(links));
    this.emit('hidden', key);
  }

  /** The joint at the pointer or the focus. */
  get pointed(): Pointed | null {
    return this.at;
  }

  /** Highlights a joint, or none. */
  point(pointed: Pointed | null): void {
    if (pointed?.key === this.at?.key && pointed?.joint === this.at?.joint) return;
    this.at = pointed;
    this.emit('pointed', undefined);
  }

  /** The joints that are at a limit. */
  get stopped(): Stopped | null {
    return this.atLimits;
  }

  /** Sets the joints at a limit. */
  stop(stopped: Stopped | null): void {
    if (JSON.stringify(stopped) === JSON.stringify(this.atLimits)) return;
    this.atLimits = stopped;
    this.emit('stopped', undefined);
  }

  /** The action of the pointer in the picture. */
  get tool(): Tool {
    return this.inHand;
  }

  set tool(tool: Tool) {
    if (this.inHand === tool) return;
    this.inHand = tool;
    this.emit('tool', undefined);
  }

  /** The unit of angles. */
  get angles(): AngleUnit {
    return this.angleUnit;
  }

  set angles(unit: AngleUnit) {
    if (this.angleUnit === unit) return;
    this.angleUnit = unit;
    this.emit('angles', undefined);
  }

  set<K extends keyof Options>(option: K, value: Options[K]): void {
    if (this.options[option] === value) return;
    this.options[option] = value;
    this.emit('options', undefined);
  }

  connected(what: keyof Connection, yes: boolean): void {
    if (this.connection[what] === yes) return;
    this.connection[what] = yes;
    this.emit('connection', undefined);
  }
}
