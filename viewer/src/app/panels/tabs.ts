// The panels as tabs: one is shown, arrow keys move between tabs.

import { make, setAttributes, setText } from '../dom.js';

/** A panel of the viewer. */
export interface Panel {
  /** For ids: `tab-ID` and `panel-ID`. */
  readonly id: string;
  readonly title: string;
  readonly element: HTMLElement;
  /** Called when it becomes visible, and to refresh it. */
  refresh?(): void;
}

/** The tabs. */
export class Tabs {
  private readonly tabs = new Map<string, { panel: Panel; tab: HTMLButtonElement; badge: HTMLElement }>();
  private shown = '';

  constructor(list: HTMLElement, body: HTMLElement, panels: Panel[]) {
    for (const panel of panels) {
      const badge = make('span', { className: 'badge', hidden: true });
      const tab = make(
        'button',
        { type: 'button', id: `tab-${panel.id}`, tabIndex: -1 },
        { role: 'tab', 'aria-controls': `panel-${panel.id}`, 'aria-selected': 'false' },
        panel.title,
        badge,
      );
      setAttributes(panel.element, { id: `panel-${panel.id}`, role: 'tabpanel', 'aria-labelledby': tab.id, tabindex: 0 });
      panel.element.hidden = true;
      tab.addEventListener('click', () => this.show(panel.id));
      list.append(tab);
      body.append(panel.element);
      this.tabs.set(panel.id, { panel, tab, badge });
    }
    list.addEventListener('keydown', (event) => this.key(event));
    const first = panels[0];
    if (first) this.show(first.id);
  }

  /** The visible panel. */
  get current(): string {
    return this.shown;
  }

  show(id: string): void {
    const next = this.tabs.get(id);
    if (!next) return;
    const before = this.tabs.get(this.shown);
    if (before) {
      before.panel.element.hidden = true;
      before.tab.tabIndex = -1;
      before.tab.setAttribute('aria-selected', 'false');
    }
    this.shown = id;
    next.panel.element.hidden = false;
    next.tab.tabIndex = 0;
    next.tab.setAttribute('aria-selected', 'true');
    next.panel.refresh?.();
  }

  /** Puts a badge on a tab, with its meaning for screen readers; none if it is empty. */
  badge(id: string, text: string, meaning: string, kind = ''): void {
    const badge = this.tabs.get(id)?.badge;
    if (!badge) return;
    badge.hidden = text === '';
    badge.className = `badge ${kind}`;
    setText(badge, text);
    setAttributes(badge, {
      'aria-label': text === '' ? null : meaning,
      role: text === '' ? null : 'img',
      title: meaning || null,
    });
  }

  private key(event: KeyboardEvent): void {
    const ids = [...this.tabs.keys()];
    const at = ids.indexOf(this.shown);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: ids.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const id = ids[(to + ids.length) % ids.length] ?? '';
    this.show(id);
    this.tabs.get(id)?.tab.focus();
  }
}
