// Files that are dropped on the page or chosen: recordings to play and glTF to show, which stay in the browser; descriptions, which the
// server converts.

import * as api from './api.js';
import { byId, make } from './dom.js';
import type { Fleet } from './fleet.js';
import type { Player } from './motion/player.js';
import { ACCEPTED, command, endingOf, isFoundByServer, opening } from './opened.js';
import { readCsv, Recording, Unplayable } from './motion/trajectory.js';

/** A file with its path in the folder that it was dropped with. */
export interface Given {
  path: string;
  file: File;
}

/** Maximum number of files of a robot, and their total size in bytes; the server has the same limits. */
const MOST = 5000;
const MOST_BYTES = 1 << 30;

/** Shows a sentence to the user, with buttons. */
export type Tell = (text: string, choices?: readonly { label: string; take: () => void }[]) => void;

/** Accepts files that are dropped anywhere, and those of the button. */
export function openFiles(fleet: Fleet, player: Player, tell: Tell): void {
  const input = make('input', { type: 'file', multiple: true, hidden: true, id: 'file-input' });
  input.accept = ACCEPTED;
  const button = byId<HTMLButtonElement>('open-files');
  button.after(input);
  button.addEventListener('click', () => input.click());
  void api.converts().then((locked) => fleet.canConvert(locked === ''));
  const report = (error: unknown) => {
    if (!(error instanceof Choice)) return tell(error instanceof Error ? error.message : String(error));
    const take = (file: string) => void error.convert(file).then(tell, report);
    tell(error.message, error.files.map((file) => ({ label: file, take: () => take(file) })));
  };
  const take = async (files: Promise<Given[]>) => {
    try {
      tell(await open(await files, fleet, player, tell));
    } catch (error) {
      report(error);
    }
  };
  input.addEventListener('change', () => {
    void take(Promise.resolve([...(input.files ?? [])].map((file) => ({ path: file.name, file }))));
    input.value = '';
  });
  const [over, stage] = [byId('drop-here'), document.documentElement];
  let depth = 0;
  const carries = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
  stage.addEventListener('dragenter', (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth += 1;
    over.hidden = false;
  });
  stage.addEventListener('dragleave', () => {
    depth = Math.max(0, depth - 1);
    over.hidden = depth === 0;
  });
  stage.addEventListener('dragover', (event) => carries(event) && event.preventDefault());
  stage.addEventListener('drop', (event) => {
    depth = 0;
    over.hidden = true;
    if (!event.dataTransfer || !carries(event)) return;
    event.preventDefault();
    void take(dropped(event.dataTransfer));
  });
}

/** The user must choose the file to convert. */
class Choice extends Error {
  constructor(
    message: string,
    readonly files: readonly string[],
    readonly convert: (file: string) => Promise<string>,
  ) {
    super(message);
  }
}

/** Has the server convert a description, and returns a message. Throws an error with a sentence for the user, or a `Choice`. */
async function convert(given: readonly Given[], chosen: string | null, fleet: Fleet, tell: Tell): Promise<string> {
  const files = given.filter(({ path }) => path.split('/').every((part) => part !== '' && !part.startsWith('.')));
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
  if (files.length > MOST || bytes > MOST_BYTES) throw new Error(`A robot may have ${MOST} files and 1 GiB: drop its own folder.`);
  tell(chosen === null ? 'Converting the robot…' : `Converting ${chosen}…`);
  const made = await api.convert(files, chosen).catch((error: unknown) => {
    if (!(error instanceof api.Ambiguous)) throw error;
    throw new Choice(error.message, error.files, (file) => convert(given, file, fleet, tell));
  });
  await fleet.refresh();
  fleet.showAll(false);
  fleet.choose(made.key);
  const { name, state } = made;
  if (state === 'ok') return `${name} is converted. It is kept until the server ends.`;
  const isShown = fleet.current?.revision !== null && fleet.current?.outdated !== true;
  return isShown ? `${name} is converted, with findings: see the tab Diagnostics.` : `${name} cannot be converted: the tab Diagnostics says why.`;
}

