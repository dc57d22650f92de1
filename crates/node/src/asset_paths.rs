//! Assigns each robot's asset a folder below the output directory: `NAME` for the node's own
//! robots, `NAMESPACE/NAME` for all others.
//!
//! No asset is inside another. If a namespace has the name of an asset, its folder becomes
//! `NAMESPACE.ns`; if a robot has the name of a folder that holds assets, its asset goes to
//! `NAME.robot/NAME`. Assets from earlier runs count too, so that the answers are stable across
//! restarts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use super::description_source::RobotNamespace;
use urdf_usd_convert as convert;

/// Maximum depth below the output directory at which assets are looked for.
const MAX_DEPTH: usize = 16;
/// Maximum number of folders that a scan visits.
const MAX_FOLDERS: usize = 100_000;

/// Minimum number of new assignments between two prunings.
const PRUNE_INTERVAL: usize = 1000;

/// The places of all assets.
///
/// A place is a path below the output directory with forward slashes; it is also the robot's key.
#[derive(Debug, Default)]
pub(super) struct AssetPaths {
    /// Occupied places; `true` once an asset was written there, `false` while the place is only
    /// assigned.
    assets: BTreeMap<String, bool>,
    assigned: HashMap<(RobotNamespace, String), String>,
    /// The inverse of `assigned`: the owner of each assigned place.
    owners: HashMap<String, (RobotNamespace, String)>,
    /// The number of assignments left by the last pruning.
    pruned_to: usize,
    /// The number of `true` values in `assets`.
    written: usize,
}

impl AssetPaths {
    /// Scans a directory for assets that exist already. Blocks on the file system.
    pub(super) fn scan(output_dir: &Path) -> Self {
        let assets: BTreeMap<String, bool> = scan(output_dir)
            .into_iter()
            .map(|key| (key, true))
            .collect();
        Self {
            written: assets.len(),
            assets,
            ..Self::default()
        }
    }

    /// Records that an asset was written at a place, which need not have been assigned.
    pub(super) fn record_written(&mut self, key: &str) {
        match self.assets.get_mut(key) {
            Some(true) => return,
            Some(is_written) => *is_written = true,
            None => drop(self.assets.insert(key.to_owned(), true)),
        }
        self.written += 1;
    }

    /// Returns whether an asset was written at a place.
    pub(super) fn is_written(&self, key: &str) -> bool {
        self.assets.get(key) == Some(&true)
    }

    /// Returns the number of written assets.
    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// Replaces what is known of written assets by the result of a new scan: users may delete some.
    pub(super) fn update_written(&mut self, there: &BTreeSet<String>) {
        let owners = &self.owners;
        self.assets.retain(|key, is_written| {
            *is_written = there.contains(key);
            *is_written || owners.contains_key(key)
        });
        self.written = self
            .assets
            .values()
            .filter(|is_written| **is_written)
            .count();
    }

    /// Returns whether enough places were assigned since the last pruning to call
    /// [`AssetPaths::prune`].
    pub(super) fn needs_pruning(&self) -> bool {
        // Once the number has doubled, so that pruning costs O(1) for each assignment.
        self.assigned.len() > 2 * self.pruned_to + PRUNE_INTERVAL
    }

    /// Drops assignments that are no longer needed, so that an endless stream of names cannot
    /// exhaust memory. Places with a written asset stay occupied.
    pub(super) fn prune(&mut self, is_needed: impl Fn(&str) -> bool) {
        self.assigned.retain(|_, key| is_needed(key));
        self.owners = self
            .assigned
            .iter()
            .map(|(wanted, key)| (key.clone(), wanted.clone()))
            .collect();
        self.pruned_to = self.assigned.len();
        let owners = &self.owners;
        self.assets
            .retain(|key, is_written| *is_written || owners.contains_key(key));
    }

