// The environment light of a room, prefiltered for smooth and rough surfaces.

import { PMREMGenerator, type WebGLCubeRenderTarget, type WebGLRenderer } from 'three';
import { RoomEnvironment } from 'three/addons/environments/RoomEnvironment.js';

/** The blur of the room in radians, so that reflections do not show its boxes. */
const BLUR = 0.04;

/** The cube map's size in pixels: one pixel is 0.025 radians, less than the blur. */
const SIZE = 64;

/**
 * three renders it with at least 256 pixels, whatever its option: without a graphics card, that takes two seconds of two processors
 * before the first frame.
 */
export class SmallGenerator extends PMREMGenerator {
  declare _cubeSize: number;

  _setSize(size: number): void {
    this._cubeSize = size;
  }
}

/** Renders it. */
export function room(renderer: WebGLRenderer): WebGLCubeRenderTarget {
  const generator = new SmallGenerator(renderer);
  const scene = new RoomEnvironment();
  const light = generator.fromScene(scene, BLUR, undefined, undefined, { size: SIZE });
  scene.dispose();
  generator.dispose();
  return light;
}
