// A loaded file: its robots with their joints and links, as three objects under one group. Independent of panels and server.

import { type BufferGeometry, Group, Matrix4, Mesh, type Material, type Object3D, Texture } from 'three';
import type { GLTF } from 'three/addons/loaders/GLTFLoader.js';
import type { NamedPose } from './api.js';
import { problemsOf, robotsOf, type Joint, type Link, type Robot } from '../loader/index.js';

/** Positions by joint name: a number for one degree of freedom. */
export type Positions = Record<string, number | number[]>;

/** Identifies one of a robot's files. */
export interface Edition {
  revision: number | null;
  /** Differs between files, unlike `revision`. */
  version: string;
}

/** The robots of a file. Nearly always one. */
export class Model {
  /** Placed beside other robots. */
  readonly holder = new Group();
  /** Placed where the robot stands in a fixed frame; everything below is as in the file. */
  readonly base = new Group();
  readonly robots: readonly Robot[];
  readonly joints: readonly Joint[];
  readonly links: readonly Link[];
  /** Whether there is a visual or collision shape to draw. */
  readonly hasShapes: boolean;
  /** Problems of the file's robot data. */
  readonly problems: readonly string[];
  private readonly linkByName = new Map<string, Link>();
  private readonly jointByName = new Map<string, { robot: Robot; joint: Joint }>();
  private readonly linkOfNode = new Map<Object3D, Link>();

  constructor(
    gltf: GLTF,
    readonly edition: Edition,
  ) {
    this.holder.add(this.base.add(gltf.scene));
    this.base.matrixAutoUpdate = false;
    this.robots = robotsOf(gltf);
    this.hasShapes = gltf.scene.getObjectsByProperty('isMesh', true).length > 0;
    this.joints = this.robots.flatMap((robot) => robot.joints);
    this.links = this.robots.flatMap((robot) => robot.links);
    this.problems = problemsOf(gltf);
    for (const link of this.links) {
      if (!this.linkByName.has(link.name)) this.linkByName.set(link.name, link);
      this.linkOfNode.set(link.node, link);
    }
    for (const robot of this.robots) {
      for (const joint of robot.joints) {
        if (!this.jointByName.has(joint.name)) this.jointByName.set(joint.name, { robot, joint });
      }
    }
  }

  /** The links that no joint moves, by name. */
  roots(): string[] {
    const moved = new Set(this.joints.map((joint) => joint.child));
    return this.links.filter((link) => !moved.has(link)).map(({ name }) => name);
  }

  /** Places the robot in a fixed frame; returns whether that is elsewhere. */
  stand(transform: Matrix4): boolean {
    if (this.base.matrix.equals(transform)) return false;
    this.base.matrix.copy(transform);
    this.base.matrixWorldNeedsUpdate = true;
    return true;
  }

  link(name: string): Link | undefined {
    return this.linkByName.get(name);
  }

  joint(name: string): Joint | undefined {
    return this.jointByName.get(name)?.joint;
  }

  /** The joint that moves a link. */
  jointOf(link: Link): Joint | undefined {
    return this.joints.find((joint) => joint.child === link);
  }

  /** The joint that moves a link, across fixed ones above it. */
  movedBy(link: Link | undefined): Joint | undefined {
    const passed = new Set<Link>();
    for (let at = link; at && !passed.has(at); ) {
      passed.add(at);
      const joint = this.jointOf(at);
      if (!joint || joint.dofs.length > 0) return joint;
      at = joint.parent;
    }
    return undefined;
  }

  /** The link that an object belongs to. */
  linkAt(object: Object3D | null): Link | undefined {
    for (let at = object; at; at = at.parent) {
      const link = this.linkOfNode.get(at);
      if (link) return link;
    }
    return undefined;
  }

  positions(): Positions {
    return Object.fromEntries(this.robots.flatMap((robot) => Object.entries(robot.positions())));
  }

  /** The positions of joints that are not at their default and follow no other. */
  moved(): Positions {
    const off = this.joints.filter((joint) => !joint.mimic && joint.positions.some((at, k) => at !== joint.dofs[k]?.default));
    return Object.fromEntries(off.map(({ name, positions }) => [name, positions.length === 1 ? (positions[0] ?? 0) : [...positions]]));
  }

