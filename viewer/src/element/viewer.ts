// <urdf-usd-viewer>: a robot of a glTF file in any page, without panels and without a server of urdf_usd.

import { Box3, Plane, Raycaster, Vector3 } from 'three';
import { load } from '../app/load.js';
import { Model } from '../app/model.js';
import { State, type Preset } from '../app/state.js';
import { DARK, LIGHT } from '../app/view/colors.js';
import { corners } from '../app/view/corners.js';
import { inRootOf } from '../app/view/hand.js';
import { Look } from '../app/view/look.js';
import { pick, pointer } from '../app/view/pick.js';
import { Stage } from '../app/view/stage.js';
import { Problem } from '../kinematics/lm.js';
import type { Robot } from '../loader/index.js';

const PRESETS: readonly string[] = ['front', 'back', 'left', 'right', 'top', 'iso'] satisfies Preset[];

const STYLE = `
  :host { display: block; position: relative; min-height: 10rem; overflow: hidden; }
  :host([hidden]) { display: none; }
  canvas { display: block; position: absolute; inset: 0; width: 100%; height: 100%; touch-action: none; cursor: grab; }
  canvas:focus-visible { outline: 2px solid Highlight; outline-offset: -3px; }
  p { position: absolute; inset: auto 1rem 1rem; margin: 0; font: 0.875rem/1.4 system-ui, sans-serif; color: #b3261e; }`;

const [calm, dark] = [() => matchMedia('(prefers-reduced-motion: reduce)'), () => matchMedia('(prefers-color-scheme: dark)')];

/**
 * A robot to look at, turn and pose.
 *
 * Attributes: `src` (a GLB or glTF file), `pose` (a named pose of the file, or `joint:value` pairs with commas, in radians and metres), `camera`
 * (`front`, `back`, `left`, `right`, `top`, `iso`, or six numbers: position and target in metres, y up), `theme` (`light`, `dark`; default:
 * the system's), `grid` (`off` hides it), `transparent` (no background), `label` (for screen readers), `grab`
 * (a link follows the pointer that drags it, and the joints above it follow within their limits).
 *
 * Events: `load` once the robot is shown, `move` after the pointer moved it, `error` with the reason in `detail`.
 */
export class UrdfUsdViewer extends HTMLElement {
  static readonly observedAttributes = ['src', 'pose', 'camera', 'theme', 'grid', 'transparent', 'label'];

  #canvas = document.createElement('canvas');
  #problem = document.createElement('p');
  #stage: Stage | null = null;
  #model: Model | null = null;
  #look: Look | null = null;
  #grip: { id: number; problem: Problem; robot: Robot; plane: Plane } | null = null;
  #loading: AbortController | null = null;
  #loaded = '';

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    const style = new CSSStyleSheet();
    style.replaceSync(STYLE);
    root.adoptedStyleSheets = [style];
    this.#canvas.tabIndex = 0;
    this.#canvas.setAttribute('role', 'img');
    this.#problem.hidden = true;
    this.#problem.setAttribute('role', 'alert');
    root.append(this.#canvas, this.#problem);
  }

  /** The robot, to read and move it; null until it is loaded. Call `update` after moving it. */
  get robot(): Robot | null {
    return this.#model?.robots[0] ?? null;
  }

  /** The named poses of the file. */
  get poses(): readonly string[] {
    return this.robot?.configurations ?? [];
  }

  /** Draws the robot as it stands now. */
  update(): void {
    this.#stage?.invalidate({ shadows: true });
  }

  /** Brings the robot into view. */
  fit(): void {
    this.#aim(this.getAttribute('camera'));
  }

