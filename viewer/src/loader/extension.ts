/**
 * The JSON of EXT_robot_kinematics (section 3 of its document), validated (section 4), with every number in glTF's axes and units:
 * metres and radians.
 *
 * Independent of three.js. Invalid data is left out at the smallest piece that keeps the rest valid, and reported: a bad limit is left
 * out alone; a joint that names no link invalidates its model, since every later index would mean something else.
 */
import type { Problems } from './problems.js';

/** The extension's name in `extensionsUsed`. */
export const EXTENSION = 'EXT_robot_kinematics';

/** The type of motion of a joint. */
export type JointType = 'fixed' | 'revolute' | 'continuous' | 'prismatic' | 'planar' | 'floating';

/** The channel of its node that a degree of freedom sets. */
export type Motion = 'rotation' | 'translation';

/** Bounds of a degree of freedom; missing ones are unbounded. */
export interface Limit {
  /** Radians or metres. */
  readonly lower?: number;
  /** Radians or metres. */
  readonly upper?: number;
  /** Radians or metres per second. */
  readonly velocity?: number;
  /** Newton metres or newtons. */
  readonly effort?: number;
}

/** Damping and friction of a joint. */
export interface Dynamics {
  /** N·m·s/rad or N·s/m. */
  readonly damping?: number;
  /** N·m or N. */
  readonly friction?: number;
}

/** The bounds within which a controller keeps a joint. */
export interface Safety {
  readonly softLowerLimit?: number;
  readonly softUpperLimit?: number;
  readonly kPosition?: number;
  readonly kVelocity?: number;
}

/** The positions of a joint's calibration edges. */
export interface Calibration {
  readonly rising?: number;
  readonly falling?: number;
}

/** Application data; not validated. */
export type Extras = Readonly<Record<string, unknown>>;

export interface LinkData {
  readonly name: string;
  readonly node: number;
  /** `undefined` if the file does not have it. */
  readonly visualNodes: readonly number[] | undefined;
  readonly collisionNodes: readonly number[];
  readonly extras: Extras;
}

export interface DofData {
  readonly node: number;
  readonly motion: Motion;
  /** Unit vector. */
  readonly axis: readonly [number, number, number];
  readonly limit: Limit | undefined;
  readonly default: number;
}

export interface MimicData {
  readonly joint: number;
  readonly multiplier: number;
  readonly offset: number;
}

export interface JointData {
  readonly name: string;
  readonly type: JointType;
  readonly parentLink: number;
  readonly childLink: number;
  readonly originNode: number;
  readonly dofs: readonly DofData[];
  readonly mimic: MimicData | undefined;
  readonly dynamics: Dynamics | undefined;
  readonly safety: Safety | undefined;
  readonly calibration: Calibration | undefined;
  readonly extras: Extras;
}

export interface ConfigurationData {
  readonly name: string;
  /** By joint: one number per degree of freedom. */
  readonly positions: readonly (readonly number[])[];
  /** The joints that it sets; all others stay. `undefined`: every joint. */
  readonly joints: readonly number[] | undefined;
  readonly extras: Extras;
}

export interface ModelData {
  /** Its path in the extension's object, for messages. */
  readonly place: string;
  readonly name: string;
  readonly rootNode: number;
  readonly links: readonly LinkData[];
  readonly joints: readonly JointData[];
  readonly configurations: readonly ConfigurationData[];
  readonly source: Extras | undefined;
  readonly extras: Extras;
}

/** The number of degrees of freedom of each type (section 6). */
const FREEDOM: Readonly<Record<JointType, number>> = {
  fixed: 0,
  revolute: 1,
  continuous: 1,
  prismatic: 1,
  planar: 2,
  floating: 6,
};

/** Maximum deviation of an axis' length from 1 without a report. */
const UNIT_TOLERANCE = 1e-3;

/** Returns the usable models of the extension's object. `nodes`: the number of nodes of the file. */
export function readModels(extension: unknown, nodes: number, problems: Problems): ModelData[] {
  const models = isObject(extension) ? extension['models'] : undefined;
  if (!Array.isArray(models)) {
    problems.add('models', 'should be a list of models');
    return [];
  }
  const found: ModelData[] = [];
  models.forEach((model: unknown, index) => {
    try {
      found.push(new Reader(nodes, problems).model(model, `models[${index}]`));
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      problems.add(error.place, `${error.message}; the model is left out`);
    }
  });
  return found;
}

