// The buttons over the picture: from where to look, fit, save as a picture.

import { icon, make } from './dom.js';
import type { Fleet } from './fleet.js';
import type { Preset } from './state.js';
import type { Show } from './view/show.js';
import type { Stage } from './view/stage.js';

const PRESETS: [Preset, string, string][] = [
  ['front', 'Front', 'Front: look at its face (1)'],
  ['left', 'Side', 'Side: from its left (2)'],
  ['top', 'Top', 'Top: from above, forward is up (3)'],
  ['iso', 'Iso', 'Iso: from a corner (4)'],
];

/** Fills the toolbar. */
export function toolbar(box: HTMLElement, stage: Stage, show: Show, fleet: Fleet): void {
  const button = (id: string, label: string, title: string, act: () => void, ...content: (Node | string)[]) => {
    const button = make('button', { type: 'button', id, title }, { 'aria-label': label }, ...content);
    button.addEventListener('click', act);
    return button;
  };
  const presets = PRESETS.map(([preset, text, title]) =>
    button(`camera-${preset}`, title.replace(/ \(\d\)$/, ''), title, () => show.fit(preset), text),
  );
  const fit = button(
    'camera-fit',
    'Fit into view',
    'Fit into view (F)',
    () => show.fit(null),
    icon('M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4'),
  );
  const save = button(
    'screenshot',
    'Save a picture',
    'Save a picture (PNG)',
    () => void download(stage, fleet),
    icon('M2 5h3l1-2h4l1 2h3v8H2zM8 11a2.4 2.4 0 100-4.8 2.4 2.4 0 000 4.8'),
  );
  save.disabled = stage.problem !== null;
  box.append(...presets, fit, save);
  // One stop for the tab key; arrows go from button to button.
  const buttons = [...presets, fit, save];
  buttons.forEach((each, at) => (each.tabIndex = at === 0 ? 0 : -1));
  box.addEventListener('keydown', (event) => {
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    const next = to === undefined || at < 0 ? undefined : buttons[(to + buttons.length) % buttons.length];
    if (!next) return;
    event.preventDefault();
    for (const each of buttons) each.tabIndex = each === next ? 0 : -1;
    next.focus();
  });
}

async function download(stage: Stage, fleet: Fleet): Promise<void> {
  const blob = await stage.picture();
  if (!blob) return;
  const url = URL.createObjectURL(blob);
  make('a', { href: url, download: `${fleet.current?.name ?? 'robot'}.png` }).click();
  // The browser has it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
