// A connection that reconnects with exponential back-off, from half a second to five seconds. No DOM.

/** The delay before the next attempt, in milliseconds. */
export class Backoff {
  private failures = 0;

  constructor(
    private readonly first = 500,
    private readonly most = 5000,
  ) {}

  /** Returns the current delay and doubles the next one. */
  next(): number {
    const wait = Math.min(this.most, this.first * 2 ** Math.min(this.failures, 30));
    this.failures += 1;
    return wait;
  }

  /** The last attempt succeeded. */
  reset(): void {
    this.failures = 0;
  }
}

/** Callbacks of a connection. */
export interface Callbacks {
  opened(): void;
  /** It closed, or could not be opened. */
  closed(): void;
}

/** Opens a connection, and reopens it whenever it closes. */
export class Reconnecting {
  private readonly backoff = new Backoff();
  private connection: { close(): void } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Counts connections, so that late callbacks of an old one are ignored. */
  private number = 0;

  /**
   * `open` starts to connect and calls one of the callbacks; `changed` is told whether there is a connection. `stopped`: nothing is
   * opened before `resume`.
   */
  constructor(
    private readonly open: (callbacks: Callbacks) => { close(): void },
    private readonly changed: (connected: boolean) => void,
    private stopped = false,
  ) {
    if (!stopped) this.connect();
  }

  /** Closes it silently until `resume`. */
  stop(): void {
    this.stopped = true;
    this.number += 1;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.connection?.close();
    this.connection = null;
  }

  /** Reconnects after `stop`; otherwise does nothing. */
  resume(): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.backoff.reset();
    this.connect();
  }

  /** Retries at once; does nothing if it is connected or connecting. */
  hurry(): void {
    if (this.timer === undefined || this.stopped) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.connect();
  }

  private connect(): void {
    this.timer = undefined;
    this.number += 1;
    const mine = this.number;
    const closed = () => {
      if (this.number !== mine) return;
      this.number += 1;
      this.changed(false);
      this.timer = setTimeout(() => this.connect(), this.backoff.next());
    };
    const opened = () => {
      if (this.number !== mine) return;
      this.backoff.reset();
      this.changed(true);
    };
    try {
      this.connection = this.open({ opened, closed });
    } catch {
      closed();
    }
  }
}
