// A tree after ARIA's pattern: arrow keys move, open and close; one item is in the tab order. Items are the rows; groups follow them, so
// that an item's text is its own.

import { icon, make } from '../dom.js';

/** A node of a tree. */
export interface TreeNode {
  id: string;
  text: string;
  /** Marks after the text. */
  marks: HTMLElement[];
  children: TreeNode[];
}

/** A tree that remembers its open branches. */
export class Tree {
  readonly element = make('ul', { className: 'tree' }, { role: 'tree' });
  private readonly closed = new Set<string>();
  private readonly items = new Map<string, HTMLElement>();
  /** The texts of items with their marks. */
  private readonly names = new Map<string, string>();
  private selected: string | null = null;
  private focus: string | null = null;
  private shape = '';
  private allOpen = false;

  constructor(
    label: string,
    private readonly chosen: (id: string) => void,
  ) {
    this.element.setAttribute('aria-label', label);
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.element.addEventListener('click', (event) => this.click(event));
  }

  /** Shows nodes, keeping open branches and the focus. If only marks differ, only marks are rebuilt. `allOpen`: all branches are open. */
  show(roots: TreeNode[], allOpen = false): void {
    this.allOpen = allOpen;
    const shape = JSON.stringify([allOpen, roots], (key, value: unknown) => (key === 'marks' || key === 'text' ? undefined : value));
    if (shape === this.shape) return this.update(roots);
    this.shape = shape;
    const focused = this.element.contains(document.activeElement);
    this.items.clear();
    this.names.clear();
    this.element.replaceChildren(...roots.map((root) => this.item(root, 1)));
    if (this.focus === null || !this.items.has(this.focus)) this.focus = roots[0]?.id ?? null;
    this.rove(this.focus, focused);
  }

  private update(nodes: TreeNode[]): void {
    for (const node of nodes) {
      const item = this.items.get(node.id);
      if (item && this.names.get(node.id) !== name(node)) {
        this.names.set(node.id, name(node));
        while (item.childElementCount > 2) item.lastElementChild?.remove();
        item.append(...node.marks);
      }
      this.update(node.children);
    }
  }

  /** Marks an item as selected, opens its ancestors, and scrolls to it on request. */
  select(id: string | null, show: boolean): void {
    if (this.selected !== null) this.items.get(this.selected)?.setAttribute('aria-selected', 'false');
    this.selected = id;
    const item = id === null ? undefined : this.items.get(id);
    if (!item || id === null) return;
    item.setAttribute('aria-selected', 'true');
    for (let at = above(item); at; at = above(at)) this.open(at, true);
    this.rove(id, false);
    if (show) item.scrollIntoView({ block: 'nearest' });
  }

  /** Opens or closes all branches. */
  openAll(open: boolean): void {
    for (const item of this.items.values()) this.open(item, open);
  }

  /** Makes the entry of a node with those below it. */
  private item(node: TreeNode, level: number): HTMLElement {
    const branch = node.children.length > 0;
    const text = make('span', { className: 'text', textContent: node.text, title: node.text });
    const twisty = make(
      'span',
      { className: branch ? 'twisty' : 'twisty none' },
      { 'aria-hidden': 'true' },
      branch ? icon('M6 4l4 4-4 4') : '',
    );
    const item = make(
      'div',
      { className: 'row', tabIndex: -1 },
      { role: 'treeitem', 'aria-level': level, 'aria-selected': String(node.id === this.selected), 'data-id': node.id },
      twisty,
      text,
      ...node.marks,
    );
    item.style.setProperty('--level', String(level));
    this.items.set(node.id, item);
    this.names.set(node.id, name(node));
    const entry = make('li', {}, { role: 'none' }, item);
    if (branch) {
      entry.append(make('ul', {}, { role: 'group' }, ...node.children.map((child) => this.item(child, level + 1))));
      this.unfold(item, this.allOpen || !this.closed.has(node.id));
    }
    return entry;
  }

  private open(item: HTMLElement, open: boolean): void {
    const id = item.dataset['id'] ?? '';
    if (open) this.closed.delete(id);
    else this.closed.add(id);
    this.unfold(item, open);
  }

  private unfold(item: HTMLElement, open: boolean): void {
    const group = item.nextElementSibling as HTMLElement | null;
    if (!group) return;
    item.setAttribute('aria-expanded', String(open));
    group.hidden = !open;
  }

  private click(event: MouseEvent): void {
    const target = event.target as Element;
    const item = target.closest<HTMLElement>('[role=treeitem]');
    if (!item) return;
    if (target.closest('.twisty:not(.none)')) return this.open(item, item.getAttribute('aria-expanded') !== 'true');
    this.rove(item.dataset['id'] ?? null, true);
    this.chosen(item.dataset['id'] ?? '');
  }

  private key(event: KeyboardEvent): void {
    const item = (event.target as Element).closest<HTMLElement>('[role=treeitem]');
    if (!item) return;
    const visible = [...this.items.values()].filter((item) => item.offsetParent !== null);
    const at = visible.indexOf(item);
    const expanded = item.getAttribute('aria-expanded');
    const go = (to: HTMLElement | null | undefined) => this.rove(to?.dataset['id'] ?? null, true);
    const acts: Record<string, () => void> = {
      ArrowDown: () => go(visible[at + 1]),
      ArrowUp: () => go(visible[at - 1]),
      Home: () => go(visible[0]),
      End: () => go(visible.at(-1)),
      ArrowRight: () => (expanded === 'false' ? this.open(item, true) : expanded === 'true' && go(visible[at + 1])),
      ArrowLeft: () =>
        expanded === 'true' ? this.open(item, false) : go(above(item)),
      Enter: () => this.chosen(item.dataset['id'] ?? ''),
      ' ': () => this.chosen(item.dataset['id'] ?? ''),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  /** Makes one item the tab stop. */
  private rove(id: string | null, focus: boolean): void {
    const item = id === null ? undefined : this.items.get(id);
    if (!item) return;
    if (this.focus !== null) this.items.get(this.focus)?.setAttribute('tabindex', '-1');
    this.focus = id;
    item.tabIndex = 0;
    if (focus) item.focus({ preventScroll: false });
  }
}

/** The item above an item. */
function above(item: HTMLElement): HTMLElement | null {
  const group = item.parentElement?.parentElement;
  return group?.getAttribute('role') === 'group' ? (group.previousElementSibling as HTMLElement | null) : null;
}

/** The text of an item with its marks. */
function name(node: TreeNode): string {
  return [node.text, ...node.marks.map((mark) => mark.textContent)].join(', ');
}
