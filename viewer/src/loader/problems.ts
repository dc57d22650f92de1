/** The problems of a file's extension data, as sentences with their places. */
export class Problems {
  /** Maximum number of reported problems: a file can have as many as it has numbers. */
  static readonly MOST = 100;

  readonly list: string[] = [];

  /** Reports that `what` is wrong at `place`, a path in the extension's object such as `models[0].joints[3].mimic`. */
  add(place: string, what: string): void {
    if (this.list.length < Problems.MOST) this.list.push(`${place}: ${what}`);
    else if (this.list.length === Problems.MOST) this.list.push('and more, which are not listed');
  }
}
