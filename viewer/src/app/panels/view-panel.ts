// View: display options and the choice of meshes.

import { NO_FRAME } from '../base.js';
import { make, setText } from '../dom.js';
import { TIER_SETS, type Fleet } from '../fleet.js';
import type { Options, State } from '../state.js';
import { choice, fill, slider, toggle } from './controls.js';
import type { Panel } from './tabs.js';

type Switch = { [K in keyof Options]: Options[K] extends boolean ? K : never }[keyof Options];

const SHAPES: [Switch, string][] = [
  ['visual', 'Visual shapes'],
  ['collision', 'Collision shapes'],
  ['wireframe', 'Wireframe'],
];
const FRAMES: [Switch, string][] = [
  ['axes', 'Axes of all links'],
  ['labels', 'Names of all links'],
  ['inertia', 'Mass and inertia (selected link, or all)'],
];
const SCENE: [Switch, string][] = [
  ['grid', 'Grid and origin'],
  ['shadows', 'Shadows'],
];

const PICTURE: [Switch, string][] = [['transparentPicture', 'Without background']];

/** Sizes of saved pictures in pixels. */
const SIZES = ['1280x720', '1920x1080', '3840x2160', '2048x2048'];

const FOLLOW: [Switch, string][] = [['follow', 'Camera follows the robot']];

/** The variant sets, with labels of their variants; other variants are shown by name. */
const DETAIL: [keyof typeof TIER_SETS, string, Record<string, string>][] = [
  ['meshes', 'Meshes', { mesh_high: 'full', mesh_medium: 'medium', mesh_low: 'low' }],
  [
    'colliders',
    'Collision shapes',
    { trimesh: 'triangle meshes', convex_decomposition: 'convex parts', convex_hull: 'convex hulls', spheres: 'spheres' },
  ],
];

/** The panel of what is drawn. */
export class ViewPanel implements Panel {
  readonly id = 'view';
  readonly title = 'View';
  readonly element = make('div');
  private readonly updates: (() => void)[] = [];

  constructor(
    private readonly state: State,
    private readonly fleet: Fleet,
  ) {
    this.element.append(
      make('h2', { textContent: 'View', className: 'visually-hidden' }),
      this.group(
        'Shapes',
        ...this.switches(SHAPES),
        this.slider('transparency', 'Transparency', 0, 0.95, 0.05, (value) => `${Math.round(value * 100)} %`),
      ),
      this.detail(),
      this.group(
        'Frames',
        ...this.switches(FRAMES),
        this.slider('axesSize', 'Length of axes', 0.01, 0.5, 0.01, (value) => `${Math.round(value * 100)} cm`),
      ),
      this.group('Scene', ...this.switches(SCENE), this.place(), ...this.switches(FOLLOW)),
      this.picture(),
      this.keys(),
    );
    state.onAny(['options', 'tiers', 'current', 'model', 'robots', 'bases'], () => this.refresh());
  }

  refresh(): void {
    for (const update of this.updates) update();
  }

  private group(title: string, ...content: HTMLElement[]): HTMLElement {
    return make('fieldset', {}, {}, make('legend', { textContent: title }), ...content);
  }

  /** The choice of meshes, if the robot has one. */
  private detail(): HTMLElement {
    const said = make('p', { id: 'detail-said', className: 'dim' }, { role: 'status' });
    const rows = DETAIL.map(([option, label, words]) => {
      const row = choice(`choose-${option}`, label, (name) => this.state.set(option, name));
      const update = () => {
        const key = this.fleet.current?.key ?? '';
        const set = this.fleet.offered(key).find(({ set }) => set === TIER_SETS[option]);
        row.element.hidden = !set;
        // The robot's own file has the first.
        const options = (set?.variants ?? []).map((name, at) => [at === 0 ? null : name, words[name] ?? name] as const);
        row.set(options, this.fleet.chosen(key)[TIER_SETS[option]] ?? null);
      };
      return { element: row.element, update };
    });
    const group = this.group('Detail', ...rows.map(({ element }) => element), said);
    const update = () => {
      for (const row of rows) row.update();
      group.hidden = rows.every(({ element }) => element.hidden);
      setText(said, group.hidden ? '' : this.said());
    };
    update();
    this.updates.push(update);
    return group;
  }

