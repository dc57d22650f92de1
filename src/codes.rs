//! Every code that a diagnostic can have, for documentation and for programs that filter by code.

use crate::diagnostic::Code;

/// The codes of all modules, grouped by what they are about.
pub const GROUPS: &[(&str, &[&Code])] = &[
    ("The pipeline", crate::convert::codes::ALL),
    ("References to files", crate::resolve::codes::ALL),
    ("xacro", crate::xacro::codes::ALL),
    ("URDF", crate::urdf::codes::ALL),
    ("SRDF", crate::srdf::codes::ALL),
    ("XRDF", crate::xrdf::codes::ALL),
    ("Meshes and textures", crate::mesh::codes::ALL),
    ("OpenUSD", crate::usd::codes::ALL),
    ("glTF", crate::gltf::codes::ALL),
    ("Reading glTF", crate::gltf::read::codes::ALL),
    ("EXT_robot_kinematics, as `urdf_usd check` holds it", crate::gltf::check::codes::ALL),
    ("ROS", crate::ros::codes::ALL),
    ("The node", crate::bridge::codes::ALL),
    ("The process", crate::process::codes::ALL),
    ("HTTP", crate::serve::codes::ALL),
];

/// The code with this id.
pub fn find(id: &str) -> Option<&'static Code> {
    GROUPS.iter().flat_map(|(_, codes)| *codes).find(|code| code.id == id).copied()
}

#[cfg(test)]
mod tests {
    use super::GROUPS;
    use std::collections::HashSet;
    use std::fmt::Write as _;

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let mut seen = HashSet::new();
        for code in GROUPS.iter().flat_map(|(_, codes)| *codes) {
            assert!(seen.insert(code.id), "{} is defined twice", code.id);
            assert!(code.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{}", code.id);
            assert!(!code.meaning.is_empty() && !code.outcome.is_empty(), "{}", code.id);
        }
    }

    /// `docs/diagnostics.md` says what the code says. `UPDATE_DOCS=1 cargo test` writes it anew.
    #[test]
    fn the_documentation_lists_every_code() {
        let mut text = String::from(
            "# Diagnostics\n\nEvery finding has a severity, a stable code, a message, its place (file, line, \
            column, element) and what to do. An *error* means that something of the input is missing from the output; a *warning*, \
            that the output stands on a repair, a default or an assumption; an *info*, that something is worth knowing.\n\nThis page is \
            made from the source: `UPDATE_DOCS=1 cargo test --ignore-rust-version --lib codes`.\n",
        );
        for (group, codes) in GROUPS {
            let _ = write!(text, "\n## {group}\n\n| code | severity | what it means | what happens |\n|---|---|---|---|\n");
            for code in *codes {
                let _ = writeln!(text, "| `{}` | {} | {} | {} |", code.id, code.severity, code.meaning, code.outcome);
            }
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/diagnostics.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/docs")).unwrap();
            std::fs::write(path, &text).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(written == text, "docs/diagnostics.md is out of date: run with UPDATE_DOCS=1");
    }
}
