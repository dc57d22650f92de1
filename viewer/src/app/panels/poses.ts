// Named poses: apply, store the current positions, delete. The server stores them.

import * as api from '../api.js';
import { icon, make, setAttributes, setText } from '../dom.js';
import type { Fleet } from '../fleet.js';
import { counted } from '../format.js';
import { Kept } from '../kept.js';
import type { Player } from '../motion/player.js';
import { between } from '../motion/trajectory.js';
import type { State } from '../state.js';

/** The label of a pose: its name and group. */
const label = ({ name, group }: api.NamedPose) => (group ? `${name} (${group})` : name);

const unfolded = new Kept(() => localStorage, 'urdf_usd viewer pose tools', ['open']);

/** The poses of the current robot. */
export class PosesBox {
  readonly element = make('section', { className: 'pose-box' }, { 'aria-label': 'Named poses' });
  private readonly list = make('ul', { className: 'poses' }, { 'aria-label': 'Poses' });
  private readonly field = make(
    'input',
    { type: 'text', id: 'pose-name', placeholder: 'Name of a new pose', maxLength: 200 },
    { 'aria-label': 'Name of the pose to store', autocomplete: 'off', 'aria-describedby': 'pose-problem' },
  );
  private readonly store = make('button', { type: 'submit', id: 'store-pose', textContent: 'Store pose' });
  private readonly problem = make('p', { id: 'pose-problem', className: 'field-problem', hidden: true }, { role: 'alert' });
  private readonly said = make('p', { id: 'pose-said', className: 'dim' }, { role: 'status' });
  private readonly locked = make('p', { id: 'pose-locked', className: 'dim', hidden: true });
  /** Rarely used controls are folded. */
  private readonly more = make('details', { id: 'pose-more' });
  private readonly form;
  private readonly from = make('select', { id: 'play-from' }, { 'aria-label': 'Play from the pose' });
  private readonly to = make('select', { id: 'play-to' }, { 'aria-label': 'Play to the pose' });
  private readonly play = make('button', { type: 'button', id: 'play-poses', textContent: 'Play' });
  private readonly ways = make('div', { className: 'pose-form' }, { role: 'group', 'aria-label': 'Play between poses' });
  private shown = '';
  private movable = true;

