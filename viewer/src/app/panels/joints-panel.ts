// Joints: where each stands, sliders to move them, named poses. Follows the robot while somebody publishes its joints.

import { make, setText } from '../dom.js';
import type { Fleet } from '../fleet.js';
import { counted } from '../format.js';
import { controls, matches } from '../joint-model.js';
import type { Model } from '../model.js';
import type { State } from '../state.js';
import { toggle } from './controls.js';
import { JointRow } from './joint-row.js';
import type { Panel } from './tabs.js';

/** So many rows are found without a search. */
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
  private readonly poses = make('div', { className: 'poses' }, { role: 'group', 'aria-label': 'Poses' });
  private readonly search = make(
    'input',
    { type: 'search', id: 'joint-search', placeholder: 'Search joints' },
    { 'aria-label': 'Search joints', autocomplete: 'off' },
  );
  private readonly found = make('p', { className: 'dim', id: 'joint-count' }, { role: 'status' });
  private readonly list = make('ul', { className: 'joints', id: 'joint-list' }, { 'aria-label': 'Joints' });
  private rows: JointRow[] = [];
  private model: Model | null = null;
  private scheduled = false;

  constructor(
    state: State,
    private readonly fleet: Fleet,
  ) {
    this.follow = toggle('follow-live', 'Follow live joint states', true, (on) => this.fleet.follow(this.key, on));
    const bar = make('div', { className: 'live-bar' }, {}, this.live, this.liveText, this.follow.element);
    this.element.append(
      make('h2', { textContent: 'Joints', className: 'visually-hidden' }),
      bar,
      this.poses,
      this.search,
      this.found,
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

  /** Rows are made anew only when there is another model. */
  private rebuild(): void {
    const model = this.fleet.currentModel;
    if (model === this.model && (model || this.list.childElementCount)) return this.showLive();
    this.model = model;
    const many = (model?.robots.length ?? 0) > 1;
    this.rows = (model?.joints ?? [])
      .flatMap((joint) => controls(joint))
      .map(
        (control) =>
          new JointRow(control, (value) => {
            this.fleet.setPosition(this.key, control.joint.name, value, control.index);
          }),
      );
    this.list.replaceChildren(...this.rows.map((row) => row.element));
    this.list.classList.toggle('several', many);
    this.search.value = '';
    this.search.hidden = this.rows.length <= FEW;
    this.showPoses();
    this.filter();
    this.showLive();
  }

  private showPoses(): void {
    const { model } = this;
    const names = model?.configurations() ?? [];
    const button = (text: string, id: string, act: () => void) => {
      const button = make('button', { type: 'button', textContent: text }, { 'data-pose': id });
      button.addEventListener('click', act);
      return button;
    };
    const reset = button('Reset', '', () => this.fleet.reset(this.key));
    reset.id = 'reset-joints';
    reset.classList.add('quiet');
    this.poses.hidden = this.rows.length === 0;
    this.poses.replaceChildren(
      ...names.map((name) => button(name, name, () => this.fleet.applyConfiguration(this.key, name))),
      reset,
    );
  }

  private filter(): void {
    const words = this.search.value.trim();
    let count = 0;
    for (const row of this.rows) {
      const { name, joint } = row.control;
      const hit = words === '' || matches(`${name} ${joint.type} ${joint.mimic ? 'mimic' : ''}`, words);
      row.element.hidden = !hit;
      if (hit) count += 1;
    }
    setText(this.found, this.summary(words, count));
  }

  private summary(words: string, count: number): string {
    if (!this.model) return this.fleet.isLoading(this.key) ? 'Loading the robot…' : 'There is no model to move.';
    if (words) return count ? `${counted(count, 'row')} found` : 'No joint has this in its name.';
    const fixed = this.model.joints.filter((joint) => joint.dofs.length === 0).length;
    const moving = this.model.joints.length - fixed;
    if (this.model.joints.length === 0) return 'This file says nothing of joints (EXT_robot_kinematics).';
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
          ? 'The robot shows where it is now.'
          : 'Somebody publishes; you move the picture only.'
        : this.rows.length
          ? 'Nobody publishes joint states: the sliders move the picture.'
          : '',
    );
    for (const button of this.poses.querySelectorAll('button')) button.disabled = following;
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

  /** Shows the slider of a joint. */
  reveal(joint: string): void {
    this.search.value = '';
    this.filter();
    const row = this.rows.find((row) => row.control.joint.name === joint);
    row?.element.scrollIntoView({ block: 'center' });
    row?.element.querySelector('input')?.focus();
  }
}
