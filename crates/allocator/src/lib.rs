//! The memory of the program: the C library's allocator, how it is set up, and when it gives memory back.
//!
//! Knows nothing of what the memory is for.

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(feature = "libstdcxx")))]
mod new;

/// Sets the allocator up, once, before threads begin. What was freed stays with the process until it ends, or until [`give_back`]: a
/// conversion needs it again for the next mesh, and for the system to take pages away, clear and map them takes up to a tenth of its time.
///
/// On Linux no huge pages are used, here and by the programs that are started from here: the kernel would clear two megabytes for what
/// needs some kilobytes.
pub fn set_up() {
    // Where the kernel does not know of it, huge pages only cost time.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::keep();
}

/// Gives what was freed back to the system, for programs that stay when they have done something large. What lies free at the end of a
/// thread's heap stays with that thread.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::trim();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::ffi::c_int;

    unsafe extern "C" {
        /// Sets what `malloc` does; 0 if it can't.
        safe fn mallopt(option: c_int, value: c_int) -> c_int;
        /// Gives free pages back, but for so many bytes at the end of the heap.
        safe fn malloc_trim(kept: usize) -> c_int;
    }

    /// More free bytes at the end of the heap than this are given back at once.
    const TRIM_THRESHOLD: c_int = -1;
    /// By how many bytes more than needed the heap grows.
    const TOP_PAD: c_int = -2;
    /// Larger pieces than this are mapped each by itself, and given back when they are freed. 32 MiB is the most that there can be.
    const MMAP_THRESHOLD: c_int = -3;

    /// Freed pieces of at most so many bytes are put aside, and joined with those beside them later, all at once. For the millions of pieces
    /// of a robot of thousands of links that takes a sixth of its time: by then none of them is in the caches any more.
    const MXFAST: c_int = 1;

    /// Has freed memory kept. Whether all of it could be set.
    pub(super) fn keep() -> bool {
        [(MMAP_THRESHOLD, 32 << 20), (TRIM_THRESHOLD, c_int::MAX), (TOP_PAD, 256 << 10), (MXFAST, 0)]
            .map(|(option, value)| mallopt(option, value) != 0)
            .iter()
            .all(|is_set| *is_set)
    }

    pub(super) fn trim() {
        malloc_trim(0);
    }

    #[cfg(test)]
    mod tests {
        /// Bytes of the process that are in memory.
        fn resident() -> usize {
            let pages = std::fs::read_to_string("/proc/self/statm").expect("statm");
            pages.split(' ').nth(1).expect("resident").parse::<usize>().expect("a number") * 4096
        }

        #[test]
        fn freed_memory_is_kept_until_it_is_given_back() {
            const PIECE: usize = 1 << 20;
            assert!(super::keep());
            let before = resident();
            // Fewer than a heap of a thread holds, which goes when all of it is free.
            let mut pieces: Vec<Vec<u8>> = (0..24).map(|n| vec![n + 1; PIECE]).collect();
            let last = pieces.pop();
            drop(pieces);
            assert!(resident() > before + 12 * PIECE, "{before} {}", resident());
            super::trim();
            assert!(resident() < before + 12 * PIECE, "{before} {}", resident());
            drop(last);
        }
    }
}
