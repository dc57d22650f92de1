// The picture: renderer, light and ground, drawn only after changes. Without WebGL there is no renderer, and the rest of the viewer
// works.

import {
  CanvasTexture,
  DirectionalLight,
  HemisphereLight,
  NeutralToneMapping,
  PCFShadowMap,
  Scene,
  SRGBColorSpace,
  Sphere,
  Vector3,
  WebGLRenderer,
  type WebGLCubeRenderTarget,
  type Box3,
} from 'three';
import type { Colors } from './colors.js';
import { Eye } from './eye.js';
import { Ground } from './ground.js';
import { Outline } from './outline.js';
import { room } from './room.js';

/** Maximum device pixel ratio: more costs more than it shows. */
const MOST_PIXELS = 2;

/** The margins of the picture behind controls, in CSS pixels. */
export interface Covered {
  top: number;
  bottom: number;
}

/**
 * Whether to antialias: as `?antialias=on` or `off` in the address says, otherwise if there is a graphics card. Without one (most
 * virtual machines) it takes half of the time of each frame.
 */
function isSmooth(): boolean {
  const said = new URLSearchParams(location.search).get('antialias');
  if (said === 'on' || said === 'off') return said === 'on';
  const gl = document.createElement('canvas').getContext('webgl2');
  const info = gl?.getExtension('WEBGL_debug_renderer_info');
  return !gl || !info || !/swiftshader|llvmpipe|software/i.test(String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)));
}

/** Options of a saved picture. */
export interface PictureOptions {
  /** Width and height in pixels; null: as it is shown. */
  size?: readonly [number, number] | null;
  isTransparent?: boolean;
}

const VIDEO = 'video/webm';
/** Frames and bits per second of a video. */
const FRAME_RATE = 30;
const BITRATE = 8_000_000;

