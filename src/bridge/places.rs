//! Which folder below the output directory each robot's asset gets: `NAME` for the node's own, `NAMESPACE/NAME` for the others.
//!
//! No asset lies inside another: where a namespace is called like a robot whose asset is there, the folder of the namespace is
//! `NAMESPACE.ns`, and where a robot is called like a folder of assets, its asset is in `NAME.robot/NAME`. What lay there before the
//! node started counts too, so that the answers stay the same from one start to the next.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use super::origin::Home;
use crate::convert;

/// How deep below the output directory assets are looked for.
const DEEPEST: usize = 16;
/// How many folders are looked at.
const MOST_FOLDERS: usize = 100_000;

/// The places of all assets. A place is a path below the output directory with forward slashes: the robot's key.
#[derive(Debug, Default)]
pub(super) struct Places {
    assets: BTreeSet<String>,
    given: HashMap<(Home, String), String>,
}

impl Places {
    /// The places that are taken in a directory. Looks at the file system.
    pub(super) fn scan(output_dir: &Path) -> Self {
        let mut assets = BTreeSet::new();
        let mut open = vec![(output_dir.to_owned(), String::new(), 0)];
        let mut seen = 0;
        while let Some((folder, key, depth)) = open.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(name) = entry.file_name().into_string() else { continue };
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
        Self { assets, given: HashMap::new() }
    }

    /// Notes an asset that was written at a place of its own.
    pub(super) fn note(&mut self, key: &str) {
        if !self.assets.contains(key) {
            self.assets.insert(key.to_owned());
        }
    }

    /// The place of the robot of this name in its home: the same whenever it is asked for.
    pub(super) fn of(&mut self, home: &Home, robot: &str) -> String {
        let name = convert::file_name(robot);
        let wanted = (home.clone(), name);
        if let Some(key) = self.given.get(&wanted) {
            return key.clone();
        }
        let mut parent = String::new();
        for segment in home.namespace().into_iter().flat_map(|namespace| namespace.split('/')) {
            parent = free(&parent, segment, ".ns", |key| !self.assets.contains(key));
        }
        let mut key = below(&parent, &wanted.1);
        if self.given.values().any(|given| *given == key) {
            // The root namespace, which is not the node's own, has no folder that would keep them apart.
            parent = free(&parent, "root.ns", "+", |key| !self.assets.contains(key));
            key = below(&parent, &wanted.1);
        }
        if self.holds_assets(&key) {
            parent = free(&parent, &format!("{}.robot", wanted.1), "+", |key| !self.assets.contains(key));
            key = below(&parent, &wanted.1);
        }
        self.assets.insert(key.clone());
        self.given.insert(wanted, key.clone());
        key
    }

    fn holds_assets(&self, key: &str) -> bool {
        let inside = format!("{key}/");
        self.assets.range(inside.clone()..).next().is_some_and(|asset| asset.starts_with(&inside))
    }
}

fn below(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") }
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

    fn namespace(name: &str) -> Home {
        Home::Namespace(name.into())
    }

    #[test]
    fn equal_names_in_different_namespaces_do_not_meet() {
        let mut places = Places::default();
        assert_eq!(places.of(&Home::Own, "arm"), "arm");
        assert_eq!(places.of(&namespace("/r1"), "arm"), "r1/arm");
        assert_eq!(places.of(&namespace("/r2"), "arm"), "r2/arm");
        assert_eq!(places.of(&namespace("/fleet/a"), "../arm"), "fleet/a/_arm");
        assert_eq!(places.of(&namespace("/r1"), "arm"), "r1/arm");
        assert_eq!((parent("r1/arm"), parent("arm")), ("r1", ""));
    }

    #[test]
    fn no_asset_lies_in_another() {
        let mut places = Places::default();
        assert_eq!(places.of(&Home::Own, "arm"), "arm");
        assert_eq!(places.of(&namespace("/arm"), "arm"), "arm.ns/arm");
        assert_eq!(places.of(&namespace("/r1"), "arm"), "r1/arm");
        assert_eq!(places.of(&Home::Own, "r1"), "r1.robot/r1");
        assert_eq!(places.of(&namespace("/r1/arm"), "dog"), "r1/arm.ns/dog");
        // The root is not the node's own when that is in a namespace.
        assert_eq!(places.of(&namespace("/"), "rover"), "rover");
        assert_eq!(places.of(&namespace("/"), "arm"), "root.ns/arm");
        places.note("sub/dog");
        assert_eq!(places.of(&Home::Own, "sub"), "sub.robot/sub");
    }

    #[test]
    fn what_lay_there_before_counts() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["arm", "r1/arm", ".arm.staging"] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
            fs::write(folder.path().join(path).join(convert::REPORT), "{}").unwrap();
        }
        let mut places = Places::scan(folder.path());
        assert_eq!(places.assets, ["arm", "r1/arm"].map(str::to_owned).into());
        assert_eq!(places.of(&namespace("/arm"), "arm"), "arm.ns/arm");
        assert_eq!(places.of(&Home::Own, "r1"), "r1.robot/r1");
        assert_eq!((places.of(&Home::Own, "arm"), places.of(&namespace("/r1"), "arm")), ("arm".into(), "r1/arm".into()));
    }
}
