//! Frames that TF has at the right place under another name.
//!
//! Each of them would be two findings, a missing frame and an extra one, and its children would have
//! wrong parents. Here it is one finding, and its children are compared under the other name.

use std::collections::{HashMap, HashSet};

use crate::check::{FrameStatus, Observation, Snapshot, distance};
use crate::diagnosis::{Cause, CauseKind, list};
use crate::expected;
use crate::frames::AssetFrame;
use crate::tf::{Edge, Topic, plain};

/// Returns the names in TF of renamed frames, by their names in the asset.
pub(crate) fn find<'a>(snapshot: &Snapshot<'a>) -> HashMap<&'a str, &'a str> {
    let mut renamed: HashMap<&str, &str> = HashMap::new();
    let tree = snapshot.tree();
    let mut missing: Vec<(usize, &AssetFrame)> = snapshot
        .expected
        .iter()
        .enumerate()
        .filter(|(_, frame)| {
            let (id, name) = (plain(&frame.id), snapshot.name(&frame.id));
            let is_heard = tree.get(&name).is_some() || tree.is_parent(&name);
            !is_heard && !frame.from_sensor && !snapshot.ignores(id, frame.display_name.as_deref())
        })
        .collect();
    // A renamed frame may hang on a renamed one, so each round may find more.
    loop {
        let mut aliases = snapshot.aliases.clone();
        aliases.extend(&renamed);
        let known = Snapshot {
            aliases: &aliases,
            ..*snapshot
        };
        let taken: HashSet<&str> = renamed.values().copied().collect();
        let before = missing.len();
        missing.retain(|&(index, frame)| {
            let name = if frame.is_root {
                root(snapshot, &known, frame)
            } else {
                child(snapshot, &known, index, frame)
            };
            match name.filter(|name| !taken.contains(name)) {
                Some(name) => renamed.insert(plain(&frame.id), name).is_some(),
                None => true,
            }
        });
        if missing.len() == before {
            return renamed;
        }
    }
}

/// Returns the only undeclared frame under the parent of a missing one that is at its place.
fn child<'a>(
    snapshot: &Snapshot<'a>,
    known: &Snapshot<'_>,
    index: usize,
    frame: &AssetFrame,
) -> Option<&'a str> {
    let parent = known.name(frame.parent.as_deref()?);
    let mut others = snapshot
        .heard
        .transforms
        .tree()
        .children(&parent)
        .filter(|name| is_undeclared(known, name) && fits(known, index, frame, &parent, name));
    let found = others.next()?;
    // If several match, the renamed frame is ambiguous.
    others.next().is_none().then_some(found)
}

/// Returns the undeclared frame that all children of a missing root are under, at their places.
fn root<'a>(snapshot: &Snapshot<'a>, known: &Snapshot<'_>, root: &AssetFrame) -> Option<&'a str> {
    let tree = snapshot.heard.transforms.tree();
    let mut found: Option<&str> = None;
    for (index, frame) in known.expected.iter().enumerate() {
        if frame.parent.as_deref().map(plain) != Some(plain(&root.id)) {
            continue;
        }
        let name = known.name(&frame.id);
        let Some((_, edge)) = tree.get(&name).and_then(|heard| heard.newest()) else {
            continue;
        };
        let is_same = found.is_none_or(|found| found == edge.parent);
        if !is_same
            || !is_undeclared(known, &edge.parent)
            || !fits(known, index, frame, &edge.parent, &name)
        {
            return None;
        }
        found = Some(&edge.parent);
    }
    found
}

fn is_undeclared(known: &Snapshot<'_>, name: &str) -> bool {
    let context = &known.expected.asset().context;
    let is_context = |other: &Option<String>| other.as_deref().map(plain) == Some(name);
    known.find(name).is_none() && !is_context(&context.root) && !is_context(&context.parent_frame)
}

/// Returns whether the transform of `name` under `parent` is that of a frame of the asset.
fn fits(known: &Snapshot<'_>, index: usize, frame: &AssetFrame, parent: &str, name: &str) -> bool {
    let topic = if frame.is_static {
        Topic::Static
    } else {
        Topic::Moving
    };
    let is_current =
        |edge: &&Edge| edge.parent == parent && (topic == Topic::Static || !known.is_silent(edge));
    let heard = known.tree().get(name).and_then(|heard| heard.on(topic));
    let Some(edge) = heard.filter(is_current) else {
        return false;
    };
    let place = match known.expected.joint(frame) {
        _ if frame.is_static => Some(frame.pose),
        Some((_, joint)) => expected::position(joint, &edge.pose)
            .map(|position| known.expected.place(index, position)),
        None => None,
    };
    place.is_some_and(|place| !known.limits.exceeded(distance(&place, &edge.pose)))
}

/// Reports the renamed frames. A look-up by the name in the asset fails, so such a frame counts as
/// missing unless it has a worse finding.
pub(crate) fn report(
    snapshot: &Snapshot<'_>,
    observed: &mut [Observation],
    renamed: &HashMap<&str, &str>,
) -> Option<Cause> {
    let mut names = Vec::new();
    for (frame, Observation { finding, .. }) in snapshot.expected.iter().zip(observed) {
        let Some(name) = renamed.get(plain(&frame.id)) else {
            continue;
        };
        names.push(format!("{:?} as {name:?}", finding.frame));
        let known = format!("TF has {name:?} in its place");
        (finding.verdict, finding.detail) = match finding.verdict {
            FrameStatus::Ok => (FrameStatus::Missing, known),
            other => (other, format!("{known}; {}", finding.detail)),
        };
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| Cause {
        kind: CauseKind::RenamedFrames,
        sentence: format!(
            "TF has frames at the same pose under other names ({}): convert the description that the robot runs with, or rename them",
            list(&names)
        ),
    })
}
