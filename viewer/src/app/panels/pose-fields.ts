// The pose of a link in another's frame: read live, copied, or typed to move the link.

import type { Matrix4 } from 'three';
import { make, setText } from '../dom.js';
import { decimal } from '../format.js';
import { poseText, relative, toMatrix, toPose } from '../link-pose.js';
import type { Model } from '../model.js';
import type { State } from '../state.js';
import { shown, symbol, typed, word } from '../units.js';

/** Moves a link to a transform in the frame of a reference; `turned`: its orientation counts. Returns a sentence about what remains. */
export type MoveLink = (link: string, reference: string, to: Matrix4, turned: boolean) => string;

const PARTS = ['x', 'y', 'z', 'roll', 'pitch', 'yaw'] as const;

/** The fields of the selected link's pose. */
export class PoseFields {
  readonly element = make('section', { id: 'link-pose' }, { 'aria-label': 'Pose' });
  private readonly reference = make('select', { id: 'pose-reference' }, { 'aria-label': 'Frame of the pose' });
  private readonly fields = PARTS.map((part) => this.field(part));
  private readonly quaternion = make('output', { id: 'pose-quaternion', className: 'number' });
  private readonly said = make('p', { id: 'pose-note', className: 'dim' }, { role: 'status' });
  private readonly copy = make('button', { type: 'button', id: 'copy-pose', className: 'small', textContent: 'Copy' }, { 'aria-label': 'Copy the pose' });
  private model: Model | null = null;
  private link = '';
  /** The chosen frame, which stays for other links; null: the root. */
  private chosen: string | null = null;
  private scheduled = false;

  constructor(
    private readonly state: State,
    private readonly move: MoveLink,
  ) {
    this.reference.addEventListener('change', () => {
      this.chosen = this.reference.value;
      this.say('');
      this.update();
    });
    this.copy.addEventListener('click', () => void this.copyPose());
    const labels = this.fields.map(({ part, input, unit }) => make('label', {}, {}, make('span', { textContent: part }), input, unit));
    this.element.append(
      make('div', { className: 'pose-head' }, {}, make('span', { textContent: 'Pose in' }), this.reference, this.copy),
      make('div', { className: 'pose-grid' }, {}, ...labels),
      make('p', { className: 'quaternion' }, {}, make('span', { className: 'dim', textContent: 'quaternion x y z w ' }), this.quaternion),
      this.said,
    );
    state.on('angles', () => this.update());
    state.on('pose', () => this.schedule());
  }

  private field(part: (typeof PARTS)[number]) {
    const input = make('input', { type: 'text', inputMode: 'decimal', id: `pose-${part}` }, { autocomplete: 'off', spellcheck: 'false' });
    input.addEventListener('focus', () => input.select());
    input.addEventListener('change', () => this.typed(part));
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      this.update();
      input.blur();
    });
    return { part, input, unit: make('span', { className: 'unit' }) };
  }

  /** Shows the pose of a link; hidden for a frame that is none. */
  show(model: Model | null, link: string): void {
    if (model !== this.model || link !== this.link) this.say('');
    if (model !== this.model) {
      const names = model?.links.map(({ name }) => name) ?? [];
      this.reference.replaceChildren(...names.map((name) => make('option', { value: name, textContent: name })));
    }
    [this.model, this.link] = [model, link];
    this.element.hidden = !model?.link(link);
    if (!model || this.element.hidden) return;
    const root = model.links.find((one) => !model.jointOf(one))?.name ?? link;
    this.reference.value = this.chosen !== null && model.link(this.chosen) ? this.chosen : root;
    this.update();
  }

  private pose() {
    const [node, reference] = [this.model?.link(this.link)?.node, this.model?.link(this.reference.value)?.node];
    return node && reference ? toPose(relative(node, reference)) : null;
  }

  private schedule(): void {
    if (this.scheduled || !this.element.isConnected || this.element.offsetParent === null) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.update();
    });
  }

  private update(): void {
    const pose = this.pose();
    if (!pose) return;
    const values = [...pose.position, ...pose.rpy];
    this.fields.forEach(({ part, input, unit }, k) => {
      const kind = k < 3 ? 'm' : 'rad';
      const { angles } = this.state;
      setText(unit, symbol(kind, angles));
      input.setAttribute('aria-label', `${part} in ${word(kind, angles)}`);
      const text = shown(values[k] ?? 0, kind, angles);
      if (document.activeElement !== input && input.value !== text) input.value = text;
    });
    setText(this.quaternion, pose.quaternion.map((value) => decimal(value, 5)).join(', '));
  }

  private typed(part: (typeof PARTS)[number]): void {
    const [k, pose] = [PARTS.indexOf(part), this.pose()];
    const field = this.fields[k];
    const value = field ? typed(field.input.value, k < 3 ? 'm' : 'rad', this.state.angles) : null;
    // The field shows the reached pose, also while it has the focus.
    const write = () => {
      const [now, kind] = [this.pose(), k < 3 ? 'm' : 'rad'] as const;
      if (now && field) field.input.value = shown([...now.position, ...now.rpy][k] ?? 0, kind, this.state.angles);
    };
    if (!pose || value === null) return write();
    (k < 3 ? pose.position : pose.rpy)[k % 3] = value;
    this.say(this.move(this.link, this.reference.value, toMatrix(pose), k >= 3));
    write();
    this.update();
  }

  private async copyPose(): Promise<void> {
    const pose = this.pose();
    if (!pose) return;
    const text = poseText(this.link, this.reference.value, pose);
    try {
      await navigator.clipboard.writeText(text);
      this.say('Copied: metres, radians, quaternion.');
    } catch {
      // Pages that are not served from this machine have no clipboard.
      this.say(text);
    }
  }

  private say(text: string): void {
    setText(this.said, text);
  }
}
