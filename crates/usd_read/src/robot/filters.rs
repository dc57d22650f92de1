//! Filters of collisions among the links: filtered pairs, and collision groups (REP-158 §1.3.3).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::links::{DraftId, Links, is_joint};
use super::scene::Scene;
use crate::codes;
use urdf_usd_robot::{LinkId, LinkPairs, Robot, SelfCollision, Simulation};
use urdf_usd_stage::{Prim, PrimId};

/// Maximum number of pairs of links that groups may filter: more is no filter of a robot.
const MAX_PAIRS: usize = 100_000;
/// Maximum number of different sets of groups that links are in: they are compared in pairs.
const MAX_SETS: usize = 1000;

/// Reads the pairs of links whose collisions are filtered. `link` maps a draft, or the world, to
/// the robot's link.
pub(super) fn read(
    scene: &Scene<'_>,
    links: &Links,
    robot: &mut Robot,
    link: impl Fn(Option<DraftId>) -> Option<LinkId>,
) {
    let joined = joined(links, robot, &link);
    let mut pairs = filtered_pairs(scene, links, &joined, &link);
    match Groups::find(scene).map(|groups| groups.filter(scene, links, &joined, &link)) {
        Some(Filter::All) => {
            let simulation = Simulation {
                self_collision: SelfCollision::None,
                ..robot.simulation().clone()
            };
            if let Err(error) = robot.set_simulation(simulation) {
                scene.push(error.to_diagnostic(robot.place.clone()));
            }
        }
        Some(Filter::Pairs(of_groups)) => pairs.extend(of_groups.iter()),
        None => {}
    }
    if let Err(error) = robot.disable_collisions(pairs.iter()) {
        scene.push(error.to_diagnostic(robot.place.clone()));
    }
    for (id, prim) in scene.prims() {
        let name = "physics:collisionEnabled";
        if is_joint(prim) && prim.flag(name) == Some(true) {
            let message = format!(
                "the bodies that joint {:?} connects collide in the asset, but not in the robot",
                prim.name()
            );
            let help = "links that a joint connects never collide; author physics:collisionEnabled in a layer over the new asset";
            scene.report(&codes::COLLISION_FILTER, id, Some(name), message, help);
        }
    }
}

/// Returns the pairs of bodies connected by a joint; intermediate frames count as part of their
/// body.
fn joined(
    links: &Links,
    robot: &Robot,
    link: impl Fn(Option<DraftId>) -> Option<LinkId>,
) -> LinkPairs {
    let bodies: HashMap<LinkId, LinkId> = links
        .drafts
        .handles()
        .filter_map(|draft| Some((link(Some(draft))?, link(links.body(draft))?)))
        .collect();
    let rigid = |id: LinkId| bodies.get(&id).copied().unwrap_or(id);
    robot
        .joints()
        .values()
        .map(|joint| (rigid(joint.parent()), rigid(joint.child())))
        .collect()
}

/// Returns the pairs of links of PhysicsFilteredPairsAPI, without those of `joined`.
fn filtered_pairs(
    scene: &Scene<'_>,
    links: &Links,
    joined: &LinkPairs,
    link: impl Fn(Option<DraftId>) -> Option<LinkId>,
) -> LinkPairs {
    let mut pairs = LinkPairs::default();
    let body = |id: PrimId| link(links.body_of(id));
    for (id, prim) in scene.prims() {
        for target in prim.targets("physics:filteredPairs") {
            let (Some(first), Some(second)) = (body(id), scene.stage.at(target).and_then(body))
            else {
                continue;
            };
            if !joined.contains(first, second) {
                pairs.insert(first, second);
            }
        }
    }
    pairs
}

/// The pairs of links that collision groups filter.
enum Filter {
    /// All pairs of links of the robot.
    All,
    /// These pairs.
    Pairs(LinkPairs),
}

/// A collision group, or several with the same `physics:mergeGroup`.
#[derive(Default)]
struct Group {
    prims: Vec<PrimId>,
    /// Indices of the groups that it names.
    named: BTreeSet<usize>,
    /// True if it filters all groups but those that it names.
    is_inverted: bool,
}

/// A mention of a prim by the collection of a collision group.
struct Mention {
    /// The prim of the group.
    by: PrimId,
    /// Index of the group.
    group: usize,
    /// True if the collection includes the prim, false if it excludes it.
    is_included: bool,
    /// True if the prims below count, too.
    expands: bool,
}

/// The collision groups of a stage; some of them filter.
struct Groups<'a> {
    groups: Vec<Group>,
    /// The mentions of each path, exclusions first.
    mentions: HashMap<&'a str, Vec<Mention>>,
}

