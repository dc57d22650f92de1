// Tells listeners what changed. The parts of the viewer know the state and this, not each other.

/** What may change, and with what: `undefined` where there is nothing to say. */
export class Emitter<Changes extends object> {
  private readonly listeners = new Map<keyof Changes, Set<(detail: never) => void>>();

  /** Calls `listener` at every change of this kind; what comes back ends that. */
  on<K extends keyof Changes>(kind: K, listener: (detail: Changes[K]) => void): () => void {
    const listeners = this.listeners.get(kind) ?? new Set();
    this.listeners.set(kind, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Calls `listener` at every change of any of these kinds. */
  onAny(kinds: (keyof Changes)[], listener: () => void): void {
    for (const kind of kinds) this.on(kind, listener);
  }

  emit<K extends keyof Changes>(kind: K, detail: Changes[K]): void {
    for (const listener of this.listeners.get(kind) ?? []) (listener as (detail: Changes[K]) => void)(detail);
  }
}
