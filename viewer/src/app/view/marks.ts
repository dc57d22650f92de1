// Marks on a robot: link frames in ROS's colours (x red, y green, z blue).

import {
  BufferAttribute,
  type BufferGeometry,
  Color,
  CylinderGeometry,
  ConeGeometry,
  Mesh,
  MeshBasicMaterial,
} from 'three';
import { mergeGeometries } from 'three/addons/utils/BufferGeometryUtils.js';
import type { Link } from '../../loader/index.js';
import type { Model } from '../model.js';
import type { Options } from '../state.js';

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
  private readonly frames = new Map<Model, Mesh[]>();
  private selected: Mesh | null = null;

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

  /** Shows the frame of one link with axes of this length, or none. */
  select(link: Link | null, size: number): void {
    this.selected?.removeFromParent();
    this.selected = link && this.arrows(this.axesThrough, size);
    if (this.selected) link?.node.add(this.selected);
  }
}

/** Excludes an object that is no part of a robot from picking and measuring. */
function unseen(mesh: Mesh, order: number): Mesh {
  mesh.raycast = () => undefined;
  mesh.userData['mark'] = true;
  mesh.renderOrder = order;
  return mesh;
}
