//! Which folder below the output directory each robot's asset gets: `NAME` for the node's own,
//! `NAMESPACE/NAME` for the others.
//!
//! No asset lies inside another: where a namespace is called like a robot whose asset is there, the
//! folder of the namespace is `NAMESPACE.ns`, and where a robot is called like a folder of assets,
//! its asset is in `NAME.robot/NAME`. What lay there before the node started counts too, so that
//! the answers stay the same from one start to the next.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use super::description_source::RobotNamespace;
use urdf_usd_convert as convert;

/// How deep below the output directory assets are looked for.
const DEEPEST: usize = 16;
/// How many folders are looked at.
const MOST_FOLDERS: usize = 100_000;

/// How many answers are remembered at least before those that nobody needs are forgotten.
const MOST_GIVEN: usize = 1000;

/// The places of all assets. A place is a path below the output directory with forward slashes: the
/// robot's key.
#[derive(Debug, Default)]
pub(super) struct AssetPaths {
    /// What is taken; whether an asset was written there, or it is only meant to be.
    assets: BTreeMap<String, bool>,
    given: HashMap<(RobotNamespace, String), String>,
    /// The places in `given`, and for whom.
    taken: HashMap<String, (RobotNamespace, String)>,
    /// How many answers there were when they were cleared up.
    kept: usize,
    /// How many assets were written.
    written: usize,
}

impl AssetPaths {
    /// The places that are taken in a directory. Looks at the file system.
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

    /// Notes an asset that was written at a place of its own.
    pub(super) fn note(&mut self, key: &str) {
        match self.assets.get_mut(key) {
            Some(true) => return,
            Some(is_written) => *is_written = true,
            None => drop(self.assets.insert(key.to_owned(), true)),
        }
        self.written += 1;
    }

    /// Whether an asset was written at a place.
    pub(super) fn is_written(&self, key: &str) -> bool {
        self.assets.get(key) == Some(&true)
    }

    /// How many assets were written.
    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// Takes over which assets there are really: people may have removed some.
    pub(super) fn look_again(&mut self, there: &BTreeSet<String>) {
        let taken = &self.taken;
        self.assets.retain(|key, is_written| {
            *is_written = there.contains(key);
            *is_written || taken.contains_key(key)
        });
        self.written = self
            .assets
            .values()
            .filter(|is_written| **is_written)
            .count();
    }

    /// Whether so much is remembered that [`AssetPaths::keep`] should be called.
    pub(super) fn are_many(&self) -> bool {
        self.given.len() > 2 * self.kept + MOST_GIVEN
    }

    /// Forgets the places that were given to robots that nobody speaks of any more: names without
    /// end must not fill the memory. Where an asset was written stays taken.
    pub(super) fn keep(&mut self, is_needed: impl Fn(&str) -> bool) {
        self.given.retain(|_, key| is_needed(key));
        self.taken = self
            .given
            .iter()
            .map(|(wanted, key)| (key.clone(), wanted.clone()))
            .collect();
        self.kept = self.given.len();
        let taken = &self.taken;
        self.assets
            .retain(|key, is_written| *is_written || taken.contains_key(key));
    }

    /// Forgets the place that was given to one robot. Where an asset was written stays taken.
    pub(super) fn release(&mut self, key: &str) {
        if let Some(wanted) = self.taken.remove(key) {
            self.given.remove(&wanted);
        }
        if !self.is_written(key) {
            self.assets.remove(key);
        }
    }

    /// How many places were given, and how many of them have no asset.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 3] {
        [
            self.given.len(),
            self.taken.len(),
            self.assets.len() - self.written,
        ]
    }

    /// The place of the robot of this name in its namespace: the same whenever it is asked for.
    pub(super) fn of(&mut self, robot_namespace: &RobotNamespace, robot: &str) -> String {
        let name = convert::file_name(robot);
        let wanted = (robot_namespace.clone(), name);
        if let Some(key) = self.given.get(&wanted) {
            return key.clone();
        }
        let mut parent = String::new();
        for segment in robot_namespace
            .namespace()
            .into_iter()
            .flat_map(|namespace| namespace.split('/'))
        {
            parent = free(&parent, segment, ".ns", |key| {
                !self.assets.contains_key(key)
            });
        }
        let mut key = below(&parent, &wanted.1);
        if self.taken.contains_key(&key) {
            // The root namespace, which is not the node's own, has no folder that would keep them
            // apart.
            parent = free(&parent, "root.ns", "+", |key| {
                !self.assets.contains_key(key)
            });
            key = below(&parent, &wanted.1);
        }
        if self.holds_assets(&key) {
            parent = free(&parent, &format!("{}.robot", wanted.1), "+", |key| {
                !self.assets.contains_key(key)
            });
            key = below(&parent, &wanted.1);
        }
        self.assets.entry(key.clone()).or_default();
        self.taken.insert(key.clone(), wanted.clone());
        self.given.insert(wanted, key.clone());
        key
    }

    fn holds_assets(&self, key: &str) -> bool {
        let inside = format!("{key}/");
        self.assets
            .range(inside.clone()..)
            .next()
            .is_some_and(|(asset, _)| asset.starts_with(&inside))
    }
}