  connectedCallback(): void {
    if (!this.#stage) {
      this.#stage = new Stage(this.#canvas, () => calm().matches, () => ({ top: 0, bottom: 0 }), this.shadowRoot?.host);
      dark().addEventListener('change', () => this.#paint());
      this.#canvas.addEventListener('keydown', (event) => this.#key(event));
      // Before the camera gets the pointer.
      this.#canvas.addEventListener('pointerdown', (event) => this.#grab(event), { capture: true });
      this.#canvas.addEventListener('pointermove', (event) => this.#drag(event));
      for (const end of ['pointerup', 'pointercancel'] as const) this.#canvas.addEventListener(end, () => (this.#grip = null));
      this.#stage.onResize(() => {
        if (this.#model && !this.#stage?.eye.sees(corners(this.#model))) this.fit();
      });
      if (this.#stage.problem !== null) this.#fail(`No 3D view: ${this.#stage.problem}`);
    }
    for (const name of ['theme', 'label', 'grid'] as const) this.attributeChangedCallback(name);
    void this.#load();
    this.#stage.begin();
  }

  disconnectedCallback(): void {
    this.#loading?.abort();
    this.#loading = null;
  }

  attributeChangedCallback(name: string): void {
    if (!this.#stage) return;
    const value = this.getAttribute(name);
    if (name === 'src') void this.#load();
    else if (name === 'pose') this.#pose(value);
    else if (name === 'camera') this.#aim(value);
    else if (name === 'label') this.#canvas.setAttribute('aria-label', value ?? 'A robot in 3D: arrow keys turn it, plus and minus zoom');
    else if (name === 'grid') {
      this.#stage.ground.gridShown = value !== 'off';
      this.update();
    } else this.#paint();
  }

  #paint(): void {
    const theme = this.getAttribute('theme');
    const isDark = theme === null ? dark().matches : theme === 'dark';
    this.#stage?.paint(isDark ? DARK : LIGHT);
    if (this.#stage && this.hasAttribute('transparent')) this.#stage.clear();
  }

  async #load(): Promise<void> {
    const src = this.getAttribute('src');
    const stage = this.#stage;
    if (!stage || src === null || src === this.#loaded || !this.isConnected) return;
    this.#loading?.abort();
    const mine = new AbortController();
    this.#loading = mine;
    this.#loaded = src;
    try {
      const model = await load(new URL(src, document.baseURI).href, { revision: null, version: src }, mine.signal);
      if (mine.signal.aborted) return model.dispose();
      this.#model?.dispose();
      this.#look?.dispose();
      this.#model = model;
      this.#look = new Look(model);
      this.#look.apply(new State().options);
      this.#problem.hidden = true;
      stage.scene.add(model.holder);
      this.#pose(this.getAttribute('pose'));
      this.#aim(this.getAttribute('camera'));
      this.dispatchEvent(new Event('load'));
    } catch (error) {
      if (mine.signal.aborted) return;
      this.#loaded = '';
      this.#fail(`${src} could not be shown: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #fail(reason: string): void {
    this.#problem.textContent = reason;
    this.#problem.hidden = false;
    this.dispatchEvent(new CustomEvent('error', { detail: reason }));
  }

  /** Applies a named pose, or positions of joints; without either, the file's defaults. */
  #pose(pose: string | null): void {
    const model = this.#model;
    if (!model) return;
    model.reset();
    if (pose !== null && !model.robots.some((robot) => robot.applyConfiguration(pose))) {
      for (const part of pose.split(',')) {
        const at = part.lastIndexOf(':');
        const value = Number(part.slice(at + 1));
        if (at > 0 && part.slice(at + 1).trim() !== '') model.setPosition(part.slice(0, at).trim(), value);
      }
    }
    const points = corners(model);
    const box = new Box3().setFromPoints(points);
    if (!box.isEmpty()) this.#stage?.enclose(box, Math.min(0, box.min.y));
    this.update();
  }

  #aim(camera: string | null): void {
    const [model, stage] = [this.#model, this.#stage];
    if (!model || !stage) return;
    const numbers = (camera ?? '').split(',').map(Number);
    if (camera !== null && numbers.length === 6 && numbers.every(Number.isFinite)) {
      return stage.eye.look(new Vector3().fromArray(numbers), new Vector3().fromArray(numbers, 3));
    }
    stage.eye.fit(corners(model), camera !== null && PRESETS.includes(camera) ? (camera as Preset) : 'iso', true);
  }

  #grab(event: PointerEvent): void {
    const [model, stage] = [this.#model, this.#stage];
    if (!model || !stage || !this.hasAttribute('grab') || !event.isPrimary || event.button !== 0) return;
    const hit = pick(pointer(event, this.#canvas), stage, [['', model]]);
    const link = hit && model.link(hit.link);
    const robot = link && model.robots.find((robot) => robot.links.includes(link));
    if (!hit || !link || !robot) return;
    const problem = new Problem(robot, link, { point: link.node.worldToLocal(hit.point.clone()) });
    if (problem.variables.length === 0) return;
    event.stopImmediatePropagation();
    this.#canvas.setPointerCapture(event.pointerId);
    const facing = stage.eye.camera.getWorldDirection(new Vector3());
    const plane = new Plane().setFromNormalAndCoplanarPoint(facing, hit.point);
    this.#grip = { id: event.pointerId, problem, robot, plane };
  }

  #drag(event: PointerEvent): void {
    const [grip, stage] = [this.#grip, this.#stage];
    if (!grip || !stage || event.pointerId !== grip.id) return;
    const ray = new Raycaster();
    ray.setFromCamera(pointer(event, this.#canvas), stage.eye.camera);
    const position = ray.ray.intersectPlane(grip.plane, new Vector3());
    if (!position) return;
    grip.problem.solve(inRootOf(grip.robot, { position }));
    grip.robot.setPositions(grip.problem.positions());
    this.update();
    this.dispatchEvent(new Event('move'));
  }

  #key(event: KeyboardEvent): void {
    const turns: Record<string, [number, number, number]> = {
      ArrowLeft: [-0.12, 0, 1],
      ArrowRight: [0.12, 0, 1],
      ArrowUp: [0, -0.1, 1],
      ArrowDown: [0, 0.1, 1],
      '+': [0, 0, 0.9],
      '-': [0, 0, 1.11],
    };
    const turn = turns[event.key];
    if (!turn || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#stage?.eye.turn(...turn);
  }
}

if (!customElements.get('urdf-usd-viewer')) customElements.define('urdf-usd-viewer', UrdfUsdViewer);

declare global {
  interface HTMLElementTagNameMap {
    'urdf-usd-viewer': UrdfUsdViewer;
  }
}
