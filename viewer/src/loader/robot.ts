import { Mesh, Texture, Vector3, type Material, type Object3D } from 'three';

import { CollisionDisplay } from './collisions.js';
import type {
  Calibration,
  ConfigurationData,
  Dynamics,
  Extras,
  JointData,
  JointType,
  Limit,
  LinkData,
  MimicData,
  ModelData,
  Motion,
  Safety,
} from './extension.js';
import { resolveMimics } from './mimic.js';
import type { Problems } from './problems.js';

/**
 * Where a joint stands: a number for one degree of freedom, else one number for each, in the order of `Joint.dofs`. Radians for
 * rotations, metres for translations.
 */
export type JointValue = number | number[];

/** How positions are set. */
export interface SetOptions {
  /** Bring what is given into the joint's limits. Followers go where their drivers put them, limits or not. */
  readonly clamp?: boolean;
}

/** A rigid part (section 3, `Link`). */
export interface Link {
  readonly name: string;
  /** Its frame: its world matrix is the link's pose, in glTF axes. */
  readonly node: Object3D;
  /** What it looks like; where the file does not list it, what hangs on its frame and is neither collision nor joint. */
  readonly visuals: readonly Object3D[];
  /** What it collides with. Hidden until `Robot.setCollisionsVisible`. */
  readonly collisions: readonly Object3D[];
  readonly extras: Extras;
}

/** One scalar degree of freedom (section 3, `DOF`). */
export interface Dof {
  /** The node whose rotation or translation it is. */
  readonly node: Object3D;
  readonly motion: Motion;
  /** Of unit length, in the frame of the node's parent, in glTF axes. */
  readonly axis: Vector3;
  readonly limit?: Limit;
  /** Where it stands when nothing was set: radians or metres. */
  readonly default: number;
}

/** What sets a joint in place of its own position (section 5): `multiplier` · the driver's position + `offset`. */
export interface Mimic {
  /** Never itself a follower. */
  readonly joint: Joint;
  readonly multiplier: number;
  readonly offset: number;
}

/** What connects two links (section 3, `Joint`). */
export interface Joint {
  readonly name: string;
  readonly type: JointType;
  readonly parent: Link;
  readonly child: Link;
  /** The fixed transform from the parent link to the joint's frame. */
  readonly origin: Object3D;
  /** In the order in which they are applied: none for fixed joints, two for planar, six for floating ones (x, y, z, then turns). */
  readonly dofs: readonly Dof[];
  readonly mimic?: Mimic;
  /** Where it stands, a number for each of `dofs`. Set it through the robot. */
  readonly positions: readonly number[];
  readonly dynamics?: Dynamics;
  readonly safety?: Safety;
  readonly calibration?: Calibration;
  readonly extras: Extras;
}

/** A named pose (section 3, `configurations`). */
export interface Configuration {
  readonly name: string;
  /** The joints that it sets, and where to. A configuration whose `extras.joints` lists joints sets no others. */
  readonly positions: Readonly<Record<string, JointValue>>;
  readonly extras: Extras;
}

/** A joint whose followers and positions are still to come. */
interface OwnJoint extends Joint {
  mimic?: Mimic;
  positions: number[];
  readonly followers: OwnJoint[];
}

/** A kinematic model of a file, to be read and moved. It stands at its joints' defaults when loaded. */
export class Robot {
  readonly name: string;
  /** What everything of the robot hangs on. */
  readonly root: Object3D;
  readonly links: readonly Link[];
  readonly joints: readonly Joint[];
  /** The names of the poses that the file gives. */
  readonly configurations: readonly string[];
  /** Where the model is from. */
  readonly source: Extras | undefined;
  readonly extras: Extras;

  readonly #joints: readonly OwnJoint[];
  readonly #linksByName: ReadonlyMap<string, Link>;
  readonly #jointsByName: ReadonlyMap<string, OwnJoint>;
  readonly #configurations: ReadonlyMap<string, ConfigurationData>;
  readonly #collisions: CollisionDisplay;

