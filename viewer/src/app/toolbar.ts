// The buttons over the picture: camera presets, fit, tools, screenshot.

import { byId, icon, make } from './dom.js';
import type { Fleet } from './fleet.js';
import type { Preset, State, Tool } from './state.js';
import type { Hand } from './view/hand.js';
import type { Show } from './view/show.js';
import type { Stage } from './view/stage.js';

const PRESETS: [Preset, string, string][] = [
  ['front', 'Front', 'Front: look at its face (1)'],
  ['left', 'Side', 'Side: from its left (2)'],
  ['top', 'Top', 'Top: from above, forward is up (3)'],
  ['iso', 'Iso', 'Iso: from a corner (4)'],
];

/** Builds the toolbar. */
export function toolbar(box: HTMLElement, state: State, stage: Stage, show: Show, fleet: Fleet, hand: Hand): void {
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
    () => void savePicture(state, stage, fleet),
    icon('M2 5h3l1-2h4l1 2h3v8H2zM8 11a2.4 2.4 0 100-4.8 2.4 2.4 0 000 4.8'),
  );
  save.disabled = stage.problem !== null;
  const film = button('record', 'Record a video', 'Record a video (WebM)', () => void toggleFilm(), icon('M2 4.5h8v7H2zM10 7l4-2.5v7L10 9'));
  film.hidden = !stage.records;
  film.setAttribute('aria-pressed', 'false');
  let stop: (() => Promise<Blob>) | null = null;
  const toggleFilm = async () => {
    const running = stop;
    stop = running ? null : stage.record();
    film.setAttribute('aria-pressed', String(stop !== null));
    film.title = stop ? 'Stop, and save the video' : 'Record a video (WebM)';
    if (running) saveAs(await running(), `${fleet.current?.name ?? 'robot'}.webm`);
  };
  const full = button(
    'fullscreen',
    'Full screen',
    'Full screen',
    () => void (document.fullscreenElement ? document.exitFullscreen() : byId('stage').requestFullscreen()),
    icon('M2 5.5V2h3.5M10.5 2H14v3.5M14 10.5V14h-3.5M5.5 14H2v-3.5M5 5h6v6H5z'),
  );
  full.hidden = !document.fullscreenEnabled;
  document.addEventListener('fullscreenchange', () => full.setAttribute('aria-pressed', String(document.fullscreenElement !== null)));
  const tool = (name: Tool, label: string, title: string, path: string) => {
    const one = button(`tool-${name}`, label, title, () => (state.tool = state.tool === name ? 'look' : name), icon(path));
    one.disabled = stage.problem !== null;
    const update = () => one.setAttribute('aria-pressed', String(state.tool === name));
    state.on('tool', update);
    update();
    return one;
  };
  const move = tool(
    'move',
    'Move links',
    'Move links: drag one, the joints follow (M)',
    'M5.2 8.5V3.6a1 1 0 012 0V7M7.2 7V2.6a1 1 0 012 0V7M9.2 7V3.4a1 1 0 012 0v4.2M11.2 7.6V5.2a1 1 0 012 0v4.6c0 2.6-1.7 4.4-4.2 4.4-2 0-3-.8-3.9-2.3L3 8.9c-.5-.9.6-1.8 1.3-1.1l.9.9',
  );
  const ruler = tool('measure', 'Measure a distance', 'Measure a distance between two points (D)', 'M1.5 11L11 1.5l3.5 3.5L5 14.5zM4 8.5l1.5 1.5M6.5 6L8 7.5M9 3.5L10.5 5');
  const turn = button(
    'handles-turn',
    'Turn the link',
    'Handles turn the link, or move it (T)',
    () => {
      hand.turning = !hand.turning;
      update();
    },
    icon('M13.2 6.5A5.5 5.5 0 103 10.4M13.4 2.8v3.9H9.6'),
  );
  const update = () => {
    turn.hidden = state.tool !== 'move';
    turn.setAttribute('aria-pressed', String(hand.turning));
  };
  state.on('tool', update);
  update();
  byId('stage').addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key === 'm') move.click();
    if (key === 'd') ruler.click();
    if (key === 't' && state.tool === 'move') turn.click();
  });
  box.append(...presets, fit, full, move, turn, ruler, save, film);
  // One tab stop; arrow keys move between buttons.
  const buttons = [...presets, fit, full, move, turn, ruler, save, film];
  buttons.forEach((each, at) => (each.tabIndex = at === 0 ? 0 : -1));
  box.addEventListener('keydown', (event) => {
    const there = buttons.filter((each) => !each.hidden && !each.disabled);
    const at = there.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: there.length - 1 }[event.key];
    const next = to === undefined || at < 0 ? undefined : there[(to + there.length) % there.length];
    if (!next) return;
    event.preventDefault();
    for (const each of buttons) each.tabIndex = each === next ? 0 : -1;
    next.focus();
  });
}

/** Saves a picture as the options say. */
export async function savePicture(state: State, stage: Stage, fleet: Fleet): Promise<void> {
  const { pictureSize, transparentPicture: isTransparent } = state.options;
  const [width, height] = (pictureSize ?? '').split('x').map(Number);
  const blob = await stage.picture({ size: width && height ? [width, height] : null, isTransparent });
  if (blob) saveAs(blob, `${fleet.current?.name ?? 'robot'}.png`);
}

function saveAs(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  make('a', { href: url, download: name }).click();
  // The browser has started the download by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
