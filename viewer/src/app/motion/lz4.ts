// The LZ4 frame format (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md), which MCAP chunks may use. The decoder is small;
// packages for it bring WebAssembly or Node's buffers.

const MAGIC = 0x184d2204;

/** Decodes a frame of `size` bytes of content. Checksums are not verified. Throws an error if the frame is invalid. */
export function decompressLz4(frame: Uint8Array, size: number): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (frame.length < 7 || view.getUint32(0, true) !== MAGIC) throw new Error('a chunk is not an LZ4 frame');
  const flags = view.getUint8(4);
  if (flags >> 6 !== 1) throw new Error(`a chunk has LZ4 frame version ${flags >> 6}, and only 1 is supported`);
  if (flags & 1) throw new Error('an LZ4 chunk needs a dictionary');
  const hasBlockChecksums = (flags & 16) !== 0;
  const content = new Uint8Array(size);
  // Magic number, flags, maximum block size, optional content size, header checksum.
  let at = flags & 8 ? 15 : 7;
  let end = 0;
  for (;;) {
    if (at + 4 > frame.length) throw new Error('an LZ4 chunk is truncated');
    const header = view.getUint32(at, true);
    at += 4;
    if (header === 0) break;
    const length = header & 0x7fffffff;
    if (at + length > frame.length) throw new Error('an LZ4 chunk is truncated');
    const block = frame.subarray(at, at + length);
    if (header >>> 31) {
      if (end + length > size) throw new Error(TOO_LONG);
      content.set(block, end);
      end += length;
    } else end = decompressBlock(block, content, end);
    at += length + (hasBlockChecksums ? 4 : 0);
  }
  if (end !== size) throw new Error(`an LZ4 chunk has ${end} bytes, not ${size}`);
  return content;
}

const TOO_LONG = 'an LZ4 chunk has more bytes than it declares';

/** Appends the content of a block to `content`, which has `end` bytes that it may refer to. Returns the new number of bytes. */
function decompressBlock(block: Uint8Array, content: Uint8Array, end: number): number {
  let at = 0;
  const next = () => {
    const byte = block[at];
    if (byte === undefined) throw new Error('an LZ4 block is truncated');
    at += 1;
    return byte;
  };
  const length = (first: number) => {
    let sum = first;
    if (first === 15) for (let more = 255; more === 255; sum += more) more = next();
    return sum;
  };
  while (at < block.length) {
    const token = next();
    const literals = length(token >> 4);
    if (at + literals > block.length) throw new Error('an LZ4 block is truncated');
    if (end + literals > content.length) throw new Error(TOO_LONG);
    content.set(block.subarray(at, at + literals), end);
    at += literals;
    end += literals;
    // A block ends with literals.
    if (at === block.length) break;
    const back = next() + (next() << 8);
    const count = length(token & 15) + 4;
    if (back === 0 || back > end) throw new Error('an LZ4 block refers to missing data');
    if (end + count > content.length) throw new Error(TOO_LONG);
    // Byte by byte, since a match may overlap its own output.
    for (let k = 0; k < count; k += 1, end += 1) content[end] = content[end - back]!;
  }
  return end;
}