    /// Drops the assignment of one robot. A place with a written asset stays occupied.
    pub(super) fn release(&mut self, key: &str) {
        if let Some(wanted) = self.owners.remove(key) {
            self.assigned.remove(&wanted);
        }
        if !self.is_written(key) {
            self.assets.remove(key);
        }
    }

    /// Returns the numbers of assignments, of owners, and of occupied places without an asset.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 3] {
        [
            self.assigned.len(),
            self.owners.len(),
            self.assets.len() - self.written,
        ]
    }

    /// Returns the place of a robot, the same on every call until it is released.
    pub(super) fn assign(&mut self, robot_namespace: &RobotNamespace, robot: &str) -> String {
        let name = convert::file_name(robot);
        let wanted = (robot_namespace.clone(), name);
        if let Some(key) = self.assigned.get(&wanted) {
            return key.clone();
        }
        let mut parent = String::new();
        for segment in robot_namespace
            .namespace()
            .into_iter()
            .flat_map(|namespace| namespace.split('/'))
        {
            parent = unique_path(&parent, segment, ".ns", |key| {
                !self.assets.contains_key(key)
            });
        }
        let mut key = below(&parent, &wanted.1);
        if self.owners.contains_key(&key) {
            // The root namespace, if it is not the node's own, has no folder of its own: its robots
            // would collide with the node's.
            parent = unique_path(&parent, "root.ns", "+", |key| {
                !self.assets.contains_key(key)
            });
            key = below(&parent, &wanted.1);
        }
        if self.holds_assets(&key) {
            parent = unique_path(&parent, &format!("{}.robot", wanted.1), "+", |key| {
                !self.assets.contains_key(key)
            });
            key = below(&parent, &wanted.1);
        }
        self.assets.entry(key.clone()).or_default();
        self.owners.insert(key.clone(), wanted.clone());
        self.assigned.insert(wanted, key.clone());
        key
    }

    fn holds_assets(&self, key: &str) -> bool {
        // Keys with a common prefix are consecutive in the map, so one look suffices.
        let inside = format!("{key}/");
        self.assets
            .range(inside.clone()..)
            .next()
            .is_some_and(|(asset, _)| asset.starts_with(&inside))
    }
}

/// Returns the places of the assets in a directory. Blocks on the file system.
pub(super) fn scan(output_dir: &Path) -> BTreeSet<String> {
    let mut assets = BTreeSet::new();
    let mut open = vec![(output_dir.to_owned(), String::new(), 0)];
    let mut seen = 0;
    while let Some((folder, key, depth)) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            // Hidden folders are staging areas of conversions, not assets.
            if name.starts_with('.') || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            seen += 1;
            let key = below(&key, &name);
            // No asset is inside another, so its folder is not searched.
            if entry.path().join(convert::REPORT).exists() {
                assets.insert(key);
            } else if depth < MAX_DEPTH && seen < MAX_FOLDERS {
                open.push((entry.path(), key, depth + 1));
            }
        }
    }
    assets
}

fn below(parent: &str, name: &str) -> String {
    if parent.is_empty() {
        name.to_owned()
    } else {
        format!("{parent}/{name}")
    }
}

/// Returns `name` below `parent`, with `ending` appended until the path is free.
fn unique_path(parent: &str, name: &str, ending: &str, is_free: impl Fn(&str) -> bool) -> String {
    let mut key = below(parent, name);
    while !is_free(&key) {
        key.push_str(ending);
    }
    key
}

