// Frames: the robot's links with their verdicts, beside the TF tree; and details of the selected link.

import { make, setText } from '../dom.js';
import type { Fleet } from '../fleet.js';
import { byName, linkTree, sought, tfTree, type FrameNode } from '../frame-tree.js';
import { age } from '../format.js';
import { matches } from '../joint-model.js';
import type { State } from '../state.js';
import { linkDetails } from './link-details.js';
import { mark, verdictMark } from './marks.js';
import { PoseFields, type MoveLink } from './pose-fields.js';
import type { Panel } from './tabs.js';
import { Tree, type TreeNode } from './tree.js';

/** Refresh interval of ages while they are visible. */
const REREAD_MS = 2000;

/** The panel of frames. */
export class FramesPanel implements Panel {
  readonly id = 'frames';
  readonly title = 'Frames';
  readonly element = make('div', { className: 'frames' });
  private readonly summary = make('p', { className: 'dim', id: 'frames-summary' }, { role: 'status' });
  private readonly causes = make('ul', { className: 'causes', id: 'frames-causes' }, { 'aria-label': 'Why' });
  private readonly details = make('section', { id: 'link-details' }, { 'aria-label': 'Selected link' });
  private readonly links = new Tree('Links', (id) => this.choose(id));
  private readonly tf = new Tree('TF tree as heard', (id) => this.choose(id));
  private readonly heard = make('p', { className: 'dim' });
  private readonly search = make(
    'input',
    { type: 'search', id: 'link-search', className: 'search', placeholder: 'Search links and joints' },
    { 'aria-label': 'Search links and joints', autocomplete: 'off' },
  );
  private readonly unhide = make('button', { type: 'button', id: 'show-all-links', className: 'quiet small', textContent: 'Show all', hidden: true });
  private readonly pose;
  /** The parts of the details around the pose, whose fields must keep their focus. */
  private readonly top = make('div');
  private readonly facts = make('div');
  private stale = true;
  private detailed = '';

