/**
 * Robots independent of an engine: links, joints, positions, mimics. Each engine's part moves nodes.
 */
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
 * Position of a joint: a number for one degree of freedom, else one number for each, in the order of `Joint.dofs`. Radians for
 * rotations, metres for translations.
 */
export type JointValue = number | number[];

/** Options for setting positions. */
export interface SetOptions {
  /** Clamps given positions to the joint's limits. Followers go where their drivers put them, within limits or not. */
  readonly clamp?: boolean;
}

/** A rigid part (section 3, `Link`). */
export interface LinkOf<Node> {
  readonly name: string;
  /** Its frame: the world matrix is the link's pose, in glTF's axes. */
  readonly node: Node;
  /** Its visual shapes. If the file does not list them: everything below its frame that is neither collision nor joint. */
  readonly visuals: readonly Node[];
  /** Its collision shapes. Hidden until `Robot.setCollisionsVisible`. */
  readonly collisions: readonly Node[];
  readonly extras: Extras;
}

/** One scalar degree of freedom (section 3, `DOF`). */
export interface DofOf<Node, Axis> {
  /** The node whose rotation or translation it sets. */
  readonly node: Node;
  readonly motion: Motion;
  /** Unit vector in the frame of the node's parent, in glTF's axes. */
  readonly axis: Axis;
  readonly limit?: Limit;
  /** Position at load: radians or metres. */
  readonly default: number;
}

/** The rule that sets a joint in place of its own position (section 5): `multiplier` · the driver's position + `offset`. */
export interface MimicOf<Node, Axis> {
  /** Never itself a follower. */
  readonly joint: JointOf<Node, Axis>;
  readonly multiplier: number;
  readonly offset: number;
}

/** A connection of two links (section 3, `Joint`). */
export interface JointOf<Node, Axis> {
  readonly name: string;
  readonly type: JointType;
  readonly parent: LinkOf<Node>;
  readonly child: LinkOf<Node>;
  /** The fixed transform from the parent link to the joint's frame. */
  readonly origin: Node;
  /** In the order of application: none for fixed joints, two for planar, six for floating ones (x, y, z, then rotations). */
  readonly dofs: readonly DofOf<Node, Axis>[];
  readonly mimic?: MimicOf<Node, Axis>;
  /** Its position, a number for each of `dofs`. Set it through the robot. */
  readonly positions: readonly number[];
  readonly dynamics?: Dynamics;
  readonly safety?: Safety;
  readonly calibration?: Calibration;
  readonly extras: Extras;
}

/** A named pose (section 3, `configurations`). */
export interface Configuration {
  readonly name: string;
  /**
   * The joints that it sets, with their positions. A configuration whose `extras.joints` lists joints sets no others. A follower has the
   * position that its driver's implies, whatever the file says of it.
   */
  readonly positions: Readonly<Record<string, JointValue>>;
  readonly extras: Extras;
}

/** A joint of any engine. */
type AnyJoint = Pick<JointOf<unknown, unknown>, 'dofs'>;

/** A joint without its followers and position. */
interface OwnJoint<Node, Axis> extends JointOf<Node, Axis> {
  mimic?: MimicOf<Node, Axis> & { readonly joint: OwnJoint<Node, Axis> };
  positions: number[];
  readonly followers: OwnJoint<Node, Axis>[];
}

/** Operations of an engine on its nodes. */
export interface Engine<Node, Axis> {
  /** Converts a unit vector in glTF's axes. */
  axis(x: number, y: number, z: number): Axis;
  /** Sets only the rotation of a node: radians about an axis. */
  turn(node: Node, axis: Axis, angle: number): void;
  /** Sets only the translation of a node: metres along an axis. */
  shift(node: Node, axis: Axis, distance: number): void;
  children(node: Node): readonly Node[];
  parent(node: Node): Node | null;
  /** Whether the node itself is drawn. */
  isDrawn(node: Node): boolean;
}

