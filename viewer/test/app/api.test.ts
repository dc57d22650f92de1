import { beforeAll, describe, expect, it, vi } from 'vitest';

import { assetUrl, drawable, drawingUrl, version } from '../../src/app/api.js';

const file = (path: string) => ({ path, bytes: 1 });

describe('the URL of a file', () => {
  beforeAll(() => vi.stubGlobal('document', { baseURI: 'http://robot:8642/tools/viewer/' }));

  it('is below the page, with every part of the key encoded and its slashes kept', () => {
    expect(assetUrl('fleet/löwe #1', 'löwe #1.glb', 7)).toBe(
      'http://robot:8642/tools/viewer/assets/fleet/l%C3%B6we%20%231/l%C3%B6we%20%231.glb?revision=7',
    );
  });

  it('tells what the file holds', () => {
    expect(assetUrl('arm', 'arm.glb', 1, 'ab12')).toBe('http://robot:8642/tools/viewer/assets/arm/arm.glb?revision=1&sha256=ab12');
  });

  it('in other variants names them', () => {
    expect(drawingUrl('fleet/arm 1', { visual_representation: 'mesh_low', collision_fidelity: 'a|b' })).toBe(
      'http://robot:8642/tools/viewer/variants/fleet/arm%201?visual_representation=mesh_low&collision_fidelity=a%7Cb',
    );
  });

  it('has no revision where there is none', () => {
    expect(assetUrl('arm', 'textures/a.png')).toBe('http://robot:8642/tools/viewer/assets/arm/textures/a.png');
  });
});

describe('the file that is drawn', () => {
  it("is the robot's own GLB", () => {
    expect(drawable({ name: 'arm', files: [file('other.glb'), file('arm.glb'), file('arm.usda')] })?.path).toBe('arm.glb');
  });

  it('is another GLB or a glTF of the asset if need be', () => {
    expect(drawable({ name: 'arm', files: [file('a.gltf'), file('b.GLB')] })?.path).toBe('b.GLB');
    expect(drawable({ name: 'arm', files: [file('arm.gltf')] })?.path).toBe('arm.gltf');
  });

  it('is none where there are none, or only parts further down', () => {
    expect(drawable({ name: 'arm', files: [file('arm.usda'), file('meshes/arm.glb')] })).toBeNull();
  });
});

describe('the version of a file', () => {
  const held = (path: string, sha256: string) => ({ path, bytes: 1, sha256 });
  const of = (revision: number | null, ...files: ReturnType<typeof held>[]) => {
    const drawn = drawable({ name: 'arm', files });
    return drawn && version({ revision, files }, drawn);
  };

  it('is that of its revision, its name and what it holds', () => {
    const first = of(1, held('arm.glb', 'aa'));
    expect(of(1, held('arm.glb', 'aa'))).toBe(first);
    for (const other of [of(2, held('arm.glb', 'aa')), of(1, held('arm.glb', 'bb')), of(1, held('leg.glb', 'aa'))])
      expect(other).not.toBe(first);
  });

  it('of a GLB is its own, of a glTF that of all files', () => {
    expect(of(1, held('arm.glb', 'aa'), held('arm.usda', 'cc'))).toBe(of(1, held('arm.glb', 'aa'), held('arm.usda', 'dd')));
    expect(of(1, held('arm.gltf', 'aa'), held('arm.bin', 'cc'))).not.toBe(of(1, held('arm.gltf', 'aa'), held('arm.bin', 'dd')));
  });
});
