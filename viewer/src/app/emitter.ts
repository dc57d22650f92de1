// Notifies listeners of changes. The parts of the viewer know the state and this emitter, not each other.

/** The kinds of changes, with their payload: `undefined` without one. */
export class Emitter<Changes extends object> {
  private readonly listeners = new Map<keyof Changes, Set<(detail: never) => void>>();

  /** Calls `listener` at every change of this kind. Returns a function that ends the subscription. */
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