impl<'a> Groups<'a> {
    /// Returns the groups, unless none of them filters. Groups may be outside of the robot's prims.
    fn find(scene: &Scene<'a>) -> Option<Self> {
        let stage = scene.stage;
        let is_group = |prim: &Prim| prim.type_name == "PhysicsCollisionGroup" && prim.is_present();
        let mut groups: Vec<Group> = Vec::new();
        let (mut indices, mut merged) = (HashMap::new(), HashMap::new());
        for (id, prim) in stage.iter().filter(|(_, prim)| is_group(prim)) {
            let merge = prim
                .text("physics:mergeGroup")
                .filter(|name| !name.is_empty());
            let index = match merge {
                Some(name) => *merged.entry(name).or_insert(groups.len()),
                None => groups.len(),
            };
            if index == groups.len() {
                groups.push(Group::default());
            }
            indices.insert(id, index);
            if let Some(group) = groups.get_mut(index) {
                group.prims.push(id);
                group.is_inverted |= prim.flag("physics:invertFilteredGroups") == Some(true);
            }
        }
        let mut mentions: HashMap<&str, Vec<Mention>> = HashMap::new();
        for (index, group) in groups.iter_mut().enumerate() {
            let targets = group
                .prims
                .iter()
                .flat_map(|id| stage[*id].targets("physics:filteredGroups"));
            let named = targets.filter_map(|path| indices.get(&stage.at(path)?).copied());
            group.named = named.collect();
            for &by in &group.prims {
                let rule = stage[by].text("collection:colliders:expansionRule");
                for (list, is_included) in [("excludes", false), ("includes", true)] {
                    for path in stage[by].targets(&format!("collection:colliders:{list}")) {
                        mentions.entry(path).or_default().push(Mention {
                            by,
                            group: index,
                            is_included,
                            expands: rule != Some("explicitOnly"),
                        });
                    }
                }
            }
        }
        let filters = |group: &Group| group.is_inverted || !group.named.is_empty();
        groups
            .iter()
            .any(filters)
            .then_some(Self { groups, mentions })
    }

    /// Returns whether colliders of two groups do not collide.
    fn separates(&self, one: usize, other: usize) -> bool {
        let by = |from: usize, to: usize| {
            self.groups
                .get(from)
                .is_some_and(|group| group.named.contains(&to) != group.is_inverted)
        };
        by(one, other) || by(other, one)
    }

    /// Returns the groups that a collider is a member of: the nearest prim that a collection names
    /// counts.
    fn of_collider(&self, scene: &Scene<'_>, collider: PrimId) -> BTreeSet<usize> {
        let (mut members, mut decided) = (BTreeSet::new(), HashSet::new());
        for id in scene.stage.self_and_ancestors(collider) {
            let path = scene.stage[id].path.as_str();
            for mention in self.mentions.get(path).into_iter().flatten() {
                let applies = mention.expands || id == collider;
                if applies && decided.insert(mention.by) && mention.is_included {
                    members.insert(mention.group);
                }
            }
        }
        members
    }

    /// Returns the pairs of links all of whose colliders are filtered, without those of `joined`.
    fn filter(
        &self,
        scene: &Scene<'_>,
        links: &Links,
        joined: &LinkPairs,
        link: impl Fn(Option<DraftId>) -> Option<LinkId>,
    ) -> Filter {
        // Links by the groups of each of their colliders: robots have many links, but few sets.
        let mut of_links: BTreeMap<LinkId, BTreeSet<BTreeSet<usize>>> = BTreeMap::new();
        for (id, _) in scene
            .prims()
            .filter(|(_, prim)| prim.has("PhysicsCollisionAPI"))
        {
            if let Some(link) = link(links.body_of(id)) {
                let groups = self.of_collider(scene, id);
                of_links.entry(link).or_default().insert(groups);
            }
        }
        let mut alike: BTreeMap<BTreeSet<BTreeSet<usize>>, Vec<LinkId>> = BTreeMap::new();
        for (link, groups) in of_links {
            alike.entry(groups).or_default().push(link);
        }
        if alike.len() > MAX_SETS {
            self.report(
                scene,
                "the links are in more than 1000 different sets of collision groups, which are left out",
                "use fewer collision groups",
            );
            return Filter::Pairs(LinkPairs::default());
        }
        let alike: Vec<_> = alike.into_iter().collect();
        let separates = |one: &BTreeSet<usize>, other: &BTreeSet<usize>| {
            one.iter()
                .any(|a| other.iter().any(|b| self.separates(*a, *b)))
        };
        let mut filtered = Vec::new();
        let (mut is_all, mut is_partial) = (true, false);
        for (index, (groups, ones)) in alike.iter().enumerate() {
            for (other, (others_groups, others)) in alike.iter().enumerate().skip(index) {
                let mut found = groups
                    .iter()
                    .flat_map(|one| others_groups.iter().map(move |other| (one, other)))
                    .map(|(one, other)| separates(one, other));
                let first = found.next() == Some(true);
                let is_same = found.all(|other| other == first);
                is_all &= first && is_same;
                // A link has no pair with itself.
                if other == index && ones.len() == 1 {
                    continue;
                }
                is_partial |= !is_same;
                if first && is_same {
                    filtered.push((ones, others));
                }
            }
        }
        if is_partial {
            self.report(
                scene,
                "collision groups filter some of the colliders of two links, but not all: these links collide",
                "put all colliders of a link into the same groups",
            );
        }
        if is_all && !alike.is_empty() {
            return Filter::All;
        }
        let mut pairs = LinkPairs::default();
        let all = filtered.into_iter().flat_map(|(ones, others)| {
            ones.iter()
                .flat_map(move |one| others.iter().map(move |other| (*one, *other)))
        });
        for (one, other) in all {
            if pairs.len() == MAX_PAIRS {
                self.report(
                    scene,
                    "collision groups filter more than 100000 pairs of links: the others collide",
                    "filter fewer pairs, or all collisions within the robot",
                );
                break;
            }
            if !joined.contains(one, other) {
                pairs.insert(one, other);
            }
        }
        Filter::Pairs(pairs)
    }

    fn report(&self, scene: &Scene<'_>, message: &str, help: &str) {
        if let Some(id) = self.groups.iter().flat_map(|group| &group.prims).next() {
            scene.report(&codes::COLLISION_FILTER, *id, None, message, help);
        }
    }
}