  /** The state of the chosen meshes. */
  private said(): string {
    const key = this.fleet.current?.key ?? '';
    const model = this.fleet.currentModel;
    if (this.fleet.isLoading(key)) return 'Loading…';
    const problem = this.fleet.problems.get(key);
    if (problem !== undefined) return problem;
    if (!model) return '';
    const { visual, collision } = model.triangles();
    return `Triangles: ${visual.toLocaleString('en')} visual, ${collision.toLocaleString('en')} collision`;
  }

  /** The options of saved pictures. */
  private picture(): HTMLElement {
    const row = choice('choose-picture-size', 'Size', (size) => this.state.set('pictureSize', size));
    const options = [[null, 'as shown'] as const, ...SIZES.map((size) => [size, size.replace('x', ' × ')] as const)];
    this.updates.push(() => row.set(options, this.state.options.pictureSize));
    row.set(options, null);
    return this.group('Saved pictures', row.element, ...this.switches(PICTURE));
  }

  /** The choice of the fixed frame, if TF or a recording has one. */
  private place(): HTMLElement {
    const row = choice('choose-frame', 'Fixed frame', (name) => this.state.set('fixedFrame', name));
    const update = () => {
      const names = this.fleet.above(this.fleet.current?.key ?? '').map(({ frame }) => frame);
      row.element.hidden = names.length === 0;
      const { fixedFrame } = this.state.options;
      const own = names.includes('odom') ? 'odom' : names.at(-1);
      row.set([...names.map((name) => [name, name] as const), [NO_FRAME, 'none: stay at the origin']], fixedFrame ?? own ?? NO_FRAME);
    };
    update();
    this.updates.push(update);
    return row.element;
  }

  private switches(list: [Switch, string][]): HTMLElement[] {
    return list.map(([option, label]) => {
      const { element, set } = toggle(`option-${option}`, label, this.state.options[option], (on) => this.state.set(option, on));
      this.updates.push(() => set(this.state.options[option]));
      return element;
    });
  }

  private slider(
    option: 'transparency' | 'axesSize',
    label: string,
    min: number,
    max: number,
    step: number,
    say: (value: number) => string,
  ): HTMLElement {
    const input = slider({ id: `option-${option}`, label, min, max, step }, (value) => this.state.set(option, value));
    const reading = make('span', { className: 'dim number' });
    const update = () => {
      const value = this.state.options[option];
      input.value = String(value);
      input.setAttribute('aria-valuetext', say(value));
      setText(reading, say(value));
      fill(input);
    };
    update();
    this.updates.push(update);
    return make('div', { className: 'option-slider' }, {}, make('span', { textContent: label }), reading, input);
  }

  private keys(): HTMLElement {
    const pairs: [string, string][] = [
      ['1 2 3 4', 'front, left, top, from a corner'],
      ['F', 'fit into view'],
      ['C / V', 'collision, visual shapes'],
      ['Arrows, + −', 'turn, zoom'],
      ['M', 'move links by dragging; T: handles turn'],
      ['D', 'measure a distance: two clicks, or Enter for the middle'],
      ['Shift+arrows', 'move the selected link by 1 cm'],
      ['Esc', 'clear the selection, anywhere; while dragging: put back'],
    ];
    const rows = pairs.flatMap(([keys, what]) => [
      make('dt', {}, {}, ...keys.split(' ').map((key) => make('kbd', { textContent: key }))),
      make('dd', { textContent: what }),
    ]);
    return make(
      'details',
      { className: 'keys' },
      {},
      make('summary', { textContent: 'Keys in the 3D view' }),
      make('dl', { className: 'facts' }, {}, ...rows),
    );
  }
}
