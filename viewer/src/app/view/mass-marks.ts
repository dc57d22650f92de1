// Centres of mass, and the solid boxes with the same mass and inertia: of the selected link, or of all.

import { BoxGeometry, EdgesGeometry, LineBasicMaterial, LineSegments, Mesh, MeshBasicMaterial, type Object3D, SphereGeometry } from 'three';
import { inertialOf } from '../extras.js';
import { inertiaBox } from '../inertia.js';
import type { State } from '../state.js';
import type { Show } from './show.js';
import type { Stage } from './stage.js';

/** The density of the displayed centre of mass, kg/m³: the heavier, the larger. */
const DENSITY = 200_000;

/** Keeps the marks up to date with the state. */
export function massMarks(state: State, stage: Stage, show: Show): { drawn(): string[] } {
  const sphere = new SphereGeometry(1, 20, 14);
  const box = new BoxGeometry(1, 1, 1);
  const edges = new EdgesGeometry(box);
  const centre = new MeshBasicMaterial({ color: '#d6409f', depthTest: false, transparent: true, toneMapped: false });
  const sides = new MeshBasicMaterial({ color: '#8e4ec6', transparent: true, opacity: 0.22, depthTest: false, depthWrite: false });
  const lines = new LineBasicMaterial({ color: '#8e4ec6', depthTest: false, transparent: true, toneMapped: false });
  let drawn: { link: string; objects: Object3D[] }[] = [];
  const rebuild = () => {
    for (const { objects } of drawn) for (const object of objects) object.removeFromParent();
    drawn = [];
    if (state.options.inertia) {
      const { selection } = state;
      for (const [key, model] of show.models()) {
        for (const link of model.links) {
          if (selection && (selection.key !== key || selection.link !== link.name)) continue;
          const inertial = inertialOf(link);
          if (!inertial || !(inertial.mass > 0)) continue;
          const ball = new Mesh(sphere, centre);
          ball.position.set(...(inertial.centre ?? [0, 0, 0]));
          ball.scale.setScalar(Math.cbrt((3 * inertial.mass) / (4 * Math.PI * DENSITY)));
          const objects: Object3D[] = [ball];
          const found = inertiaBox(inertial);
          if (found) {
            for (const object of [new Mesh(box, sides), new LineSegments(edges, lines)]) {
              object.position.copy(found.centre);
              object.quaternion.copy(found.turn);
              object.scale.copy(found.edges).clampScalar(1e-4, Infinity);
              objects.push(object);
            }
          }
          for (const object of objects) {
            object.raycast = () => undefined;
            object.userData['mark'] = true;
            object.renderOrder = 4;
            link.node.add(object);
          }
          drawn.push({ link: link.name, objects });
        }
      }
    }
    stage.invalidate();
  };
  state.onAny(['options', 'selection', 'model', 'current'], rebuild);
  return { drawn: () => drawn.map(({ link }) => link) };
}