  /** Sets one position of a joint, or all of them, and its followers. A follower itself cannot be set. */
  setPosition(name: string, value: number | number[], index = 0): boolean {
    const found = this.jointByName.get(name);
    if (!found || found.joint.mimic) return false;
    const { robot, joint } = found;
    const values =
      typeof value === 'number' ? joint.dofs.map((_, k) => (k === index ? value : (joint.positions[k] ?? 0))) : value;
    if (values.length !== joint.dofs.length || !values.every(Number.isFinite)) return false;
    robot.setPosition(joint.name, values.length === 1 ? (values[0] ?? 0) : values);
    return true;
  }

  /** Sets these positions as far as they fit; others are ignored. */
  setPositions(positions: Positions): void {
    for (const robot of this.robots) robot.setPositions(positions);
  }

  /**
   * Takes the positions of an older model of the same robot: joints that were moved keep their position, within their new limits; all
   * others get their new defaults, and followers the positions of their drivers.
   */
  standAs(old: Model): void {
    this.stand(old.base.matrix);
    this.robots.forEach((robot, at) => {
      const before = old.robots.find(({ name }) => name === robot.name) ?? old.robots[at];
      const kept = robot.joints.flatMap((joint) => {
        const was = before?.joint(joint.name);
        return was && keeps(joint, was) ? [[joint.name, [...was.positions]] as [string, number[]]] : [];
      });
      robot.setPositions(Object.fromEntries(kept), { clamp: true });
    });
  }

  /** The named poses of the file. */
  poses(): NamedPose[] {
    const found = new Map<string, NamedPose>();
    for (const robot of this.robots) {
      for (const name of robot.configurations) {
        const joints = { ...found.get(name)?.joints, ...robot.configuration(name)?.positions };
        found.set(name, { name, group: null, joints, valid: true });
      }
    }
    return [...found.values()];
  }

  /** The positions that a named pose can have: of joints with one position that follow no other. */
  storable(): Record<string, number> {
    const own = this.joints.filter((joint) => joint.dofs.length === 1 && !joint.mimic);
    return Object.fromEntries(own.map((joint) => [joint.name, joint.positions[0] ?? 0]));
  }

  /** The numbers of drawn triangles of visual and of collision shapes. */
  triangles(): { visual: number; collision: number } {
    const [visuals, collisions] = [this.links.flatMap((link) => link.visuals), this.links.flatMap((link) => link.collisions)];
    return { visual: sum(visuals), collision: sum(collisions) };
  }

  reset(): void {
    for (const robot of this.robots) robot.reset();
  }

  /** The pose of a link in glTF's axes, in the file's own space, wherever the robot is placed. */
  linkMatrix(name: string): number[] | null {
    const link = this.link(name);
    if (!link) return null;
    this.holder.updateWorldMatrix(true, true);
    return new Matrix4().copy(this.base.matrixWorld).invert().multiply(link.node.matrixWorld).toArray();
  }

  /** Frees the graphics resources. */
  dispose(): void {
    this.holder.removeFromParent();
    this.holder.traverse((object) => {
      if (!(object instanceof Mesh)) return;
      object.geometry.dispose();
      for (const material of [object.material as Material | Material[]].flat()) {
        for (const value of Object.values(material)) {
          if (!(value instanceof Texture)) continue;
          (value.image as { close?: () => void } | null)?.close?.();
          value.dispose();
        }
        material.dispose();
      }
    });
  }
}

/** Counts the triangles of all meshes at and below these objects. */
function sum(objects: readonly Object3D[]): number {
  let corners = 0;
  for (const object of objects) {
    object.traverse((at) => {
      if (!(at instanceof Mesh) || at.userData['mark']) return;
      const { index, attributes } = at.geometry as BufferGeometry;
      corners += index?.count ?? attributes['position']?.count ?? 0;
    });
  }
  return Math.floor(corners / 3);
}

/** Whether a joint keeps the position of one of the same name in an older model. */
function keeps(joint: Joint, was: Joint): boolean {
  const alike = joint.dofs.length === was.dofs.length && joint.dofs.every((dof, k) => dof.motion === was.dofs[k]?.motion);
  return alike && !joint.mimic && was.positions.some((position, k) => position !== was.dofs[k]?.default);
}