/** A required part of a model is missing or invalid. */
class Unusable extends Error {
  constructor(
    readonly place: string,
    message: string,
  ) {
    super(message);
  }
}

class Reader {
  constructor(
    private readonly nodes: number,
    private readonly problems: Problems,
  ) {}

  model(json: unknown, place: string): ModelData {
    const model = this.object(json, place);
    const links = this.list(model['links'], `${place}.links`).map((link, k) => this.link(link, `${place}.links[${k}]`));
    const listed = this.list(model['joints'], `${place}.joints`);
    const joints = listed.map((joint, k) => this.joint(joint, `${place}.joints[${k}]`, links.length, listed.length));
    this.unique(links, `${place}.links`);
    this.unique(joints, `${place}.joints`);
    this.drivenOnce(joints, place);
    return {
      place,
      name: this.optionalText(model['name'], `${place}.name`) ?? 'robot',
      rootNode: this.node(model['rootNode'], `${place}.rootNode`),
      links,
      joints: joints.map((joint, k) => this.withoutBadMimic(joint, joints, `${place}.joints[${k}].mimic`)),
      configurations: this.configurations(model['configurations'], joints, `${place}.configurations`),
      source: isObject(model['source']) ? model['source'] : undefined,
      extras: extras(model),
    };
  }

  private link(json: unknown, place: string): LinkData {
    const link = this.object(json, place);
    return {
      name: this.text(link['name'], `${place}.name`),
      node: this.node(link['node'], `${place}.node`),
      visualNodes: link['visualNodes'] === undefined ? undefined : this.shapes(link['visualNodes'], `${place}.visualNodes`),
      collisionNodes: this.shapes(link['collisionNodes'] ?? [], `${place}.collisionNodes`),
      extras: extras(link),
    };
  }

  /** Nodes of visuals or collisions. They move nothing, so a bad one is left out alone. */
  private shapes(json: unknown, place: string): number[] {
    if (!Array.isArray(json)) {
      this.problems.add(place, 'should be a list of node indices');
      return [];
    }
    return json.filter((node: unknown, k): node is number => {
      const good = isIndex(node, this.nodes);
      if (!good) this.problems.add(`${place}[${k}]`, `${shown(node)} is no node of the file's ${this.nodes}`);
      return good;
    });
  }

  private joint(json: unknown, place: string, links: number, joints: number): JointData {
    const joint = this.object(json, place);
    const type = joint['type'];
    if (typeof type !== 'string' || !Object.hasOwn(FREEDOM, type)) {
      throw new Unusable(`${place}.type`, `${shown(type)} is none of ${Object.keys(FREEDOM).join(', ')}`);
    }
    return {
      name: this.text(joint['name'], `${place}.name`),
      type: type as JointType,
      parentLink: this.index(joint['parentLink'], links, `${place}.parentLink`, 'link of the model'),
      childLink: this.index(joint['childLink'], links, `${place}.childLink`, 'link of the model'),
      originNode: this.node(joint['originNode'], `${place}.originNode`),
      dofs: this.dofs(joint, type as JointType, place),
      mimic: this.mimic(joint['mimic'], joints, `${place}.mimic`),
      dynamics: this.numbers(joint['dynamics'], ['damping', 'friction'], `${place}.dynamics`),
      safety: this.numbers(joint['safety'], ['softLowerLimit', 'softUpperLimit', 'kPosition', 'kVelocity'], `${place}.safety`),
      calibration: this.numbers(joint['calibration'], ['rising', 'falling'], `${place}.calibration`),
      extras: extras(joint),
    };
  }

  private dofs(joint: JsonObject, type: JointType, place: string): DofData[] {
    const nodes = this.list(joint['dofNodes'] ?? [], `${place}.dofNodes`);
    const dofs = this.list(joint['dofs'] ?? [], `${place}.dofs`);
    if (nodes.length !== dofs.length) {
      throw new Unusable(place, `has ${nodes.length} dofNodes, but ${dofs.length} dofs`);
    }
    if (nodes.length === 0 && type !== 'fixed') throw new Unusable(place, `a ${type} joint needs a degree of freedom`);
    if (nodes.length !== FREEDOM[type]) {
      this.problems.add(place, `a ${type} joint has ${FREEDOM[type]} degrees of freedom, not ${nodes.length}`);
    }
    // A fixed joint does not move, whatever else it has.
    if (type === 'fixed') return [];
    return dofs.map((dof, k) => this.dof(dof, nodes[k], type, `${place}.dofNodes[${k}]`, `${place}.dofs[${k}]`));
  }

