//! The system's allocator, with a dedicated exit code for exhausted memory.
//!
//! By default Rust aborts, which a parent process can't distinguish from any other abort. See
//! `urdf_usd_worker`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

/// Exit code for failed allocations; negative: return null to the caller.
static EXIT_CODE: AtomicI32 = AtomicI32::new(-1);

unsafe extern "C" {
    /// Exits the process without running destructors or exit handlers.
    safe fn _exit(code: c_int) -> !;
}

/// Makes every later allocation failure exit the process with `code`.
pub fn exit_when_exhausted(code: i32) {
    EXIT_CODE.store(code, Ordering::Relaxed);
}

/// The [`System`] allocator with the exit of [`exit_when_exhausted`] on failure.
pub struct Allocator;

fn checked(place: *mut u8) -> *mut u8 {
    let code = EXIT_CODE.load(Ordering::Relaxed);
    if place.is_null() && code >= 0 {
        _exit(code);
    }
    place
}

// SAFETY: every call is forwarded unchanged to `System`, and its result returned.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `GlobalAlloc`, which `System` shares.
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