/** The nodes that a model refers to. */
export function nodesOf(model: ModelData): Set<number> {
  return new Set([
    model.rootNode,
    ...model.links.flatMap((link) => [link.node, ...(link.visualNodes ?? []), ...link.collisionNodes]),
    ...model.joints.flatMap((joint) => [joint.originNode, ...joint.dofs.map((dof) => dof.node)]),
  ]);
}

/** Reports differences between the node tree and the model, by which moving a joint or the root would move something else (section 4). */
export function checkTree<Node>(
  model: ModelData,
  nodes: ReadonlyMap<number, Node>,
  engine: Pick<Engine<Node, unknown>, 'children' | 'parent'>,
  problems: Problems,
): void {
  const root = nodes.get(model.rootNode);
  const inRobot = new Set<Node | undefined>();
  for (const open: Node[] = root === undefined ? [] : [root]; open.length > 0; ) {
    const at = found(open.pop());
    inRobot.add(at);
    open.push(...engine.children(at));
  }
  const isBelow = (index: number | undefined, above: number | undefined): boolean => {
    const [node, top] = [nodes.get(index ?? -1), nodes.get(above ?? -1)];
    let at = node === undefined ? null : engine.parent(node);
    while (at !== null && at !== top) at = engine.parent(at);
    return at !== null;
  };
  model.links.forEach(({ node }, k) => {
    if (!inRobot.has(nodes.get(node))) problems.add(`${model.place}.links[${k}]`, 'its node is not below the root node');
  });
  model.joints.forEach((joint, k) => {
    const ends = [model.links[joint.parentLink]?.node, model.links[joint.childLink]?.node];
    const chain = [ends[0], joint.originNode, ...joint.dofs.map((dof) => dof.node), ends[1]];
    const broken = chain.slice(1).some((node, n) => !isBelow(node, chain[n]));
    if (broken) problems.add(`${model.place}.joints[${k}]`, 'its nodes are no chain from the parent link to the child link');
  });
}

/** A kinematic model of a file, to read and move. Its joints are at their defaults after loading. */
export class Kinematics<Node, Axis> {
  readonly name: string;
  /** The root node of the robot. */
  readonly root: Node;
  readonly links: readonly LinkOf<Node>[];
  readonly joints: readonly JointOf<Node, Axis>[];
  /** The names of the file's poses. */
  readonly configurations: readonly string[];
  /** The source of the model. */
  readonly source: Extras | undefined;
  readonly extras: Extras;

  readonly #engine: Engine<Node, Axis>;
  readonly #joints: readonly OwnJoint<Node, Axis>[];
  readonly #linksByName: ReadonlyMap<string, LinkOf<Node>>;
  readonly #jointsByName: ReadonlyMap<string, OwnJoint<Node, Axis>>;
  readonly #configurations: ReadonlyMap<string, ConfigurationData>;

