//! Shares of the process's file descriptors.
//!
//! No ROS client uses descriptors per robot.

/// Returns how many of `limit` descriptors the HTTP server's connections may take.
pub(super) fn for_http(limit: usize) -> usize {
    (limit / 8).clamp(8, 256)
}
