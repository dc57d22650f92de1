// What a slider needs to know about a joint: its degrees of freedom with name, unit and reach. No DOM.

import type { Dof, Joint } from '../loader/index.js';

/** A degree of freedom as a control shows it. */
export interface Control {
  joint: Joint;
  /** Which of the joint's positions it is. */
  index: number;
  /** The joint's name, and which degree of freedom where there are several: "base: yaw". */
  name: string;
  unit: 'rad' | 'm';
  /** Where the slider ends. */
  lower: number;
  upper: number;
  /** Whether the ends are limits of the joint, not merely of the slider. */
  limited: { lower: boolean; upper: boolean };
  /** Whether the position is an angle without limits: beyond one end of the slider it goes on at the other. */
  wraps: boolean;
  step: number;
  default: number;
}

/** How far the slider of a translation without limits reaches, in metres. */
const REACH = 2;

/** The controls of a joint, none if it is fixed. */
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

/** A rotation moves by a degree or less, a translation by a millimetre or less: about a hundredth of a short reach. */
function stepOf(span: number, unit: 'rad' | 'm'): number {
  const widest = unit === 'rad' ? 0.01 : 0.001;
  if (!(span > 0)) return widest;
  return Math.min(widest, 10 ** Math.floor(Math.log10(span / 50)));
}

/** The name of a degree of freedom by ROS's axis that it is about or along, or its number. */
export function dofName(dof: Pick<Dof, 'motion' | 'axis'>, index: number): string {
  const names = dof.motion === 'rotation' ? ['pitch', 'yaw', 'roll'] : ['y', 'z', 'x'];
  const axis = dof.axis.toArray();
  const along = axis.findIndex((part) => Math.abs(part) > 0.999);
  const name = names[along];
  if (name === undefined) return String(index + 1);
  return (axis[along] ?? 0) < 0 ? `-${name}` : name;
}

/** Where the slider stands for a position. */
export function onSlider(control: Control, value: number): number {
  return control.wraps ? wrap(value) : Math.min(control.upper, Math.max(control.lower, value));
}

/** An angle in [−π, π]. */
export function wrap(angle: number): number {
  if (angle >= -Math.PI && angle <= Math.PI) return angle;
  const turn = 2 * Math.PI;
  return angle - turn * Math.floor((angle + Math.PI) / turn);
}

/** Whether a position is outside the joint's limits; joint states are shown as they are. */
export function beyond(control: Control, value: number): boolean {
  const slack = 1e-6;
  return (control.limited.lower && value < control.lower - slack) || (control.limited.upper && value > control.upper + slack);
}

/** How a follower follows: "follows finger × -1 + 0.04". */
export function following(mimic: { joint: { name: string }; multiplier: number; offset: number }): string {
  const number = (value: number) => String(Number(Math.abs(value).toPrecision(6)));
  const times = mimic.multiplier === 1 ? '' : ` × ${mimic.multiplier < 0 ? '-' : ''}${number(mimic.multiplier)}`;
  const plus = mimic.offset === 0 ? '' : ` ${mimic.offset < 0 ? '-' : '+'} ${number(mimic.offset)}`;
  return `follows ${mimic.joint.name}${times}${plus}`;
}

/** Whether a joint is meant by what was typed: every word occurs in its name or type. */
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
