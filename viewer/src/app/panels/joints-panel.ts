// Joints: positions, sliders to move them, named poses. Follows joint states while they are published.

import { make, setText } from '../dom.js';
import type { Fleet } from '../fleet.js';
import { counted } from '../format.js';
import { controls, matches } from '../joint-model.js';
import { Kept } from '../kept.js';
import { limbs } from '../limbs.js';
import type { Model } from '../model.js';
import type { Player } from '../motion/player.js';
import type { State } from '../state.js';
import { toggle } from './controls.js';
import { JointRow } from './joint-row.js';
import { PosesBox } from './poses.js';
import type { Panel } from './tabs.js';

const unit = new Kept(() => localStorage, 'urdf_usd viewer angles', ['rad', 'deg']);

/** Rows of one group of joints. */
interface Group {
  element: HTMLElement;
  /** None if there is only one group. */
  details: HTMLDetailsElement | null;
  rows: JointRow[];
}

/** Minimum number of rows for a search field. */
const FEW = 8;

/** The panel of joints. */
export class JointsPanel implements Panel {
  readonly id = 'joints';
  readonly title = 'Joints';
  readonly element = make('div');
  private readonly live = make(
    'p',
    { id: 'live-badge', className: 'live-badge', hidden: true },
    {},
    make('span', { className: 'pulse' }, { 'aria-hidden': 'true' }),
    'live',
  );
  private readonly liveText = make('p', { className: 'dim' });
  private readonly follow;
  private readonly poses: PosesBox;
  private readonly angles = make('div', { className: 'choice' }, { role: 'group', 'aria-label': 'Angles in' });
  private readonly tools = make('div', { className: 'joint-tools' });
  private readonly search = make(
    'input',
    { type: 'search', id: 'joint-search', placeholder: 'Search joints' },
    { 'aria-label': 'Search joints', autocomplete: 'off' },
  );
  private readonly found = make('p', { className: 'dim', id: 'joint-count' }, { role: 'status' });
  private readonly list = make('div', { className: 'limbs', id: 'joint-list' });
  private rows: JointRow[] = [];
  private groups: Group[] = [];
  /** The groups that the user has closed, by robot. */
  private readonly closed = new Set<string>();
  private model: Model | null = null;
  private scheduled = false;

