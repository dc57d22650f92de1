/** What is wrong with a file's extension data, in words, each with its place. */
export class Problems {
  /** A file can be wrong in as many places as it has numbers; nobody reads them all. */
  static readonly MOST = 100;

  readonly list: string[] = [];

  /** Notes that `what` is wrong at `place`, a path in the extension's object such as `models[0].joints[3].mimic`. */
  add(place: string, what: string): void {
    if (this.list.length < Problems.MOST) this.list.push(`${place}: ${what}`);
    else if (this.list.length === Problems.MOST) this.list.push('and more, which are not listed');
  }
}
