// The degrees of freedom of a joint for sliders: name, unit, range. No DOM.

import type { Dof, Joint } from '../loader/index.js';

/** A degree of freedom as a control shows it. */
export interface Control {
  joint: Joint;
  /** The index of the joint's position. */
  index: number;
  /** The joint's name, with the degree of freedom if there are several: "base: yaw". */
  name: string;
  unit: 'rad' | 'm';
  /** The range of the slider. */
  lower: number;
  upper: number;
  /** Whether the range is that of the joint, not only of the slider. */
  limited: { lower: boolean; upper: boolean };
  /** Whether the position is an angle without limits, which wraps around at the ends of the slider. */
  wraps: boolean;
  step: number;
  default: number;
}

/** The range of a slider for a translation without limits, in metres. */
const REACH = 2;

/** Returns the controls of a joint, none if it is fixed. */
export function controls(joint: Joint): Control[] {
  return joint.dofs.map((dof, index) => control(joint, dof, index));
}

function control(joint: Joint, dof: Dof, index: number): Control {
  const unit = dof.motion === 'rotation' ? 'rad' : 'm';
  const given = { lower: finite(dof.limit?.lower), upper: finite(dof.limit?.upper) };
  const wraps = unit === 'rad' && given.lower === undefined && given.upper === undefined;
  const reach = unit === 'rad' ? Math.PI : REACH;
  let lower = given.lower ?? Math.min(-reach, (given.upper ?? 0) - reach);
  let upper = given.upper ?? Math.max(reach, (given.lower ?? 0) + reach);
  if (lower > upper) [lower, upper] = [upper, lower];
  return {
    joint,
    index,
    name: joint.dofs.length > 1 ? `${joint.name}: ${dofName(dof, index)}` : joint.name,
    unit,
    lower,
    upper,
    limited: { lower: given.lower !== undefined, upper: given.upper !== undefined },
    wraps,
    step: stepOf(upper - lower, unit),
    default: finite(dof.default) ?? 0,
  };
}

/** The step: at most a degree for a rotation, at most a millimetre for a translation; about a hundredth of a short range. */
function stepOf(span: number, unit: 'rad' | 'm'): number {
  const widest = unit === 'rad' ? 0.01 : 0.001;
  if (!(span > 0)) return widest;
  return Math.min(widest, 10 ** Math.floor(Math.log10(span / 50)));
}

/** The name of a degree of freedom after its axis in ROS, or its number. */
export function dofName(dof: Pick<Dof, 'motion' | 'axis'>, index: number): string {
  const names = dof.motion === 'rotation' ? ['pitch', 'yaw', 'roll'] : ['y', 'z', 'x'];
  const axis = dof.axis.toArray();
  const along = axis.findIndex((part) => Math.abs(part) > 0.999);
  const name = names[along];
  if (name === undefined) return String(index + 1);
  return (axis[along] ?? 0) < 0 ? `-${name}` : name;
}

/** The slider position for a joint position. */
export function onSlider(control: Control, value: number): number {
  return control.wraps ? wrap(value) : Math.min(control.upper, Math.max(control.lower, value));
}

/** Wraps an angle to [−π, π]. */
export function wrap(angle: number): number {
  if (angle >= -Math.PI && angle <= Math.PI) return angle;
  const turn = 2 * Math.PI;
  return angle - turn * Math.floor((angle + Math.PI) / turn);
}

/** Whether a position exceeds the joint's limits; joint states are shown unclamped. */
export function beyond(control: Control, value: number): boolean {
  const slack = 1e-6;
  return (control.limited.lower && value < control.lower - slack) || (control.limited.upper && value > control.upper + slack);
}

/** Describes a mimic: "follows finger × -1 + 0.04". */
export function following(mimic: { joint: { name: string }; multiplier: number; offset: number }): string {
  const number = (value: number) => String(Number(Math.abs(value).toPrecision(6)));
  const times = mimic.multiplier === 1 ? '' : ` × ${mimic.multiplier < 0 ? '-' : ''}${number(mimic.multiplier)}`;
  const plus = mimic.offset === 0 ? '' : ` ${mimic.offset < 0 ? '-' : '+'} ${number(mimic.offset)}`;
  return `follows ${mimic.joint.name}${times}${plus}`;
}

/** Whether a joint matches a search: every word occurs in its name or type. */
export function matches(text: string, words: string): boolean {
  const low = text.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => low.includes(word));
}

function finite(value: number | null | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
