import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Backoff, Reconnecting, type Callbacks } from '../../src/app/reconnect.js';

describe('waiting', () => {
  it('doubles from half a second to five seconds, and begins anew after a success', () => {
    const backoff = new Backoff();
    expect([1, 2, 3, 4, 5, 6].map(() => backoff.next())).toEqual([500, 1000, 2000, 4000, 5000, 5000]);
    backoff.reset();
    expect(backoff.next()).toBe(500);
  });

  it('does not grow without end', () => {
    const backoff = new Backoff();
    for (let k = 0; k < 5000; k += 1) backoff.next();
    expect(backoff.next()).toBe(5000);
  });
});

describe('a connection', () => {
  let tries: (Callbacks & { close: ReturnType<typeof vi.fn> })[] = [];
  let told: boolean[] = [];
  const open = (callbacks: Callbacks) => {
    const connection = { ...callbacks, close: vi.fn() };
    tries.push(connection);
    return connection;
  };

  beforeEach(() => {
    vi.useFakeTimers();
    [tries, told] = [[], []];
  });
  afterEach(() => vi.useRealTimers());

  it('is opened at once and told of', () => {
    new Reconnecting(open, (yes) => told.push(yes));
    tries[0]?.opened();
    expect([tries.length, told]).toEqual([1, [true]]);
  });

  it('comes back after each end, later and later', () => {
    new Reconnecting(open, (yes) => told.push(yes));
    tries[0]?.closed();
    vi.advanceTimersByTime(499);
    expect(tries.length).toBe(1);
    vi.advanceTimersByTime(1);
    expect(tries.length).toBe(2);
    tries[1]?.closed();
    vi.advanceTimersByTime(999);
    expect(tries.length).toBe(2);
    vi.advanceTimersByTime(1);
    tries[2]?.opened();
    tries[2]?.closed();
    vi.advanceTimersByTime(500);
    expect(tries.length).toBe(4);
    expect(told).toEqual([false, false, true, false]);
  });

  it('that ends twice is opened once', () => {
    new Reconnecting(open, () => undefined);
    tries[0]?.closed();
    tries[0]?.closed();
    vi.advanceTimersByTime(60_000);
    expect(tries.length).toBe(2);
  });

  it('that cannot even be tried is tried again', () => {
    let count = 0;
    const broken = (): never => {
      count += 1;
      throw new Error('no such scheme');
    };
    new Reconnecting(broken, (yes) => told.push(yes));
    vi.advanceTimersByTime(500 + 1000);
    expect([count, told]).toEqual([3, [false, false, false]]);
  });

  it('can be hurried while it waits, and only then', () => {
    const connection = new Reconnecting(open, () => undefined);
    connection.hurry();
    expect(tries.length).toBe(1);
    tries[0]?.closed();
    connection.hurry();
    expect(tries.length).toBe(2);
    vi.advanceTimersByTime(60_000);
    expect(tries.length).toBe(2);
  });

  it('that was stopped is opened again, and what ends late is none of its business', () => {
    const connection = new Reconnecting(open, (yes) => told.push(yes));
    tries[0]?.opened();
    connection.stop();
    connection.resume();
    connection.resume();
    expect(tries.length).toBe(2);
    tries[0]?.closed();
    tries[1]?.opened();
    vi.advanceTimersByTime(60_000);
    expect([tries.length, told]).toEqual([2, [true, true]]);
  });

  it('that begins stopped is opened when it is resumed', () => {
    const connection = new Reconnecting(open, (yes) => told.push(yes), true);
    connection.hurry();
    vi.advanceTimersByTime(60_000);
    expect([tries.length, told]).toEqual([0, []]);
    connection.resume();
    tries[0]?.opened();
    expect([tries.length, told]).toEqual([1, [true]]);
  });

  it('that is stopped stays so', () => {
    const connection = new Reconnecting(open, (yes) => told.push(yes));
    connection.stop();
    tries[0]?.closed();
    connection.hurry();
    vi.advanceTimersByTime(60_000);
    expect([tries.length, told, tries[0]?.close.mock.calls.length]).toEqual([1, [], 1]);
  });
});
