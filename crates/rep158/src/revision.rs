//! Revisions of the text of REP-158, and the one table of what differs between them.

use std::fmt;
use std::str::FromStr;

use urdf_usd_diagnostic::Code;
use urdf_usd_usd_author::dialects::Dialect;

/// A revision of the text of REP-158, named after its month.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize,
)]
pub enum Revision {
    /// The text of June 2026.
    #[default]
    #[serde(rename = "2026-06")]
    June2026,
    /// The text of July 2026: physics that UsdPhysics does not have is in the layers of engines.
    #[serde(rename = "2026-07")]
    July2026,
}

/// Everything that differs between the revisions.
struct Text {
    name: &'static str,
    /// Dialects of mimic relations and other physics that UsdPhysics does not have (§1.3, §4.2.2).
    dialects: &'static [Dialect],
    /// Help for physics that UsdPhysics does not have, in a layer of core physics (§1.4).
    separate_layer: &'static str,
    /// Help for a property with the prefix `physics:` that UsdPhysics does not have (§4.2.2).
    other_prefix: &'static str,
    /// Rules that only this revision has.
    rules: &'static [&'static str],
}

const JUNE: Text = Text {
    name: "2026-06",
    dialects: &[Dialect::ExtendedPhysics],
    separate_layer: "move it into a separate layer, such as extended_physics.usda",
    other_prefix: "name it ext_physics:CONCEPT:NAME, use the prefix of its simulator, or correct the name",
    rules: &[
        // Mimic joints have the ExtendedPhysics schema.
        "REP158-1.3.9",
        // Actuators, tables of efforts and names of ExtendedPhysics.
        "REP158-4.2.4",
        "REP158-4.2.5",
        "REP158-4.2.6",
    ],
};

const JULY: Text = Text {
    name: "2026-07",
    dialects: &Dialect::ENGINES,
    separate_layer: "move it into the layer of an engine, such as newton.usda, with the attributes of that engine",
    other_prefix: "use the prefix of its simulator in the layer of that simulator, or correct the name",
    rules: &[
        // There is no neutral namespace for physics that UsdPhysics does not have.
        "REP158-4.2.20",
    ],
};

impl Revision {
    /// All revisions, in order.
    pub const ALL: [Self; 2] = [Self::June2026, Self::July2026];

    fn text(self) -> &'static Text {
        match self {
            Self::June2026 => &JUNE,
            Self::July2026 => &JULY,
        }
    }

    /// Returns the name in options and reports.
    pub fn as_str(self) -> &'static str {
        self.text().name
    }

    /// Returns whether physics that UsdPhysics does not have is neutral, in the namespace `ext_physics:`. Otherwise it
    /// is only in the layers of engines.
    pub fn has_extended_physics(self) -> bool {
        self.dialects().contains(&Dialect::ExtendedPhysics)
    }

    /// Returns the dialects in which an asset has mimic relations.
    pub fn dialects(self) -> &'static [Dialect] {
        self.text().dialects
    }

    /// Returns whether the revision has the rule with this code.
    pub fn has_rule(self, code: &Code) -> bool {
        let is_listed = |revision: Self| revision.text().rules.contains(&code.id);
        is_listed(self) || !Self::ALL.into_iter().any(is_listed)
    }

    /// Returns the only revision that has the rule with this code; `None` if all have it.
    pub fn only(code: &Code) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.text().rules.contains(&code.id))
    }

    pub(crate) fn separate_layer(self) -> &'static str {
        self.text().separate_layer
    }

    pub(crate) fn other_prefix(self) -> &'static str {
        self.text().other_prefix
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Revision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == text);
        known.ok_or_else(|| {
            format!(
                "{text:?} is none of {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Revision;
    use crate::RULES;

    #[test]
    fn the_table_names_rules_that_exist_once() {
        let all: Vec<&str> = Revision::ALL
            .iter()
            .flat_map(|revision| revision.text().rules)
            .copied()
            .collect();
        for id in &all {
            assert!(RULES.iter().any(|rule| rule.code.id == *id), "{id}");
            assert_eq!(all.iter().filter(|other| *other == id).count(), 1, "{id}");
        }
    }
}
