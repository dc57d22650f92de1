//! Names of links and joints, each given once.

use std::collections::HashSet;

use super::codes;
use super::findings::Findings;
use urdf_usd_gltf_extension::Field;
use urdf_usd_robot::names::UniqueNames;

/// The names of the links, or of the joints, of a model.
pub struct Names<'a> {
    /// What has these names: `link` or `joint`.
    what: &'static str,
    taken: HashSet<String>,
    /// All that the model has: a made-up name must not be one of them.
    written: HashSet<&'a str>,
    /// Both of these, and made-up names.
    unique: UniqueNames,
}

impl<'a> Names<'a> {
    /// For those that have the names `written`, which are all there are.
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

    /// The name of what is at `at`: its own (`name`), or a reported other one if it has none
    /// (`node`: that of its node) or that is taken.
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
