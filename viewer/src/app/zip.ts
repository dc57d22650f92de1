// All files of an asset as one ZIP. Loaded lazily; it imports no module of the page, since shared modules
// would become a chunk of their own.

import { zip, type Zippable } from 'three/addons/libs/fflate.module.js';
import type { AssetFile, RobotEntry } from './api.js';

/** Maximum total size in bytes. */
const MOST = 1 << 30;

/** Fetches all files of an asset from `url`, and packs them into a folder of its name. */
export async function packed(
  entry: RobotEntry,
  url: (file: AssetFile) => string,
  progress: (part: number) => void,
): Promise<Blob> {
  const total = entry.files.reduce((sum, file) => sum + file.bytes, 0);
  if (total > MOST) throw new Error('The files are more than 1 GiB together: download them one by one.');
  const files: Zippable = {};
  let done = 0;
  for (const file of entry.files) {
    const { path, bytes } = file;
    const response = await fetch(url(file));
    if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`.trim());
    const data = new Uint8Array(await response.arrayBuffer());
    // Compressed formats are stored without further compression.
    const level = /\.(?:usda|json|gltf|urdf)$/.test(path) ? 6 : 0;
    files[`${entry.name.replaceAll('/', '_')}/${path}`] = [data, { level, mtime: new Date(entry.time * 1000) }];
    done += bytes;
    progress(total > 0 ? done / total : 1);
  }
  return new Promise((resolve, reject) => {
    zip(files, {}, (error, data) => (error ? reject(error) : resolve(new Blob([data as BlobPart], { type: 'application/zip' }))));
  });
}