  /** `nodes`: the object of every node that `data` names. */
  constructor(data: ModelData, nodes: ReadonlyMap<number, Object3D>, problems: Problems) {
    const node = (index: number): Object3D => found(nodes.get(index));
    this.name = data.name;
    this.root = node(data.rootNode);
    this.source = data.source;
    this.extras = data.extras;
    const skeleton = new Set([...data.links.map((l) => l.node), ...data.joints.map((j) => j.originNode)].map(node));
    this.links = data.links.map((link) => makeLink(link, node, skeleton));
    this.#joints = data.joints.map((joint) => makeJoint(joint, this.links, node));
    this.joints = this.#joints;
    resolveMimics(data.joints, data.place, problems).forEach((mimic, k) => follow(this.#joints, k, mimic));
    this.#linksByName = byName(this.links);
    this.#jointsByName = byName(this.#joints);
    this.#configurations = byName(data.configurations);
    this.configurations = [...this.#configurations.keys()];
    this.#collisions = new CollisionDisplay(this.links.flatMap((link) => link.collisions));
    this.reset();
  }

  /** The link of this name. */
  link(name: string): Link | undefined {
    return this.#linksByName.get(name);
  }

  /** The joint of this name. */
  joint(name: string): Joint | undefined {
    return this.#jointsByName.get(name);
  }

  /** The configuration of this name. */
  configuration(name: string): Configuration | undefined {
    const data = this.#configurations.get(name);
    if (data === undefined) return undefined;
    const set = this.#setBy(data).map(([joint, values]) => [joint.name, valueOf(values)] as const);
    return { name, positions: Object.fromEntries(set), extras: data.extras };
  }

  /**
   * Moves a joint and its followers (section 5). Returns where the joint now stands; `undefined`, with nothing moved, if the robot
   * has no such joint or `value` is not one finite number for each of its degrees of freedom.
   *
   * A follower may be set too, as a robot may report where it really is: it stays there until its driver is set again.
   */
  setPosition(joint: Joint | string, value: JointValue, options: SetOptions = {}): JointValue | undefined {
    const moved = this.#own(joint);
    const values = moved && valuesFor(moved, value, options);
    if (moved === undefined || values === undefined) return undefined;
    move(moved, values);
    moveFollowers(moved);
    return valueOf(moved.positions);
  }

  /**
   * Moves several joints and their followers at once; a follower that is given itself stands where it is given. Returns where those
   * of them now stand that could be set; names that the robot does not have are passed over.
   */
  setPositions(values: Readonly<Record<string, JointValue>>, options: SetOptions = {}): Record<string, JointValue> {
    const given: [OwnJoint, number[]][] = [];
    for (const [name, value] of Object.entries(values)) {
      const joint = this.#own(name);
      const numbers = joint && valuesFor(joint, value, options);
      if (joint !== undefined && numbers !== undefined) given.push([joint, numbers]);
    }
    moveAll(given);
    return Object.fromEntries(given.map(([joint]) => [joint.name, valueOf(joint.positions)]));
  }

  /** Where every joint that can move stands. */
  positions(): Record<string, JointValue> {
    const moving = this.#joints.filter((joint) => joint.dofs.length > 0);
    return Object.fromEntries(moving.map((joint) => [joint.name, valueOf(joint.positions)]));
  }

  /**
   * Takes up a named pose. Where the configuration's `extras.joints` lists joints, only these and their followers move: it is a pose
   * of a part of the robot, and all others stay where they are. Returns whether there is such a configuration.
   */
  applyConfiguration(name: string, options: SetOptions = {}): boolean {
    const data = this.#configurations.get(name);
    if (data === undefined) return false;
    moveAll(this.#setBy(data).map(([joint, values]) => [joint, options.clamp ? clamped(joint, values) : [...values]]));
    return true;
  }

  /** Moves every joint to its default, followers where their drivers put them. */
  reset(): void {
    for (const joint of this.#joints) move(joint, joint.dofs.map((dof) => dof.default));
    for (const joint of this.#joints) moveFollowers(joint);
  }

  /**
   * Shows what the robot collides with, in `material` or else in one of the robot's own, or hides it. A material that is given stays
   * the caller's to dispose of.
   */
  setCollisionsVisible(visible: boolean, material?: Material): void {
    if (visible) this.#collisions.show(material);
    else this.#collisions.hide();
  }

  /** Shows or hides what the robot looks like. */
  setVisualsVisible(visible: boolean): void {
    for (const link of this.links) for (const node of link.visuals) node.visible = visible;
  }

  /** Takes the robot out of its scene and frees what it holds on the graphics card. */
  dispose(): void {
    this.#collisions.dispose();
    this.root.removeFromParent();
    this.root.traverse((object) => {
      if (!(object instanceof Mesh)) return;
      (object as Mesh).geometry.dispose();
      const materials: Material[] = Array.isArray(object.material) ? object.material : [object.material];
      for (const material of materials) {
        for (const value of Object.values(material)) if (value instanceof Texture) value.dispose();
        material.dispose();
      }
    });
  }

  #own(joint: Joint | string): OwnJoint | undefined {
    if (typeof joint === 'string') return this.#jointsByName.get(joint);
    return this.#joints.find((own) => own === joint);
  }

  /** The joints that a configuration sets and that can move, with their positions. */
  #setBy(data: ConfigurationData): [OwnJoint, readonly number[]][] {
    const only = data.joints && new Set(data.joints);
    return this.#joints.flatMap((joint, k): [OwnJoint, readonly number[]][] => {
      const values = data.positions[k];
      return values === undefined || values.length === 0 || only?.has(k) === false ? [] : [[joint, values]];
    });
  }
}

function makeLink(data: LinkData, node: (index: number) => Object3D, skeleton: ReadonlySet<Object3D>): Link {
  const frame = node(data.node);
  const collisions = data.collisionNodes.map(node);
  const visuals = data.visualNodes?.map(node) ?? frame.children.filter((child) => isVisual(child, skeleton, collisions));
  return { name: data.name, node: frame, visuals, collisions, extras: data.extras };
}

/** Whether something is drawn below `node` that belongs to no joint or other link. */
function isVisual(node: Object3D, skeleton: ReadonlySet<Object3D>, collisions: readonly Object3D[]): boolean {
  let drawn = false;
  let other = collisions.includes(node);
  node.traverse((object) => {
    drawn ||= object instanceof Mesh;
    other ||= skeleton.has(object);
  });
  return drawn && !other;
}

function makeJoint(data: JointData, links: readonly Link[], node: (index: number) => Object3D): OwnJoint {
  return {
    name: data.name,
    type: data.type,
    parent: found(links[data.parentLink]),
    child: found(links[data.childLink]),
    origin: node(data.originNode),
    dofs: data.dofs.map((dof) => ({
      node: node(dof.node),
      motion: dof.motion,
      axis: new Vector3(...dof.axis),
      ...(dof.limit && { limit: dof.limit }),
      default: dof.default,
    })),
    ...(data.dynamics && { dynamics: data.dynamics }),
    ...(data.safety && { safety: data.safety }),
    ...(data.calibration && { calibration: data.calibration }),
    extras: data.extras,
    positions: data.dofs.map((dof) => dof.default),
    followers: [],
  };
}

function follow(joints: readonly OwnJoint[], index: number, mimic: MimicData | undefined): void {
  if (mimic === undefined) return;
  const [follower, driver] = [found(joints[index]), found(joints[mimic.joint])];
  follower.mimic = { joint: driver, multiplier: mimic.multiplier, offset: mimic.offset };
  driver.followers.push(follower);
}

/** By name; of several with one name the first. */
function byName<T extends { readonly name: string }>(named: readonly T[]): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const one of named) if (!found.has(one.name)) found.set(one.name, one);
  return found;
}

