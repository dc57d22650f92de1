//! All diagnostic codes, for the documentation and for programs that filter by code.

use urdf_usd_diagnostic::Code;
use urdf_usd_rep158::Revision;

/// The codes of all crates, grouped by subject.
pub const GROUPS: &[(&str, &[&Code])] = &[
    ("The pipeline", urdf_usd_convert::codes::ALL),
    ("References to files", urdf_usd_resolve::codes::ALL),
    ("xacro", urdf_usd_urdf::xacro::codes::ALL),
    ("URDF", urdf_usd_urdf::codes::ALL),
    ("Writing URDF", urdf_usd_urdf::write::codes::ALL),
    ("Writing MJCF", urdf_usd_mjcf::codes::ALL),
    ("Writing SDF", urdf_usd_sdf::codes::ALL),
    ("SRDF", urdf_usd_urdf::srdf::codes::ALL),
    ("XRDF", urdf_usd_urdf::xrdf::codes::ALL),
    ("Meshes and textures", urdf_usd_mesh::codes::ALL),
    ("The robot", urdf_usd_robot::codes::ALL),
    ("Kinematics", urdf_usd_kinematics::codes::ALL),
    ("OpenUSD", urdf_usd_usd_write::codes::ALL),
    ("Reading OpenUSD", urdf_usd_usd_read::codes::ALL),
    ("Fixing OpenUSD assets", urdf_usd_fix::codes::ALL),
    (
        "The Isaac robot schema, and named poses",
        urdf_usd_isaac::codes::ALL,
    ),
    ("glTF", urdf_usd_gltf_write::codes::ALL),
    ("Reading glTF", urdf_usd_gltf_read::codes::ALL),
    (
        "REP-158, as `urdf_usd check` checks it",
        urdf_usd_rep158::codes::ALL,
    ),
    (
        "EXT_robot_kinematics, as `urdf_usd check` checks it",
        urdf_usd_gltf_check::codes::ALL,
    ),
    ("ROS", urdf_usd_ros::codes::ALL),
    ("The node", urdf_usd_node::codes::ALL),
    ("The command line", crate::results::codes::ALL),
    ("The process", urdf_usd_worker::codes::ALL),
    ("Batches", urdf_usd_batch::codes::ALL),
    ("Object stores", urdf_usd_objects::codes::ALL),
    ("Engine support", urdf_usd_rep158::degradation::codes::ALL),
    ("HTTP and watched files", urdf_usd_serve::codes::ALL),
];

/// Explains a code in Markdown: its rule if it has one, otherwise its meaning and outcome.
///
/// Returns `None` for an unknown code.
pub fn explain(id: &str) -> Option<String> {
    if let Some(rule) = urdf_usd_gltf_check::RULES
        .iter()
        .find(|rule| rule.code.id == id)
    {
        return Some(rule.to_string());
    }
    if let Some(rule) = urdf_usd_rep158::RULES
        .iter()
        .find(|rule| rule.code.id == id)
    {
        return Some(explain_rep158(rule));
    }
    let Code {
        id,
        severity,
        meaning,
        outcome,
    } = find(id)?;
    Some(format!(
        "{id} ({severity})\n\nWhat is wrong: {meaning}\n\nWhat follows: {outcome}\n"
    ))
}

/// Explains a rule of REP-158, with the number of its section.
fn explain_rep158(rule: &urdf_usd_rep158::Rule) -> String {
    let text = rule.to_string().replacen(
        "The specification (",
        &format!("REP-158 {} (", rule.section.1),
        1,
    );
    match Revision::only(&rule.code) {
        Some(revision) => {
            format!("{text}\nOnly the revision {revision} has this rule (`--rep158 {revision}`).\n")
        }
        None => text,
    }
}

/// Returns the code with this id.
pub fn find(id: &str) -> Option<&'static Code> {
    GROUPS
        .iter()
        .flat_map(|(_, codes)| *codes)
        .find(|code| code.id == id)
        .copied()
}

