// A joint's axis, range and position: of the highlighted joint, of the one that moves the selected link,
// and of those at a limit while a link is dragged.

import {
  Box3,
  BufferAttribute,
  BufferGeometry,
  CylinderGeometry,
  DoubleSide,
  Group,
  Mesh,
  MeshBasicMaterial,
  Quaternion,
  Vector3,
} from 'three';
import type { Dof, Joint } from '../../loader/index.js';
import type { Model } from '../model.js';
import type { State } from '../state.js';
import type { Theme } from '../theme.js';
import { meshes } from './look.js';
import type { Show } from './show.js';
import type { Stage } from './stage.js';

/** The size of a mark as a share of the robot's. */
const SHARE = 0.11;
const UP = new Vector3(0, 1, 0);

/** A drawn joint. */
interface Drawn {
  group: Group;
  dof: Dof;
  joint: Joint;
  index: number;
  needle: Mesh;
}

/** Keeps the marks of joints up to date with the state. */
export class JointMarks {
  private drawn: Drawn[] = [];
  /** The marked joints as a string: rebuilt only if it changes. */
  private shown = '';
  private readonly fill = material(0.14);
  private readonly line = material(0.95);
  private readonly stopFill = material(0.3);
  private readonly stopLine = material(0.95);

  constructor(
    private readonly state: State,
    private readonly stage: Stage,
    private readonly show: Show,
    private readonly theme: Theme,
  ) {
    state.onAny(['pointed', 'selection', 'stopped', 'model', 'current', 'tool'], () => this.update());
    state.on('pose', () => this.turn());
    state.on('theme', () => this.paint());
    this.paint();
  }

  /** The marked joints, by name. */
  marked(): string[] {
    return [...new Set(this.drawn.map(({ joint }) => joint.name))];
  }

  private paint(): void {
    const { accent, dark } = this.theme.colors();
    for (const one of [this.fill, this.line]) one.color.set(accent);
    for (const one of [this.stopFill, this.stopLine]) one.color.set(dark ? '#ff9e3d' : '#d9480f');
    this.stage.invalidate();
  }

  private wanted(): { key: string; model: Model; joint: Joint; stopped: boolean }[] {
    const { pointed, stopped, selection } = this.state;
    const models = new Map(this.show.models());
    const found = (key: string, name: string, stopped: boolean) => {
      const model = models.get(key);
      const joint = model?.joint(name);
      return model && joint?.dofs.length ? [{ key, model, joint, stopped }] : [];
    };
    const atLimits = stopped ? stopped.joints.flatMap((name) => found(stopped.key, name, true)) : [];
    const model = selection ? models.get(selection.key) : undefined;
    const above = selection && model?.movedBy(model.link(selection.link));
    const hasHandles = this.state.tool === 'move';
    // The handles of the selected link have the place of its joint's mark.
    if (hasHandles && pointed?.key === selection?.key && pointed?.joint === above?.name) return atLimits;
    if (pointed) return [...atLimits, ...found(pointed.key, pointed.joint, stopped?.joints.includes(pointed.joint) ?? false)];
    if (stopped) return atLimits;
    return selection && above && !hasHandles ? found(selection.key, above.name, false) : [];
  }

  private update(): void {
    const wanted = this.wanted();
    const now = wanted.map(({ key, model, joint, stopped }) => [key, model.edition.version, joint.name, stopped].join('\n')).join('\n\n');
    if (now === this.shown) return;
    this.shown = now;
    this.clear();
    for (const { model, joint, stopped } of wanted) {
      const size = SHARE * sizeOf(model);
      joint.dofs.forEach((dof, index) => {
        // Six at once would be unreadable: of a floating joint only its rotations.
        if (joint.dofs.length > 2 && dof.motion === 'translation') return;
        this.drawn.push(this.draw(joint, dof, index, size, stopped));
      });
    }
    this.stage.invalidate();
  }

  private clear(): void {
    for (const { group } of this.drawn) {
      group.removeFromParent();
      group.traverse((object) => object instanceof Mesh && (object as Mesh).geometry.dispose());
    }
    this.drawn = [];
  }

