//! ROS names: what is allowed, how relative and private names become absolute, and remapping.

/// Joins a namespace and a name with exactly one slash: `/` + `a` → `/a`, `/ns` + `a` → `/ns/a`.
pub fn join(namespace: &str, name: &str) -> String {
    format!("{}/{name}", namespace.trim_end_matches('/'))
}
