//! How much memory a reader takes, and how much it may.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts what is allocated and not freed, and the most that was.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn grow(bytes: usize) {
    PEAK.fetch_max(HELD.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // As if the block were copied, which it may be: both are there for a while.
        grow(size);
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(block, layout, size) }
    }
}

/// What `work` returns, and the most bytes that it held at once beyond those held before.
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (result, PEAK.load(Relaxed).saturating_sub(before))
}

/// What an input may cost: its size, and what the documented limits allow it to give rise to.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The input's size, with the files that it refers to.
    pub bytes: usize,
    /// The triangles of the mesh. Instances of one geometry make more of them than the file has bytes; that is the one thing that
    /// may, and `crates/mesh/src/assembly.rs` limits it.
    pub triangles: usize,
    /// The pixels that images declare; `crates/mesh/src/texture.rs` limits those of each.
    pub pixels: usize,
}

impl Bound {
    /// For an empty input: error messages, tables, decoders' windows; and the largest part that a WebP can declare (24 bits), which its
    /// decoder makes room for before it looks.
    const BASE: usize = 20 << 20;

    /// Per byte. The densest text (`f 1 1 1\n` in OBJ, `<a/>` in XML) makes a record of some tens of bytes out of each few; vectors
    /// hold half of themselves empty, and two of them while they grow.
    const PER_BYTE: usize = 256;

    /// Per triangle: four index triples and a material (52 bytes), at most three points, normals, texture coordinates and colours of
    /// its own (144 bytes) with tables to find them (120 bytes); the same again while vectors and tables grow.
    const PER_TRIANGLE: usize = 1024;

    /// Per pixel: 16 bytes as decoded (four floats), 8 converted, and the encoder's copies.
    const PER_PIXEL: usize = 48;

    /// Codecs work on blocks of up to this many pixels on a side.
    pub const BLOCK: usize = 16;

    /// Panics if `peak` bytes are more than this.
    pub fn check(self, peak: usize) {
        let bound =
            Self::BASE + Self::PER_BYTE * self.bytes + Self::PER_TRIANGLE * self.triangles + Self::PER_PIXEL * self.pixels;
        assert!(peak <= bound, "{peak} bytes of memory at once, where {bound} are allowed: {self:?}");
    }
}
