//! Memory bound of a reader.

/// Quantities that bound the memory of an input: its size, and what the documented limits allow.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The input's size, with the files that it refers to.
    pub bytes: usize,
    /// The triangles of the mesh. Only instances of one geometry can make more of them than the
    /// file has bytes, which `crates/mesh/src/assembly.rs` limits.
    pub triangles: usize,
    /// The pixels that images declare; `crates/mesh/src/texture.rs` limits those of each.
    pub pixels: usize,
}

impl Bound {
    /// For an empty input: error messages, tables, decoders' windows; and the largest chunk that a
    /// WebP can declare (24 bits), which its decoder allocates before reading.
    const BASE: usize = 20 << 20;

    /// Per byte. The densest text (`f 1 1 1\n` in OBJ, `<a/>` in XML) makes a record of some tens
    /// of bytes out of a few; a growing vector is half empty, and exists twice while it is copied.
    const PER_BYTE: usize = 256;

    /// Per triangle: four index triples and a material (52 bytes), at most three points, normals,
    /// texture coordinates and colours of its own (144 bytes) with hash tables (120 bytes); twice
    /// that while vectors and tables grow.
    const PER_TRIANGLE: usize = 1024;

    /// Per pixel: 16 bytes as decoded (four floats), 8 converted, and the encoder's copies.
    const PER_PIXEL: usize = 48;

    /// Maximum block size of codecs, in pixels on a side.
    pub const BLOCK: usize = 16;

    /// Panics if `peak` bytes are more than this.
    pub fn check(self, peak: usize) {
        let bound = Self::BASE
            + Self::PER_BYTE * self.bytes
            + Self::PER_TRIANGLE * self.triangles
            + Self::PER_PIXEL * self.pixels;
        assert!(
            peak <= bound,
            "{peak} bytes of memory at once, where {bound} are allowed: {self:?}"
        );
    }
}
