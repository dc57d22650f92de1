//! Settings of glibc's allocator for this process, and the release of free memory.
//!
//! A conversion frees memory and needs as much again for the next mesh. By default, glibc returns
//! it to the kernel in between, which unmaps, maps and clears the pages: up to a tenth of the time
//! of a conversion.

use std::ffi::c_int;

unsafe extern "C" {
    /// Sets a parameter of `malloc`; returns 0 on failure. See mallopt(3).
    safe fn mallopt(parameter: c_int, value: c_int) -> c_int;
    /// Returns free pages to the kernel, except for `kept` bytes at the end of the heap. See
    /// malloc_trim(3).
    safe fn malloc_trim(kept: usize) -> c_int;
}

/// Number of free bytes at the end of the heap beyond which they are returned at once.
const M_TRIM_THRESHOLD: c_int = -1;
/// Number of bytes by which the heap grows beyond what is needed.
const M_TOP_PAD: c_int = -2;
/// Size from which each allocation is its own mapping, which is unmapped when freed.
const M_MMAP_THRESHOLD: c_int = -3;
/// Size up to which freed chunks go to bins that are merged later, all at once.
///
/// With 0, chunks are merged when they are freed and are still in the processor's caches. For a
/// robot of thousands of links, this saves a sixth of the time.
const M_MXFAST: c_int = 1;

/// Keeps freed memory in the process until [`release`], except for arrays of meshes with hundreds of thousands of
/// triangles: every thread would keep some of them.
///
/// Call it once, before other threads start. If a parameter can't be set, conversions only take
/// longer.
pub fn keep_freed() {
    let settings = [
        (M_MMAP_THRESHOLD, 8 << 20),
        (M_TRIM_THRESHOLD, c_int::MAX),
        (M_TOP_PAD, 256 << 10),
        (M_MXFAST, 0),
    ];
    for (parameter, value) in settings {
        mallopt(parameter, value);
    }
}

/// Returns freed memory to the kernel.
pub fn release() {
    malloc_trim(0);
}

#[cfg(test)]
mod tests {
    /// Resident bytes of the process.
    fn resident() -> usize {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    #[test]
    fn freed_memory_is_kept_until_it_is_released() {
        const PIECE: usize = 1 << 20;
        super::keep_freed();
        let before = resident();
        // Fewer than the heap of a thread holds, because a heap that is entirely free is unmapped.
        let mut pieces: Vec<Vec<u8>> = (0..24).map(|n| vec![n + 1; PIECE]).collect();
        let last = pieces.pop();
        drop(pieces);
        assert!(resident() > before + 12 * PIECE, "{before} {}", resident());
        super::release();
        assert!(resident() < before + 12 * PIECE, "{before} {}", resident());
        drop(last);
    }
}
