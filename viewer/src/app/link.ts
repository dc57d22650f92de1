// The speed of the link to the server, by the transfer of the page's own files.

/** Files up to this size, in bytes, say more about latency than about the link. */
const MIN_BYTES = 64 << 10;
/** A transfer that takes longer, in seconds, is worth making the server compress. */
const LONG = 1;

/** A file of the page, as `performance` lists it. */
export type Transfer = Pick<PerformanceResourceTiming, 'transferSize' | 'responseStart' | 'responseEnd'>;

/** Returns whether the transfer of so many bytes takes long, by the largest file so far; no if all were cached. */
export function takesLong(bytes: number, files: readonly Transfer[] = transfers()): boolean {
  const largest = files.reduce<Transfer | null>((best, file) => (file.transferSize > (best?.transferSize ?? MIN_BYTES) ? file : best), null);
  if (!largest) return false;
  const seconds = (largest.responseEnd - largest.responseStart) / 1000;
  return (bytes / largest.transferSize) * seconds > LONG;
}

function transfers(): Transfer[] {
  return performance.getEntriesByType('resource') as PerformanceResourceTiming[];
}