/// Returns the folder of a place.
pub(super) fn parent(key: &str) -> &str {
    key.rsplit_once('/').map_or("", |(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(name: &str) -> RobotNamespace {
        RobotNamespace::Named(name.into())
    }

    #[test]
    fn equal_names_in_different_namespaces_do_not_meet() {
        let mut asset_paths = AssetPaths::default();
        assert_eq!(asset_paths.assign(&RobotNamespace::Own, "arm"), "arm");
        assert_eq!(asset_paths.assign(&namespace("/r1"), "arm"), "r1/arm");
        assert_eq!(asset_paths.assign(&namespace("/r2"), "arm"), "r2/arm");
        assert_eq!(
            asset_paths.assign(&namespace("/fleet/a"), "../arm"),
            "fleet/a/_arm"
        );
        assert_eq!(asset_paths.assign(&namespace("/r1"), "arm"), "r1/arm");
        assert_eq!((parent("r1/arm"), parent("arm")), ("r1", ""));
    }

    #[test]
    fn no_asset_lies_in_another() {
        let mut asset_paths = AssetPaths::default();
        assert_eq!(asset_paths.assign(&RobotNamespace::Own, "arm"), "arm");
        assert_eq!(asset_paths.assign(&namespace("/arm"), "arm"), "arm.ns/arm");
        assert_eq!(asset_paths.assign(&namespace("/r1"), "arm"), "r1/arm");
        assert_eq!(
            asset_paths.assign(&RobotNamespace::Own, "r1"),
            "r1.robot/r1"
        );
        assert_eq!(
            asset_paths.assign(&namespace("/r1/arm"), "dog"),
            "r1/arm.ns/dog"
        );
        // The root namespace differs from the node's own if the node is in a namespace.
        assert_eq!(asset_paths.assign(&namespace("/"), "rover"), "rover");
        assert_eq!(asset_paths.assign(&namespace("/"), "arm"), "root.ns/arm");
        asset_paths.record_written("sub/dog");
        assert_eq!(
            asset_paths.assign(&RobotNamespace::Own, "sub"),
            "sub.robot/sub"
        );
    }

    #[test]
    fn existing_assets_count() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["arm", "r1/arm", ".arm.staging"] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
            fs::write(folder.path().join(path).join(convert::REPORT), "{}").unwrap();
        }
        let mut asset_paths = AssetPaths::scan(folder.path());
        assert_eq!(
            asset_paths.assets,
            ["arm", "r1/arm"].map(|key| (key.to_owned(), true)).into()
        );
        assert_eq!(asset_paths.assign(&namespace("/arm"), "arm"), "arm.ns/arm");
        assert_eq!(
            asset_paths.assign(&RobotNamespace::Own, "r1"),
            "r1.robot/r1"
        );
        assert_eq!(
            (
                asset_paths.assign(&RobotNamespace::Own, "arm"),
                asset_paths.assign(&namespace("/r1"), "arm")
            ),
            ("arm".into(), "r1/arm".into())
        );
    }

    #[test]
    fn unneeded_names_are_pruned_and_written_ones_are_kept() {
        let mut asset_paths = AssetPaths::default();
        for n in 0..20_000 {
            let key = asset_paths.assign(&namespace("/r1"), &format!("x{n}"));
            if n % 1000 == 0 {
                asset_paths.record_written(&key);
            }
            if asset_paths.needs_pruning() {
                asset_paths.prune(|key| key == "r1/x7");
            }
        }
        assert!(
            asset_paths.assigned.len() < 2 * PRUNE_INTERVAL
                && asset_paths.owners.len() == asset_paths.assigned.len()
        );
        assert!(
            asset_paths.assets.len() < 2 * PRUNE_INTERVAL + 20,
            "{}",
            asset_paths.assets.len()
        );
        assert_eq!(
            (
                asset_paths.written(),
                asset_paths.assign(&namespace("/r1"), "x0")
            ),
            (20, "r1/x0".to_owned())
        );
        assert!(
            asset_paths
                .assigned
                .contains_key(&(namespace("/r1"), "x7".to_owned()))
        );
        // A removed folder makes room for a new asset.
        asset_paths.update_written(&["r1/x0".to_owned()].into());
        assert!(
            asset_paths.written() == 1
                && asset_paths.is_written("r1/x0")
                && !asset_paths.is_written("r1/x1000")
        );
    }
}
