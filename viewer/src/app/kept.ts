// A setting that the browser stores for the next visit. No DOM beyond the given storage.

/** A choice between words. If storage is forbidden or full, it lasts as long as the page. */
export class Kept<Word extends string> {
  /** A value that could not be stored, if any; it has precedence over the stored one. */
  private unwritten: { value: Word | null } | null = null;

  /** `storage` may throw, as in browsers that forbid it. */
  constructor(
    private readonly storage: () => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
    private readonly name: string,
    private readonly words: readonly Word[],
  ) {}

  /** Returns the stored choice; null if there is none. */
  get value(): Word | null {
    if (this.unwritten) return this.unwritten.value;
    try {
      const stored = this.storage().getItem(this.name);
      return this.words.find((word) => word === stored) ?? null;
    } catch {
      return null;
    }
  }

  set value(value: Word | null) {
    try {
      if (value === null) this.storage().removeItem(this.name);
      else this.storage().setItem(this.name, value);
      this.unwritten = null;
    } catch {
      this.unwritten = { value };
    }
  }
}
