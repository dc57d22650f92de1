// Plays a trajectory on a robot in the picture: time, speed, play and pause. No DOM.

import type { Fleet } from '../fleet.js';
import type { State } from '../state.js';
import { sample, type Trajectory } from './trajectory.js';

/** The player. */
export class Player {
  /** The trajectory and its robot. */
  playing: { key: string; trajectory: Trajectory } | null = null;
  running = false;
  /** Seconds from the start. */
  time = 0;
  speed = 1;
  /** Whether it starts again at its end. */
  loop = false;
  private last: number | null = null;
  /** Whether a frame is requested, so that pause and play do not request a second one. */
  private waiting = false;

  constructor(
    private readonly state: State,
    private readonly fleet: Fleet,
    private readonly frame: (work: (time: number) => void) => void,
  ) {
    // Playback ends if the robot is gone or another one is shown, and pauses if it follows joint states again.
    state.onAny(['robots', 'live', 'current'], () => {
      const { playing } = this;
      if (!playing) return;
      if (!fleet.models.has(playing.key) || !fleet.shown().includes(playing.key)) this.close();
      else if (fleet.live(playing.key).following) this.run(false);
    });
  }

  open(key: string, trajectory: Trajectory): void {
    this.close();
    this.playing = { key, trajectory };
    this.seek(0);
    this.run(true);
  }

  close(): void {
    if (this.playing?.trajectory.drive) this.fleet.drive(this.playing.key, null);
    this.playing = null;
    this.running = false;
    this.state.emit('player', undefined);
  }

  get duration(): number {
    return this.playing?.trajectory.duration ?? 0;
  }

  /** Plays or pauses; from the start if it is at its end. */
  run(running: boolean): void {
    if (!this.playing) return;
    if (running && this.time >= this.duration) this.time = 0;
    if (running && !this.running) {
      this.last = null;
      this.next();
    }
    this.running = running;
    this.state.emit('player', undefined);
  }

  /** Seeks to a time. */
  seek(time: number): void {
    const { playing } = this;
    if (!playing) return;
    this.time = Math.min(Math.max(time, 0), this.duration);
    this.fleet.takeOver(playing.key);
    this.fleet.setPositions(playing.key, sample(playing.trajectory, this.time));
    this.state.emit('placed', playing.key);
    this.drive();
    this.state.emit('player', undefined);
  }

  /** Places the robot where it drove. */
  private drive(): void {
    const { key, trajectory: { drive = undefined } = {} } = this.playing ?? {};
    if (!drive || key === undefined) return;
    const above = (this.fleet.models.get(key)?.roots() ?? []).map((root) => drive.recorded.at(root, drive.start + this.time));
    this.fleet.drive(key, above.find((one) => one.length > 0) ?? []);
  }

  private next(): void {
    if (this.waiting) return;
    this.waiting = true;
    this.frame((time) => {
      this.waiting = false;
      this.tick(time);
    });
  }

  private tick(now: number): void {
    if (!this.running || !this.playing) return;
    const passed = this.last === null ? 0 : (now - this.last) / 1000;
    this.last = now;
    const next = this.time + passed * this.speed;
    const again = this.loop && this.duration > 0 && next >= this.duration;
    this.seek(again ? next % this.duration : next);
    if (this.time >= this.duration) this.run(false);
    else this.next();
  }
}
