// The choice of the file to open among those that the user gives. No DOM.

/** A robot to show, a recording to play, a description that a server must convert, a bag that can't be read, or nothing known. */
export type Opening = { kind: 'robot' | 'recording' | 'description' | 'bag'; path: string } | null;

/** The endings of files by their kind; earlier kinds count more, and of one kind the first ending. */
const KINDS = [
  ['robot', ['glb', 'gltf']],
  ['recording', ['csv', 'mcap']],
  ['description', ['xacro', 'urdf', 'usda', 'usd', 'usdc', 'usdz']],
  ['bag', ['db3']],
] as const;

/** The endings of files that a dialog offers. */
export const ACCEPTED = [...KINDS.flatMap(([, endings]) => endings), 'zip', 'bin', 'png', 'jpg', 'jpeg', 'webp', 'ktx2'].map((ending) => `.${ending}`).join(',');

/** Returns the ending of a path, in lower case. */
export function endingOf(path: string): string {
  return path.toLowerCase().split('.').at(-1) ?? '';
}

/**
 * Chooses the file to open. Of several with one ending, the one nearest to the top counts, then the one with the shortest path. A glTF with
 * another name than the description, and in another folder, is one of its meshes.
 */
export function opening(paths: readonly string[]): Opening {
  const depth = (path: string) => path.split('/').length;
  const first = (endings: readonly string[]) => {
    for (const ending of endings) {
      const [path] = paths
        .filter((path) => endingOf(path) === ending)
        .sort((a, b) => depth(a) - depth(b) || a.length - b.length);
      if (path !== undefined) return path;
    }
    return undefined;
  };
  const found = KINDS.map(([kind, endings]) => ({ kind, path: first(endings) }));
  const [robot, , description] = found.map(({ path }) => path);
  const isMesh = robot !== undefined && description !== undefined && folderOf(robot) !== folderOf(description) && stemOf(robot) !== stemOf(description);
  const opened = found.find(({ kind, path }) => path !== undefined && !(kind === 'robot' && isMesh));
  return opened?.path === undefined ? null : { kind: opened.kind, path: opened.path };
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}

/** Returns the name of a file up to its first dot. */
function stemOf(path: string): string {
  return path.slice(folderOf(path).length).split('.')[0] ?? '';
}

/** Whether the server can find the robot itself among several files: it reads their names and contents. */
export function isFoundByServer(path: string): boolean {
  return ['xacro', 'urdf'].includes(endingOf(path));
}

/** Says how to show a description, which a browser cannot convert. */
export function command(path: string): string {
  // A description in a folder needs the packages around it, which the command finds.
  const quoted = /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
  return `${path} has to be converted before a browser can show it. Run: urdf_usd view ${quoted}`;
}
