// The transforms above a robot's root in a recording: its drive. No DOM.

import { after, between, type Base, type BasePose } from '../base.js';

interface Sample {
  time: number;
  parent: string;
  pose: BasePose;
}

/** Maximum number of frames above a root. */
const MOST = 16;

/** The recorded transforms of frames to their parents. */
export class Drive {
  private readonly frames = new Map<string, Sample[]>();
  private isSorted = true;

  add(time: number, parent: string, child: string, pose: BasePose): void {
    if (!Number.isFinite(time) || !pose.every(Number.isFinite)) return;
    const samples = this.frames.get(child) ?? [];
    this.frames.set(child, samples);
    samples.push({ time, parent, pose });
    this.isSorted = false;
  }

  /** The first and the last time of moving frames from these roots upwards; null without any. */
  span(roots: readonly string[]): [number, number] | null {
    this.sort();
    const times = roots.flatMap((root) => this.chain(root)).flatMap((frame) => {
      const samples = this.frames.get(frame) ?? [];
      return samples.length > 1 ? [samples[0]?.time ?? 0, samples.at(-1)?.time ?? 0] : [];
    });
    return times.length > 0 ? [Math.min(...times), Math.max(...times)] : null;
  }

  /** Returns the poses of a root at a time in the frames above it, the nearest first. */
  at(root: string, time: number): Base[] {
    this.sort();
    const found: Base[] = [];
    let pose: BasePose = [0, 0, 0, 0, 0, 0, 1];
    for (let frame: string | undefined = root; frame !== undefined && found.length < MOST; ) {
      const sample = this.sample(frame, time);
      if (!sample || found.some((base) => base.frame === sample.parent)) break;
      pose = after(sample.pose, pose);
      found.push({ frame: sample.parent, pose });
      frame = sample.parent;
    }
    return found;
  }

  private chain(root: string): string[] {
    const chain: string[] = [];
    for (let frame: string | undefined = root; frame !== undefined && chain.length < MOST && !chain.includes(frame); ) {
      chain.push(frame);
      frame = this.frames.get(frame)?.[0]?.parent;
    }
    return chain;
  }

  private sample(frame: string, time: number): Sample | null {
    const samples = this.frames.get(frame);
    const [first, last] = [samples?.[0], samples?.at(-1)];
    if (!samples || !first || !last) return null;
    if (time <= first.time) return first;
    if (time >= last.time) return last;
    let [low, high] = [0, samples.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((samples[middle]?.time ?? 0) <= time) low = middle;
      else high = middle;
    }
    const [from, to] = [samples[low] ?? first, samples[high] ?? last];
    if (from.parent !== to.parent || to.time <= from.time) return from;
    return { ...from, pose: between(from.pose, to.pose, (time - from.time) / (to.time - from.time)) };
  }

  private sort(): void {
    if (this.isSorted) return;
    for (const samples of this.frames.values()) samples.sort((a, b) => a.time - b.time);
    this.isSorted = true;
  }
}
