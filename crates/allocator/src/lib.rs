//! The memory allocator of the program, mimalloc. A node runs for months, and what it hears comes and goes: that of the C library keeps most
//! of what it was once given.
//!
//! Knows nothing of what the memory is for.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_long;

use mimalloc::MiMalloc;

/// mimalloc, which has the system give it the pages of what is large at once, rather than one after the other as they are written to: that
/// is up to a tenth of the time of a conversion.
pub struct Allocator;

/// How large that is, in bytes. What is smaller mostly has its pages already.
const LARGE: usize = 1 << 17;
/// What is larger still may be room for what will not come.
const TOO_LARGE: usize = 1 << 26;

// SAFETY: all is done by mimalloc; its answers are only looked at.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as is asked of the caller.
        let place = unsafe { MiMalloc.alloc(layout) };
        populate(place, layout.size());
        place
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as is asked of the caller.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as is asked of the caller.
        unsafe { MiMalloc.realloc(place, layout, size) }
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as is asked of the caller.
        unsafe { MiMalloc.dealloc(place, layout) }
    }
}

/// Has the system give the pages of new memory now, if there are many.
#[inline]
fn populate(place: *mut u8, size: usize) {
    #[cfg(target_os = "linux")]
    if (LARGE..TOO_LARGE).contains(&size) && !place.is_null() {
        populate_pages(place, size);
    }
}

#[cfg(target_os = "linux")]
#[cold]
fn populate_pages(place: *mut u8, size: usize) {
    const PAGE: usize = 4096;
    let skipped = place.align_offset(PAGE);
    let whole = size.saturating_sub(skipped) / PAGE * PAGE;
    // SAFETY: the pages are within what was just given, and writing to them changes nothing of what is in them.
    let _ = unsafe { rustix::mm::madvise(place.wrapping_add(skipped).cast(), whole, rustix::mm::Advice::LinuxPopulateWrite) };
}

/// What mimalloc calls the milliseconds for which it keeps freed memory before the system gets it back: its place in `mi_option_t`, for
/// which its crate has no name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
/// What it is until it is set. With another one, what stands in that place is something else.
const DEFAULT_DELAY: c_long = 1000;
/// What a program sets that is over soon. A conversion frees much between two meshes: the most that it has at a time falls by up to a fifth,
/// and it takes a fiftieth longer. Without any delay it takes a tenth longer. A node that gives back what the next conversion needs again
/// answers a changed description a quarter later.
const DELAY: c_long = 25;

/// The place of what mimalloc does when the program ends, and what has it do nothing. It would go through all that was freed and give it
/// back, which is up to a tenth of the time of a small conversion, and the system takes it all a moment later.
const AT_THE_END: libmimalloc_sys::mi_option_t = 22;
const NOTHING: c_long = 2;
/// The place after that, and what is there: the size of an arena, in KiB.
const ARENA: (libmimalloc_sys::mi_option_t, c_long) = (AT_THE_END + 1, 1 << 20);

/// Sets the allocator up, once, before threads begin: for one conversion or the like if the program `is_over_soon`.
///
/// On Linux no huge pages are used, here and by the programs that are started from here: the kernel would clear two megabytes for what
/// needs some kilobytes. mimalloc is built not to ask for them, since its first memory is older than this call.
pub fn set_up(is_over_soon: bool) {
    // Where the kernel does not know of it, huge pages only cost time.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    leave_all_at_the_end();
    if is_over_soon {
        give_back_soon();
    }
}

/// Whether that could be set.
fn leave_all_at_the_end() -> bool {
    // SAFETY: as below.
    unsafe {
        let is_known = libmimalloc_sys::mi_option_get(AT_THE_END) == 0 && libmimalloc_sys::mi_option_get(ARENA.0) == ARENA.1;
        if is_known {
            libmimalloc_sys::mi_option_set(AT_THE_END, NOTHING);
        }
        is_known
    }
}

/// Whether that could be set.
fn give_back_soon() -> bool {
    // SAFETY: an option is a number that mimalloc holds; one that it does not have is refused.
    unsafe {
        let is_known = libmimalloc_sys::mi_option_get(PURGE_DELAY) == DEFAULT_DELAY;
        if is_known {
            libmimalloc_sys::mi_option_set(PURGE_DELAY, DELAY);
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use std::alloc::{GlobalAlloc as _, Layout};

    #[test]
    fn memory_of_every_size_holds_what_is_written() {
        for size in [1, 4095, 4097, super::LARGE - 1, super::LARGE, super::LARGE + 5000, 9 << 20] {
            let layout = Layout::from_size_align(size, 16).expect("a layout");
            // SAFETY: the memory is of this layout, and given back once.
            unsafe {
                let place = super::Allocator.alloc(layout);
                assert!(!place.is_null() && place.addr().is_multiple_of(16));
                place.write_bytes(7, size);
                let place = super::Allocator.realloc(place, layout, size * 2);
                let layout = Layout::from_size_align(size * 2, 16).expect("a layout");
                assert!(std::slice::from_raw_parts(place, size).iter().all(|byte| *byte == 7));
                super::Allocator.dealloc(place, layout);
                let place = super::Allocator.alloc_zeroed(layout);
                assert!(std::slice::from_raw_parts(place, size * 2).iter().all(|byte| *byte == 0));
                super::Allocator.dealloc(place, layout);
            }
        }
    }

    #[test]
    fn mimalloc_still_has_the_options_in_these_places() {
        assert!(super::give_back_soon() && super::leave_all_at_the_end());
    }
}
