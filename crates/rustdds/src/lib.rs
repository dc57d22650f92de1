//! What RustDDS 0.15 needs from below so that it holds. A program that links this crate has two functions of the C library replaced
//! for all its threads, on Linux: see `syscalls.c` for what they do and why. And it can ask how far a thread of RustDDS has come.
//!
//! It knows nothing of ROS, and of RustDDS only the names of its threads.

/// A moment in the work of a thread of RustDDS, by which to tell when it has seen to all that it had to do then.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    thread: i32,
    count: u64,
}

impl Moment {
    /// Now, for the thread with this number.
    pub fn now(thread: i32) -> Self {
        Self { thread, count: count(thread) }
    }

    /// Whether the thread has waited for news since, all that it was woken for done: then it has done what it had been asked for at that
    /// moment. Also true for a thread that is not known.
    ///
    /// A thread that was waiting then and is not woken counts too. So ask again a little later whether that is still so: between being
    /// woken and going on there is an instant in which nothing tells.
    pub fn has_passed(self) -> bool {
        match (self.count, count(self.thread)) {
            (0, _) | (_, 0) => true,
            // Odd while it waits: two rounds of waiting have begun, or one of which it has not been woken.
            (then, now) => now >= then + 3 || now % 2 == 1 && (now >= then + 2 || !is_woken(self.thread)),
        }
    }
}

#[cfg(target_os = "linux")]
mod c {
    unsafe extern "C" {
        pub(super) safe fn urdf_usd_waits(thread: i32) -> u64;
        pub(super) safe fn urdf_usd_is_woken(thread: i32) -> i32;
    }
}

/// How often a thread has begun or ended waiting; 0 if that is not known.
#[cfg(target_os = "linux")]
fn count(thread: i32) -> u64 {
    c::urdf_usd_waits(thread)
}

/// Whether there is news for a thread that waits.
#[cfg(target_os = "linux")]
fn is_woken(thread: i32) -> bool {
    c::urdf_usd_is_woken(thread) != 0
}

#[cfg(not(target_os = "linux"))]
fn count(_: i32) -> u64 {
    0
}

#[cfg(not(target_os = "linux"))]
fn is_woken(_: i32) -> bool {
    false
}
