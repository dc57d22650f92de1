//! How the file descriptors that the process may have are shared out. No ROS client takes any per
//! robot.

/// Returns how many of `limit` descriptors the HTTP server's connections may take.
pub(super) fn for_http(limit: usize) -> usize {
    (limit / 8).clamp(8, 256)
}
