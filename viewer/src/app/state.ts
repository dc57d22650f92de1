// What the viewer shows and what may change: the one place that panels and the 3D side share. No DOM, no three.

import { Emitter } from './emitter.js';
import type { AngleUnit } from './units.js';

/** How the robots are drawn. */
export interface Options {
  visual: boolean;
  collision: boolean;
  /** The variant of `visual_representation` that visual shapes are drawn in, where a robot has it; null: that of its own file. */
  meshes: string | null;
  /** The variant of `collision_fidelity` that collision shapes are drawn in, likewise. */
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

/** Joints of a robot that can go no further. */
export interface Stopped {
  key: string;
  joints: string[];
}

/** What the pointer does in the picture: turn the camera and select, move links, or measure. */
export type Tool = 'look' | 'move' | 'measure';

/** Where to look from, in ROS's directions: "front" looks at the robot's face. */
export type Preset = 'front' | 'back' | 'left' | 'right' | 'top' | 'iso';

/** What may change, each with the key of the robot it concerns, if it is one. */
export interface Changes {
  /** The list of robots, or what is known of one. */
  robots: undefined;
  /** Which robot the panels are about, or which are shown. */
  current: undefined;
  /** A robot's model came, went, or was replaced; or could not be loaded. */
  model: string;
  /** Positions of a robot's joints. */
  pose: string;
  /** Whether somebody publishes a robot's joints, or whether it is followed. */
  live: string;
  selection: undefined;
  /** Which joint is pointed at. */
  pointed: undefined;
  /** Which joints are at a limit while a link is moved. */
  stopped: undefined;
  /** What the pointer does in the picture. */
  tool: undefined;
  /** What is played, and where it is. */
  player: undefined;
  /** Whether angles are in degrees or radians. */
  angles: undefined;
  options: undefined;
  /** The verdicts on a robot's frames. */
  frames: string;
  /** The named poses of a robot. */
  poses: string;
  /** Which meshes a robot can be drawn with. */
  tiers: string;
  connection: undefined;
  theme: undefined;
}

/** How the server can be reached. */
export interface Connection {
  /** null: not known yet. */
  events: boolean | null;
  joints: boolean | null;
}

/** The state that is neither a robot's nor the server's. */
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
  };
  readonly connection: Connection = { events: null, joints: null };
  private selected: Selection | null = null;
  private at: Pointed | null = null;
  private atLimits: Stopped | null = null;
  private inHand: Tool = 'look';
  private angleUnit: AngleUnit = 'rad';

  get selection(): Selection | null {
    return this.selected;
  }

  /** Selects a link, or nothing. */
  select(selection: Selection | null): void {
    if (selection?.key === this.selected?.key && selection?.link === this.selected?.link) return;
    this.selected = selection;
    this.emit('selection', undefined);
  }

  /** The joint that the pointer or the focus is at. */
  get pointed(): Pointed | null {
    return this.at;
  }

  /** Points at a joint, or at none. */
  point(pointed: Pointed | null): void {
    if (pointed?.key === this.at?.key && pointed?.joint === this.at?.joint) return;
    this.at = pointed;
    this.emit('pointed', undefined);
  }

  /** The joints that are at a limit. */
  get stopped(): Stopped | null {
    return this.atLimits;
  }

  /** Says which joints are at a limit, or none. */
  stop(stopped: Stopped | null): void {
    if (JSON.stringify(stopped) === JSON.stringify(this.atLimits)) return;
    this.atLimits = stopped;
    this.emit('stopped', undefined);
  }

  /** What the pointer does in the picture. */
  get tool(): Tool {
    return this.inHand;
  }

  set tool(tool: Tool) {
    if (this.inHand === tool) return;
    this.inHand = tool;
    this.emit('tool', undefined);
  }

  /** What angles are shown in. */
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