  /** `nodes`: the engine's node of every node that `data` names. */
  constructor(data: ModelData, nodes: ReadonlyMap<number, Node>, problems: Problems, engine: Engine<Node, Axis>) {
    const node = (index: number): Node => found(nodes.get(index));
    this.name = data.name;
    this.root = node(data.rootNode);
    this.source = data.source;
    this.extras = data.extras;
    this.#engine = engine;
    const skeleton = new Set([...data.links.map((l) => l.node), ...data.joints.map((j) => j.originNode)].map(node));
    this.links = data.links.map((link) => makeLink(link, node, skeleton, engine));
    this.#joints = data.joints.map((joint) => makeJoint(joint, this.links, node, engine));
    this.joints = this.#joints;
    resolveMimics(data.joints, data.place, problems).forEach((mimic, k) => follow(this.#joints, k, mimic));
    this.#linksByName = byName(this.links);
    this.#jointsByName = byName(this.#joints);
    this.#configurations = byName(data.configurations);
    this.configurations = [...this.#configurations.keys()];
    this.reset();
  }

  /** Returns the link of this name. */
  link(name: string): LinkOf<Node> | undefined {
    return this.#linksByName.get(name);
  }

  /** Returns the joint of this name. */
  joint(name: string): JointOf<Node, Axis> | undefined {
    return this.#jointsByName.get(name);
  }

  /** Returns the configuration of this name. */
  configuration(name: string): Configuration | undefined {
    const data = this.#configurations.get(name);
    if (data === undefined) return undefined;
    const set = this.#setBy(data).map(([joint, values]) => [joint.name, valueOf(values)] as const);
    return { name, positions: Object.fromEntries(set), extras: data.extras };
  }

  /**
   * Moves a joint and its followers (section 5). Returns the joint's position; `undefined`, with nothing moved, if the robot has no such
   * joint or `value` is not one finite number for each of its degrees of freedom.
   *
   * A follower stays where its driver puts it, and its position is returned.
   */
  setPosition(joint: JointOf<Node, Axis> | string, value: JointValue, options: SetOptions = {}): JointValue | undefined {
    const moved = this.#own(joint);
    const values = moved && valuesFor(moved, value, options);
    if (moved === undefined || values === undefined) return undefined;
    moveAll(this.#engine, [[moved, values]]);
    return valueOf(moved.positions);
  }

  /**
   * Moves several joints and their followers at once. A follower in `values` stays where its driver puts it. Returns the positions of
   * the joints in `values`; unknown names and values that do not fit are ignored.
   */
  setPositions(values: Readonly<Record<string, JointValue>>, options: SetOptions = {}): Record<string, JointValue> {
    const given: [OwnJoint<Node, Axis>, number[]][] = [];
    for (const [name, value] of Object.entries(values)) {
      const joint = this.#own(name);
      const numbers = joint && valuesFor(joint, value, options);
      if (joint !== undefined && numbers !== undefined) given.push([joint, numbers]);
    }
    moveAll(this.#engine, given);
    return Object.fromEntries(given.map(([joint]) => [joint.name, valueOf(joint.positions)]));
  }

  /** Returns the positions of all joints that can move. */
  positions(): Record<string, JointValue> {
    const moving = this.#joints.filter((joint) => joint.dofs.length > 0);
    return Object.fromEntries(moving.map((joint) => [joint.name, valueOf(joint.positions)]));
  }

  /**
   * Applies a named pose. If the configuration's `extras.joints` lists joints, only these and their followers move: it is a pose of a
   * part of the robot, and all others stay. Returns whether the configuration exists.
   */
  applyConfiguration(name: string, options: SetOptions = {}): boolean {
    const data = this.#configurations.get(name);
    if (data === undefined) return false;
    const set = this.#setBy(data).map(([joint, values]): [OwnJoint<Node, Axis>, number[]] => [joint, options.clamp ? clamped(joint, values) : [...values]]);
    moveAll(this.#engine, set);
    return true;
  }

  /** Moves every joint to its default, followers where their drivers put them. */
  reset(): void {
    for (const joint of this.#joints) move(this.#engine, joint, joint.dofs.map((dof) => dof.default));
    for (const joint of this.#joints) moveFollowers(this.#engine, joint);
  }

  #own(joint: JointOf<Node, Axis> | string): OwnJoint<Node, Axis> | undefined {
    if (typeof joint === 'string') return this.#jointsByName.get(joint);
    return this.#joints.find((own) => own === joint);
  }

  /** Returns the movable joints that a configuration sets, with their positions; those of followers are computed. */
  #setBy(data: ConfigurationData): [OwnJoint<Node, Axis>, readonly number[]][] {
    const only = data.joints && new Set(data.joints);
    return this.#joints.flatMap((joint, k): [OwnJoint<Node, Axis>, readonly number[]][] => {
      const isSet = (index: number) => only?.has(index) ?? true;
      const driver = joint.mimic && this.#joints.indexOf(joint.mimic.joint);
      const values = data.positions[driver ?? k];
      if (values === undefined || values.length === 0 || !isSet(k) || !isSet(driver ?? k)) return [];
      return [[joint, joint.mimic ? [followed(joint.mimic, values)] : values]];
    });
  }
}

function makeLink<Node, Axis>(
  data: LinkData,
  node: (index: number) => Node,
  skeleton: ReadonlySet<Node>,
  engine: Engine<Node, Axis>,
): LinkOf<Node> {
  const frame = node(data.node);
  const collisions = data.collisionNodes.map(node);
  const isVisual = (child: Node) => !collisions.includes(child) && isOnlyDrawn(child, skeleton, engine);
  const visuals = data.visualNodes?.map(node) ?? engine.children(frame).filter(isVisual);
  return { name: data.name, node: frame, visuals, collisions, extras: data.extras };
}

/** Whether something is drawn at or below a node, and none of it belongs to a joint or a link. */
function isOnlyDrawn<Node, Axis>(node: Node, skeleton: ReadonlySet<Node>, engine: Engine<Node, Axis>): boolean {
  let drawn = false;
  for (const open = [node]; open.length > 0; ) {
    const at = found(open.pop());
    if (skeleton.has(at)) return false;
    drawn ||= engine.isDrawn(at);
    open.push(...engine.children(at));
  }
  return drawn;
}

function makeJoint<Node, Axis>(
  data: JointData,
  links: readonly LinkOf<Node>[],
  node: (index: number) => Node,
  engine: Engine<Node, Axis>,
): OwnJoint<Node, Axis> {
  return {
    name: data.name,
    type: data.type,
    parent: found(links[data.parentLink]),
    child: found(links[data.childLink]),
    origin: node(data.originNode),
    dofs: data.dofs.map((dof) => ({
      node: node(dof.node),
      motion: dof.motion,
      axis: engine.axis(...dof.axis),
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

function follow<Node, Axis>(joints: readonly OwnJoint<Node, Axis>[], index: number, mimic: MimicData | undefined): void {
  if (mimic === undefined) return;
  const [follower, driver] = [found(joints[index]), found(joints[mimic.joint])];
  follower.mimic = { joint: driver, multiplier: mimic.multiplier, offset: mimic.offset };
  driver.followers.push(follower);
}

/** Indexes by name; of several with one name the first. */
function byName<T extends { readonly name: string }>(named: readonly T[]): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const one of named) if (!found.has(one.name)) found.set(one.name, one);
  return found;
}

/** Sets the nodes of a joint only (section 5). */
function move<Node, Axis>(engine: Engine<Node, Axis>, joint: OwnJoint<Node, Axis>, values: number[]): void {
  joint.positions = values;
  joint.dofs.forEach((dof, k) => {
    const value = values[k] ?? 0;
    if (dof.motion === 'rotation') engine.turn(dof.node, dof.axis, value);
    else engine.shift(dof.node, dof.axis, value);
  });
}

function moveFollowers<Node, Axis>(engine: Engine<Node, Axis>, driver: OwnJoint<Node, Axis>): void {
  for (const follower of driver.followers) move(engine, follower, [followed(found(follower.mimic), driver.positions)]);
}

/** Returns the position of a follower from those of its driver. */
function followed({ multiplier, offset }: MimicOf<unknown, unknown>, [position = 0]: readonly number[]): number {
  return multiplier * position + offset;
}

/** Moves joints that follow no other, and their followers. */
function moveAll<Node, Axis>(engine: Engine<Node, Axis>, given: readonly [OwnJoint<Node, Axis>, number[]][]): void {
  for (const [joint, values] of given) {
    if (joint.mimic) continue;
    move(engine, joint, values);
    moveFollowers(engine, joint);
  }
}

/** Returns the positions to set; `undefined` if `value` does not fit the joint. */
function valuesFor(joint: AnyJoint, value: JointValue, options: SetOptions): number[] | undefined {
  const values = Array.isArray(value) ? [...value] : [value];
  if (values.length !== joint.dofs.length || !values.every(Number.isFinite)) return undefined;
  return options.clamp ? clamped(joint, values) : values;
}

function clamped(joint: AnyJoint, values: readonly number[]): number[] {
  return values.map((value, k) => {
    const { lower = -Infinity, upper = Infinity } = joint.dofs[k]?.limit ?? {};
    return Math.min(Math.max(value, lower), upper);
  });
}

function valueOf(values: readonly number[]): JointValue {
  return values.length === 1 ? found(values[0]) : [...values];
}

/** Asserts a value that the checks of `readModels` guarantee. */
function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the model was not checked');
  return value;
}
