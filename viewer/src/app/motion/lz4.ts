// The frame format of LZ4 (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md), which chunks of MCAP may be in. Reading it is little;
// the packages that do bring WebAssembly or Node's buffers along.

const MAGIC = 0x184d2204;

/** The content of a frame, which is `size` bytes. Checksums are not looked at. Throws an error where it is no such frame. */
export function decompressLz4(frame: Uint8Array, size: number): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (frame.length < 7 || view.getUint32(0, true) !== MAGIC) throw new Error('a chunk is no frame of LZ4');
  const flags = view.getUint8(4);
  if (flags >> 6 !== 1) throw new Error(`a chunk is in version ${flags >> 6} of the frames of LZ4, and only 1 is read`);
  if (flags & 1) throw new Error('a chunk of LZ4 needs a dictionary');
  const hasBlockChecksums = (flags & 16) !== 0;
  const content = new Uint8Array(size);
  // Magic number, flags, the largest block, the size of the content where it is told, a checksum of these.
  let at = flags & 8 ? 15 : 7;
  let end = 0;
  for (;;) {
    if (at + 4 > frame.length) throw new Error('a chunk of LZ4 is cut off');
    const header = view.getUint32(at, true);
    at += 4;
    if (header === 0) break;
    const length = header & 0x7fffffff;
    if (at + length > frame.length) throw new Error('a chunk of LZ4 is cut off');
    const block = frame.subarray(at, at + length);
    if (header >>> 31) {
      if (end + length > size) throw new Error(TOO_LONG);
      content.set(block, end);
      end += length;
    } else end = decompressBlock(block, content, end);
    at += length + (hasBlockChecksums ? 4 : 0);
  }
  if (end !== size) throw new Error(`a chunk of LZ4 has ${end} bytes, not ${size}`);
  return content;
}

const TOO_LONG = 'a chunk of LZ4 has more bytes than it says';

/** Appends what a block holds to `content`, which has `end` bytes; those may be referred to. Returns how many it has then. */
function decompressBlock(block: Uint8Array, content: Uint8Array, end: number): number {
  let at = 0;
  const next = () => {
    const byte = block[at];
    if (byte === undefined) throw new Error('a block of LZ4 is cut off');
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
    if (at + literals > block.length) throw new Error('a block of LZ4 is cut off');
    if (end + literals > content.length) throw new Error(TOO_LONG);
    content.set(block.subarray(at, at + literals), end);
    at += literals;
    end += literals;
    // A block ends with literals.
    if (at === block.length) break;
    const back = next() + (next() << 8);
    const count = length(token & 15) + 4;
    if (back === 0 || back > end) throw new Error('a block of LZ4 refers to what is not there');
    if (end + count > content.length) throw new Error(TOO_LONG);
    // Byte by byte: what is copied may be what was copied just before.
    for (let k = 0; k < count; k += 1, end += 1) content[end] = content[end - back]!;
  }
  return end;
}