  constructor(
    private readonly state: State,
    private readonly fleet: Fleet,
    private readonly showJoint: (joint: string) => void,
    move: MoveLink,
  ) {
    this.pose = new PoseFields(state, move);
    this.details.append(this.top, this.pose.element, this.facts);
    this.search.addEventListener('input', () => this.build());
    this.search.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || this.search.value === '') return;
      event.stopPropagation();
      this.search.value = '';
      this.build();
    });
    this.unhide.addEventListener('click', () => {
      this.state.hide(this.key, []);
      this.search.focus();
    });
    const all = (text: string, open: boolean) => {
      const button = make('button', { type: 'button', textContent: text, className: 'quiet small' });
      button.addEventListener('click', () => this.links.openAll(open));
      return button;
    };
    const side = (title: string, ...content: Node[]) =>
      make('section', {}, {}, ...content.toSpliced(0, 0, make('h3', { textContent: title })));
    this.element.append(
      make('h2', { textContent: 'Frames', className: 'visually-hidden' }),
      this.summary,
      this.causes,
      make(
        'div',
        { className: 'trees' },
        {},
        side(
          'Links',
          make('div', { className: 'tree-tools' }, {}, this.unhide, all('Open all', true), all('Close all', false)),
          this.search,
          this.links.element,
        ),
        side('TF as heard', this.heard, this.tf.element),
      ),
      this.details,
    );
    state.onAny(['robots', 'current', 'model', 'frames', 'hidden'], () => this.changed());
    state.on('current', () => (this.search.value = ''));
    state.on('selection', () => this.select(true));
    setInterval(() => this.readAges(), REREAD_MS);
  }

  private get key(): string {
    return this.fleet.current?.key ?? '';
  }

  refresh(): void {
    if (this.stale) this.build();
    // The selection may have changed while the panel was hidden.
    this.select(true);
  }

  /** Not built while the panel is hidden. */
  private changed(): void {
    this.stale = true;
    if (!this.element.hidden) this.build();
  }

  private build(): void {
    this.stale = false;
    const { key } = this;
    const model = this.fleet.currentModel;
    const hidden = this.state.hidden(key);
    this.unhide.hidden = hidden.size === 0;
    const frames = this.fleet.frames.get(key) ?? { frames: [], causes: [], tf: [] };
    const verdicts = byName(frames.frames);
    const jointAbove = new Map((model?.joints ?? []).map((joint) => [joint.child.name, joint]));
    const all = linkTree(model, frames.frames);
    const words = this.search.value.trim();
    const found = (name: string) => {
      const joint = jointAbove.get(name);
      return matches(`${name} ${joint?.name ?? ''} ${joint?.type ?? ''}`, words);
    };
    const links = words === '' ? all : sought(all, found);
    // Without any TF, the line above the tree says so.
    const silent = frames.frames.every((frame) => frame.verdict === null);
    const heardParent = new Map(frames.tf.map((frame) => [frame.frame, frame.parent]));
    this.links.show(
      links.map((node) =>
        this.node(node, (name) => {
          const frame = verdicts.get(name);
          const joint = jointAbove.get(name);
          const marks = joint ? [make('span', { className: 'dim joint-of', textContent: `${joint.name} · ${joint.type}` })] : [];
          if (hidden.has(name)) marks.push(make('span', { className: 'chip', textContent: 'hidden' }));
          if (!frame || silent) return marks;
          marks.push(verdictMark(frame.verdict));
          const parent = heardParent.get(name);
          const above = frame.parent === null ? undefined : verdicts.get(frame.parent);
          if (parent !== undefined && frame.parent !== null && parent !== frame.parent && parent !== above?.alias)
            marks.push(make('span', { className: 'dim note', textContent: `in TF under ${parent}` }));
          return marks;
        }),
      ),
      words !== '',
    );
    const ages = new Map(frames.tf.map((frame) => [frame.frame, frame]));
    this.tf.show(
      tfTree(frames.tf).map((node) =>
        this.node(node, (name) => {
          const frame = ages.get(name);
          const known = verdicts.has(name) ? [] : [make('span', { className: 'chip', textContent: "not the robot's" })];
          if (!frame) return known;
          return [
            ...known,
            make('span', { className: 'dim number', textContent: frame.static ? 'static' : `${age(frame.age)} ago` }),
          ];
        }),
      ),
    );
    setText(this.heard, frames.tf.length ? '' : 'No messages on /tf or /tf_static.');
    this.summarize(frames.frames.map((frame) => frame.verdict));
    this.explain(frames.causes);
    this.select(false);
  }

  private node(node: FrameNode, marks: (name: string) => HTMLElement[]): TreeNode {
    return {
      id: node.name,
      text: node.name,
      marks: marks(node.name),
      children: node.children.map((child) => this.node(child, marks)),
    };
  }

  private summarize(verdicts: (string | null)[]): void {
    const good = verdicts.filter((word) => word === 'ok').length;
    const silent = verdicts.filter((word) => word === null).length;
    const text =
      this.fleet.current?.presence === 'gone'
        ? 'The robot is gone: its frames are not checked.'
        : verdicts.length === 0
        ? 'Not checked against TF: links as the file has them.'
        : silent === verdicts.length
          ? `${verdicts.length} frames; none is in TF yet.`
          : `${good} of ${verdicts.length} frames are in TF as the asset says.`;
    setText(this.summary, text);
  }

  /** The common causes of several verdicts. */
  private explain(causes: readonly string[]): void {
    this.causes.hidden = causes.length === 0;
    const shown = [...this.causes.children].map((item) => item.textContent);
    if (shown.length === causes.length && shown.every((text, at) => text === causes[at])) return;
    this.causes.replaceChildren(...causes.map((cause) => make('li', { textContent: cause })));
  }

  private choose(name: string): void {
    const key = this.fleet.current?.key;
    if (key === undefined) return;
    const same = this.state.selection?.key === key && this.state.selection.link === name;
    this.state.select(same ? null : { key, link: name });
  }

  /** Ages grow without events, so they are refreshed by a timer. */
  private readAges(): void {
    const key = this.fleet.current?.key;
    if (key === undefined || this.element.hidden || document.hidden || !this.fleet.frames.get(key)?.tf.length) return;
    void this.fleet.readFrames(key);
  }

  /** `show`: scroll to the selected link, in the tree where it was chosen. */
  private select(show: boolean): void {
    if (this.stale) return;
    const { selection } = this.state;
    const name = selection && selection.key === this.fleet.current?.key ? selection.link : null;
    this.details.hidden = name === null;
    if (name !== null && selection) this.showDetails(selection.key, name);
    // Last, since visibility depends on the height of the details.
    const inTf = this.tf.element.contains(document.activeElement);
    this.links.select(name, show && !inTf);
    this.tf.select(name, show && inTf);
  }

  private showDetails(key: string, name: string): void {
    const frame = byName(this.fleet.frames.get(key)?.frames ?? []).get(name);
    // Rebuilt only if it differs, so that its focus stays.
    const model = this.fleet.currentModel;
    const hidden = this.state.hidden(key);
    const now = JSON.stringify([key, name, frame, model?.edition.version, hidden.has(name), hidden.size]);
    if (now === this.detailed) return;
    this.detailed = now;
    const close = make(
      'button',
      { type: 'button', className: 'quiet small', textContent: 'Clear' },
      { 'aria-label': 'Clear the selection' },
    );
    close.addEventListener('click', () => this.state.select(null));
    const hide = (id: string, text: string, links: () => Iterable<string>) => {
      const button = make('button', { type: 'button', id, className: 'quiet small', textContent: text });
      button.addEventListener('click', () => {
        this.state.hide(key, links());
        document.getElementById(id)?.focus();
      });
      return button;
    };
    const isHidden = hidden.has(name);
    const others = () => model?.links.map((link) => link.name).filter((link) => link !== name) ?? [];
    const tools = model?.link(name)
      ? [
          hide('hide-link', isHidden ? 'Show' : 'Hide', () => (isHidden ? [...hidden].filter((link) => link !== name) : [...hidden, name])),
          hide('isolate-link', 'Isolate', others),
        ]
      : [];
    const verdict = frame
      ? [verdictMark(frame.verdict), ...(frame.detail ? [make('span', { className: 'dim', textContent: frame.detail })] : [])]
      : [mark('none', 'not checked')];
    this.top.replaceChildren(
      make('div', { className: 'head' }, {}, make('h3', { textContent: name }), make('span', { className: 'head-tools' }, {}, ...tools, close)),
      make('p', { className: 'verdict' }, {}, ...verdict),
    );
    this.facts.replaceChildren(linkDetails(model, name, frame ?? null, this.showJoint));
    this.pose.show(model, name);
  }
}
