//! The memory limit of a process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Allowance for stacks in MiB, added to every limit: the kernel counts stacks in full, and the
/// OpenUSD reader's has 256 MiB.
const STACK_ALLOWANCE: u64 = 320;

/// The limited resource: private writable memory on Linux; elsewhere address space, the closest
/// that POSIX has.
#[cfg(target_os = "linux")]
const RESOURCE: Resource = Resource::Data;
#[cfg(not(target_os = "linux"))]
const RESOURCE: Resource = Resource::As;

/// Limits the memory of this process and its later children, in MiB; `None` restores the original
/// limit.
pub(super) fn limit(mebibytes: Option<u64>) {
    let maximum = getrlimit(RESOURCE).maximum;
    let wanted = mebibytes.map(|mebibytes| {
        mebibytes
            .saturating_add(STACK_ALLOWANCE)
            .saturating_mul(1 << 20)
    });
    let current = match (wanted, maximum) {
        // The soft limit can't exceed the hard one.
        (Some(wanted), Some(maximum)) => Some(wanted.min(maximum)),
        (wanted, maximum) => wanted.or(maximum),
    };
    // Only the soft limit changes, so that the next task may have another.
    let _ = setrlimit(RESOURCE, Rlimit { current, maximum });
}
