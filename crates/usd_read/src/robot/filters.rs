//! Filters of collisions among the links: filtered pairs, and collision groups (REP-158 §1.3.3).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::links::{DraftId, Links, is_joint};
use super::scene::Scene;
use crate::codes;
use urdf_usd_robot::{LinkId, LinkPairs, Robot, SelfCollision, Simulation};
use urdf_usd_stage::{Prim, PrimId, PrimMap};

/// Maximum number of pairs of links that groups may filter: more is no filter of a robot.
const MAX_PAIRS: usize = 100_000;
/// Maximum number of prims of collision groups that filter or are filtered: they are compared in
/// pairs.
const MAX_GROUPS: usize = 1000;
/// Maximum number of different sets of groups that colliders or links are in: they are compared in
/// pairs.
const MAX_SETS: usize = 1000;
/// Relationships of a collision group to its members.
const INCLUDES: &str = "collection:colliders:includes";
const EXCLUDES: &str = "collection:colliders:excludes";

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

/// A set of small numbers. Sets that are combined have the same bound.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Bits(Vec<u64>);

impl Bits {
    /// Returns the empty set for numbers below `bound`.
    fn below(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(64)])
    }

    fn set(&mut self, number: usize, is_member: bool) {
        let bit = 1 << (number % 64);
        if let Some(word) = self.0.get_mut(number / 64) {
            *word = if is_member { *word | bit } else { *word & !bit };
        }
    }

    fn contains(&self, number: usize) -> bool {
        let word = self.0.get(number / 64);
        word.is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len() * 64).filter(|number| self.contains(*number))
    }

    fn unite(&mut self, other: &Self) {
        let words = self.0.iter_mut().zip(&other.0);
        words.for_each(|(word, other)| *word |= other);
    }

    fn intersect(&mut self, other: &Self) {
        let words = self.0.iter_mut().zip(&other.0);
        words.for_each(|(word, other)| *word &= other);
    }

    fn is_subset(&self, other: &Self) -> bool {
        let mut words = self.0.iter().zip(&other.0);
        words.all(|(word, other)| word & !other == 0)
    }

    fn is_disjoint(&self, other: &Self) -> bool {
        let mut words = self.0.iter().zip(&other.0);
        words.all(|(word, other)| word & other == 0)
    }
}

/// The mentions of a prim by the collections of collision groups: indices of the groups' prims.
#[derive(Default)]
struct Mentions {
    included: Vec<usize>,
    excluded: Vec<usize>,
}

/// The sets of groups that a prim is in.
struct Memberships {
    /// The sets that prims below it inherit.
    inherited: Rc<Bits>,
    /// The sets that it is in itself.
    own: Rc<Bits>,
}

/// Links with colliders in the same sets of groups.
struct Alike {
    links: Vec<LinkId>,
    /// Numbers of the sets.
    sets: Bits,
    /// The sets that all of `sets` are separated from.
    separated_from_all: Bits,
    /// The sets that any of `sets` is separated from.
    separated_from_any: Bits,
}

/// The prims of the collision groups that filter or are filtered; some of them filter. Sets of
/// groups are sets of indices of these prims.
struct Groups<'a> {
    prims: Vec<PrimId>,
    /// For each prim the prims whose colliders do not collide with its own.
    separated: Vec<Bits>,
    /// True for each prim whose collection includes only what it names, and nothing below.
    is_explicit: Vec<bool>,
    /// The mentions of each path.
    mentions: HashMap<&'a str, Mentions>,
}

