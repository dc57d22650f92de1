// Builds the viewer, or the loader as a package of its own.
//
//   node build.mjs            dist/ (or $VIEWER_OUT): index.html, main.js with its lazily loaded chunks, main.css (these also
//                            as .gz), static/, the web component in element.js, and LICENSES.txt
//   node build.mjs loader     lib/ (or $VIEWER_OUT): the package ext-robot-kinematics, for `npm pack`; three and
//                            Babylon.js are not bundled, except in the web component. Needs typescript, too.
//
// The viewer needs the packages under "dependencies" only. The same sources give the same bytes.
import { build } from 'esbuild';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
const loader = process.argv[2] === 'loader';
const out = resolve(process.env.VIEWER_OUT || join(here, loader ? 'lib' : 'dist'));

const common = {
  absWorkingDir: here,
  bundle: true,
  charset: 'utf8',
  format: 'esm',
  legalComments: 'none',
  logLevel: 'warning',
  target: 'es2022',
};

// Bundles three.js.
const ELEMENT = { minify: true, metafile: true, entryPoints: ['src/element/viewer.ts'] };

async function buildViewer() {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const { metafile } = await build({
    ...common,
    entryPoints: ['src/app/main.ts'],
    outdir: out,
    // Rarely used code is in chunks that are loaded lazily.
    splitting: true,
    chunkNames: '[name]-[hash]',
    minify: true,
    metafile: true,
    loader: { '.svg': 'text' },
  });
  // Chunks that main.js imports at start are preloaded with it.
  const begins = Object.entries(metafile.outputs).find(([path]) => path.endsWith('main.js'))?.[1].imports ?? [];
  const links = begins
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => `<link rel="modulepreload" href="viewer/${basename(path)}">\n`);
  const page = await readFile(join(here, 'index.html'), 'utf8');
  await writeFile(join(out, 'index.html'), page.replace('</head>', `${links.join('')}</head>`));
  // Browsers accept nothing better than gzip without TLS.
  for (const path of Object.keys(metafile.outputs).map((path) => join(out, basename(path)))) {
    await writeFile(`${path}.gz`, gzipSync(await readFile(path), { level: 9 }));
  }
  const files = join(here, 'static');
  if (existsSync(files)) await cp(files, out, { recursive: true });
  // The web component, for pages without a server: a single file.
  const element = await build({ ...common, ...ELEMENT, outfile: join(out, 'element.js') });
  const inputs = new Set([...Object.keys(metafile.inputs), ...Object.keys(element.metafile.inputs)]);
  await writeFile(join(out, 'LICENSES.txt'), await licences([...inputs]));
}

async function buildLoader() {
  await rm(out, { recursive: true, force: true });
  const options = {
    ...common,
    entryPoints: { index: 'src/loader/index.ts', babylon: 'src/loader/babylon.ts' },
    external: ['three', 'three/*', '@babylonjs/*'],
  };
  await build({ ...options, outdir: out });
  await build({ ...options, minify: true, outfile: join(out, 'index.min.js'), entryPoints: ['src/loader/index.ts'] });
  // The web component contains three, since it is for pages without a bundler.
  const { metafile } = await build({ ...common, ...ELEMENT, outfile: join(out, 'viewer.js') });
  await writeFile(join(out, 'LICENSES.txt'), await licences(Object.keys(metafile.inputs)));
  const types = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--rootDir', 'src/loader', '--outDir', out];
  const tsc = join(here, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [tsc, '-p', join('loader', 'tsconfig.json'), ...types], { cwd: here, stdio: 'inherit' });
  await writeFile(join(out, 'viewer.d.ts'), await elementTypes(tsc));
  for (const file of ['package.json', 'README.md', 'example.mjs']) await cp(join(here, 'loader', file), join(out, file));
  await cp(join(here, '..', 'LICENSE'), join(out, 'LICENSE'));
}

/** Returns the types of the web component, which refer only to those of the loader. */
async function elementTypes(tsc) {
  const folder = join(out, 'types');
  const types = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--rootDir', 'src', '--outDir', folder];
  execFileSync(process.execPath, [tsc, '-p', join('loader', 'element.json'), ...types], { cwd: here, stdio: 'inherit' });
  const text = await readFile(join(folder, 'element', 'viewer.d.ts'), 'utf8');
  await rm(folder, { recursive: true });
  return text.replaceAll("'../loader/index.js'", "'./index.js'");
}

/** Collects the licences of all bundled packages, and those of the libraries that three includes. */
async function licences(inputs) {
  const texts = [];
  const packages = new Set(inputs.map(packageOf).filter((folder) => folder !== undefined));
  for (const folder of [...packages].sort()) {
    const { name, version } = JSON.parse(await readFile(join(here, folder, 'package.json'), 'utf8'));
    const file = (await readdir(join(here, folder))).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence file`);
    texts.push(`${name} ${version}\n\n${(await readFile(join(here, folder, file), 'utf8')).trim()}`);
  }
  for (const input of inputs.filter((path) => /node_modules\/three\/examples\/jsm\/libs\//.test(path)).sort()) {
    const opening = /^(?:\s*(?:\/\/[^\n]*|\/\*[\s\S]*?\*\/))+/.exec(await readFile(join(here, input), 'utf8'));
    const said = opening?.[0].replace(/^\s*(?:\/\/|\/\*+|\*\/|\*) ?/gm, '').trim();
    if (said) texts.push(`${input.replace(/^.*node_modules\//, '')}\n\n${said}\nThe MIT License is written out with three.`);
  }
  return texts.join(`\n\n${'-'.repeat(80)}\n\n`) + '\n';
}

/** Returns the folder of the package that a file belongs to, `undefined` for the viewer's own files. */
function packageOf(path) {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
}

await (loader ? buildLoader() : buildViewer());
