import { expect, it } from 'vitest';

import { decompressLz4 } from '../../src/app/motion/lz4.js';

const bytes = (text: string) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** More than one block of 64 KiB, with near and far matches. */
const TEXT = new TextEncoder().encode(Array.from({ length: 400 }, (_, k) => `joint_${(k * k) % 97} `).join('') + 'a'.repeat(70000));
/** Incompressible data. */
const NOISE = Uint8Array.from({ length: 64 }, (_, k) => (k * 73) % 251);

// By the package lz4 4.4.5 of PyPI, which contains the reference library.
const FRAMES = {
  'blocks that refer to each other, with the size and a checksum of the content':
    'BCJNGExAPx8BAAAAAAAljgIAAIJqb2ludF8wIAgAEzEIABM0CAATOQgAIzE2CQAjMjUJABQzEgAUNCQAFDY1ABQ4RgATMywAFDIaACM0NxIAIzcyCQAECAAUMzQAFDYSAB' +
    'U5agAERwAVN6YABCQAFDUbABU5jgAEawAUOVEAFTQkAAQbABQ1SAATOIUAFDZrABQyoAAUOBsAFDU1ABQydAAVOPAABGIAFDM/ABQxEgAUOI8AFDYJABQ0UQAUM0gAFDES' +
    'AAQjABQ5qQAUOFAAFDdrABU3EgAEJAAGCQAFGwAELQAFPwAFUQAEYgAFcwAFhQAFlwAFqQAFuwAFzQAF3wAVNt8ABGsABRUBBScBBTkBBUsBBV0BBPAABX8BFDlcAQajAQ' +
    'RiABQ0GwAF2QEF6wEUMUEBBQ8CFDMMAQUzAgVFAgVXAgU1AAQJAAWLAgWdAgRGAAW/AgXRAgXjAgX1AgUHAwUZAwQTAQS5AATKAARsAgQQAAQgAAQwAAVBAAVTAAVlAAV3' +
    'AAWJAAWbAASsAAW9AAXPAA9aA/////////////UfYQEA//////////////////////////////////////////////////////////////////////////////////////' +
    '//////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////' +
    '////////////////////////////////////////////////////////////////////////////////////////////////////////////C1BhYWFhYSkAAAAPAQD///' +
    '//////////////////////////////////////RlBhYWFhYQAAAAA12170',
  'blocks by themselves, each with a checksum':
    'BCJNGHBArTUCAACCam9pbnRfMCAIABMxCAATNAgAFDkYABM2CQAjMjUJABQzEgAUNCQAFDY1ABQ4RgAUMzUABBoAIzQ3CQAkNzIbAAQrAAQ0ABQ2EgAVOWoABEcAFTemAA' +
    'QkABQ1GwAVOY4ABboABcsABSQABBsAFDVIABQ4dAAEawAUMqAAFDgbABQ1NQAUMnQAFTjwAAXnAAQ/ABQxEgAUOI8AFTaYAARRABQzSAAVMX4ABKAABKkAFDhQABQ3awAV' +
    'NxIAHTMJAA0tACw4NVEAHDZzACwzMpcALDY2uwAdMd8ALDYxAwEsMjInASw4OEsBBV0BHDh/AS05NKMBHTHHARw26wEsMTIPAiwzMzMCHTZXAhwyeQIsNDedAhwzvwIsNj' +
    'TjAh0zBwMrMTYqAxs0SgMPWgP/////////////Zh9hAQD/////////////////////////////////////////////////////////////////////////////////////' +
    '//////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////' +
    '////////////////////////////////////////////////////////////////////////////////////////////////////////////8LUGFhYWFhYzdrvCoAAAAf' +
    'YQEA/////////////////////////////////////////0VQYWFhYWGARrptAAAAAA==',
};
const STORED =
    'BCJNGGBAgkAAAIAASZLbKXK7CVKb5DJ7xBJbpO07hM0bZK32RI3WJG22BE2W3y12vw1Wn+g2f8gWX6jxP4jRH2ix+kiR2ihxughRAAAAAA==';

it.each(Object.entries(FRAMES))('a frame of LZ4 is read: %s', (_, frame) => {
  expect(Buffer.compare(decompressLz4(bytes(frame), TEXT.length), TEXT)).toBe(0);
});

it('a frame of LZ4 is read: what was not worth compressing', () => {
  expect(decompressLz4(bytes(STORED), NOISE.length)).toEqual(NOISE);
});

it('a frame that is damaged is refused, whatever the damage', () => {
  const frame = bytes(Object.values(FRAMES)[0]!);
  expect(() => decompressLz4(frame, TEXT.length - 1)).toThrow('more bytes');
  expect(() => decompressLz4(frame, TEXT.length + 1)).toThrow(`not ${TEXT.length + 1}`);
  expect(() => decompressLz4(bytes(STORED), NOISE.length - 1)).toThrow('more bytes');
  expect(() => decompressLz4(Uint8Array.from([1, 2, 3, 4, 5, 6, 7]), 1)).toThrow('not an LZ4 frame');
  // Truncated anywhere before its end mark, and before the checksum after it.
  for (let length = 0; length < frame.length - 8; length += 1) expect(() => decompressLz4(frame.subarray(0, length), TEXT.length)).toThrow('LZ4');
  // Modified anywhere, it may decode to something else, but never to more than it declares.
  for (let at = 0; at < frame.length; at += 1) {
    const changed = frame.slice();
    changed[at]! ^= 0xff;
    let read: Uint8Array = TEXT;
    try {
      read = decompressLz4(changed, TEXT.length);
    } catch (error) {
      expect((error as Error).message).toContain('LZ4');
    }
    expect(read.length).toBe(TEXT.length);
  }
});
