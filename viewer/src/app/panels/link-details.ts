// Details of a link: its joint, limits, mass properties, shapes. In ROS's axes, as in the URDF.

import type { FrameVerdict } from '../api.js';
import type { Joint, Link } from '../../loader/index.js';
import { make } from '../dom.js';
import { inertialOf, type Inertial } from '../extras.js';
import { counted, decimal, degrees, rosVector, significant, vector } from '../format.js';
import { following } from '../joint-model.js';
import type { Model } from '../model.js';
import { between } from '../units.js';

type Row = [string, string | HTMLElement];

/** Makes the list of details of the link `name`. */
export function linkDetails(
  model: Model | null,
  name: string,
  frame: FrameVerdict | null,
  showJoint: (joint: string) => void,
): HTMLElement {
  const link = model?.link(name);
  const rows = model && link ? linkRows(model, link, showJoint) : frameRows(frame);
  return make(
    'dl',
    { className: 'facts' },
    {},
    ...rows.flatMap(([term, value]) => [make('dt', { textContent: term }), make('dd', {}, {}, value)]),
  );
}

/** A frame that is not a link, such as a camera's optical frame. */
function frameRows(frame: FrameVerdict | null): Row[] {
  if (!frame) return [['frame', "not one of this robot's links"]];
  return [
    ['parent', frame.parent ?? 'none'],
    ['topic', frame.static ? 'static' : 'moving'],
  ];
}

function linkRows(model: Model, link: Link, showJoint: (joint: string) => void): Row[] {
  const joint = model.jointOf(link);
  const children = model.joints.filter((joint) => joint.parent === link).map((joint) => joint.child.name);
  const rows: Row[] = joint ? jointRows(joint, showJoint) : [['joint', 'none: the root']];
  if (children.length) rows.push([children.length === 1 ? 'child link' : 'child links', children.join(', ')]);
  rows.push(['shapes', `${counted(link.visuals.length, 'visual')}, ${counted(link.collisions.length, 'collision')}`]);
  const inertial = inertialOf(link);
  return [...rows, ...(inertial ? inertialRows(inertial) : [['mass', 'none given'] as Row])];
}

function jointRows(joint: Joint, showJoint: (joint: string) => void): Row[] {
  const name = make(
    'button',
    { type: 'button', className: 'link', textContent: joint.name },
    { 'aria-label': `${joint.name}: show its slider` },
  );
  name.addEventListener('click', () => showJoint(joint.name));
  const rows: Row[] = [
    ['joint', joint.dofs.length ? name : joint.name],
    ['type', joint.type],
    ['parent link', joint.parent.name],
  ];
  if (joint.mimic) rows.push(['mimic', following(joint.mimic)]);
  for (const dof of joint.dofs) {
    const [x, y, z] = dof.axis.toArray();
    rows.push([joint.dofs.length > 1 ? dof.motion : 'axis', vector(rosVector([x, y, z]))]);
    const { lower, upper, velocity, effort } = dof.limit ?? {};
    const turn = dof.motion === 'rotation';
    if (lower !== undefined || upper !== undefined) {
      const inDegrees = turn && lower !== undefined && upper !== undefined ? ` (${between(lower, upper, degrees)})` : '';
      rows.push(['limits', `${between(lower, upper, (value) => decimal(value))} ${turn ? 'rad' : 'm'}${inDegrees}`]);
    }
    if (velocity !== undefined) rows.push(['velocity', `${significant(velocity)} ${turn ? 'rad/s' : 'm/s'}`]);
    if (effort !== undefined) rows.push(['effort', `${significant(effort)} ${turn ? 'Nm' : 'N'}`]);
  }
  return rows;
}

function inertialRows({ mass, centre, inertia }: Inertial): Row[] {
  const rows: Row[] = [['mass', `${significant(mass)} kg`]];
  if (centre) rows.push(['centre of mass', `${vector(rosVector(centre))} m`]);
  if (inertia) {
    // glTF's x, y, z are ROS's y, z, x.
    const [xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0] = inertia;
    const named = { ixx: zz, iyy: xx, izz: yy, ixy: xz, ixz: yz, iyz: xy };
    const list = Object.entries(named).map(([name, value]) =>
      make('span', {}, {}, make('i', { textContent: name }), ` ${significant(value)}`),
    );
    rows.push(['inertia, kg m²', make('span', { className: 'inertia' }, {}, ...list)]);
  }
  return rows;
}
