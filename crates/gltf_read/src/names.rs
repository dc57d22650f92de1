//! Unique names of links and joints.

use std::collections::HashSet;

use super::codes;
use super::findings::Findings;
use urdf_usd_gltf_extension::Field;
use urdf_usd_robot::names::UniqueNames;

/// Names of the links, or of the joints, of a model.
pub struct Names<'a> {
    /// Kind of the named objects: `link` or `joint`.
    what: &'static str,
    taken: HashSet<String>,
    /// All names in the model, which a generated name must not repeat.
    written: HashSet<&'a str>,
    /// All of these names, and generated ones.
    unique: UniqueNames,
}

impl<'a> Names<'a> {
    /// Creates names for the complete list `written` of the model's names.
    pub fn of(what: &'static str, written: impl Iterator<Item = Option<&'a str>>) -> Self {
        let written: HashSet<&str> = written.flatten().collect();
        let mut unique = UniqueNames::default();
        for name in &written {
            unique.insert(name);
        }
        Self {
            what,
            taken: HashSet::new(),
            written,
            unique,
        }
    }

    /// Returns a unique name for the object at `at`: its `name`, or a reported substitute if that
    /// is absent (from `node`, the name of its node) or taken.
    pub fn give(
        &mut self,
        at: &str,
        name: Field<'_, 'a, &'a str>,
        node: Option<&str>,
        findings: &mut Findings,
    ) -> String {
        let what = self.what;
        let own = name
            .or_report(findings)
            .filter(|name| !name.trim().is_empty());
        let name = match own.or(node.filter(|name| !self.written.contains(name))) {
            Some(name) if !self.taken.contains(name) => name.to_owned(),
            Some(name) => {
                let new = self.unique.numbered(name);
                if own.is_some() {
                    let short = |name: &str| name.chars().take(100).collect::<String>();
                    let message = format!(
                        "there is another {what} \"{}\"; this one becomes \"{}\"",
                        short(name),
                        short(&new)
                    );
                    let help = format!("give every {what} a name of its own");
                    findings.report(&codes::DUPLICATE_NAME, at, message, &help);
                }
                new
            }
            None => self.unique.numbered(&format!("unnamed_{what}")),
        };
        if own.is_none() {
            findings.report(
                &codes::NO_NAME,
                at,
                format!("a {what} has no name; it becomes \"{name}\""),
                "give it one",
            );
        }
        self.unique.insert(&name);
        self.taken.insert(name.clone());
        name
    }
}
