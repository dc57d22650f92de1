// A degree of freedom in the panel of joints: slider, number, unit, limits. Made once; afterwards only what differs is written.

import { make, setText } from '../dom.js';
import { decimal, degrees, position } from '../format.js';
import { beyond, following, onSlider, wrap, type Control } from '../joint-model.js';
import { fill, slider } from './controls.js';

/** Digits behind the point in the field. */
const DIGITS = { rad: 4, m: 5 } as const;

/** The row of a degree of freedom. */
export class JointRow {
  readonly element: HTMLElement;
  private readonly slider: HTMLInputElement;
  private readonly field: HTMLInputElement;
  private readonly angle = make('span', { className: 'angle' });
  private readonly outside = make('span', { className: 'outside', textContent: 'beyond its limit', hidden: true });
  private shown = Number.NaN;

  constructor(
    readonly control: Control,
    private readonly set: (value: number) => void,
  ) {
    const { name, unit, lower, upper, step, joint } = control;
    this.slider = slider(
      { label: `${name} position`, min: lower, max: upper, step, ...(control.wraps && { within: wrap }) },
      (value) => this.move(value),
    );
    this.field = make(
      'input',
      { type: 'number' },
      { step, 'aria-label': `${name} value in ${unit === 'rad' ? 'radians' : 'metres'}` },
    );
    this.field.addEventListener('change', () => this.typed());
    this.field.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      this.restore();
    });
    const title = make(
      'div',
      { className: 'joint-title' },
      {},
      make('span', { className: 'joint-name', textContent: name, title: name }),
      make('span', { className: 'chip', textContent: joint.type }),
      this.outside,
    );
    const reading = make(
      'div',
      { className: 'joint-reading' },
      {},
      this.field,
      make('span', { className: 'unit', textContent: unit }),
      this.angle,
    );
    this.element = make('li', { className: 'joint' }, { 'data-joint': joint.name }, title, this.slider, reading, this.ends());
    if (joint.mimic) this.element.append(make('p', { className: 'follows', textContent: following(joint.mimic) }));
    this.update();
  }

  /** Shown at once: the next key counts from here. */
  private move(value: number): void {
    this.set(value);
    this.update();
  }

  /** What the slider's ends are. */
  private ends(): HTMLElement {
    const { lower, upper, limited, unit, wraps } = this.control;
    const digits = unit === 'rad' ? 3 : 4;
    const end = (value: number, limit: boolean) =>
      make('span', { textContent: limit ? decimal(value, digits) : wraps ? (value < 0 ? '-π' : 'π') : 'no limit' });
    return make('div', { className: 'ends' }, {}, end(lower, limited.lower), end(upper, limited.upper));
  }

  /** Whether a person may move it. Followers are moved by others. */
  enable(enabled: boolean): void {
    const disabled = !enabled || this.control.joint.mimic !== undefined;
    if (this.slider.disabled === disabled) return;
    this.slider.disabled = disabled;
    this.field.disabled = disabled;
  }

  /** Shows where the joint stands. */
  update(): void {
    const { control } = this;
    const value = control.joint.positions[control.index] ?? 0;
    if (value === this.shown) return;
    this.shown = value;
    this.slider.value = String(onSlider(control, value));
    this.slider.setAttribute('aria-valuetext', position(value, control.unit));
    fill(this.slider);
    if (document.activeElement !== this.field) this.write();
    if (control.unit === 'rad') setText(this.angle, degrees(value));
    const outside = beyond(control, value);
    if (this.outside.hidden === outside) this.outside.hidden = !outside;
  }

  private write(): void {
    this.field.value = String(Number(this.shown.toFixed(DIGITS[this.control.unit])));
  }

  private typed(): void {
    const value = this.field.valueAsNumber;
    if (Number.isFinite(value)) this.move(value);
    this.write();
  }

  private restore(): void {
    this.write();
    this.field.blur();
  }
}
