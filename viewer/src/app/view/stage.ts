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
import type { Colors } from '../theme.js';
import { Eye } from './eye.js';
import { Ground } from './ground.js';
import { room } from './room.js';

/** Maximum device pixel ratio: more costs more than it shows. */
const MOST_PIXELS = 2;

/** The margins of the picture behind the toolbar and the axes, in CSS pixels. */
const COVERED = { top: 48, bottom: 28 };

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

/** The scene and its renderer. */
export class Stage {
  readonly scene = new Scene();
  readonly eye: Eye;
  readonly ground = new Ground();
  /** Why nothing can be drawn, if so. */
  readonly problem: string | null = null;
  /** The number of drawn frames. */
  frame = 0;
  private readonly renderer: WebGLRenderer | null = null;
  private readonly sun = new DirectionalLight(0xffffff, 1.9);
  private readonly before = new Set<() => void>();
  private readonly after = new Set<() => void>();
  private requested = false;
  private stale = true;
  private lost = false;
  private environment: WebGLCubeRenderTarget | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    calm: () => boolean,
  ) {
    this.eye = new Eye(canvas, () => this.invalidate(), calm);
    this.scene.add(this.ground.object, this.sun, this.sun.target, new HemisphereLight(0xffffff, 0x5d6470, 0.3));
    try {
      this.renderer = this.start();
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      return;
    }
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement ?? canvas);
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
      if (this.renderer) this.surround(this.renderer);
      this.invalidate({ shadows: true });
    });
  }

  private start(): WebGLRenderer {
    const renderer = new WebGLRenderer({ canvas: this.canvas, antialias: isSmooth() });
    renderer.toneMapping = NeutralToneMapping;
    renderer.shadowMap.enabled = true;
    renderer.shadowMap.type = PCFShadowMap;
    // Shadows change when the robot moves, not with the camera.
    renderer.shadowMap.autoUpdate = false;
    this.surround(renderer);
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
    this.scene.environmentIntensity = 0.42;
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
    if (this.lost) return;
    this.stale = false;
    this.scene.updateMatrixWorld();
    this.renderer?.render(this.scene, this.eye.camera);
    this.frame += 1;
    for (const work of this.after) work();
  }

  private resize(): void {
    const box = this.canvas.parentElement?.getBoundingClientRect();
    if (!box || box.width < 1 || box.height < 1) return;
    this.renderer?.setPixelRatio(Math.min(window.devicePixelRatio, MOST_PIXELS));
    this.renderer?.setSize(box.width, box.height, false);
    this.eye.resize(box.width, box.height, COVERED);
    // At once, since resizing clears a canvas.
    this.draw();
  }

  /** The picture as PNG. */
  async picture(): Promise<Blob | null> {
    if (!this.renderer) return null;
    this.draw();
    return new Promise((resolve) => this.canvas.toBlob(resolve, 'image/png'));
  }
}