/** Opens files and returns a message. Throws an error with a sentence for the user if none can be opened. */
async function open(dropped: Given[], fleet: Fleet, player: Player, tell: Tell): Promise<string> {
  const given = await withArchives(dropped);
  const found = opening(given.map(({ path }) => path));
  const chosen = given.find(({ path }) => path === found?.path);
  if (!found || !chosen) {
    const what = given.length === 1 ? `${given[0]?.path ?? 'This'} is` : 'These files are';
    throw new Error(`${what} not supported: drop a recording of joint states (.csv, .mcap) or a robot (.urdf, .xacro, .usd, .glb, .gltf, with its folder).`);
  }
  if (found.kind === 'robot') {
    const name = fleet.addLocal(chosen, given);
    return `${name} is shown. It stays in this browser.`;
  }
  if (found.kind === 'description') {
    const locked = await api.converts();
    if (locked !== '') throw new Error(`${locked ?? ''} ${command(found.path)}`.trim());
    const isFound = given.length > 1 && isFoundByServer(found.path);
    return convert(given, isFound ? null : found.path, fleet, tell);
  }
  // A reader of SQLite would be larger than the page.
  if (found.kind === 'bag') throw new Error(`${found.path} is an SQLite bag, which the viewer cannot read. Convert it to MCAP: ros2 bag convert (storage_id: mcap).`);
  const [key, model] = [fleet.current?.key, fleet.currentModel];
  if (key === undefined || !model) throw new Error('No robot is shown yet that could play a recording.');
  const { file } = chosen;
  try {
    // The reader of MCAP is large, and is loaded lazily.
    const roots = model.roots();
    const above = (frame: string) => roots.includes(frame) || !model.link(frame);
    const samples = endingOf(chosen.path) === 'csv' ? readCsv(await file.text()) : await bag(file, above);
    const trajectory = samples.trajectory(file.name, (name) => model.joint(name)?.dofs.length === 1, roots);
    player.open(key, trajectory);
    const count = trajectory.tracks.length;
    return `${file.name}: ${count} ${count === 1 ? 'joint' : 'joints'}, ${trajectory.duration.toFixed(2)} s.`;
  } catch (error) {
    if (error instanceof Unplayable) throw new Error(`${file.name} can't be played: ${error.message}.`);
    throw error;
  }
}

async function bag(file: File, above: (frame: string) => boolean): Promise<Recording> {
  const samples = new Recording();
  const { readMcap } = await import('./motion/mcap.js');
  await readMcap(file, samples, above).catch((error: unknown) => {
    throw new Unplayable(error instanceof Error ? error.message : String(error));
  });
  return samples;
}

/** Replaces ZIP archives by their files. */
async function withArchives(given: readonly Given[]): Promise<Given[]> {
  const parts = given.map(async (one): Promise<Given[]> => {
    if (endingOf(one.path) !== 'zip') return [one];
    const { unpacked } = await import('./unzip.js');
    return unpacked(one.file);
  });
  return (await Promise.all(parts)).flat();
}

/** Collects all files, including those in folders. */
async function dropped(data: DataTransfer): Promise<Given[]> {
  // Before the first await: afterwards the list is empty.
  const entries = [...data.items].flatMap((item) => (item.kind === 'file' ? [item.webkitGetAsEntry()] : []));
  const plain = [...data.files].map((file) => ({ path: file.name, file }));
  if (entries.every((entry) => entry === null)) return plain;
  const found: Given[] = [];
  const open = entries.filter((entry) => entry !== null);
  while (open.length > 0) {
    const entry = open.shift();
    if (entry?.isFile) {
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      found.push({ path: entry.fullPath.replace(/^\//, ''), file });
      if (found.length > MOST) throw new Error(`The folder has more than ${MOST} files: drop the robot's own folder.`);
    } else if (entry?.isDirectory) {
      const reader = (entry as FileSystemDirectoryEntry).createReader();
      // The API returns at most a hundred at a time.
      for (;;) {
        const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
        if (some.length === 0) break;
        open.push(...some);
      }
    }
  }
  return found;
}
