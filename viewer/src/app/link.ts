// The speed of the link to the server, by the transfer of the page's own files.

/** Files up to this size, in bytes, say more about latency than about the link. */
const MIN_BYTES = 64 << 10;
/** A transfer that takes longer, in seconds, is worth a preview. */
const LONG = 1;
/** Name under which the browser stores the rate: on the next visit the page's files come from its cache. */
const STORED = 'urdf_usd link bytes/s';

/** A file of the page, as `performance` lists it. */
export type Transfer = Pick<PerformanceResourceTiming, 'transferSize' | 'responseStart' | 'responseEnd'>;

/**
 * Returns whether the transfer of so many bytes takes long, by the largest file so far; if all were cached, by the rate of the last
 * visit in this tab. No if neither is known. Not `navigator.connection.downlink`, which Chromium caps at 10 Mbit/s.
 */
export function takesLong(
  bytes: number,
  files: readonly Transfer[] = transfers(),
  storage: () => Pick<Storage, 'getItem' | 'setItem'> = () => sessionStorage,
): boolean {
  const largest = files.reduce<Transfer | null>((best, file) => (file.transferSize > (best?.transferSize ?? MIN_BYTES) ? file : best), null);
  const milliseconds = largest ? largest.responseEnd - largest.responseStart : 0;
  const measured = largest ? (1000 * largest.transferSize) / Math.max(milliseconds, 1) : null;
  const rate = measured ?? stored(storage);
  if (measured !== null) store(storage, measured);
  return rate !== null && rate > 0 && bytes / rate > LONG;
}

// Browsers may forbid storage.
function stored(storage: () => Pick<Storage, 'getItem'>): number | null {
  try {
    return Number(storage().getItem(STORED));
  } catch {
    return null;
  }
}

function store(storage: () => Pick<Storage, 'setItem'>, rate: number): void {
  try {
    storage().setItem(STORED, String(Math.round(rate)));
  } catch {
    // The next visit measures again.
  }
}

function transfers(): Transfer[] {
  return performance.getEntriesByType('resource') as PerformanceResourceTiming[];
}
