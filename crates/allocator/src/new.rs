//! `new` and `delete` of C++, for the little C++ that is linked into the program (meshoptimizer): a third of the time in which the program
//! starts would go into loading the library that has them, and nothing else of it is used.
//!
//! Not for programs with other C++ in them, which may count on an exception where no memory is left: Fast DDS throws away a message that says
//! that it is larger than all memory.
//!
//! A program may replace them (C++17, [replacement.functions]). They are named as the Itanium ABI names them, with a size of 64 bits.

use std::ffi::c_void;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(place: *mut c_void);
}

/// `operator new(std::size_t)`. Where no memory is left the program ends, as Rust has it: there is nobody to catch an exception.
#[unsafe(no_mangle)]
extern "C" fn _Znwm(size: usize) -> *mut c_void {
    // SAFETY: any size can be asked for. C++ wants a place for nothing, too, which malloc need not give.
    let place = unsafe { malloc(size.max(1)) };
    if place.is_null() {
        std::process::abort();
    }
    place
}

/// `operator new[](std::size_t)`.
#[unsafe(no_mangle)]
extern "C" fn _Znam(size: usize) -> *mut c_void {
    _Znwm(size)
}

/// `operator delete(void*)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn _ZdlPv(place: *mut c_void) {
    // SAFETY: it is what `new` gave, which malloc had.
    unsafe { free(place) }
}

/// `operator delete[](void*)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn _ZdaPv(place: *mut c_void) {
    // SAFETY: as is asked of the caller.
    unsafe { _ZdlPv(place) }
}

/// `operator delete(void*, std::size_t)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn _ZdlPvm(place: *mut c_void, _size: usize) {
    // SAFETY: as is asked of the caller.
    unsafe { _ZdlPv(place) }
}

/// `operator delete[](void*, std::size_t)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn _ZdaPvm(place: *mut c_void, _size: usize) {
    // SAFETY: as is asked of the caller.
    unsafe { _ZdlPv(place) }
}
