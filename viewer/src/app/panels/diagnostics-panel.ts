// Diagnostics: the findings of the last conversion, with their place in the source and a remedy.

import type { Diagnostic, Severity } from '../api.js';
import { make, setText } from '../dom.js';
import type { Fleet } from '../fleet.js';
import { counted, place } from '../format.js';
import { grouped, type Group } from '../groups.js';
import type { State } from '../state.js';
import { subjects } from '../subjects.js';
import { mark } from './marks.js';
import type { Panel } from './tabs.js';

const SEVERITIES: Severity[] = ['error', 'warning', 'info'];
const WORDS: Record<Severity, string> = { error: 'error', warning: 'warning', info: 'note' };

/** Maximum number of displayed findings. */
const MOST = 300;

/** The panel of diagnostics. */
export class DiagnosticsPanel implements Panel {
  readonly id = 'diagnostics';
  readonly title = 'Diagnostics';
  readonly element = make('div');
  private readonly filters = make('div', { className: 'filters' }, { role: 'group', 'aria-label': 'Severities to show' });
  private readonly list = make('ul', { className: 'findings' }, { 'aria-label': 'Diagnostics' });
  private readonly empty = make('p', { className: 'dim' }, { role: 'status' });
  private readonly hiddenKinds = new Set<Severity>();
  private shown = '';

  constructor(
    private readonly state: State,
    private readonly fleet: Fleet,
  ) {
    this.element.append(
      make('h2', { textContent: 'Diagnostics', className: 'visually-hidden' }),
      this.filters,
      this.empty,
      this.list,
    );
    state.onAny(['robots', 'current', 'model'], () => this.refresh());
  }

  /** The findings of the conversion, and the viewer's own about the file. */
  private all(): Diagnostic[] {
    const problems = this.fleet.currentModel?.problems ?? [];
    const own = problems.map((message): Diagnostic => ({ severity: 'warning', code: 'ext-robot-kinematics', message }));
    return [...(this.fleet.current?.diagnostics ?? []), ...own];
  }

  refresh(): void {
    const all = this.all();
    const now = JSON.stringify([all, [...this.hiddenKinds], this.fleet.current?.key, this.fleet.currentModel?.edition.version]);
    if (now === this.shown) return;
    this.shown = now;
    this.showFilters(all);
    const wanted = all.filter((item) => !this.hiddenKinds.has(item.severity));
    const groups = grouped(wanted);
    // Errors first, otherwise in their order.
    groups.sort(([a], [b]) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
    this.list.replaceChildren(...groups.slice(0, MOST).map((group) => this.finding(group)));
    if (groups.length > MOST)
      this.list.append(make('li', { className: 'dim', textContent: `… and ${groups.length - MOST} more kinds, all in report.json` }));
    setText(
      this.empty,
      all.length === 0
        ? this.fleet.current
          ? 'The conversion found no problems.'
          : ''
        : wanted.length === 0
          ? 'All are filtered out.'
          : '',
    );
  }

  private showFilters(all: Diagnostic[]): void {
    const focused = document.activeElement?.id;
    const buttons = SEVERITIES.map((severity) => {
      const count = all.filter((item) => item.severity === severity).length;
      const button = make(
        'button',
        { type: 'button', id: `filter-${severity}`, disabled: count === 0 },
        { 'aria-pressed': String(!this.hiddenKinds.has(severity)) },
        mark(severity, counted(count, WORDS[severity])),
      );
      button.addEventListener('click', () => {
        if (!this.hiddenKinds.delete(severity)) this.hiddenKinds.add(severity);
        this.refresh();
      });
      return button;
    });
    this.filters.hidden = all.length === 0;
    this.filters.replaceChildren(...buttons);
    if (focused?.startsWith('filter-')) document.getElementById(focused)?.focus();
  }

  /** Makes buttons that select the links and joints of a finding. */
  private buttons(item: Diagnostic): HTMLElement | string {
    const found = subjects(item, this.fleet.currentModel);
    if (found.length === 0) return '';
    const buttons = found.map(({ name, kind, link }) => {
      const button = make('button', { type: 'button', className: 'small', textContent: name }, { 'aria-label': `Select the ${kind} ${name}` });
      button.addEventListener('click', () => this.state.select({ key: this.fleet.current?.key ?? '', link }));
      return button;
    });
    return make('p', { className: 'subjects' }, {}, ...buttons);
  }

  /** Makes a finding; of several of one kind the first, with the others folded. */
  private finding([item, ...others]: Group): HTMLElement {
    const at = place(item.where);
    const element = item.where?.element;
    return make(
      'li',
      { className: `finding ${item.severity}` },
      {},
      make(
        'div',
        { className: 'head' },
        {},
        mark(item.severity, WORDS[item.severity] ?? item.severity),
        make('code', { className: 'code', textContent: others.length > 0 ? `${item.code} ×${others.length + 1}` : item.code }),
      ),
      make('p', { textContent: item.message }),
      this.buttons(item),
      at ? make('p', { className: 'where' }, {}, make('code', { textContent: at })) : '',
      element ? make('p', { className: 'where dim', textContent: element }) : '',
      item.help ? make('p', { className: 'help' }, {}, make('b', { textContent: 'Help: ' }), item.help) : '',
      others.length > 0 ? this.more(others) : '',
    );
  }

  /** Makes the further findings of a kind: their places and messages. */
  private more(others: Diagnostic[]): HTMLElement {
    const lines = others.slice(0, MOST).map((item) => {
      const at = place(item.where);
      return make('li', {}, {}, at ? make('code', { textContent: at }) : '', at ? ' ' : '', item.message, this.buttons(item));
    });
    if (others.length > MOST) lines.push(make('li', { textContent: `… and ${others.length - MOST} more, all in report.json` }));
    const list = make('ul', {}, {}, ...lines);
    return make('details', { className: 'more' }, {}, make('summary', { textContent: `${others.length} more` }), list);
  }
}