/// The places of the assets in a directory. Looks at the file system.
pub(super) fn scan(output_dir: &Path) -> BTreeSet<String> {
    let mut assets = BTreeSet::new();
    let mut open = vec![(output_dir.to_owned(), String::new(), 0)];
    let mut seen = 0;
    while let Some((folder, key, depth)) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name.starts_with('.') || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            seen += 1;
            let key = below(&key, &name);
            if entry.path().join(convert::REPORT).exists() {
                assets.insert(key);
            } else if depth < DEEPEST && seen < MOST_FOLDERS {
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

/// `name` below `parent`, with as many endings as it takes to be free.
fn free(parent: &str, name: &str, ending: &str, is_free: impl Fn(&str) -> bool) -> String {
    let mut key = below(parent, name);
    while !is_free(&key) {
        key.push_str(ending);
    }
    key
}

/// The folder that a place lies in, and its last part.
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
        assert_eq!(asset_paths.of(&RobotNamespace::Own, "arm"), "arm");
        assert_eq!(asset_paths.of(&namespace("/r1"), "arm"), "r1/arm");
        assert_eq!(asset_paths.of(&namespace("/r2"), "arm"), "r2/arm");
        assert_eq!(
            asset_paths.of(&namespace("/fleet/a"), "../arm"),
            "fleet/a/_arm"
        );
        assert_eq!(asset_paths.of(&namespace("/r1"), "arm"), "r1/arm");
        assert_eq!((parent("r1/arm"), parent("arm")), ("r1", ""));
    }

    #[test]
    fn no_asset_lies_in_another() {
        let mut asset_paths = AssetPaths::default();
        assert_eq!(asset_paths.of(&RobotNamespace::Own, "arm"), "arm");
        assert_eq!(asset_paths.of(&namespace("/arm"), "arm"), "arm.ns/arm");
        assert_eq!(asset_paths.of(&namespace("/r1"), "arm"), "r1/arm");
        assert_eq!(asset_paths.of(&RobotNamespace::Own, "r1"), "r1.robot/r1");
        assert_eq!(
            asset_paths.of(&namespace("/r1/arm"), "dog"),
            "r1/arm.ns/dog"
        );
        // The root is not the node's own when that is in a namespace.
        assert_eq!(asset_paths.of(&namespace("/"), "rover"), "rover");
        assert_eq!(asset_paths.of(&namespace("/"), "arm"), "root.ns/arm");
        asset_paths.note("sub/dog");
        assert_eq!(asset_paths.of(&RobotNamespace::Own, "sub"), "sub.robot/sub");
    }

    #[test]
    fn what_lay_there_before_counts() {
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
        assert_eq!(asset_paths.of(&namespace("/arm"), "arm"), "arm.ns/arm");
        assert_eq!(asset_paths.of(&RobotNamespace::Own, "r1"), "r1.robot/r1");
        assert_eq!(
            (
                asset_paths.of(&RobotNamespace::Own, "arm"),
                asset_paths.of(&namespace("/r1"), "arm")
            ),
            ("arm".into(), "r1/arm".into())
        );
    }

    #[test]
    fn names_without_end_are_forgotten_and_what_was_written_is_not() {
        let mut asset_paths = AssetPaths::default();
        for n in 0..20_000 {
            let key = asset_paths.of(&namespace("/r1"), &format!("x{n}"));
            if n % 1000 == 0 {
                asset_paths.note(&key);
            }
            if asset_paths.are_many() {
                asset_paths.keep(|key| key == "r1/x7");
            }
        }
        assert!(
            asset_paths.given.len() < 2 * MOST_GIVEN
                && asset_paths.taken.len() == asset_paths.given.len()
        );
        assert!(
            asset_paths.assets.len() < 2 * MOST_GIVEN + 20,
            "{}",
            asset_paths.assets.len()
        );
        assert_eq!(
            (
                asset_paths.written(),
                asset_paths.of(&namespace("/r1"), "x0")
            ),
            (20, "r1/x0".to_owned())
        );
        assert!(
            asset_paths
                .given
                .contains_key(&(namespace("/r1"), "x7".to_owned()))
        );
        // One whose folder was removed makes room.
        asset_paths.look_again(&["r1/x0".to_owned()].into());
        assert!(
            asset_paths.written() == 1
                && asset_paths.is_written("r1/x0")
                && !asset_paths.is_written("r1/x1000")
        );
    }
}