  private dof(json: unknown, node: unknown, type: JointType, nodePlace: string, place: string): DofData {
    const dof = this.object(json, place);
    const motion = dof['motion'];
    if (motion !== 'rotation' && motion !== 'translation') {
      throw new Unusable(`${place}.motion`, `${shown(motion)} is neither "rotation" nor "translation"`);
    }
    return {
      node: this.node(node, nodePlace),
      motion,
      axis: this.axis(dof['axis'], `${place}.axis`),
      limit: this.limit(dof['limit'], type, `${place}.limit`),
      default: this.optionalNumber(dof['default'], `${place}.default`) ?? 0,
    };
  }

  private axis(json: unknown, place: string): [number, number, number] {
    if (!Array.isArray(json) || json.length !== 3 || !json.every(Number.isFinite)) {
      throw new Unusable(place, 'should be three numbers');
    }
    const [x, y, z] = json as [number, number, number];
    const length = Math.hypot(x, y, z);
    if (!(length > 0) || !Number.isFinite(length)) throw new Unusable(place, 'has no direction');
    if (Math.abs(length - 1) > UNIT_TOLERANCE) this.problems.add(place, `its length is ${length}, not 1; only its direction is used`);
    return [x / length, y / length, z / length];
  }

  private limit(json: unknown, type: JointType, place: string): Limit | undefined {
    const limit = this.numbers(json, ['lower', 'upper', 'velocity', 'effort'], place);
    if (limit === undefined) return undefined;
    const { lower, upper, ...rates } = limit;
    if (type === 'continuous' && (lower !== undefined || upper !== undefined)) {
      this.problems.add(place, 'a continuous joint has no bounds; they are left out');
      return rates;
    }
    if (lower !== undefined && upper !== undefined && lower > upper) {
      this.problems.add(place, `lower (${lower}) is above upper (${upper}); both are left out`);
      return rates;
    }
    return limit;
  }

  private mimic(json: unknown, joints: number, place: string): MimicData | undefined {
    if (json === undefined || json === null) return undefined;
    if (!isObject(json) || !isIndex(json['joint'], joints)) {
      const joint = isObject(json) ? json['joint'] : json;
      this.problems.add(place, `${shown(joint)} is no joint of the model's ${joints}; it follows none`);
      return undefined;
    }
    return {
      joint: json['joint'],
      multiplier: this.optionalNumber(json['multiplier'], `${place}.multiplier`) ?? 1,
      offset: this.optionalNumber(json['offset'], `${place}.offset`) ?? 0,
    };
  }

  /** A mimic connects two joints with one degree of freedom each (section 3). */
  private withoutBadMimic(joint: JointData, joints: readonly JointData[], place: string): JointData {
    if (joint.mimic === undefined) return joint;
    const driver = joints[joint.mimic.joint];
    if (joint.dofs.length === 1 && driver?.dofs.length === 1) return joint;
    this.problems.add(place, 'follower and driver need one degree of freedom each; it follows none');
    return { ...joint, mimic: undefined };
  }

  private configurations(json: unknown, joints: readonly JointData[], place: string): ConfigurationData[] {
    if (json === undefined || json === null) return [];
    if (!isObject(json)) {
      this.problems.add(place, 'should be an object; left out');
      return [];
    }
    const found: ConfigurationData[] = [];
    for (const [name, configuration] of Object.entries(json)) {
      try {
        found.push(this.configuration(name, configuration, joints, `${place}[${JSON.stringify(name)}]`));
      } catch (error) {
        if (!(error instanceof Unusable)) throw error;
        this.problems.add(error.place, `${error.message}; the configuration is left out`);
      }
    }
    return found;
  }

  private configuration(name: string, json: unknown, joints: readonly JointData[], place: string): ConfigurationData {
    const configuration = this.object(json, place);
    const given = this.list(configuration['jointPositions'], `${place}.jointPositions`);
    const row = rowOf(given, joints);
    if (row === undefined && given.length !== joints.length) {
      throw new Unusable(`${place}.jointPositions`, `has ${given.length} entries for ${joints.length} joints`);
    }
    const positions = row ?? joints.map((joint, k) => positionsOf(given[k], joint.dofs.length, `${place}.jointPositions[${k}]`));
    const more = extras(configuration);
    const only = more['joints'];
    if (only !== undefined && !(Array.isArray(only) && only.every((joint) => isIndex(joint, joints.length)))) {
      throw new Unusable(`${place}.extras.joints`, `should list joints of the model's ${joints.length}`);
    }
    return { name, positions, joints: only as number[] | undefined, extras: more };
  }

