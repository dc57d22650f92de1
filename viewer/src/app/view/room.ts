// The light of a room around everything, as it falls on smooth and rough surfaces.

import { PMREMGenerator, type WebGLCubeRenderTarget, type WebGLRenderer } from 'three';
import { RoomEnvironment } from 'three/addons/environments/RoomEnvironment.js';

/** How far the room is blurred, in radians, so that no mirror shows that it is made of boxes. */
const BLUR = 0.04;

/** Pixels along the sides of the cube that it is drawn on: one of them is 0.025 radians, less than the blur. */
const SIZE = 64;

/**
 * three draws it on at least 256 pixels, whatever its option says: where there is no graphics card, that takes two seconds of two processors
 * before the first picture.
 */
export class SmallGenerator extends PMREMGenerator {
  declare _cubeSize: number;

  _setSize(size: number): void {
    this._cubeSize = size;
  }
}

/** Draws it. */
export function room(renderer: WebGLRenderer): WebGLCubeRenderTarget {
  const generator = new SmallGenerator(renderer);
  const scene = new RoomEnvironment();
  const light = generator.fromScene(scene, BLUR, undefined, undefined, { size: SIZE });
  scene.dispose();
  generator.dispose();
  return light;
}
