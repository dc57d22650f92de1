//! The system's allocator, which can end the process with an exit code of its own when no memory is left.
//!
//! By default Rust aborts then, which a parent process can't tell from any other abort. See `urdf_usd::worker`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

/// The exit code for failed allocations; negative: they are the caller's matter.
static EXIT_CODE: AtomicI32 = AtomicI32::new(-1);

unsafe extern "C" {
    /// Ends the process without running anything of it.
    safe fn _exit(code: c_int) -> !;
}

/// From now on, ends the process with `code` when an allocation fails.
pub fn exit_when_exhausted(code: i32) {
    EXIT_CODE.store(code, Ordering::Relaxed);
}

/// [`System`], but for what happens when it has no memory left: see [`exit_when_exhausted`].
pub struct Allocator;

fn checked(place: *mut u8) -> *mut u8 {
    let code = EXIT_CODE.load(Ordering::Relaxed);
    if place.is_null() && code >= 0 {
        _exit(code);
    }
    place
}

// SAFETY: every call is passed on to `System` as it is, and its result is returned.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`, which is that of `System`.
        checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as in `alloc`.
        checked(unsafe { System.realloc(place, layout, size) })
    }
}