  constructor(
    state: State,
    private readonly fleet: Fleet,
    private readonly player: Player,
  ) {
    this.form = make('form', { className: 'pose-form', noValidate: true }, {}, this.field, this.store);
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.storePose();
    });
    this.field.addEventListener('input', () => this.complain(null));
    this.play.addEventListener('click', () => this.playBetween());
    this.ways.append(this.from, make('span', { className: 'dim', textContent: 'to' }), this.to, this.play);
    this.more.append(make('summary', { textContent: 'Store or play poses' }), this.form, this.problem, this.locked, this.ways);
    this.more.open = unfolded.value !== null;
    this.more.addEventListener('toggle', () => (unfolded.value = this.more.open ? 'open' : null));
    this.element.append(this.list, this.said, this.more);
    state.onAny(['poses', 'current', 'model'], () => this.show());
    state.on('current', () => {
      this.complain(null);
      this.say('');
    });
    this.show();
  }

  private get key(): string {
    return this.fleet.current?.key ?? '';
  }

  /** Whether the user may move the robot. */
  enable(movable: boolean): void {
    if (this.movable === movable) return;
    this.movable = movable;
    this.show();
  }

  private show(): void {
    const { fleet, key, movable } = this;
    const model = fleet.models.get(key);
    const kept = fleet.poses.get(key);
    const moving = model?.joints.some((joint) => joint.dofs.length > 0) ?? false;
    this.element.hidden = !moving;
    const poses = fleet.posesOf(key);
    const deletable = kept !== undefined && kept.locked === null;
    // A focused element must not be rebuilt because of unrelated changes.
    const now = JSON.stringify([key, poses, movable, deletable]);
    if (now !== this.shown) {
      this.shown = now;
      const focused = document.activeElement?.closest('[data-pose]')?.getAttribute('data-pose');
      const items = poses.map((pose) => this.item(pose, deletable && pose.kept));
      this.list.replaceChildren(...items, make('li', {}, {}, this.reset()));
      this.showWays(poses);
      if (focused != null && !this.list.contains(document.activeElement))
        this.list.querySelector<HTMLElement>(`[data-pose="${CSS.escape(focused)}"]`)?.focus();
    }
    // A local file has no server for poses; for other robots the answer is on its way.
    const why = fleet.isLocal(key) ? 'This file was opened from this machine, and no server keeps its poses.' : (kept?.locked ?? null);
    this.form.hidden = why !== null || kept === undefined;
    this.locked.hidden = why === null;
    setText(this.locked, why === null ? '' : `No pose can be stored here. ${why}`);
  }

  /** The ends of playback: the current positions, and all poses. */
  private showWays(poses: readonly api.NamedPose[]): void {
    this.ways.hidden = poses.length === 0;
    const options = () => poses.map((pose, at) => make('option', { value: String(at), textContent: label(pose) }));
    for (const select of [this.from, this.to]) {
      const before = select.selectedOptions[0]?.textContent ?? null;
      select.replaceChildren(...(select === this.from ? [make('option', { value: '', textContent: 'here' })] : []), ...options());
      const again = [...select.options].find((option) => option.textContent === before);
      if (again) select.value = again.value;
    }
  }

  private playBetween(): void {
    const { key } = this;
    const model = this.fleet.models.get(key);
    const poses = this.fleet.posesOf(key);
    const [from, to] = [poses[Number(this.from.value || -1)], poses[Number(this.to.value)]];
    if (!model || !to) return;
    const name = `${from ? label(from) : 'here'} to ${label(to)}`;
    // Joints that only one of the poses sets keep their current position in the other.
    const here = model.storable();
    const start = { ...here, ...from?.joints };
    this.player.open(key, between(name, start, { ...here, ...from?.joints, ...to.joints }));
  }

  private reset(): HTMLElement {
    const reset = make('button', { type: 'button', id: 'reset-joints', className: 'quiet', textContent: 'Reset' }, { 'data-pose': '' });
    reset.disabled = !this.movable;
    reset.addEventListener('click', () => this.fleet.reset(this.key));
    return reset;
  }

  private item(pose: api.NamedPose, deletable: boolean): HTMLElement {
    const text = label(pose);
    const apply = make(
      'button',
      { type: 'button', textContent: text, disabled: !this.movable, title: counted(Object.keys(pose.joints).length, 'joint') },
      { 'data-pose': pose.name },
    );
    if (!pose.valid) {
      apply.append(make('span', { className: 'chip', textContent: 'beyond limits' }));
    }
    apply.addEventListener('click', () => this.fleet.applyPose(this.key, pose));
    if (!deletable) return make('li', {}, {}, apply);
    const remove = make(
      'button',
      { type: 'button', className: 'remove', title: `Delete ${text}` },
      { 'aria-label': `Delete the pose ${text}` },
      icon('M4.5 4.5l7 7M11.5 4.5l-7 7'),
    );
    remove.addEventListener('click', () => void this.deletePose(pose));
    return make('li', { className: 'with-remove' }, {}, apply, remove);
  }

  private async storePose(): Promise<void> {
    const { key } = this;
    const name = this.field.value.trim();
    const model = this.fleet.models.get(key);
    if (!model) return;
    if (name === '') return this.complain('Give the pose a name.');
    const replaced = this.fleet.posesOf(key).some((pose) => pose.name === name && pose.group === null);
    await this.change(key, `${replaced ? 'Replaced' : 'Stored'} “${name}”.`, () =>
      api.storePose(key, { name, group: null, joints: model.storable() }),
    );
  }

  private async deletePose(pose: api.NamedPose): Promise<void> {
    const { key } = this;
    const undo = make('button', { type: 'button', className: 'link', textContent: 'Undo' });
    undo.addEventListener('click', () => {
      this.list.querySelector('button')?.focus();
      void this.change(key, `“${label(pose)}” is back.`, () => api.storePose(key, pose));
    });
    await this.change(key, `Deleted “${label(pose)}”. `, () => api.deletePose(key, pose), undo);
    if (this.said.contains(undo)) undo.focus();
  }

  /** Calls the server and shows the result. */
  private async change(key: string, done: string, act: () => Promise<void>, more?: HTMLElement): Promise<void> {
    this.store.disabled = true;
    try {
      await act();
      await this.fleet.readPoses(key);
      this.complain(null);
      this.say(done, more);
      this.field.value = '';
    } catch (error) {
      const { message, field } = error instanceof api.Refusal ? error : { message: String(error), field: null };
      this.complain(sentence(message), field === 'name');
    } finally {
      this.store.disabled = false;
    }
  }

  private say(text: string, more?: HTMLElement): void {
    this.said.replaceChildren(text, ...(more ? [more] : []));
  }

  /** Shows a message at the field, or none. `field`: whether the field is wrong. */
  private complain(message: string | null, field = message !== null): void {
    this.problem.hidden = message === null;
    setText(this.problem, message ?? '');
    setAttributes(this.field, { 'aria-invalid': message !== null && field ? 'true' : null });
    if (message === null) return;
    this.say('');
    this.more.open = true;
    this.field.focus();
  }
}

/** Formats a sentence: capital and full stop. */
function sentence(text: string): string {
  const whole = /[.!?]$/.test(text) ? text : `${text}.`;
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}
