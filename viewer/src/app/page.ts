// The frame around the picture and the panels: choice of robot, connection state, messages over the picture, the theme's button, the
// panel's size, global keys.

import { byId, icon, make, setAttributes, setText } from './dom.js';
import type { Fleet } from './fleet.js';
import type { Tell } from './open-files.js';
import { outdated } from './notices.js';
import type { Preset, State } from './state.js';
import type { Theme } from './theme.js';
import { length } from './units.js';
import type { Show } from './view/show.js';
import type { Stage } from './view/stage.js';

const ALL = '*';

/** The choice of robot in the bar. */
export function robotChoice(state: State, fleet: Fleet): void {
  const select = byId<HTMLSelectElement>('robot-select');
  let shown = '';
  const update = () => {
    const often = new Set(fleet.entries.map(({ name }) => name).filter((name, at, all) => all.indexOf(name) !== at));
    const names = fleet.entries.map(({ key, name }) => [key, often.has(name) ? key : name] as const);
    const now = JSON.stringify(names);
    if (now !== shown) {
      shown = now;
      const options = names.map(([key, name]) => make('option', { value: `key:${key}`, textContent: name }));
      if (names.length > 1) options.push(make('option', { value: ALL, textContent: 'Show all' }));
      select.replaceChildren(...options);
    }
    select.hidden = names.length === 0;
    select.value = fleet.showsAll ? ALL : `key:${fleet.current?.key ?? ''}`;
    document.title = fleet.current ? `${fleet.current.name} – urdf_usd` : 'urdf_usd';
  };
  select.addEventListener('change', () => {
    fleet.showAll(select.value === ALL);
    if (select.value.startsWith('key:')) fleet.choose(select.value.slice(4));
    update();
  });
  state.onAny(['robots', 'current'], update);
  update();
}

/** The connection state. */
export function connectionStatus(state: State): void {
  const box = byId('connection');
  const text = box.querySelector('.text') ?? box;
  const update = () => {
    const { events, joints } = state.connection;
    box.dataset['state'] = events === null ? 'wait' : events ? 'on' : 'off';
    setText(text, events === null ? 'connecting…' : events ? 'connected' : 'not connected, trying again');
    box.title = events && joints === false ? 'No stream of joint states from this server.' : '';
  };
  state.on('connection', update);
  update();
}

/** The message over the picture, and the selected link's name. */
export function messages(state: State, fleet: Fleet, stage: Stage): void {
  const message = byId('stage-message');
  const announcer = byId('announcer');
  const versions = new Map<string, string>();
  const update = () => {
    const text = stageMessage(fleet);
    setText(message, text);
    message.hidden = text === '';
    message.classList.toggle('error', fleet.current?.outdated === true && text !== '');
  };
  state.onAny(['robots', 'current', 'model'], update);
  state.on('model', (key) => {
    const model = fleet.models.get(key);
    const before = versions.get(key);
    if (!model || model.edition.version === before) return;
    versions.set(key, model.edition.version);
    const name = fleet.entries.find((entry) => entry.key === key)?.name ?? key;
    if (before !== undefined) setText(announcer, `${name}: revision ${model.edition.revision ?? ''} is shown`);
  });
  const selected = byId('selected-link');
  state.on('selection', () => {
    const { selection } = state;
    selected.hidden = selection === null;
    if (!selection) return setText(announcer, 'Nothing is selected');
    const clear = make('button', { type: 'button' }, { 'aria-label': 'Clear the selection' }, icon('M4 4l8 8M12 4l-8 8'));
    clear.addEventListener('click', () => state.select(null));
    selected.replaceChildren(make('span', { textContent: selection.link }), clear);
    setText(announcer, `Link ${selection.link} is selected`);
  });
  if (stage.problem !== null) {
    const notice = byId('no-webgl');
    notice.hidden = false;
    notice.append(
      make(
        'p',
        {},
        {},
        make('b', { textContent: 'No 3D view. ' }),
        "This browser offers no WebGL, so the robot can't be drawn. Joints, frames and findings work all the same.",
      ),
      make('p', { className: 'dim', textContent: stage.problem }),
    );
  }
}

/** Shows when a followed robot is moved by hand, with a button back to live; and which joints are at their limits. */
export function handNotes(state: State, fleet: Fleet): void {
  const [byHand, atLimit] = [byId('by-hand'), byId('at-limit')];
  const update = () => {
    const key = fleet.shown().find((key) => {
      const { live, following } = fleet.live(key);
      return live && !following;
    });
    byHand.hidden = key === undefined;
    const name = fleet.entries.find((entry) => entry.key === key)?.name ?? '';
    setText(byHand.querySelector('.text') ?? byHand, key === undefined ? '' : `Moved by hand: this is not where ${name} is.`);
    byHand.dataset['key'] = key ?? '';
  };
  state.onAny(['live', 'current', 'robots', 'model'], update);
  byId('back-to-live').addEventListener('click', () => {
    fleet.follow(byHand.dataset['key'] ?? '', true);
    byId('canvas').focus({ preventScroll: true });
  });
  state.on('stopped', () => {
    const joints = state.stopped?.joints ?? [];
    atLimit.hidden = joints.length === 0;
    const [first = '', ...more] = joints;
    setText(
      atLimit,
      joints.length === 0
        ? ''
        : more.length === 0
          ? `${first} is at its limit`
          : `${first} and ${more.length === 1 ? (more[0] ?? '') : `${more.length} more joints`} are at their limits`,
    );
  });
  update();
}

