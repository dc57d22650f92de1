// The plot above the timeline: a quantity of all joints over time, with a cursor at the current time.

import { make, setText, svg } from './dom.js';
import { decimal } from './format.js';
import type { Fleet } from './fleet.js';
import { curves, extent, QUANTITIES, thinned, valueAt, type Curve, type Quantity } from './motion/curves.js';
import type { Player } from './motion/player.js';
import type { Trajectory } from './motion/trajectory.js';

/** The size of the drawing, which is stretched to its box. */
const [WIDTH, HEIGHT] = [1000, 100];
const UNITS: Record<Quantity, readonly [string, string]> = { position: ['rad', 'm'], velocity: ['rad/s', 'm/s'], effort: ['Nm', 'N'] };
/** Distinct colours, readable in both themes. */
const COLORS = ['#e5484d', '#3e7bfa', '#2f9e5b', '#d98a00', '#8e4ec6', '#0e9aa7', '#d6409f', '#7c8594'];

/** The plot of the playing trajectory. */
export class Plot {
  readonly element = make('div', { id: 'plot', hidden: true }, { role: 'group', 'aria-label': 'Plot' });
  private readonly quantity = make('select', { id: 'plot-quantity' }, { 'aria-label': 'Plotted quantity' });
  private readonly legend = make('ul', { className: 'legend' }, { 'aria-label': 'Plotted joints' });
  private readonly drawing = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  private readonly cursor = svg('line', { class: 'cursor', y1: 0, y2: HEIGHT });
  private readonly note = make('p', { className: 'dim', id: 'plot-note' }, { role: 'status' });
  private readonly most = make('span', { className: 'number most' });
  private readonly least = make('span', { className: 'number least' });
  private readonly off = new Set<string>();
  private shown: { curve: Curve; reading: HTMLElement; unit: string }[] = [];
  private drawn: Trajectory | null = null;

  constructor(
    private readonly player: Player,
    private readonly fleet: Fleet,
  ) {
    this.quantity.append(...QUANTITIES.map((name) => make('option', { value: name, textContent: name })));
    this.quantity.addEventListener('change', () => this.draw());
    const area = make('div', { className: 'plot-area' }, {}, this.drawing, this.most, this.least, this.note);
    const seek = (event: PointerEvent) => {
      if (event.type === 'pointermove' && event.buttons === 0) return;
      const box = area.getBoundingClientRect();
      this.player.run(false);
      this.player.seek(((event.clientX - box.left) / box.width) * this.player.duration);
    };
    area.addEventListener('pointerdown', (event) => {
      area.setPointerCapture(event.pointerId);
      seek(event);
    });
    area.addEventListener('pointermove', seek);
    this.element.append(make('div', { className: 'plot-side' }, {}, this.quantity, this.legend), area);
  }

  /** Shows or hides the plot. */
  set open(open: boolean) {
    this.element.hidden = !open;
    this.update();
  }

  /** Shows the current time; redraws for another trajectory. */
  update(): void {
    const { playing, time, duration } = this.player;
    if (this.element.hidden || !playing) return;
    if (playing.trajectory !== this.drawn) this.draw();
    const x = (duration > 0 ? time / duration : 0) * WIDTH;
    this.cursor.setAttribute('x1', x.toFixed(2));
    this.cursor.setAttribute('x2', x.toFixed(2));
    for (const { curve, reading, unit } of this.shown) {
      const value = valueAt(curve, time);
      setText(reading, value === null ? '–' : `${decimal(value, 3)} ${unit}`);
    }
  }

  private draw(): void {
    const { playing, duration } = this.player;
    if (!playing) return;
    this.drawn = playing.trajectory;
    const quantity = this.quantity.value as Quantity;
    const all = curves(playing.trajectory, quantity);
    const model = this.fleet.models.get(playing.key);
    const colors = new Map(playing.trajectory.tracks.map(({ joint }, k) => [joint, COLORS[k % COLORS.length] ?? '']));
    this.shown = [];
    this.legend.replaceChildren(
      ...all.map((curve) => {
        const reading = make('span', { className: 'number dim' });
        const unit = UNITS[quantity][model?.joint(curve.joint)?.dofs[0]?.motion === 'translation' ? 1 : 0];
        this.shown.push({ curve, reading, unit });
        const swatch = svg('svg', { class: 'swatch', viewBox: '0 0 8 8', 'aria-hidden': 'true' }, svg('rect', { width: 8, height: 8, rx: 2, fill: colors.get(curve.joint) ?? '' }));
        const button = make('button', { type: 'button' }, { 'aria-pressed': String(!this.off.has(curve.joint)) }, swatch, make('span', { textContent: curve.joint }), reading);
        button.addEventListener('click', () => {
          if (!this.off.delete(curve.joint)) this.off.add(curve.joint);
          button.setAttribute('aria-pressed', String(!this.off.has(curve.joint)));
          this.trace(all, colors, duration);
        });
        return make('li', {}, {}, button);
      }),
    );
    setText(this.note, all.length === 0 ? `This recording has no ${quantity === 'effort' ? 'efforts' : `values of ${quantity}`}.` : '');
    this.trace(all, colors, duration);
    this.update();
  }

  /** Draws the curves of the joints that are switched on. */
  private trace(all: readonly Curve[], colors: ReadonlyMap<string, string>, duration: number): void {
    const on = all.filter(({ joint }) => !this.off.has(joint));
    const [least, most] = extent(on);
    const x = (time: number) => ((duration > 0 ? time / duration : 0) * WIDTH).toFixed(1);
    const y = (value: number) => (HEIGHT - ((value - least) / (most - least)) * HEIGHT).toFixed(2);
    const lines = on.map((curve) => {
      const { times, values } = thinned(curve);
      // Unknown values interrupt the line.
      let begin = true;
      const parts = values.map((value, k) => {
        if (Number.isNaN(value)) {
          begin = true;
          return '';
        }
        const part = `${begin ? 'M' : 'L'}${x(times[k] ?? 0)} ${y(value)}`;
        begin = false;
        return part;
      });
      return svg('path', { d: parts.join(''), stroke: colors.get(curve.joint) ?? '', 'data-joint': curve.joint });
    });
    const zero = least < 0 && most > 0 ? [svg('line', { class: 'zero', x1: 0, x2: WIDTH, y1: y(0), y2: y(0) })] : [];
    this.drawing.replaceChildren(...zero, ...lines, this.cursor);
    const isEmpty = on.length === 0;
    setText(this.most, isEmpty ? '' : decimal(most, 3));
    setText(this.least, isEmpty ? '' : decimal(least, 3));
  }
}
