// The orientation of the robot: ROS's axes as seen from the camera, in a corner of the picture. Drawn as SVG, which is sharp and can have a
// label.

import { Matrix4, Vector3 } from 'three';
import { svg } from '../dom.js';
import type { Stage } from './stage.js';

/** ROS's x, y, z in glTF's axes. */
const AXES = [
  { name: 'x', class: 'axis-x', direction: new Vector3(0, 0, 1) },
  { name: 'y', class: 'axis-y', direction: new Vector3(1, 0, 0) },
  { name: 'z', class: 'axis-z', direction: new Vector3(0, 1, 0) },
];

const REACH = 26;

/** Draws the axes into `box` and keeps them oriented like the camera. */
export function gizmo(box: Element, stage: Stage): void {
  const arms = AXES.map(({ name, class: kind, direction }) => {
    const line = svg('line', { x1: 0, y1: 0 });
    const text = svg('text', { 'text-anchor': 'middle', 'dominant-baseline': 'central' }, name);
    return { group: svg('g', { class: kind }, line, svg('circle', { r: 8 }), text), line, text, direction };
  });
  const drawing = svg('svg', { viewBox: '-40 -40 80 80', role: 'img', 'aria-label': 'Axes: x forward, y left, z up' });
  drawing.append(...arms.map(({ group }) => group));
  box.prepend(drawing);
  const view = new Matrix4();
  let last = '';
  stage.afterFrame(() => {
    view.extractRotation(stage.eye.camera.matrixWorldInverse);
    const seen = arms.map((arm) => ({ arm, at: arm.direction.clone().applyMatrix4(view) }));
    const now = seen.map(({ at }) => `${at.x.toFixed(3)} ${at.y.toFixed(3)} ${at.z.toFixed(3)}`).join(' ');
    if (now === last) return;
    last = now;
    seen.sort((a, b) => a.at.z - b.at.z);
    for (const { arm, at } of seen) {
      const [x, y] = [(at.x * REACH).toFixed(2), (-at.y * REACH).toFixed(2)];
      for (const [name, value] of [
        ['x2', x],
        ['y2', y],
      ] as const)
        arm.line.setAttribute(name, value);
      for (const child of [arm.group.children[1], arm.text]) child?.setAttribute('transform', `translate(${x} ${y})`);
      // The nearest axis is drawn last.
      drawing.append(arm.group);
    }
  });
}