  /** Links and joints need names, which users and messages refer to. */
  private unique(named: readonly { readonly name: string }[], place: string): void {
    const seen = new Set<string>();
    named.forEach(({ name }, k) => {
      if (seen.has(name)) this.problems.add(`${place}[${k}].name`, `${shown(name)} is taken; by name, the first is found`);
      seen.add(name);
    });
  }

  private drivenOnce(joints: readonly JointData[], place: string): void {
    const seen = new Set<number>();
    joints.forEach((joint, j) =>
      joint.dofs.forEach(({ node }, k) => {
        if (seen.has(node)) this.problems.add(`${place}.joints[${j}].dofNodes[${k}]`, `node ${node} is set by two degrees of freedom`);
        seen.add(node);
      }),
    );
  }

  private object(json: unknown, place: string): JsonObject {
    if (!isObject(json)) throw new Unusable(place, 'should be an object');
    return json;
  }

  private list(json: unknown, place: string): unknown[] {
    if (!Array.isArray(json)) throw new Unusable(place, 'should be a list');
    return json;
  }

  private text(json: unknown, place: string): string {
    if (typeof json !== 'string') throw new Unusable(place, 'should be a text');
    return json;
  }

  private index(json: unknown, count: number, place: string, what: string): number {
    if (!isIndex(json, count)) throw new Unusable(place, `${shown(json)} is no ${what}, which has ${count}`);
    return json;
  }

  private node(json: unknown, place: string): number {
    if (!isIndex(json, this.nodes)) throw new Unusable(place, `${shown(json)} is no node of the file's ${this.nodes}`);
    return json;
  }

  private optionalText(json: unknown, place: string): string | undefined {
    if (json === undefined || typeof json === 'string') return json;
    this.problems.add(place, 'should be a text; left out');
    return undefined;
  }

  private optionalNumber(json: unknown, place: string): number | undefined {
    if (json === undefined || json === null) return undefined;
    if (typeof json === 'number' && Number.isFinite(json)) return json;
    this.problems.add(place, `${shown(json)} is no number; left out`);
    return undefined;
  }

  /** Returns those members of an object that are numbers, `undefined` without an object. */
  private numbers<Name extends string>(json: unknown, names: readonly Name[], place: string): { [N in Name]?: number } | undefined {
    if (json === undefined || json === null) return undefined;
    if (!isObject(json)) {
      this.problems.add(place, 'should be an object; left out');
      return undefined;
    }
    const found: { [N in Name]?: number } = {};
    for (const name of names) {
      const value = this.optionalNumber(json[name], `${place}.${name}`);
      if (value !== undefined) found[name] = value;
    }
    return found;
  }
}

type JsonObject = Record<string, unknown>;

function isObject(json: unknown): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function isIndex(json: unknown, count: number): json is number {
  return Number.isInteger(json) && (json as number) >= 0 && (json as number) < count;
}

function extras(json: JsonObject): Extras {
  return isObject(json['extras']) ? json['extras'] : {};
}

/** Reads a configuration's entry for a joint: a number for one degree of freedom, a list for any count. */
function positionsOf(json: unknown, freedom: number, place: string): number[] {
  // A number for a fixed joint has no effect.
  if (freedom === 0) return [];
  const list: unknown[] = Array.isArray(json) ? json : [json];
  if (list.length !== freedom || !list.every(Number.isFinite)) {
    throw new Unusable(place, freedom === 1 ? 'should be a number' : `should be ${freedom} numbers`);
  }
  return list as number[];
}

/**
 * Returns the positions of each joint if `given` has one number per degree of freedom, all in a row, which the draft of the extension
 * allows. Where every joint has exactly one degree of freedom, the two forms are the same.
 */
function rowOf(given: readonly unknown[], joints: readonly JointData[]): number[][] | undefined {
  const freedom = joints.reduce((sum, { dofs }) => sum + dofs.length, 0);
  const isNumber = (value: unknown): value is number => Number.isFinite(value);
  if (given.length !== freedom || !given.every(isNumber) || joints.every(({ dofs }) => dofs.length === 1)) return undefined;
  let next = 0;
  return joints.map(({ dofs }) => given.slice(next, (next += dofs.length)));
}

/** Formats a value of the file for a message: short, on one line. */
function shown(json: unknown): string {
  const text = json === undefined ? 'nothing' : (JSON.stringify(json) ?? 'nothing');
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
