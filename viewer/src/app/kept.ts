// A word that the browser keeps for the next visit. No DOM beyond the storage that is given.

/** A choice between words. Where storage is forbidden or full, it lasts as long as the page. */
export class Kept<Word extends string> {
  /** What could not be written, if so: then it counts, not what is stored. */
  private unwritten: { value: Word | null } | null = null;

  /** `storage` may throw, as browsers do that forbid it. */
  constructor(
    private readonly storage: () => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
    private readonly name: string,
    private readonly words: readonly Word[],
  ) {}

  /** What was chosen; null if nothing was. */
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