  private draw(joint: Joint, dof: Dof, index: number, size: number, stopped: boolean): Drawn {
    const [fill, line] = stopped ? [this.stopFill, this.stopLine] : [this.fill, this.line];
    const group = new Group();
    const thin = size * 0.016;
    const part = (geometry: BufferGeometry, material: MeshBasicMaterial) => {
      const mesh = new Mesh(geometry, material);
      mesh.raycast = () => undefined;
      mesh.userData['mark'] = true;
      mesh.renderOrder = 5;
      group.add(mesh);
      return mesh;
    };
    const { lower = Number.NaN, upper = Number.NaN } = dof.limit ?? {};
    let needle: Mesh;
    if (dof.motion === 'rotation') {
      // Along the group's y; angles are from its x towards its −z, as rotations about y are.
      part(new CylinderGeometry(thin, thin, size * 1.5, 8), line);
      const [from, to] = Number.isFinite(lower) && Number.isFinite(upper) ? [Math.min(lower, upper), Math.max(lower, upper)] : [-Math.PI, Math.PI];
      const span = Math.min(to - from, 2 * Math.PI);
      part(sector(0, size, from, from + span), fill);
      part(sector(size * 0.965, size, from, from + span), line);
      const isWhole = span > 2 * Math.PI - 1e-3;
      if (!isWhole) for (const end of [from, from + span]) part(spoke(size, thin, end), line);
      needle = part(spoke(size * 1.12, thin * 1.6, 0), line);
      group.quaternion.setFromUnitVectors(UP, dof.axis);
      group.quaternion.multiply(new Quaternion().setFromAxisAngle(UP, facing(joint, dof, group)));
      group.position.copy(dof.node.position);
    } else {
      const [from, to] = [Number.isFinite(lower) ? lower : -size, Number.isFinite(upper) ? upper : size];
      const length = Math.max(Math.abs(to - from), thin);
      part(new CylinderGeometry(thin, thin, length, 8).translate(0, (from + to) / 2, 0), line);
      for (const [end, limited] of [[from, Number.isFinite(lower)], [to, Number.isFinite(upper)]] as const)
        if (limited) part(new CylinderGeometry(size * 0.18, size * 0.18, thin, 24).translate(0, end, 0), fill);
      needle = part(new CylinderGeometry(size * 0.11, size * 0.11, thin * 2, 24), line);
      group.quaternion.setFromUnitVectors(UP, dof.axis);
    }
    dof.node.parent?.add(group);
    const drawn = { group, dof, joint, index, needle };
    turnNeedle(drawn);
    return drawn;
  }

  private turn(): void {
    for (const drawn of this.drawn) turnNeedle(drawn);
  }
}

function turnNeedle({ joint, index, dof, needle }: Drawn): void {
  const at = joint.positions[index] ?? 0;
  if (dof.motion === 'rotation') needle.rotation.y = at;
  else needle.position.y = at;
}

/** The rotation of the group about the axis, so that the needle at zero points along the moved part. */
function facing(joint: Joint, dof: Dof, group: Group): number {
  const box = new Box3();
  for (const visual of joint.child.visuals) for (const mesh of meshes(visual)) box.expandByObject(mesh);
  if (box.isEmpty()) return 0;
  dof.node.updateWorldMatrix(true, false);
  // In the rotating frame, where the link is at its zero position.
  const way = dof.node.worldToLocal(box.getCenter(new Vector3())).applyQuaternion(group.quaternion.clone().invert());
  return Math.hypot(way.x, way.z) < 1e-6 ? 0 : Math.atan2(-way.z, way.x);
}

/** Returns the size of a robot in metres. */
export function sizeOf(model: Model): number {
  const box = new Box3();
  for (const link of model.links) for (const visual of link.visuals) for (const mesh of meshes(visual)) box.expandByObject(mesh);
  if (box.isEmpty()) for (const link of model.links) box.expandByPoint(new Vector3().setFromMatrixPosition(link.node.matrixWorld));
  return Math.max(box.getSize(new Vector3()).length(), 0.05);
}

function material(opacity: number): MeshBasicMaterial {
  return new MeshBasicMaterial({ transparent: true, opacity, depthTest: false, depthWrite: false, side: DoubleSide, toneMapped: false });
}

/** Part of a ring about y, in the plane across it. */
function sector(inner: number, outer: number, from: number, to: number): BufferGeometry {
  const steps = Math.max(2, Math.ceil(Math.abs(to - from) / 0.08));
  const places: number[] = [];
  const indices: number[] = [];
  for (let k = 0; k <= steps; k += 1) {
    const angle = from + ((to - from) * k) / steps;
    for (const radius of [inner, outer]) places.push(Math.cos(angle) * radius, 0, -Math.sin(angle) * radius);
    if (k > 0) indices.push(2 * k - 2, 2 * k - 1, 2 * k, 2 * k - 1, 2 * k + 1, 2 * k);
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute('position', new BufferAttribute(Float32Array.from(places), 3));
  geometry.setIndex(indices);
  return geometry;
}

/** A line from the centre outwards. */
function spoke(length: number, thickness: number, angle: number): BufferGeometry {
  return new CylinderGeometry(thickness, thickness, length, 6).rotateZ(-Math.PI / 2).translate(length / 2, 0, 0).rotateY(angle);
}
