// A degree of freedom in the panel of joints: slider, number, unit, limits. Built once, then updated.

import { make, setAttributes, setText } from '../dom.js';
import { position } from '../format.js';
import { beyond, following, onSlider, type Control } from '../joint-model.js';
import { shown, symbol, TURN, turned, turnsText, typed, word, type AngleUnit } from '../units.js';
import { fill, slider, stepOf } from './controls.js';

/** Callbacks of a row. */
export interface RowEvents {
  /** The user moves it. */
  set(value: number): void;
  /** The user points at it, or no longer does. */
  point(at: boolean): void;
}

/** The row of a degree of freedom. */
export class JointRow {
  readonly element: HTMLElement;
  private readonly slider: HTMLInputElement;
  private readonly field = make('input', { type: 'text', inputMode: 'decimal' }, { autocomplete: 'off', spellcheck: 'false' });
  private readonly unit = make('span', { className: 'unit' });
  /** The limits below the ends of the slider. */
  private readonly limits = { lower: make('span'), upper: make('span') };
  private readonly range = make('p', { className: 'range' }, {}, this.limits.lower, this.limits.upper);
  private readonly turns = make('button', { type: 'button', className: 'turns', hidden: true });
  private readonly outside = make('span', { className: 'outside', hidden: true });
  private value = Number.NaN;
  private angles: AngleUnit = 'rad';

  constructor(
    readonly control: Control,
    private readonly events: RowEvents,
  ) {
    const { name, lower, upper, step, joint, wraps } = control;
    this.slider = slider(
      { label: `${name} position`, min: lower, max: upper, step, ...(wraps && { stepped: (by) => this.move(this.now() + by) }) },
      (value) => this.move(wraps ? turned(this.now()).turns * TURN + value : value),
    );
    this.field.addEventListener('change', () => this.typed());
    this.field.addEventListener('focus', () => this.field.select());
    this.field.addEventListener('keydown', (event) => this.key(event));
    this.turns.addEventListener('click', () => {
      this.move(turned(this.now()).angle);
      this.field.focus();
    });
    const title = make(
      'div',
      { className: 'joint-title' },
      {},
      make('span', { className: 'joint-name', textContent: name, title: `${name} (${joint.type})` }),
      this.outside,
      this.turns,
    );
    const reading = make('div', { className: 'joint-reading' }, {}, this.field, this.unit);
    this.element = make('li', { className: 'joint' }, { 'data-joint': joint.name }, title, this.slider, reading, this.range);
    if (joint.mimic) this.element.append(make('p', { className: 'follows', textContent: following(joint.mimic) }));
    for (const kind of ['pointerenter', 'focusin'] as const) this.element.addEventListener(kind, () => events.point(true));
    for (const kind of ['pointerleave', 'focusout'] as const) this.element.addEventListener(kind, () => events.point(false));
    this.show(this.angles);
  }

  /** Shows angles in this unit. */
  show(angles: AngleUnit): void {
    const { name, unit, lower, upper, limited, wraps } = this.control;
    this.angles = angles;
    this.field.setAttribute('aria-label', `${name} value in ${word(unit, angles)}`);
    setText(this.unit, symbol(unit, angles));
    const limit = (value: number, isLimit: boolean, none: string) => (isLimit ? shown(value, unit, angles).replace('-', '−') : none);
    setText(this.limits.lower, wraps ? 'no limits' : limit(lower, limited.lower, '−∞'));
    setText(this.limits.upper, wraps ? '' : limit(upper, limited.upper, '∞'));
    this.range.title = wraps ? 'The joint turns without end' : `Limits in ${word(unit, angles)}`;
    this.value = Number.NaN;
    this.update();
  }

  private now(): number {
    return this.control.joint.positions[this.control.index] ?? 0;
  }

  /** Shown at once, since the next key starts from it. */
  private move(value: number): void {
    this.events.set(value);
    this.update();
  }

  /** Enables or disables movement by the user. Followers are moved by others. */
  enable(enabled: boolean): void {
    const disabled = !enabled || this.control.joint.mimic !== undefined;
    if (this.slider.disabled === disabled) return;
    this.slider.disabled = disabled;
    this.field.disabled = disabled;
    this.turns.disabled = disabled;
  }

  /** Shows the joint's position. */
  update(): void {
    const { control } = this;
    const value = this.now();
    if (value === this.value) return;
    this.value = value;
    this.slider.value = String(onSlider(control, value));
    this.slider.setAttribute('aria-valuetext', position(value, control.unit));
    fill(this.slider);
    if (document.activeElement !== this.field) this.write();
    if (control.wraps) this.showTurns(turned(value).turns);
    const over = beyond(control, value);
    if (this.outside.hidden === over) this.outside.hidden = !over;
    if (over) setText(this.outside, 'beyond its limit');
  }

  private showTurns(turns: number): void {
    const text = turnsText(turns);
    this.turns.hidden = text === '';
    if (text === '') return;
    setText(this.turns, text);
    setAttributes(this.turns, { title: 'Remove full turns', 'aria-label': `${this.control.name}: ${text}. Remove them` });
  }

  private write(): void {
    const { unit, wraps } = this.control;
    this.field.value = shown(wraps ? turned(this.value).angle : this.value, unit, this.angles);
  }

  private typed(): void {
    const { unit, wraps } = this.control;
    const value = typed(this.field.value, unit, this.angles);
    // An angle keeps the current turns; more than half a turn states the turns itself.
    if (value !== null) this.move(wraps && Math.abs(value) <= Math.PI ? turned(this.now()).turns * TURN + value : value);
    this.write();
  }

  private key(event: KeyboardEvent): void {
    if (event.key === 'Escape') {
      event.stopPropagation();
      this.write();
      this.field.blur();
      return;
    }
    // Left and right move the text cursor.
    if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') return;
    const by = stepOf(event, this.control.step);
    if (by === 0) return;
    event.preventDefault();
    const { wraps, lower, upper } = this.control;
    const to = Number((this.now() + by).toPrecision(12));
    this.move(wraps ? to : Math.min(upper, Math.max(lower, to)));
    this.write();
  }
}
