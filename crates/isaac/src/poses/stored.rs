//! Reads, stores and deletes named poses of an asset on disk, for the node's services and the viewer.
//!
//! Changes go into the overlay of poses, never into the asset itself. This module must not depend on
//! ROS or HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::Serialize;

use crate::overlay::overlay_files;
pub use crate::overlay::{entry_with_poses, open_with_poses};
use crate::poses::{Poses, check_name};
use crate::{Edit, Label, Saved};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_resolve::{Resolver, States};
use urdf_usd_robot::{JointId, LinkId, NamedPose, Robot};
use urdf_usd_usd_author::isaac_schema::PoseScope;

/// Serializes edits: an edit must read the result of the previous one.
static EDITING: Mutex<()> = Mutex::new(());

/// A pose for display.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoseView {
    /// The name.
    pub name: String,
    /// The group of joints, if any.
    pub group: Option<String>,
    /// Positions of joints by name, in radians or metres.
    #[serde(serialize_with = "as_map")]
    pub joints: Vec<(String, f64)>,
    /// Whether all positions are within their limits.
    pub valid: bool,
}

fn as_map<S: serde::Serializer>(
    joints: &[(String, f64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(joints.iter().map(|(name, at)| (name, at)))
}

impl PoseView {
    fn of(poses: &Poses<'_>, pose: &NamedPose) -> Self {
        let joints = || {
            pose.positions
                .iter()
                .filter_map(|(id, at)| Some((&poses.robot.joints()[*id], *at.first()?)))
        };
        Self {
            name: pose.name.clone(),
            group: pose.group.clone(),
            joints: joints()
                .map(|(joint, at)| (joint.name().to_owned(), at))
                .collect(),
            valid: joints().all(|(joint, at)| joint.bounds().contains(at)),
        }
    }
}

/// Errors of [`store`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The name is not valid.
    Name(String),
    /// Any other reason.
    Other(String),
}

impl Refused {
    /// Returns the message.
    pub fn message(self) -> String {
        match self {
            Self::Name(message) | Self::Other(message) => message,
        }
    }
}

/// Returns the files in which the poses of an asset are stored: the possible layers and the entry of the
/// overlay.
pub fn files(entry: &Path) -> [PathBuf; 3] {
    overlay_files(entry, Label::Poses)
}

/// Opens the overlay of poses of an asset.
fn edit(entry: &Path) -> Result<Edit, String> {
    Edit::open(entry, Label::Poses, None, None).map_err(|error| error.to_string())
}

/// All poses of an asset, as its files said when they were read.
#[derive(Debug)]
pub struct Listing {
    /// The poses, in the order of their layers.
    pub poses: Vec<PoseView>,
    files: States,
}

impl Listing {
    /// Reads the poses of the asset with this entry.
    ///
    /// # Errors
    /// A sentence with the reason, if the poses cannot be read.
    pub fn read(entry: &Path) -> Result<Self, String> {
        let started = SystemTime::now();
        let edit = edit(entry)?;
        let poses = Poses::of(&edit.stage, None).map_err(|error| error.to_string())?;
        let layers = edit.stage.layers.iter().map(|layer| layer.path.clone());
        let possible = files(entry)
            .into_iter()
            .chain(overlay_files(entry, Label::Isaac));
        let used: BTreeSet<PathBuf> = layers.chain(possible).collect();
        Ok(Self {
            poses: poses
                .robot
                .named_poses()
                .iter()
                .map(|pose| PoseView::of(&poses, pose))
                .collect(),
            files: States::snapshot(&used, started),
        })
    }

    /// Returns whether no file has changed since. Blocks on the file system.
    pub fn is_current(&self) -> bool {
        self.files.are_unchanged()
    }
}

/// Returns the named poses of the asset that `entry` belongs to, for `robot`, which was read from any entry
/// of that asset. Joints and links that the robot lacks are left out. `root`: the path of the robot's
/// topmost prim, as for [`Poses::of`].
///
/// # Errors
/// A sentence with the reason, if the poses cannot be read.
pub fn of_asset(
    entry: &Path,
    root: Option<&str>,
    robot: &Robot,
    packages: Option<Arc<Resolver>>,
) -> Result<Vec<NamedPose>, String> {
    let stage = open_with_poses(entry, packages).map_err(|error| error.to_string())?;
    let poses = Poses::of(&stage, root).map_err(|error| error.to_string())?;
    let joint = |id: JointId| robot.joint_named(poses.robot.joints()[id].name());
    let link = |id: LinkId| robot.link_named(poses.robot.links()[id].name());
    let converted = poses.robot.named_poses().iter().map(|pose| {
        let positions = pose.positions.iter();
        let mut positions: Vec<(JointId, Vec<f64>)> = positions
            .filter_map(|(id, at)| Some((joint(*id)?, at.clone())))
            .collect();
        let mut fixed: Vec<JointId> = pose.fixed.iter().filter_map(|id| joint(*id)).collect();
        // The entries may list the joints in different orders.
        positions.sort_by_key(|(joint, _)| *joint);
        fixed.sort();
        NamedPose {
            name: pose.name.clone(),
            group: pose.group.clone(),
            chain: pose
                .chain
                .and_then(|(start, end)| Some((link(start)?, link(end)?))),
            positions,
            fixed,
            place: pose.place.clone(),
        }
    });
    Ok(converted.collect())
}

/// Stores a pose, and replaces one with the same name and group. `positions` returns the joint
/// positions for the robot that was read.
///
/// # Errors
/// If the pose cannot be stored; nothing has changed then.
pub fn store(
    entry: &Path,
    name: &str,
    group: Option<&str>,
    positions: impl FnOnce(&Poses<'_>) -> Result<BTreeMap<JointId, Vec<f64>>, String>,
) -> Result<(PoseView, Saved), Refused> {
    let name = name.trim();
    let group = group.map(str::trim).filter(|group| !group.is_empty());
    check_name("name", name).map_err(Refused::Name)?;
    group
        .map_or(Ok(()), |group| check_name("group", group))
        .map_err(Refused::Other)?;
    // The mutex guards no data, so a panic of another edit leaves nothing to repair.
    let _editing = EDITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut edit = edit(entry).map_err(Refused::Other)?;
    let poses = Poses::of(&edit.stage, None).map_err(|error| Refused::Other(error.to_string()))?;
    let pose = NamedPose {
        name: name.to_owned(),
        group: group.map(str::to_owned),
        chain: None,
        positions: positions(&poses)
            .map_err(Refused::Other)?
            .into_iter()
            .collect(),
        fixed: Vec::new(),
        place: Place::default(),
    };
    let stored = PoseView::of(&poses, &pose);
    let (paths, found) = poses.store(&[pose], PoseScope::default(), &mut edit.layer);
    if paths.is_empty() {
        let why = found.first().map(Diagnostic::to_sentence);
        let why = why.unwrap_or_else(|| "the pose is not stored".to_owned());
        return Err(Refused::Other(why));
    }
    let saved = edit
        .override_poses(&paths)
        .and_then(|()| edit.save())
        .map_err(|error| Refused::Other(error.to_string()))?;
    Ok((stored, saved))
}

/// Deletes a pose, and returns its name.
///
/// # Errors
/// A sentence with the reason, if the pose cannot be deleted; nothing has changed then.
pub fn delete(entry: &Path, name: &str, group: Option<&str>) -> Result<String, String> {
    let _editing = EDITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut edit = edit(entry)?;
    let poses = Poses::of(&edit.stage, None).map_err(|error| error.to_string())?;
    let group = group.map(str::trim).filter(|group| !group.is_empty());
    let pose = poses
        .get(name.trim(), group)
        .map_err(|error| error.to_string())?;
    let paths = poses.delete(pose, &mut edit.layer);
    let name = pose.name.clone();
    edit.override_poses(&paths)
        .and_then(|()| edit.save())
        .map_err(|error| error.to_string())?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use urdf_usd_convert::{Context, Job, Source, convert};

    const ARM: &str = "<robot name='arm'><link name='a'/><link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' \
                       ixy='0' ixz='0' iyz='0'/></inertial></link><joint name='j' type='revolute'><parent link='a'/><child link='b'/>\
                       <axis xyz='0 0 1'/><limit lower='-1' upper='1' effort='1' velocity='1'/></joint></robot>";

    fn asset() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let source = Source::Text {
            text: ARM.into(),
            file: None,
        };
        let report = convert(&Job::new(source, folder.path()), &Context::default()).unwrap();
        let entry = report.file("usda").unwrap();
        (folder, entry)
    }

    fn at(position: f64) -> impl FnOnce(&Poses<'_>) -> Result<BTreeMap<JointId, Vec<f64>>, String> {
        move |poses| {
            Ok(BTreeMap::from([(
                poses.joint("j").map_err(|error| error.to_string())?,
                vec![position],
            )]))
        }
    }

    #[test]
    fn a_pose_is_stored_listed_replaced_and_deleted() {
        let (_folder, entry) = asset();
        let before = std::fs::read(&entry).unwrap();
        let names = || {
            Listing::read(&entry)
                .unwrap()
                .poses
                .into_iter()
                .map(|pose| (pose.name, (pose.joints[0].1 * 1e6).round() / 1e6))
                .collect::<Vec<_>>()
        };
        assert!(names().is_empty());
        store(&entry, " up ", None, at(0.5)).unwrap();
        store(&entry, "down", None, at(-0.5)).unwrap();
        store(&entry, "up", None, at(0.25)).unwrap();
        assert_eq!(
            names(),
            [("up".to_owned(), 0.25), ("down".to_owned(), -0.5)]
        );
        let (over, _) = store(&entry, "over", None, at(2.0)).unwrap();
        assert!(!over.valid);
        assert_eq!(delete(&entry, "down", None), Ok("down".to_owned()));
        assert_eq!(names().len(), 2);
        assert!(delete(&entry, "dwn", None).unwrap_err().contains("dwn"));
        assert_eq!(
            std::fs::read(&entry).unwrap(),
            before,
            "the asset itself must not change"
        );
    }

    #[test]
    fn invalid_names_are_rejected() {
        let (_folder, entry) = asset();
        for name in ["", "  ", "a\nb", "\u{7}", &"x".repeat(101)] {
            assert!(
                matches!(store(&entry, name, None, at(0.0)), Err(Refused::Name(_))),
                "{name:?}"
            );
        }
        assert!(matches!(
            store(&entry, "far", None, |_| Ok(BTreeMap::new())),
            Err(Refused::Other(_))
        ));
        assert!(Listing::read(&entry).unwrap().poses.is_empty());
    }

    #[test]
    fn concurrent_edits_lose_no_pose() {
        let (_folder, entry) = asset();
        std::thread::scope(|scope| {
            for n in 0..4 {
                let entry = &entry;
                scope.spawn(move || {
                    store(entry, &format!("pose {n}"), None, at(0.1 * f64::from(n))).unwrap()
                });
            }
        });
        assert_eq!(Listing::read(&entry).unwrap().poses.len(), 4);
    }

    #[test]
    fn a_listing_is_current_until_a_file_changes() {
        let (_folder, entry) = asset();
        store(&entry, "up", None, at(0.5)).unwrap();
        // Files that were just written may change again within the resolution of their times.
        for file in std::fs::read_dir(entry.parent().unwrap()).unwrap() {
            let file = std::fs::File::options()
                .append(true)
                .open(file.unwrap().path());
            let Ok(file) = file else { continue };
            let old = SystemTime::now() - std::time::Duration::from_secs(60);
            file.set_modified(old).unwrap();
        }
        let listing = Listing::read(&entry).unwrap();
        assert!(listing.is_current() && listing.poses.len() == 1);
        store(&entry, "down", None, at(-0.5)).unwrap();
        assert!(!listing.is_current());
        assert_eq!(Listing::read(&entry).unwrap().poses.len(), 2);
    }
}
