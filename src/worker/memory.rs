//! The memory limit of a process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// MiB that a limit leaves for stacks, which the system counts as a whole whatever is used of them: the reader of OpenUSD has one of 256 MiB.
const STACKS: u64 = 320;

/// What is limited. On Linux that is memory that can be written to and that no other process shares; elsewhere addresses, which is as near as
/// POSIX comes.
#[cfg(target_os = "linux")]
const RESOURCE: Resource = Resource::Data;
#[cfg(not(target_os = "linux"))]
const RESOURCE: Resource = Resource::As;

/// Limits the memory of this process, and of those that it starts from now on, to so many MiB; `None`: to what was allowed at first.
pub(super) fn limit(mebibytes: Option<u64>) {
    let maximum = getrlimit(RESOURCE).maximum;
    let wanted = mebibytes.map(|mebibytes| mebibytes.saturating_add(STACKS).saturating_mul(1 << 20));
    let current = match (wanted, maximum) {
        (Some(wanted), Some(maximum)) => Some(wanted.min(maximum)),
        (wanted, maximum) => wanted.or(maximum),
    };
    // The hard limit stays, so that the next piece of work may have another one. Lowering the soft one is always allowed.
    let _ = setrlimit(RESOURCE, Rlimit { current, maximum });
}
