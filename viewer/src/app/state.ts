// What the viewer shows and what may change: the one place that panels and the 3D side share. No DOM, no three.

import { Emitter } from './emitter.js';

/** How the robots are drawn. */
export interface Options {
  visual: boolean;
  collision: boolean;
  /** 0 is opaque, 1 invisible. */
  transparency: number;
  wireframe: boolean;
  /** The frame of every link. */
  axes: boolean;
  /** Metres. */
  axesSize: number;
  labels: boolean;
  grid: boolean;
  shadows: boolean;
}

/** A link of a robot. */
export interface Selection {
  key: string;
  link: string;
}

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
  options: undefined;
  /** The verdicts on a robot's frames. */
  frames: string;
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
    transparency: 0,
    wireframe: false,
    axes: false,
    axesSize: 0.1,
    labels: false,
    grid: true,
    shadows: true,
  };
  readonly connection: Connection = { events: null, joints: null };
  private selected: Selection | null = null;

  get selection(): Selection | null {
    return this.selected;
  }

  /** Selects a link, or nothing. */
  select(selection: Selection | null): void {
    if (selection?.key === this.selected?.key && selection?.link === this.selected?.link) return;
    this.selected = selection;
    this.emit('selection', undefined);
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