#[cfg(test)]
mod tests {
    use super::{GROUPS, explain};
    use std::collections::HashSet;
    use std::fmt::Write as _;

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let mut seen = HashSet::new();
        let is_number = |number: &str| number.split('.').all(|part| part.parse::<u32>().is_ok());
        for code in GROUPS.iter().flat_map(|(_, codes)| *codes) {
            assert!(seen.insert(code.id), "{} is defined twice", code.id);
            let is_kebab = code
                .id
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
            assert!(
                is_kebab || code.id.strip_prefix("REP158-").is_some_and(is_number),
                "{}",
                code.id
            );
            assert!(
                !code.meaning.is_empty() && !code.outcome.is_empty(),
                "{}",
                code.id
            );
        }
    }

    /// `docs/diagnostics.md` matches the codes. `UPDATE_DOCS=1 cargo test` rewrites it.
    #[test]
    fn the_documentation_lists_every_code() {
        let mut text = String::from(
            "# Diagnostics\n\nEvery finding has a severity, a stable code, a message, its place (file, line, \
            column, element) and a remedy. An *error* means that a part of the input is missing from the output; a *warning*, \
            that the output relies on a repair, a default or an assumption; an *info* is for your information.\n\nThis page is \
            generated from the source: `UPDATE_DOCS=1 cargo test --ignore-rust-version -p urdf_usd_cli codes`.\n",
        );
        for (group, codes) in GROUPS {
            let _ = write!(
                text,
                "\n## {group}\n\n| code | severity | meaning | what follows |\n|---|---|---|---|\n"
            );
            for code in *codes {
                let _ = writeln!(
                    text,
                    "| `{}` | {} | {} | {} |",
                    code.id, code.severity, code.meaning, code.outcome
                );
            }
        }
        assert_page("diagnostics.md", &text);
    }

    /// Compares a page of `docs` with `text`, after rewriting it if `UPDATE_DOCS` is set.
    fn assert_page(name: &str, text: &str) {
        let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, text).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == text,
            "docs/{name} is out of date: run with UPDATE_DOCS=1"
        );
    }

    /// `docs/rules.md` matches the rules. `UPDATE_DOCS=1 cargo test` rewrites it.
    #[test]
    fn the_documentation_explains_every_rule() {
        let mut text = String::from(
            "# Rules\n\nThe rules of `urdf_usd check`: each with the sentence of the specification, what is wrong if it is broken, what \
            follows, and an example. `urdf_usd check --explain CODE` prints the same. A glTF file is checked against \
            [the rules of EXT_robot_kinematics](#ext_robot_kinematics), an OpenUSD asset against [those of REP-158](#rep-158).\n\nThis \
            page is generated from the source: `UPDATE_DOCS=1 cargo test --ignore-rust-version -p urdf_usd_cli codes`.\n\n## EXT_robot_kinematics\n\n\
            The specification is [here](EXT_robot_kinematics/README.md). Places in the examples are JSON pointers into \
            [sampler.gltf](EXT_robot_kinematics/test/sampler.gltf), which follows all rules; pointers that do not begin with `/` are relative to \
            `/extensions/EXT_robot_kinematics/`.\n",
        );
        for rule in urdf_usd_gltf_check::RULES {
            let (_, rest) = rule
                .to_string()
                .split_once("\n")
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .unwrap();
            let (title, anchor) = rule.section;
            let rest = rest.replacen(
                &format!("\"{title}\""),
                &format!("[{title}](EXT_robot_kinematics/README.md{anchor})"),
                1,
            );
            let _ = write!(
                text,
                "\n### {}\n\n*{}*\n{rest}",
                rule.code.id, rule.code.severity
            );
        }
        text.push_str(
            "\n## REP-158\n\nEach example is a list of files, the first of which is the entry. A file that does not begin with \
            `#usda` is shown without its header, which has the metadata that REP-158 requires.\n",
        );
        for rule in urdf_usd_rep158::RULES {
            let explained = super::explain_rep158(rule);
            let (_, rest) = explained.split_once('\n').unwrap();
            let _ = write!(
                text,
                "\n### {}\n\n*{}*\n{rest}",
                rule.code.id, rule.code.severity
            );
        }
        assert_page("rules.md", &text);
    }

    #[test]
    fn every_code_is_explained() {
        for code in GROUPS.iter().flat_map(|(_, codes)| *codes) {
            let text = explain(code.id).unwrap();
            assert!(
                text.contains(code.id)
                    && text.contains(code.meaning)
                    && text.contains(code.outcome),
                "{text}"
            );
        }
        assert!(
            explain("kinematics-axis-zero")
                .unwrap()
                .contains("This breaks the rule")
        );
        assert!(
            explain("REP158-1.1.1")
                .unwrap()
                .contains("REP-158 §1.1 (\"Coordinate Systems & Units\"): `metersPerUnit`")
        );
        assert_eq!(explain("none-such"), None);
    }
}
