// The timeline below the picture: play, stop, seek by pointer or keys.

import { byId, icon, make, setText } from './dom.js';
import type { Fleet } from './fleet.js';
import type { Player } from './motion/player.js';
import { fill, slider } from './panels/controls.js';
import { Plot } from './plot.js';
import type { State } from './state.js';

const PLAY = 'M5 3l8 5-8 5z';
const PAUSE = 'M5 3v10M11 3v10';
const SPEEDS = [0.25, 0.5, 1, 2, 4];

/** Builds the timeline and keeps it up to date with the player. */
export function playerBar(state: State, player: Player, fleet: Fleet): void {
  const bar = byId('player');
  const toggle = make('button', { type: 'button', id: 'player-toggle' });
  const name = make('span', { className: 'player-name' });
  const reading = make('span', { className: 'number player-time' }, { 'aria-hidden': 'true' });
  const speed = make('select', { id: 'player-speed', title: 'Speed' }, { 'aria-label': 'Speed' });
  speed.append(...SPEEDS.map((value) => make('option', { value: String(value), textContent: `${value} ×`, selected: value === 1 })));
  const plot = new Plot(player, fleet);
  const pressable = (id: string, label: string, path: string, pressed: (on: boolean) => void) => {
    const button = make('button', { type: 'button', id, title: label }, { 'aria-label': label, 'aria-pressed': 'false' }, icon(path));
    button.addEventListener('click', () => {
      const on = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(on));
      pressed(on);
    });
    return button;
  };
  const loop = pressable('player-loop', 'Repeat', 'M3 8V6.5A2.5 2.5 0 015.5 4H13M11 2l2 2-2 2M13 8v1.5a2.5 2.5 0 01-2.5 2.5H3M5 10l-2 2 2 2', (on) => (player.loop = on));
  const chart = pressable('player-plot', 'Plot positions, velocities, efforts', 'M2 2v12h12M4 11l3-4 3 2 4-5', (on) => (plot.open = on));
  const close = make(
    'button',
    { type: 'button', id: 'player-close', title: 'Close the timeline' },
    { 'aria-label': 'Close the timeline' },
    icon('M4 4l8 8M12 4l-8 8'),
  );
  // In thousandths, since the ends of a slider cannot follow the trajectory.
  const line = slider({ id: 'player-line', label: 'Time', min: 0, max: 1000, step: 1 }, (value) => {
    player.run(false);
    player.seek((value / 1000) * player.duration);
  });
  toggle.addEventListener('click', () => player.run(!player.running));
  speed.addEventListener('change', () => (player.speed = Number(speed.value)));
  close.addEventListener('click', () => {
    player.close();
    byId('canvas').focus({ preventScroll: true });
  });
  bar.append(plot.element, toggle, name, line, reading, speed, loop, chart, close);
  bar.addEventListener('keydown', (event) => {
    if (event.target instanceof HTMLSelectElement || event.ctrlKey || event.metaKey || event.altKey) return;
    const acts: Record<string, () => void> = {
      ' ': () => player.run(!player.running),
      Home: () => player.seek(0),
      End: () => player.seek(player.duration),
      Escape: () => close.click(),
    };
    const act = event.target instanceof HTMLButtonElement && event.key === ' ' ? undefined : acts[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  let shown: string | null = null;
  state.on('player', () => {
    const { playing, running, time, duration } = player;
    bar.hidden = playing === null;
    byId('stage').classList.toggle('with-player', playing !== null);
    if (!playing) return (shown = null);
    const mark = running ? 'Stop' : 'Play';
    if (toggle.getAttribute('aria-label') !== mark) {
      toggle.setAttribute('aria-label', mark);
      toggle.title = `${mark} (space)`;
      toggle.replaceChildren(icon(running ? PAUSE : PLAY));
    }
    setText(name, playing.trajectory.name);
    name.title = playing.trajectory.name;
    line.value = String(duration > 0 ? (time / duration) * 1000 : 0);
    line.setAttribute('aria-valuetext', `${time.toFixed(2)} of ${duration.toFixed(2)} seconds`);
    fill(line);
    plot.update();
    setText(reading, `${time.toFixed(2)} / ${duration.toFixed(2)} s`);
    if (shown !== playing.trajectory.name) line.focus({ preventScroll: true });
    return (shown = playing.trajectory.name);
  });
}
