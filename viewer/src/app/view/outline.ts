// The outline of the selected parts: they are drawn into a mask, whose edge is drawn over the picture, also where something is in front.

import {
  Box3,
  type Camera,
  Color,
  Mesh,
  MeshBasicMaterial,
  OrthographicCamera,
  PlaneGeometry,
  type Scene,
  ShaderMaterial,
  Vector2,
  Vector3,
  type WebGLRenderer,
  WebGLRenderTarget,
} from 'three';

/** The layer of the selected parts, beside that of everything. */
const LAYER = 1;
/** The width of the outline in CSS pixels. */
const WIDTH = 2.5;

const VERTEX = `
  varying vec2 vAt;
  void main() {
    vAt = uv;
    gl_Position = vec4(position.xy, 0.0, 1.0);
  }`;

// The share of covered samples on two circles gives a smooth edge outside of the mask; inside there is a light tint.
const FRAGMENT = `
  uniform sampler2D uMask;
  uniform vec2 uStep;
  uniform vec3 uColor;
  varying vec2 vAt;
  void main() {
    float inside = texture2D(uMask, vAt).r;
    float near = 0.0;
    for (int k = 0; k < 8; k++) {
      float angle = float(k) * 0.785398;
      vec2 way = vec2(cos(angle), sin(angle)) * uStep;
      near = max(near, max(texture2D(uMask, vAt + way).r, 0.75 * texture2D(uMask, vAt + 1.4 * way).r));
    }
    float strength = inside > 0.5 ? 0.1 : near;
    if (strength < 0.01) discard;
    gl_FragColor = vec4(uColor, strength);
    #include <colorspace_fragment>
  }`;

/** The outline of one selection. */
export class Outline {
  private parts: readonly Mesh[] = [];
  private readonly mask = new WebGLRenderTarget(1, 1, { samples: 0 });
  private readonly flat = new MeshBasicMaterial({ color: 0xffffff, toneMapped: false });
  private readonly quad: Mesh<PlaneGeometry, ShaderMaterial>;
  private readonly view = new OrthographicCamera(-1, 1, 1, -1, 0, 1);

  constructor() {
    const material = new ShaderMaterial({
      uniforms: { uMask: { value: this.mask.texture }, uStep: { value: new Vector2() }, uColor: { value: new Color() } },
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      transparent: true,
      depthTest: false,
      depthWrite: false,
      toneMapped: false,
    });
    this.quad = new Mesh(new PlaneGeometry(2, 2), material);
    this.quad.frustumCulled = false;
  }

  set color(color: string) {
    (this.quad.material.uniforms['uColor']!.value as Color).set(color);
  }

  /** The outlined meshes. */
  set meshes(meshes: readonly Mesh[]) {
    for (const mesh of this.parts) mesh.layers.disable(LAYER);
    this.parts = meshes;
    for (const mesh of this.parts) mesh.layers.enable(LAYER);
  }

  /** Draws it over the picture that was just drawn. */
  draw(renderer: WebGLRenderer, scene: Scene, camera: Camera): void {
    if (this.parts.length === 0) return;
    const size = renderer.getDrawingBufferSize(new Vector2());
    this.mask.setSize(size.x, size.y);
    const { background, overrideMaterial } = scene;
    const { mask } = camera.layers;
    const clearColor = renderer.getClearColor(new Color());
    const [clearAlpha, autoClear] = [renderer.getClearAlpha(), renderer.autoClear];
    [scene.background, scene.overrideMaterial] = [null, this.flat];
    camera.layers.set(LAYER);
    renderer.setRenderTarget(this.mask);
    renderer.setClearColor(0x000000, 0);
    renderer.clear();
    renderer.render(scene, camera);
    renderer.setRenderTarget(null);
    renderer.setClearColor(clearColor, clearAlpha);
    camera.layers.mask = mask;
    [scene.background, scene.overrideMaterial] = [background, overrideMaterial];
    const step = WIDTH * renderer.getPixelRatio();
    (this.quad.material.uniforms['uStep']!.value as Vector2).set(step / size.x, step / size.y);
    renderer.autoClear = false;
    // Only around the parts: without a graphics card, the whole picture would take long.
    const area = this.area(camera, renderer.getSize(new Vector2()));
    if (area) {
      renderer.setScissorTest(true);
      renderer.setScissor(...area);
      renderer.render(this.quad, this.view);
      renderer.setScissorTest(false);
    }
    renderer.autoClear = autoClear;
  }

  /** Returns x, y, width and height of the parts on the screen in CSS pixels from its lower left; null if they are out of view. */
  private area(camera: Camera, size: Vector2): [number, number, number, number] | null {
    const box = new Box3();
    for (const mesh of this.parts) {
      const { boundingBox } = mesh.geometry;
      if (!boundingBox) return [0, 0, size.x, size.y];
      for (let k = 0; k < 8; k += 1) {
        const corner = new Vector3(
          k & 1 ? boundingBox.max.x : boundingBox.min.x,
          k & 2 ? boundingBox.max.y : boundingBox.min.y,
          k & 4 ? boundingBox.max.z : boundingBox.min.z,
        );
        corner.applyMatrix4(mesh.matrixWorld).project(camera);
        // A part beside the camera can be anywhere.
        if (!(corner.z < 1)) return [0, 0, size.x, size.y];
        box.expandByPoint(corner);
      }
    }
    const margin = 2 * WIDTH;
    const place = (at: number, length: number) => Math.min(length, Math.max(0, ((at + 1) / 2) * length));
    const [left, right] = [place(box.min.x, size.x) - margin, place(box.max.x, size.x) + margin];
    const [low, high] = [place(box.min.y, size.y) - margin, place(box.max.y, size.y) + margin];
    return right > left && high > low ? [left, low, right - left, high - low] : null;
  }
}