impl<'a> Groups<'a> {
    /// Returns the groups, unless none of them filters or there are too many. Groups may be outside
    /// of the robot's prims.
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
        for group in &mut groups {
            let targets = group
                .prims
                .iter()
                .flat_map(|id| stage[*id].targets("physics:filteredGroups"));
            let named = targets.filter_map(|path| indices.get(&stage.at(path)?).copied());
            group.named = named.collect();
        }
        // An inverted group may filter any other one.
        let has_inverted = groups.iter().any(|group| group.is_inverted);
        let named: HashSet<usize> = groups
            .iter()
            .flat_map(|group| group.named.iter().copied())
            .collect();
        let relevant = groups.iter().enumerate().filter(|(index, group)| {
            has_inverted || !group.named.is_empty() || named.contains(index)
        });
        let relevant: Vec<(PrimId, usize, &Group)> = relevant
            .flat_map(|(index, group)| group.prims.iter().map(move |id| (*id, index, group)))
            .collect();
        let (first, ..) = *relevant.first()?;
        if relevant.len() > MAX_GROUPS {
            scene.report(
                &codes::COLLISION_FILTER,
                first,
                None,
                format!("more than {MAX_GROUPS} collision groups filter or are filtered; all are left out"),
                "use fewer collision groups",
            );
            return None;
        }
        let mut separated = vec![Bits::below(relevant.len()); relevant.len()];
        for (one, (_, _, group)) in relevant.iter().enumerate() {
            for (other, (_, index, _)) in relevant.iter().enumerate() {
                if group.named.contains(index) != group.is_inverted {
                    for (row, column) in [(one, other), (other, one)] {
                        if let Some(row) = separated.get_mut(row) {
                            row.set(column, true);
                        }
                    }
                }
            }
        }
        let mut mentions: HashMap<&str, Mentions> = HashMap::new();
        for (index, (id, _, _)) in relevant.iter().enumerate() {
            let prim = &stage[*id];
            for path in prim.targets(INCLUDES) {
                mentions.entry(path).or_default().included.push(index);
            }
            for path in prim.targets(EXCLUDES) {
                mentions.entry(path).or_default().excluded.push(index);
            }
            report_unread(scene, *id, prim);
        }
        let is_explicit = |id: PrimId| {
            stage[id].text("collection:colliders:expansionRule") == Some("explicitOnly")
        };
        Some(Self {
            is_explicit: relevant.iter().map(|(id, ..)| is_explicit(*id)).collect(),
            prims: relevant.iter().map(|(id, ..)| *id).collect(),
            separated,
            mentions,
        })
    }

    /// Returns the groups that each prim is a member of: the nearest prim that a collection names
    /// counts, and exclusions win.
    fn memberships(&self, scene: &Scene<'_>) -> PrimMap<Memberships> {
        let none = Rc::new(Bits::below(self.prims.len()));
        scene.stage.inherit(|_, prim, above: Option<&Memberships>| {
            let inherited = above.map_or(&none, |above| &above.inherited);
            let Some(mentions) = self.mentions.get(prim.path.as_str()) else {
                return Memberships {
                    inherited: inherited.clone(),
                    own: inherited.clone(),
                };
            };
            let (mut below, mut own) = (Bits::clone(inherited), Bits::clone(inherited));
            for (indices, is_included) in [(&mentions.included, true), (&mentions.excluded, false)]
            {
                for index in indices {
                    own.set(*index, is_included);
                    if self.is_explicit.get(*index) == Some(&false) {
                        below.set(*index, is_included);
                    }
                }
            }
            Memberships {
                inherited: Rc::new(below),
                own: Rc::new(own),
            }
        })
    }

    /// Returns the links with colliders by their sets of groups; `None` with a finding if there are
    /// too many sets. Robots have many links, but few sets.
    fn alike(
        &self,
        scene: &Scene<'_>,
        links: &Links,
        link: impl Fn(Option<DraftId>) -> Option<LinkId>,
    ) -> Option<Vec<Alike>> {
        let memberships = self.memberships(scene);
        let mut numbers: HashMap<Rc<Bits>, usize> = HashMap::new();
        let mut sets: Vec<Rc<Bits>> = Vec::new();
        let mut of_links: BTreeMap<LinkId, BTreeSet<usize>> = BTreeMap::new();
        let mut is_too_many = false;
        for (id, _) in scene.prims().filter(|(_, prim)| is_collider(prim)) {
            let Some(link) = link(links.body_of(id)) else {
                continue;
            };
            let own = &memberships[id].own;
            let number = *numbers.entry(own.clone()).or_insert(sets.len());
            if number == sets.len() {
                sets.push(own.clone());
            }
            is_too_many = sets.len() > MAX_SETS;
            if is_too_many {
                break;
            }
            of_links.entry(link).or_default().insert(number);
        }
        let mut alike: BTreeMap<BTreeSet<usize>, Vec<LinkId>> = BTreeMap::new();
        for (link, sets) in of_links {
            alike.entry(sets).or_default().push(link);
        }
        if is_too_many || alike.len() > MAX_SETS {
            self.report(
                scene,
                &format!("the links are in more than {MAX_SETS} different sets of collision groups, which are left out"),
                "use fewer collision groups",
            );
            return None;
        }
        let separated = self.separated_sets(&sets);
        let alike = alike.into_iter().map(|(numbers, links)| {
            let mut alike = Alike {
                links,
                sets: Bits::below(sets.len()),
                separated_from_all: Bits::below(sets.len()),
                separated_from_any: Bits::below(sets.len()),
            };
            let rows = numbers.iter().filter_map(|number| separated.get(*number));
            for (index, row) in rows.enumerate() {
                alike.separated_from_any.unite(row);
                if index == 0 {
                    alike.separated_from_all = row.clone();
                } else {
                    alike.separated_from_all.intersect(row);
                }
            }
            for number in numbers {
                alike.sets.set(number, true);
            }
            alike
        });
        Some(alike.collect())
    }

    /// Returns for each set of groups the numbers of the sets whose colliders do not collide with
    /// its own.
    fn separated_sets(&self, sets: &[Rc<Bits>]) -> Vec<Bits> {
        let row = |one: &Rc<Bits>| {
            let mut groups = Bits::below(self.prims.len());
            for separated in one.iter().filter_map(|index| self.separated.get(index)) {
                groups.unite(separated);
            }
            let mut row = Bits::below(sets.len());
            for (number, other) in sets.iter().enumerate() {
                row.set(number, !groups.is_disjoint(other));
            }
            row
        };
        sets.iter().map(row).collect()
    }

    /// Returns the pairs of links all of whose colliders are filtered, without those of `joined`.
    fn filter(
        &self,
        scene: &Scene<'_>,
        links: &Links,
        joined: &LinkPairs,
        link: impl Fn(Option<DraftId>) -> Option<LinkId>,
    ) -> Filter {
        let alike = self.alike(scene, links, link).unwrap_or_default();
        let mut filtered = Vec::new();
        let (mut is_all, mut is_partial) = (true, false);
        for (index, one) in alike.iter().enumerate() {
            for (other_index, other) in alike.iter().enumerate().skip(index) {
                let is_filtered = other.sets.is_subset(&one.separated_from_all);
                is_all &= is_filtered;
                // A link has no pair with itself.
                if other_index == index && one.links.len() == 1 {
                    continue;
                }
                is_partial |= !is_filtered && !other.sets.is_disjoint(&one.separated_from_any);
                if is_filtered {
                    filtered.push((&one.links, &other.links));
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
                    &format!("collision groups filter more than {MAX_PAIRS} pairs of links: the others collide"),
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
        if let Some(id) = self.prims.first() {
            scene.report(&codes::COLLISION_FILTER, *id, None, message, help);
        }
    }
}

/// Returns whether a prim has a collision schema that is not disabled.
fn is_collider(prim: &Prim) -> bool {
    prim.has("PhysicsCollisionAPI") && prim.flag("physics:collisionEnabled") != Some(false)
}

/// Reports members that a group's collection names in ways that are not read.
fn report_unread(scene: &Scene<'_>, id: PrimId, prim: &Prim) {
    let report = |property: &str, what: &str| {
        scene.report(
            &codes::COLLISION_FILTER,
            id,
            Some(property),
            format!(
                "collision group {:?} {what}: these members are left out",
                prim.name()
            ),
            "name the members by collection:colliders:includes",
        );
    };
    let includes = prim.targets(INCLUDES);
    if let Some(path) = includes.iter().find(|path| path.contains(".collection:")) {
        report(INCLUDES, &format!("includes the collection {path}"));
    }
    let root = "collection:colliders:includeRoot";
    let expression = "collection:colliders:membershipExpression";
    if prim.flag(root) == Some(true) {
        report(root, "includes the root of the stage");
    } else if includes.is_empty() && prim.value(expression).is_some() {
        report(expression, "has a membership expression");
    }
}
