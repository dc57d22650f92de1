//! The tiers of meshes that an asset offers, read without its payloads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ReadError;
use urdf_usd_stage::{Options, Stage, VariantChoice};
use urdf_usd_usd_author::layout::{
    CONVEX_PARTS, FIDELITY, HULL, REPRESENTATION, SPHERES, TIERS, TRIMESH,
};

/// The variant sets of REP-158 §1.3.2 and §1.3.1 with their variants, from fine to coarse.
const SETS: [(&str, &[&str]); 2] = [
    (REPRESENTATION, &TIERS),
    (FIDELITY, &[TRIMESH, CONVEX_PARTS, HULL, SPHERES]),
];

/// Returns the variants in which an asset of this program has the meshes of its source, for
/// [`Options::preferred`].
pub fn finest() -> Vec<VariantChoice> {
    let finest = SETS.into_iter().filter_map(|(set, variants)| {
        Some(VariantChoice {
            prim: None,
            set: set.to_owned(),
            variant: (*variants.first()?).to_owned(),
        })
    });
    finest.collect()
}

/// A variant set of meshes with at least two variants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierSet {
    /// `visual_representation` or `collision_fidelity`.
    pub set: String,
    /// At least two variants in use, from fine to coarse. The first has the meshes of the source;
    /// variants that REP-158 does not define come last.
    pub variants: Vec<String>,
}

/// Returns the variant sets of REP-158 §1.3.1 and §1.3.2 in an asset that offer an alternative to
/// the meshes of the source.
///
/// # Errors
/// If the asset can't be opened.
pub fn read_tiers(entry: &Path) -> Result<Vec<TierSet>, ReadError> {
    let options = Options {
        payloads: false,
        ..Options::default()
    };
    let stage = Stage::open(entry, &options).map_err(|error| ReadError::Open {
        path: error.path,
        reason: error.reason,
    })?;
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, set, variants) in stage.variants() {
        found.entry(set).or_default().extend(variants);
    }
    let tiers = SETS.into_iter().filter_map(|(set, known)| {
        let mut there = found.remove(set)?;
        let mut variants: Vec<String> = known.iter().filter_map(|name| there.take(*name)).collect();
        variants.extend(there);
        // Without a variant for the source's meshes, the others have no reference to compare with.
        let has_source = variants
            .first()
            .is_some_and(|name| known.first() == Some(&name.as_str()));
        (has_source && variants.len() > 1).then(|| TierSet {
            set: set.to_owned(),
            variants,
        })
    });
    Ok(tiers.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(prims: &str) -> Vec<(String, Vec<String>)> {
        let folder = tempfile::tempdir().unwrap();
        let entry = folder.path().join("r.usda");
        std::fs::write(
            &entry,
            format!("#usda 1.0\n(defaultPrim = \"r\")\ndef Xform \"r\" {{\n{prims}\n}}\n"),
        )
        .unwrap();
        read_tiers(&entry)
            .unwrap()
            .into_iter()
            .map(|tiers| (tiers.set, tiers.variants))
            .collect()
    }

    fn scope(name: &str, set: &str, variants: &[&str]) -> String {
        let variants: String = variants
            .iter()
            .map(|name| format!("\"{name}\" {{}}\n"))
            .collect();
        format!(
            "def Scope \"{name}\" (prepend variantSets = [\"{set}\"]) {{\nvariantSet \"{set}\" = {{\n{variants}}}\n}}\n"
        )
    }

    #[test]
    fn sets_of_all_prims_from_fine_to_coarse() {
        let prims = scope("a", "visual_representation", &["mesh_low", "mesh_high"])
            + &scope(
                "b",
                "visual_representation",
                &["mesh_high", "mesh_medium", "lego"],
            )
            + &scope(
                "c",
                "collision_fidelity",
                &["convex_decomposition", "convex_hull", "spheres", "trimesh"],
            )
            + &scope("d", "look", &["red", "blue"]);
        let known = |set: &str, names: &[&str]| {
            (
                set.to_owned(),
                names.iter().map(ToString::to_string).collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            sets(&prims),
            [
                known(
                    "visual_representation",
                    &["mesh_high", "mesh_medium", "mesh_low", "lego"]
                ),
                known(
                    "collision_fidelity",
                    &["trimesh", "convex_decomposition", "convex_hull", "spheres"]
                ),
            ]
        );
    }

    #[test]
    fn what_leaves_no_choice_is_none() {
        assert!(sets(&scope("a", "visual_representation", &["mesh_high"])).is_empty());
        assert!(sets(&scope("a", "collision_fidelity", &["convex_hull", "boxes"])).is_empty());
        assert!(sets("").is_empty());
        assert!(read_tiers(Path::new("/nowhere.usda")).is_err());
    }
}