/** Shows a sentence over the picture until it is dismissed or replaced. */
export function sayings(): Tell {
  const bar = byId('said');
  byId('said-close').addEventListener('click', () => {
    bar.hidden = true;
    byId('canvas').focus({ preventScroll: true });
  });
  const close = byId('said-close');
  return (text, choices = []) => {
    setText(bar.querySelector('.text') ?? bar, text);
    bar.hidden = text === '';
    for (const old of bar.querySelectorAll('button')) if (old !== close) old.remove();
    for (const { label, take } of choices) {
      const button = make('button', { type: 'button', textContent: label });
      button.addEventListener('click', take);
      close.before(button);
    }
  };
}

function stageMessage(fleet: Fleet): string {
  const entry = fleet.current;
  if (!entry)
    return fleet.listProblem
      ? `The server does not answer: ${fleet.listProblem}`
      : !fleet.listed
        ? 'Connecting…'
        : fleet.converts
          ? 'No robot yet. Drop one here: a URDF, xacro, OpenUSD or glTF file, its folder or a ZIP.'
          : 'No robot yet: the node has received no robot description.';
  const problem = fleet.problems.get(entry.key);
  const model = fleet.models.get(entry.key);
  if (problem) return model ? `${problem.replace(/\.$/, '')}. Revision ${model.edition.revision ?? ''} stays.` : problem;
  if (!model) return fleet.isLoading(entry.key) ? `Loading ${entry.name}…` : '';
  const old = outdated(entry, model.edition.revision);
  if (old) return old;
  if (model.hasShapes) return '';
  const errors = entry.diagnostics.some((finding) => finding.severity === 'error');
  const why = errors ? 'The tab Diagnostics says why.' : 'Its description has none.';
  return `${entry.name} has no shapes to draw. ${why}`;
}

/** The size of the grid's cells. */
export function gridSize(stage: Stage, state: State): void {
  const text = byId('grid-size');
  stage.afterFrame(() => setText(text, state.options.grid ? ` · grid ${length(stage.ground.cell)}` : ''));
}

/** The button for light and dark. */
export function themeButton(state: State, theme: Theme): void {
  const button = byId<HTMLButtonElement>('theme-toggle');
  const [sun, moon] = [
    'M8 4.5a3.5 3.5 0 100 7 3.5 3.5 0 000-7M8 .8v1.4M8 13.8v1.4M.8 8h1.4M13.8 8h1.4M2.9 2.9l1 1M12.1 12.1l1 1M2.9 13.1l1-1M12.1 3.9l1-1',
    'M13.5 9.7A6 6 0 016.3 2.5a6 6 0 107.2 7.2z',
  ];
  const update = () => {
    button.setAttribute('aria-pressed', String(theme.dark));
    button.title = theme.dark ? 'Light colours' : 'Dark colours';
    button.replaceChildren(icon(theme.dark ? sun : moon));
  };
  button.addEventListener('click', () => theme.toggle());
  state.on('theme', update);
  update();
}

/** The panel's width on wide pages, and its folding on narrow ones. */
export function panelSize(): void {
  const [splitter, main] = [byId('splitter'), byId('main')];
  const [least, most] = [280, 900];
  let wanted = 400;
  const fit = () => {
    const width = Math.round(Math.max(least, Math.min(wanted, most, main.clientWidth * 0.7)));
    main.style.setProperty('--panel-width', `${width}px`);
    setAttributes(splitter, { 'aria-valuenow': width, 'aria-valuemin': least, 'aria-valuemax': most });
  };
  const set = (width: number) => {
    wanted = width;
    fit();
  };
  const width = () => byId('panel').getBoundingClientRect().width;
  splitter.addEventListener('pointerdown', (event) => {
    splitter.setPointerCapture(event.pointerId);
    const [from, start] = [event.clientX, width()];
    const move = (event: PointerEvent) => set(start + from - event.clientX);
    splitter.addEventListener('pointermove', move);
    splitter.addEventListener('lostpointercapture', () => splitter.removeEventListener('pointermove', move), { once: true });
  });
  splitter.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    set(width() + by);
  });
  addEventListener('resize', fit);
  fit();
  const toggle = byId('sheet-toggle');
  toggle.append(icon('M3 10l5-5 5 5'));
  const unfold = (open: boolean) => {
    toggle.setAttribute('aria-expanded', String(open));
    main.classList.toggle('folded', !open);
  };
  toggle.addEventListener('click', () => unfold(toggle.getAttribute('aria-expanded') !== 'true'));
  byId('tabs').addEventListener('click', () => unfold(true));
}

/** Keys of the picture. Single letters work only there, since speech input could trigger them elsewhere. */
export function keys(state: State, stage: Stage, show: Show): void {
  const presets: Record<string, Preset> = { '1': 'front', '2': 'left', '3': 'top', '4': 'iso' };
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && !event.defaultPrevented) state.select(null);
  });
  byId('stage').addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    const preset = presets[key];
    if (preset) show.fit(preset);
    else if (key === 'f') show.fit(null);
    else if (key === 'c') state.set('collision', !state.options.collision);
    else if (key === 'v') state.set('visual', !state.options.visual);
  });
  byId('canvas').addEventListener('keydown', (event) => {
    const turn: Record<string, [number, number, number]> = {
      ArrowLeft: [-0.12, 0, 1],
      ArrowRight: [0.12, 0, 1],
      ArrowUp: [0, -0.1, 1],
      ArrowDown: [0, 0.1, 1],
      '+': [0, 0, 0.9],
      '=': [0, 0, 0.9],
      '-': [0, 0, 1.11],
    };
    const by = turn[event.key];
    if (!by) return;
    event.preventDefault();
    stage.eye.turn(...by);
  });
}