/** Sets the nodes of a joint, and of no other (section 5). */
function move(joint: OwnJoint, values: number[]): void {
  joint.positions = values;
  joint.dofs.forEach((dof, k) => {
    const value = values[k] ?? 0;
    if (dof.motion === 'rotation') dof.node.quaternion.setFromAxisAngle(dof.axis, value);
    else dof.node.position.copy(dof.axis).multiplyScalar(value);
  });
}

function moveFollowers(driver: OwnJoint, but: ReadonlySet<OwnJoint> = new Set()): void {
  const [position] = driver.positions;
  if (position === undefined) return;
  for (const follower of driver.followers) {
    const { multiplier, offset } = found(follower.mimic);
    if (!but.has(follower)) move(follower, [multiplier * position + offset]);
  }
}

/** Moves joints, then their followers but for those that are among them. */
function moveAll(given: readonly [OwnJoint, number[]][]): void {
  const joints = new Set(given.map(([joint]) => joint));
  for (const [joint, values] of given) move(joint, values);
  for (const joint of joints) moveFollowers(joint, joints);
}

/** What to set a joint to; `undefined` if `value` does not fit it. */
function valuesFor(joint: Joint, value: JointValue, options: SetOptions): number[] | undefined {
  const values = Array.isArray(value) ? [...value] : [value];
  if (values.length !== joint.dofs.length || !values.every(Number.isFinite)) return undefined;
  return options.clamp ? clamped(joint, values) : values;
}

function clamped(joint: Joint, values: readonly number[]): number[] {
  return values.map((value, k) => {
    const { lower = -Infinity, upper = Infinity } = joint.dofs[k]?.limit ?? {};
    return Math.min(Math.max(value, lower), upper);
  });
}

function valueOf(values: readonly number[]): JointValue {
  return values.length === 1 ? found(values[0]) : [...values];
}

/** For what the checks of `readModels` promise to be there. */
function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the model was not checked');
  return value;
}
