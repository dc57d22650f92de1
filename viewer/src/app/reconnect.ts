// A connection that comes back: waits longer after each failure, from half a second to five. No DOM.

/** Milliseconds to wait before the next try. */
export class Backoff {
  private failures = 0;

  constructor(
    private readonly first = 500,
    private readonly most = 5000,
  ) {}

  /** How long to wait now; twice as long the next time. */
  next(): number {
    const wait = Math.min(this.most, this.first * 2 ** Math.min(this.failures, 30));
    this.failures += 1;
    return wait;
  }

  /** The last try worked. */
  reset(): void {
    this.failures = 0;
  }
}

/** What a connection tells. */
export interface Callbacks {
  opened(): void;
  /** It ended, or could not be opened. */
  closed(): void;
}

/** Opens a connection, and opens it again whenever it has ended. */
export class Reconnecting {
  private readonly backoff = new Backoff();
  private connection: { close(): void } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Counts connections: what ends late is none of the next one's business. */
  private number = 0;

  /**
   * `open` begins to connect and calls one of the callbacks; `changed` hears whether there is a connection. `stopped`: nothing is
   * opened before `resume`.
   */
  constructor(
    private readonly open: (callbacks: Callbacks) => { close(): void },
    private readonly changed: (connected: boolean) => void,
    private stopped = false,
  ) {
    if (!stopped) this.connect();
  }

  /** Ends it, silently, until `resume`. */
  stop(): void {
    this.stopped = true;
    this.number += 1;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.connection?.close();
    this.connection = null;
  }

  /** Connects again after `stop`; nothing otherwise. */
  resume(): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.backoff.reset();
    this.connect();
  }

  /** Tries now instead of when the wait is over; nothing if there is a connection or a try under way. */
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