/** The scene and its renderer. */
export class Stage {
  readonly scene = new Scene();
  readonly eye: Eye;
  readonly ground = new Ground();
  /** The outline of the selection. */
  readonly outline = new Outline();
  /** Why nothing can be drawn, if so. */
  readonly problem: string | null = null;
  /** The number of drawn frames. */
  frame = 0;
  private readonly renderer: WebGLRenderer | null = null;
  private readonly sun = new DirectionalLight(0xffffff, 1.9);
  /** Lights from behind the robot as the camera sees it, on both sides: the edges of a black robot shine. */
  private readonly rims = [new DirectionalLight(0xdfe9ff), new DirectionalLight(0xdfe9ff)] as const;
  private readonly before = new Set<() => void>();
  private readonly after = new Set<() => void>();
  private readonly resized = new Set<() => void>();
  private requested = false;
  private stale = true;
  private lost = false;
  private begun = false;
  private environment: WebGLCubeRenderTarget | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    calm: () => boolean,
    private readonly covered: () => Covered,
    private readonly outer: Element = canvas.parentElement ?? canvas,
  ) {
    this.eye = new Eye(canvas, () => this.invalidate(), calm);
    this.scene.add(this.ground.object, this.sun, this.sun.target, new HemisphereLight(0xffffff, 0x5d6470, 0.3));
    for (const rim of this.rims) this.scene.add(rim, rim.target);
    try {
      this.renderer = this.start();
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      return;
    }
    new ResizeObserver(() => this.resize()).observe(this.outer);
    canvas.addEventListener('webglcontextlost', (event) => {
      event.preventDefault();
      this.lost = true;
      // It belongs to the lost context; the next one does not know it.
      this.environment?.dispose();
      this.environment = null;
    });
    canvas.addEventListener('webglcontextrestored', () => {
      this.lost = false;
      // Textures that were rendered are lost with the context.
      if (this.renderer && this.begun) this.surround(this.renderer);
      this.invalidate({ shadows: true });
    });
  }

  /** Lights the scene, and draws from now on. It takes a second without a graphics card: begin requests before. */
  begin(): void {
    if (this.begun) return;
    this.begun = true;
    if (this.renderer && !this.lost) this.surround(this.renderer);
    this.invalidate({ shadows: true });
  }

  private start(): WebGLRenderer {
    const renderer = new WebGLRenderer({ canvas: this.canvas, antialias: isSmooth(), alpha: true });
    renderer.toneMapping = NeutralToneMapping;
    renderer.shadowMap.enabled = true;
    renderer.shadowMap.type = PCFShadowMap;
    // Shadows change when the robot moves, not with the camera.
    renderer.shadowMap.autoUpdate = false;
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.radius = 3;
    return renderer;
  }

  /** Lights the scene by a room around it. */
  private surround(renderer: WebGLRenderer): void {
    this.environment = room(renderer);
    this.scene.environment = this.environment.texture;
  }

  /** Applies the colours of the page. */
  paint(colors: Colors): void {
    const picture = document.createElement('canvas');
    [picture.width, picture.height] = [2, 256];
    const context = picture.getContext('2d');
    if (context) {
      const gradient = context.createLinearGradient(0, 0, 0, picture.height);
      gradient.addColorStop(0, colors.sky);
      gradient.addColorStop(1, colors.floor);
      context.fillStyle = gradient;
      context.fillRect(0, 0, picture.width, picture.height);
    }
    if (this.scene.background instanceof CanvasTexture) this.scene.background.dispose();
    const background = new CanvasTexture(picture);
    background.colorSpace = SRGBColorSpace;
    this.scene.background = background;
    this.ground.paint(colors);
    this.outline.color = colors.accent;
    this.scene.environmentIntensity = colors.dark ? 0.75 : 0.42;
    for (const rim of this.rims) rim.intensity = colors.dark ? 3.2 : 0.5;
    this.invalidate();
  }

  /** Removes the background. */
  clear(): void {
    if (this.scene.background instanceof CanvasTexture) this.scene.background.dispose();
    this.scene.background = null;
    this.invalidate();
  }

  /** Adapts light and ground to `box`, which stands on `floor`. */
  enclose(box: Box3, floor: number): void {
    const sphere = box.getBoundingSphere(new Sphere());
    const radius = Math.max(sphere.radius, 1e-3);
    this.eye.scale(radius);
    this.ground.place(new Vector3(sphere.center.x, floor, sphere.center.z), radius);
    this.sun.target.position.copy(sphere.center);
    this.sun.position.copy(sphere.center).addScaledVector(new Vector3(0.55, 1, 0.45).normalize(), radius * 4);
    const shadow = this.sun.shadow;
    const reach = radius * 1.6;
    Object.assign(shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: radius * 0.5, far: radius * 9 });
    shadow.normalBias = radius * 0.004;
    shadow.camera.updateProjectionMatrix();
    this.invalidate({ shadows: true });
  }

  set shadows(on: boolean) {
    this.sun.castShadow = on;
    this.invalidate({ shadows: true });
  }

  /** Calls `work` before or after each frame. */
  beforeFrame(work: () => void): void {
    this.before.add(work);
  }

  afterFrame(work: () => void): void {
    this.after.add(work);
  }

  /** Requests a frame after a change. `shadows`: an object that casts one moved. */
  invalidate({ shadows = false } = {}): void {
    this.stale = true;
    if (shadows && this.renderer) this.renderer.shadowMap.needsUpdate = true;
    this.request();
  }

  /** Requests the work before a frame, and a frame if that changes anything. */
  request(): void {
    if (this.requested) return;
    this.requested = true;
    requestAnimationFrame((time) => this.tick(time));
  }

  private tick(time: number): void {
    this.requested = false;
    for (const work of this.before) work();
    if (this.eye.update(time)) this.invalidate();
    if (this.stale) this.draw();
  }

  private draw(): void {
    if (this.lost || !this.begun) return;
    this.stale = false;
    this.scene.updateMatrixWorld();
    this.placeRims();
    this.renderer?.render(this.scene, this.eye.camera);
    if (this.renderer) this.outline.draw(this.renderer, this.scene, this.eye.camera);
    this.frame += 1;
    for (const work of this.after) work();
  }

  /** Places the lights behind the robot, above it. */
  private placeRims(): void {
    const { camera, controls } = this.eye;
    const away = controls.target.clone().sub(camera.position).setY(0);
    if (away.lengthSq() < 1e-12) away.set(0, 0, -1);
    away.normalize();
    const right = new Vector3().crossVectors(away, camera.up);
    this.rims.forEach((rim, k) => {
      rim.target.position.copy(controls.target);
      rim.position.copy(controls.target).add(away).addScaledVector(right, k ? 0.9 : -0.9).addScaledVector(camera.up, 0.55);
      for (const object of [rim, rim.target]) object.updateMatrixWorld();
    });
  }

  /** Calls `work` after each change of the picture's size or of its covered margins. */
  onResize(work: () => void): void {
    this.resized.add(work);
  }

  /** Adapts to the size of the canvas and to the controls over it. */
  resize(): void {
    const box = this.outer.getBoundingClientRect();
    if (box.width < 1 || box.height < 1) return;
    this.renderer?.setPixelRatio(Math.min(window.devicePixelRatio, MOST_PIXELS));
    this.renderer?.setSize(box.width, box.height, false);
    this.eye.resize(box.width, box.height, this.covered());
    for (const work of this.resized) work();
    // At once, since resizing clears a canvas.
    this.draw();
  }

  /** The picture as PNG, of this size in pixels or as it is; without background and ground if it is to be transparent. */
  async picture({ size = null, isTransparent = false }: PictureOptions = {}): Promise<Blob | null> {
    if (!this.renderer) return null;
    const { background } = this.scene;
    if (size) {
      this.renderer.setPixelRatio(1);
      this.renderer.setSize(...size, false);
      this.eye.resize(...size, { top: 0, bottom: 0 });
    }
    if (isTransparent) {
      this.scene.background = null;
      this.ground.object.visible = false;
    }
    try {
      this.draw();
      // The copy is taken at once, before the picture is restored.
      return await new Promise((resolve) => this.canvas.toBlob(resolve, 'image/png'));
    } finally {
      this.scene.background = background;
      this.ground.object.visible = true;
      this.resize();
    }
  }

  /** Records a video until the returned function is called, which resolves to a WebM file. */
  record(): () => Promise<Blob> {
    const recorder = new MediaRecorder(this.canvas.captureStream(FRAME_RATE), { mimeType: VIDEO, videoBitsPerSecond: BITRATE });
    const parts: Blob[] = [];
    recorder.addEventListener('dataavailable', ({ data }) => parts.push(data));
    const stopped = new Promise<Blob>((resolve) => recorder.addEventListener('stop', () => resolve(new Blob(parts, { type: 'video/webm' }))));
    recorder.start();
    // A picture at rest is not drawn, and would give an empty file.
    this.invalidate();
    return () => {
      this.draw();
      recorder.stop();
      for (const track of recorder.stream.getTracks()) track.stop();
      return stopped;
    };
  }

  /** Whether videos can be recorded. */
  get records(): boolean {
    return this.renderer !== null && typeof MediaRecorder === 'function' && MediaRecorder.isTypeSupported(VIDEO);
  }
}
