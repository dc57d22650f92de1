// The timeline below the picture: play, stop, seek by pointer or keys.

import { byId, icon, make, setText } from './dom.js';
import type { Player } from './motion/player.js';
import { fill, slider } from './panels/controls.js';
import type { State } from './state.js';

const PLAY = 'M5 3l8 5-8 5z';
const PAUSE = 'M5 3v10M11 3v10';
const SPEEDS = [0.25, 0.5, 1, 2, 4];

/** Builds the timeline and keeps it up to date with the player. */
export function playerBar(state: State, player: Player): void {
  const bar = byId('player');
  const toggle = make('button', { type: 'button', id: 'player-toggle' });
  const name = make('span', { className: 'player-name' });
  const reading = make('span', { className: 'number player-time' }, { 'aria-hidden': 'true' });
  const speed = make('select', { id: 'player-speed', title: 'Speed' }, { 'aria-label': 'Speed' });
  speed.append(...SPEEDS.map((value) => make('option', { value: String(value), textContent: `${value} ×`, selected: value === 1 })));
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
  bar.append(toggle, name, line, reading, speed, close);
  bar.addEventListener('keydown', (event) => {
    if (event.target === speed || event.ctrlKey || event.metaKey || event.altKey) return;
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
    setText(reading, `${time.toFixed(2)} / ${duration.toFixed(2)} s`);
    if (shown !== playing.trajectory.name) line.focus({ preventScroll: true });
    return (shown = playing.trajectory.name);
  });
}
