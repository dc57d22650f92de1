// The files of a ZIP archive that the user opened. Loaded lazily; it imports no module of the page, since shared modules would become a
// chunk of their own.

import { unzip } from 'three/addons/libs/fflate.module.js';

/** Maximum number of files, and their total size in bytes. */
const MOST_FILES = 5000;
const MOST_BYTES = 1 << 30;

/** Unpacks an archive, with the paths of its files. Throws an error with a sentence for the user. */
export async function unpacked(archive: File): Promise<{ path: string; file: File }[]> {
  const data = new Uint8Array(await archive.arrayBuffer());
  let [files, size] = [0, 0];
  const contents = await new Promise<Record<string, Uint8Array>>((resolve, reject) => {
    const filter = ({ name, originalSize }: { name: string; originalSize: number }) => {
      if (name.endsWith('/') || name.startsWith('__MACOSX/')) return false;
      [files, size] = [files + 1, size + originalSize];
      return files <= MOST_FILES && size <= MOST_BYTES;
    };
    unzip(data, { filter }, (error, contents) => (error ? reject(error) : resolve(contents)));
  }).catch((error: unknown) => {
    throw new Error(`${archive.name} can't be unpacked: ${error instanceof Error ? error.message : String(error)}.`);
  });
  if (files > MOST_FILES || size > MOST_BYTES) throw new Error(`${archive.name} has more than ${MOST_FILES} files or 1 GiB: unpack it, and drop the robot's own folder.`);
  return Object.entries(contents).map(([path, bytes]) => ({ path, file: new File([bytes as BlobPart], path.split('/').at(-1) ?? path) }));
}