  constructor(
    private readonly state: State,
    private readonly fleet: Fleet,
    player: Player,
  ) {
    this.follow = toggle('follow-live', 'Follow live joint states', true, (on) => this.fleet.follow(this.key, on));
    const bar = make('div', { className: 'live-bar' }, {}, this.live, this.liveText, this.follow.element);
    this.poses = new PosesBox(state, fleet, player);
    state.angles = unit.value ?? 'rad';
    for (const [value, text, title] of [
      ['rad', 'rad', 'Angles in radians'],
      ['deg', 'deg', 'Angles in degrees'],
    ] as const) {
      const button = make('button', { type: 'button', id: `angles-${value}`, textContent: text, title });
      button.addEventListener('click', () => {
        unit.value = value;
        state.angles = value;
      });
      this.angles.append(button);
    }
    this.tools.append(this.found, this.angles);
    this.element.append(
      make('h2', { textContent: 'Joints', className: 'visually-hidden' }),
      bar,
      this.poses.element,
      this.search,
      this.tools,
      this.list,
    );
    this.search.addEventListener('input', () => this.filter());
    this.search.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || this.search.value === '') return;
      event.stopPropagation();
      this.search.value = '';
      this.filter();
    });
    state.onAny(['current', 'model'], () => this.rebuild());
    state.onAny(['live'], () => this.showLive());
    state.on('pointed', () => {
      const { pointed } = state;
      const at = pointed?.key === this.key ? pointed.joint : null;
      for (const row of this.rows) row.element.classList.toggle('pointed', row.control.joint.name === at);
    });
    state.on('angles', () => this.showAngles());
    state.on('pose', (key) => {
      if (key === this.key) this.schedule();
    });
    this.rebuild();
  }

  private get key(): string {
    return this.fleet.current?.key ?? '';
  }

  refresh(): void {
    this.schedule();
  }

  /** Rows are rebuilt only for another model. */
  private rebuild(): void {
    const model = this.fleet.currentModel;
    if (model === this.model && (model || this.list.childElementCount)) return this.showLive();
    this.model = model;
    this.groups = limbs(model?.joints ?? []).map(({ name, joints }) => this.group(name, joints.flatMap((joint) => controls(joint)).map(
      (control) =>
        new JointRow(control, {
          set: (value) => this.fleet.setPosition(this.key, control.joint.name, value, control.index),
          point: (at) => this.state.point(at ? { key: this.key, joint: control.joint.name } : null),
        }),
    )));
    this.rows = this.groups.flatMap((group) => group.rows);
    this.list.replaceChildren(...this.groups.map((group) => group.element));
    this.search.value = '';
    this.search.hidden = this.rows.length <= FEW;
    this.angles.hidden = this.rows.length === 0;
    this.showAngles();
    this.filter();
    this.showLive();
  }

  private group(name: string, rows: JointRow[]): Group {
    const label = name || 'Joints';
    const list = make('ul', { className: 'joints' }, { 'aria-label': label }, ...rows.map((row) => row.element));
    if (name === '') return { element: list, details: null, rows };
    const id = `${this.key}\n${name}`;
    const summary = make('summary', {}, {}, name, make('span', { className: 'dim number', textContent: String(rows.length) }));
    const details = make('details', { className: 'limb', open: !this.closed.has(id) }, { 'data-limb': name }, summary, list);
    details.addEventListener('toggle', () => {
      // A search opens groups.
      if (this.search.value.trim() !== '') return;
      if (details.open) this.closed.delete(id);
      else this.closed.add(id);
      this.schedule();
    });
    return { element: details, details, rows };
  }

  private showAngles(): void {
    const { angles } = this.state;
    for (const button of this.angles.querySelectorAll('button'))
      button.setAttribute('aria-pressed', String(button.id === `angles-${angles}`));
    for (const row of this.rows) row.show(angles);
  }

  private filter(): void {
    const words = this.search.value.trim();
    let count = 0;
    for (const row of this.rows) {
      const { name, joint } = row.control;
      const hit = words === '' || matches(`${name} ${joint.type} ${joint.mimic ? 'mimic' : ''} ${joint.child.name}`, words);
      row.element.hidden = !hit;
      if (hit) count += 1;
    }
    for (const { element, details, rows } of this.groups) {
      element.hidden = rows.every((row) => row.element.hidden);
      if (details) details.open = words !== '' || !this.closed.has(`${this.key}\n${details.dataset['limb'] ?? ''}`);
    }
    setText(this.found, this.summary(words, count));
  }

  private summary(words: string, count: number): string {
    if (!this.model) return this.fleet.isLoading(this.key) ? 'Loading the robot…' : 'There is no model to move.';
    if (words) return count ? `${counted(count, 'row')} found` : 'No joint matches.';
    const fixed = this.model.joints.filter((joint) => joint.dofs.length === 0).length;
    const moving = this.model.joints.length - fixed;
    if (this.model.joints.length === 0) return 'This file has no joints (EXT_robot_kinematics).';
    return `${counted(moving, 'joint')}${fixed ? `, and ${fixed} fixed` : ''}`;
  }

  private showLive(): void {
    const { live, following } = this.fleet.live(this.key);
    this.live.hidden = !live;
    this.follow.element.hidden = !live;
    this.follow.set(following || !live);
    setText(
      this.liveText,
      live
        ? following
          ? 'The picture follows the joint states.'
          : 'Joint states are published, but the picture does not follow them.'
        : this.rows.length
          ? 'No joint states: sliders move the picture only.'
          : '',
    );
    this.poses.enable(!following);
    for (const row of this.rows) row.enable(!following);
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled || this.element.hidden) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      for (const row of this.rows) if (!row.element.hidden) row.update();
    });
  }

  /** Scrolls to the slider of a joint. */
  reveal(joint: string): void {
    this.search.value = '';
    this.filter();
    const row = this.rows.find((row) => row.control.joint.name === joint);
    const details = this.groups.find((group) => row && group.rows.includes(row))?.details;
    if (details) details.open = true;
    row?.element.scrollIntoView({ block: 'center' });
    row?.element.querySelector('input')?.focus();
  }
}
