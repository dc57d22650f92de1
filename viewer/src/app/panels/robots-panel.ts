// Robots: the list, the results of conversions, files.

import { assetUrl, type AssetFile, type RobotEntry } from '../api.js';
import { make, setAttributes } from '../dom.js';
import type { Fleet } from '../fleet.js';
import { bytes, counted } from '../format.js';
import type { State } from '../state.js';
import { mark } from './marks.js';
import { toggle } from './controls.js';
import type { Panel } from './tabs.js';

/** The panel of robots. */
export class RobotsPanel implements Panel {
  readonly id = 'robots';
  readonly title = 'Robots';
  readonly element = make('div');
  private readonly list = make('ul', { className: 'cards' });
  private readonly all;
  private readonly open = new Map<string, boolean>();
  private shown = '';

  constructor(
    state: State,
    private readonly fleet: Fleet,
  ) {
    this.all = toggle('show-all', 'Show all robots beside each other', false, (on) => fleet.showAll(on));
    this.element.append(make('h2', { textContent: 'Robots', className: 'visually-hidden' }), this.all.element, this.list);
    state.onAny(['robots', 'current', 'model'], () => this.refresh());
  }

  refresh(): void {
    const { entries, current } = this.fleet;
    this.all.element.hidden = entries.length < 2;
    this.all.set(this.fleet.showsAll);
    // A focused or opened element must not be rebuilt because of unrelated changes.
    const now = JSON.stringify([
      entries,
      current?.key,
      this.fleet.listProblem,
      [...this.fleet.problems],
      entries.map((e) => this.fleet.isLoading(e.key)),
    ]);
    if (now === this.shown) return;
    this.shown = now;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.id : '';
    const cards = entries.map((entry, at) => this.card(entry, at, entry === current));
    this.list.replaceChildren(...(cards.length ? cards : [this.empty()]));
    if (focused && this.element.contains(document.getElementById(focused))) document.getElementById(focused)?.focus();
  }

  private empty(): HTMLElement {
    const { listed, listProblem } = this.fleet;
    const text = !listed
      ? 'Asking the server…'
      : listProblem
        ? `The server does not answer: ${listProblem}`
        : 'No robot yet. The node has received no robot description and no call of its service convert.';
    return make('li', { className: 'empty', textContent: text });
  }

  private card(entry: RobotEntry, at: number, current: boolean): HTMLElement {
    const choose = make(
      'button',
      { type: 'button', className: 'title', id: `choose-robot-${at}` },
      { 'aria-pressed': String(current) },
      entry.name,
    );
    choose.addEventListener('click', () => this.fleet.choose(entry.key));
    const revision = entry.revision === null ? 'no asset yet' : `revision ${entry.revision}`;
    const gone = entry.presence === 'gone';
    const item = make(
      'li',
      { className: ['card', ...(current ? ['current'] : []), ...(gone ? ['gone'] : [])].join(' ') },
      {},
      make('div', { className: 'head' }, {}, choose, ...(gone ? [mark('none', 'gone')] : []), mark(entry.state, entry.state)),
      make('p', { className: 'dim' }, {}, revision, ' · ', time(entry.time)),
    );
    if (entry.namespace !== undefined && entry.namespace !== '/')
      item.append(make('p', { className: 'dim' }, {}, 'namespace ', make('code', { textContent: entry.namespace })));
    if (entry.key !== entry.name)
      item.append(make('p', { className: 'dim' }, {}, 'asset ', make('code', { textContent: entry.key })));
    // The revision is shown above.
    const message = entry.message.replace(/^revision \d+(?:; | in )/, '');
    if (message) item.append(make('p', { className: 'message', textContent: message }));
    const problem = this.fleet.problems.get(entry.key);
    if (problem) item.append(make('p', { className: 'problem' }, {}, mark('warning', problem)));
    if (this.fleet.isLoading(entry.key)) item.append(make('p', { className: 'dim', textContent: 'loading…' }));
    if (entry.counts) item.append(this.counts(entry.counts));
    if (entry.files.length) item.append(this.files(entry, at));
    if (entry.files.length && !this.fleet.isLocal(entry.key)) item.append(this.zip(entry, at), ...this.ar(entry));
    return item;
  }

  private counts(counts: Record<string, number>): HTMLElement {
    const pairs = Object.entries(counts).map(([what, count]) =>
      make('div', {}, {}, make('dt', { textContent: what }), make('dd', { textContent: count.toLocaleString('en') })),
    );
    return make('dl', { className: 'counts' }, {}, ...pairs);
  }

  /** Makes a link that opens the USDZ in augmented reality, where the browser can (Safari on iPhone and iPad). */
  private ar(entry: RobotEntry): HTMLElement[] {
    const file = entry.files.find(({ path }) => !path.includes('/') && path.endsWith('.usdz'));
    if (!file) return [];
    const link = make('a', { href: assetUrl(entry.key, file.path, entry.revision, file.sha256), className: 'ar' }, { rel: 'ar' });
    // Safari opens AR only for a link whose only child is a picture.
    if (link.relList.supports('ar')) link.append(make('img', { alt: 'View in your room (AR)' }, { src: 'data:image/gif;base64,R0lGODlhAQABAAAAACw=' }));
    else setAttributes(link, { download: file.path, rel: null });
    if (link.childElementCount === 0) link.textContent = 'USDZ for AR';
    return [link];
  }

  private zip(entry: RobotEntry, at: number): HTMLElement {
    const all = make('button', { type: 'button', className: 'small', id: `zip-${at}`, textContent: 'Download all as ZIP' });
    all.addEventListener('click', () => void this.download(entry, all));
    return all;
  }

  private async download(entry: RobotEntry, button: HTMLButtonElement): Promise<void> {
    const text = button.textContent ?? '';
    button.disabled = true;
    try {
      const { packed } = await import('../zip.js');
      const where = ({ path, sha256 }: AssetFile) => assetUrl(entry.key, path, entry.revision, sha256);
      const blob = await packed(entry, where, (part) => (button.textContent = `${Math.round(part * 100)} %`));
      const url = URL.createObjectURL(blob);
      make('a', { href: url, download: `${entry.name.replaceAll('/', '_')}.zip` }).click();
      // The browser has started the download by then.
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
      button.textContent = text;
    } catch (error) {
      button.textContent = error instanceof Error ? error.message : String(error);
    } finally {
      button.disabled = false;
    }
  }

  private files(entry: RobotEntry, at: number): HTMLElement {
    const total = entry.files.reduce((sum, file) => sum + file.bytes, 0);
    const rows = entry.files.map((file) =>
      make(
        'li',
        {},
        {},
        this.fleet.isLocal(entry.key)
          ? make('span', { textContent: file.path })
          : make('a', { href: assetUrl(entry.key, file.path), textContent: file.path, download: file.path.split('/').at(-1) ?? '' }),
        make('span', { className: 'dim number', textContent: bytes(file.bytes) }),
      ),
    );
    const summary = make(
      'summary',
      { id: `files-${at}` },
      {},
      counted(entry.files.length, 'file'),
      make('span', { className: 'dim number', textContent: bytes(total) }),
    );
    const details = make(
      'details',
      { open: this.open.get(entry.key) ?? entry.files.length < 6 },
      {},
      summary,
      make('ul', { className: 'files' }, {}, ...rows),
    );
    details.addEventListener('toggle', () => this.open.set(entry.key, details.open));
    return details;
  }
}

function time(seconds: number): HTMLElement {
  const date = new Date(seconds * 1000);
  if (!Number.isFinite(date.getTime())) return make('span');
  return make('time', { dateTime: date.toISOString(), textContent: date.toLocaleString() });
}
