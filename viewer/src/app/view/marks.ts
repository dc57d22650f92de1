// Marks on a robot: the glow of the selected link, and link frames in ROS's colours (x red, y green, z blue).

import {
  BufferAttribute,
  type BufferGeometry,
  Color,
  CylinderGeometry,
  ConeGeometry,
  Mesh,
  MeshBasicMaterial,
  type Object3D,
} from 'three';
import { mergeGeometries } from 'three/addons/utils/BufferGeometryUtils.js';
import type { Link } from '../../loader/index.js';
import type { Model } from '../model.js';
import type { Options } from '../state.js';
import { meshes } from './look.js';

/** Colours of x, y and z. */
export const AXIS_COLORS = ['#e5484d', '#46a758', '#3e7bfa'] as const;

/** Three arrows of length 1 in ROS's directions: x along glTF's z, y along its x, z along its y. */
function triad(): BufferGeometry {
  const arrow = (color: string) => {
    const shaft = new CylinderGeometry(0.022, 0.022, 0.8, 8).translate(0, 0.4, 0);
    const tip = new ConeGeometry(0.06, 0.2, 12).translate(0, 0.9, 0);
    const geometry = mergeGeometries([shaft, tip]);
    const { r, g, b } = new Color(color);
    const count = geometry.getAttribute('position').count;
    const colors = Float32Array.from({ length: count * 3 }, (_, i) => [r, g, b][i % 3] ?? 0);
    geometry.setAttribute('color', new BufferAttribute(colors, 3));
    return geometry;
  };
  const [x, y, z] = AXIS_COLORS;
  return mergeGeometries([arrow(x).rotateX(Math.PI / 2), arrow(y).rotateZ(-Math.PI / 2), arrow(z)]);
}

/** Draws marks; one for the whole viewer. */
export class Marks {
  private readonly triad = triad();
  private readonly axes = new MeshBasicMaterial({ vertexColors: true, toneMapped: false });
  /** Drawn over everything, since a link's frame is nearly always inside the link. */
  private readonly axesThrough = new MeshBasicMaterial({
    vertexColors: true,
    toneMapped: false,
    depthTest: false,
    transparent: true,
  });
  private readonly glow = new MeshBasicMaterial({
    transparent: true,
    opacity: 0.34,
    depthWrite: false,
    polygonOffset: true,
    polygonOffsetFactor: -2,
    polygonOffsetUnits: -2,
  });
  private readonly ghost = new MeshBasicMaterial({ transparent: true, opacity: 0.14, depthWrite: false, depthTest: false });
  private readonly frames = new Map<Model, Mesh[]>();
  private highlighted: Mesh[] = [];

  set color(color: string) {
    this.glow.color.set(color);
    this.ghost.color.set(color);
  }

  /** Makes a triad at the origin. */
  origin(size: number): Mesh {
    return this.arrows(this.axes, size);
  }

  private arrows(material: MeshBasicMaterial, size: number): Mesh {
    const mesh = new Mesh(this.triad, material);
    mesh.scale.setScalar(size);
    return unseen(mesh, 4);
  }

  /** Shows or hides the frames of a model's links. */
  showFrames(model: Model, options: Options): void {
    this.hideFrames(model);
    if (!options.axes) return;
    const drawn = model.links.map((link) => {
      const mesh = this.arrows(this.axesThrough, options.axesSize);
      link.node.add(mesh);
      return mesh;
    });
    this.frames.set(model, drawn);
  }

  hideFrames(model: Model): void {
    for (const mesh of this.frames.get(model) ?? []) mesh.removeFromParent();
    this.frames.delete(model);
  }

  /** Highlights one link, or none. */
  highlight(link: Link | null, options: Options): void {
    for (const mesh of this.highlighted) mesh.removeFromParent();
    this.highlighted = [];
    if (!link) return;
    const shapes: Object3D[] = [...(options.visual ? link.visuals : []), ...(options.collision ? link.collisions : [])];
    for (const mesh of shapes.flatMap(meshes)) {
      for (const [material, order] of [
        [this.ghost, 2],
        [this.glow, 3],
      ] as const) {
        const over = unseen(new Mesh(mesh.geometry, material), order);
        mesh.add(over);
        this.highlighted.push(over);
      }
    }
    const frame = this.arrows(this.axesThrough, options.axesSize * 1.2);
    link.node.add(frame);
    this.highlighted.push(frame);
  }
}

/** Excludes an object that is no part of a robot from picking and measuring. */
function unseen(mesh: Mesh, order: number): Mesh {
  mesh.raycast = () => undefined;
  mesh.userData['mark'] = true;
  mesh.renderOrder = order;
  return mesh;
}
