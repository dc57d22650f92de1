// The distance between two points of the robots, which stay on their links.

import { BufferGeometry, Line, LineBasicMaterial, Mesh, MeshBasicMaterial, type Object3D, SphereGeometry, Vector2, Vector3 } from 'three';
import { make, setText } from '../dom.js';
import { rosVector, vector } from '../format.js';
import type { State } from '../state.js';
import { length } from '../units.js';
import { pick } from './pick.js';
import type { Show } from './show.js';
import type { Stage } from './stage.js';

/** A pointer that moved farther than this, in CSS pixels, turned the camera. */
const STILL = 4;
/** The radius of a point as a share of its distance from the camera. */
const POINT = 0.006;

/** Lets the user pick two points and shows their distance beside the line, and by `tell` to screen readers. */
export function measure(
  canvas: HTMLCanvasElement,
  labels: HTMLElement,
  state: State,
  stage: Stage,
  show: Show,
  tell: (text: string) => void,
): void {
  const points: { node: Object3D; at: Vector3 }[] = [];
  const color = '#e5484d';
  const line = new Line(
    new BufferGeometry().setFromPoints([new Vector3(), new Vector3()]),
    new LineBasicMaterial({ color, depthTest: false, transparent: true, toneMapped: false }),
  );
  const dot = () => new Mesh(new SphereGeometry(1, 16, 12), new MeshBasicMaterial({ color, depthTest: false, transparent: true, toneMapped: false }));
  const dots = [dot(), dot()];
  const label = make('span', { className: 'label chosen', hidden: true, id: 'measured' });
  for (const object of [line, ...dots]) {
    object.visible = false;
    object.frustumCulled = false;
    object.renderOrder = 6;
    object.userData['mark'] = true;
    stage.scene.add(object);
  }
  const [from, to] = [new Vector3(), new Vector3()];
  /** The current positions of the points in the world. */
  const places = () => points.map(({ node, at }, k) => node.localToWorld((k ? to : from).copy(at)));
  const clear = () => {
    points.length = 0;
    tell('');
    stage.invalidate();
  };
  const take = (at: Vector2) => {
    const hit = pick(at, stage, show.models());
    const node = hit && show.models().find(([key]) => key === hit.key)?.[1].link(hit.link)?.node;
    if (!hit || !node) return tell('Nothing to measure here: choose a point on the robot.');
    if (points.length === 2) points.length = 0;
    points.push({ node, at: node.worldToLocal(hit.point.clone()) });
    if (points.length === 1) tell(`First point on ${hit.link}. Now the second.`);
    else {
      const [a, b] = places();
      if (!a || !b) return;
      const way = b.clone().sub(a);
      tell(`Distance ${length(way.length())}: x, y, z ${vector(rosVector([way.x, way.y, way.z]))} m.`);
    }
    stage.invalidate();
  };
  let down: { x: number; y: number } | null = null;
  canvas.addEventListener('pointerdown', (event) => {
    down = event.isPrimary && event.button === 0 ? { x: event.clientX, y: event.clientY } : null;
  });
  canvas.addEventListener('pointerup', (event) => {
    if (state.tool !== 'measure' || !down || Math.hypot(event.clientX - down.x, event.clientY - down.y) > STILL) return;
    const box = canvas.getBoundingClientRect();
    take(new Vector2(((event.clientX - box.left) / box.width) * 2 - 1, 1 - ((event.clientY - box.top) / box.height) * 2));
  });
  canvas.addEventListener('keydown', (event) => {
    if (state.tool !== 'measure' || event.key !== 'Enter') return;
    event.preventDefault();
    // By keyboard: the middle of the picture, to which the arrow keys turn the robot.
    take(new Vector2(0, 0));
  });
  state.on('tool', () => {
    canvas.classList.toggle('aims', state.tool === 'measure');
    if (state.tool === 'measure') tell('Choose two points on the robot: click, or turn one to the middle and press Enter.');
    else clear();
  });
  state.on('model', () => {
    // Without points, the message is another one's.
    if (points.length > 0) clear();
  });
  stage.beforeFrame(() => {
    const now = places();
    line.visible = now.length === 2;
    dots.forEach((dot, k) => {
      const at = now[k];
      dot.visible = at !== undefined;
      if (!at) return;
      dot.position.copy(at);
      dot.scale.setScalar(POINT * at.distanceTo(stage.eye.camera.position));
    });
    if (now.length === 2) line.geometry.setFromPoints(now);
  });
  stage.afterFrame(() => {
    const [a, b] = places();
    label.hidden = !a || !b;
    if (!a || !b) return;
    if (!label.isConnected) labels.append(label);
    setText(label, length(a.distanceTo(b)));
    const at = a.clone().add(b).multiplyScalar(0.5).project(stage.eye.camera);
    const [x, y] = [((at.x + 1) / 2) * labels.clientWidth, ((1 - at.y) / 2) * labels.clientHeight];
    label.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    label.style.visibility = Math.abs(at.z) <= 1 ? 'visible' : 'hidden';
  });
}
