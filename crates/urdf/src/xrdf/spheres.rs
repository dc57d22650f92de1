//! Reads `geometry` (section 3): groups of spheres, which in version 2.0 may contain other groups
//! (`clone`).

use std::collections::{HashMap, HashSet};

use nalgebra::Point3;

use super::reader::{Findings, Known, below, entry};
use super::{Version, codes};
use crate::xml::short;
use urdf_usd_robot::{LinkId, PlanningCollision, Robot, Sphere, SphereGroup};
use urdf_usd_text::yaml::{Key, Mark, Yaml};

/// Maximum number of spheres of all groups together. Real robots have some hundred, and each may be
/// checked against all others.
const MAX_SPHERES: usize = 10_000;
/// Maximum number of clones, transitive ones included.
const MAX_CLONES: usize = 10_000;

/// The geometry groups of an XRDF.
#[derive(Default)]
pub(super) struct Groups {
    /// Groups in the order of the text.
    pub list: Vec<SphereGroup>,
    /// Links with spheres in any group.
    pub links: HashSet<LinkId>,
    /// Smallest sphere of each link, by its position in the text and radius, in the order of the
    /// text.
    smallest: Vec<(LinkId, Mark, f64)>,
}

/// A group as written in the text.
struct Group<'a> {
    key: &'a Key,
    /// Spheres of the group itself.
    spheres: Vec<(LinkId, Vec<Sphere>)>,
    /// Cloned groups, with the positions of their names.
    clones: Vec<(Mark, usize)>,
}

/// Reads the section.
pub(super) fn read(
    findings: &mut Findings,
    section: &Yaml,
    known: &mut Known<'_>,
    version: Version,
) -> Groups {
    let entries = findings.entries(section, "geometry", &codes::REPEATED_KEY);
    let number: HashMap<&str, usize> = entries
        .iter()
        .enumerate()
        .map(|(index, (key, _))| (key.text.as_str(), index))
        .collect();
    let (mut count, mut smallest) = (0, Vec::new());
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (index, (key, group)) in entries.iter().enumerate() {
        let element = below("geometry", &key.text);
        if version == Version::First && index == 1 {
            let message = format!(
                "\"{}\" is a second geometry group, but version 1.0 uses only one",
                short(&key.text)
            );
            findings.report(
                &codes::SEVERAL_GEOMETRIES,
                key.at,
                &element,
                message,
                "put all spheres into one group",
            );
        }
        let fields = findings.fields(group, &element, &["spheres", "clone"]);
        let clone = entry(&fields, "clone");
        // A group may consist of clones only.
        let own = match clone {
            Some(_) => entry(&fields, "spheres").map(|(_, own)| own),
            None => findings.require(&fields, "spheres", group.at, &element),
        };
        let spheres = own
            .map(|own| spheres(findings, own, &element, known, (&mut count, &mut smallest)))
            .unwrap_or_default();
        let clones = clone
            .map(|clone| clones(findings, clone, &element, &number, version))
            .unwrap_or_default();
        groups.push(Group {
            key,
            spheres,
            clones,
        });
    }
    let links = groups
        .iter()
        .flat_map(|group| &group.spheres)
        .map(|(link, _)| *link)
        .collect();
    Groups {
        links,
        list: with_clones(findings, groups, count),
        smallest,
    }
}

impl Groups {
    /// Reports spheres that have no positive radius even with the buffer distances of the collision
    /// sections.
    pub fn report_empty_spheres(
        &self,
        findings: &mut Findings,
        robot: &Robot,
        collisions: [Option<&PlanningCollision>; 2],
    ) {
        let mut reported = HashSet::new();
        for (link, at, radius) in &self.smallest {
            let buffer = |collision: &PlanningCollision| {
                collision
                    .buffers
                    .iter()
                    .find(|(frame, _)| frame == link)
                    .map_or(0.0, |(_, buffer)| *buffer)
            };
            let largest = collisions
                .into_iter()
                .flatten()
                .map(buffer)
                .reduce(f64::max)
                .unwrap_or(0.0);
            if radius + largest <= 0.0 && reported.insert(link) {
                let name = short(robot.links()[*link].name());
                let message = format!(
                    "a sphere of \"{name}\" has radius {radius} and buffer distance {largest}, which is not positive in sum"
                );
                let help = "use a positive radius, or a larger buffer distance";
                findings.report(&codes::NO_SPHERE, *at, "geometry", message, help);
            }
        }
    }
}

/// Reads the groups that a group clones, each once; unknown ones are reported.
fn clones(
    findings: &mut Findings,
    (key, names): &(Key, Yaml),
    element: &str,
    number: &HashMap<&str, usize>,
    version: Version,
) -> Vec<(Mark, usize)> {
    let element = below(element, "clone");
    if version == Version::First {
        let message = "clone belongs to XRDF 2.0; it is read nevertheless";
        let help = "write out the spheres, or set format_version: 2.0";
        findings.report(&codes::OTHER_VERSION, key.at, &element, message, help);
    }
    let mut clones = Vec::new();
    for (at, name) in findings.names(names, &element) {
        match number.get(name) {
            Some(group) => clones.push((at, *group)),
            None => {
                let message = format!("the geometry group \"{}\" does not exist", short(name));
                findings.report(
                    &codes::UNKNOWN_GEOMETRY,
                    at,
                    &element,
                    message,
                    "add it to the section geometry",
                );
            }
        }
    }
    clones
}

/// Returns the groups with the spheres of all groups that they clone, transitively, each once.
/// `count` is the number of spheres in the text.
///
/// Cloned groups are expanded depth-first without recursion; a set of visited groups ends cycles.
fn with_clones(
    findings: &mut Findings,
    groups: Vec<Group<'_>>,
    mut count: usize,
) -> Vec<SphereGroup> {
    let mut visits = 0;
    let mut list = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let mut spheres = group.spheres.clone();
        // Index in `spheres` of each link.
        let mut link_spheres: HashMap<LinkId, usize> = spheres
            .iter()
            .enumerate()
            .map(|(at, (link, _))| (*link, at))
            .collect();
        let mut seen = HashSet::from([index]);
        // A stack, reversed: clones are expanded in the order of the text.
        let mut waiting: Vec<(Mark, usize)> = group.clones.iter().rev().copied().collect();
        while let Some((at, other)) = waiting.pop() {
            let element = || below(&below("geometry", &group.key.text), "clone");
            if other == index {
                let message = format!("the group \"{}\" contains itself", short(&group.key.text));
                findings.report(
                    &codes::CIRCULAR_CLONE,
                    at,
                    &element(),
                    message,
                    "remove it from the list",
                );
                continue;
            }
            let Some(other) = groups.get(other).filter(|_| seen.insert(other)) else {
                continue;
            };
            visits += 1;
            let added: usize = other.spheres.iter().map(|(_, spheres)| spheres.len()).sum();
            if visits > MAX_CLONES || count + added > MAX_SPHERES {
                let message = match visits > MAX_CLONES {
                    true => format!(
                        "the limit of {MAX_CLONES} clones is reached; further ones are left out"
                    ),
                    false => format!(
                        "the limit of {MAX_SPHERES} spheres, cloned ones included, is reached; the group is not cloned"
                    ),
                };
                findings.report(
                    &codes::TOO_MANY_SPHERES,
                    at,
                    &element(),
                    message,
                    "use fewer and larger spheres",
                );
                break;
            }
            count += added;
            for (link, more) in &other.spheres {
                let at = *link_spheres.entry(*link).or_insert_with(|| {
                    spheres.push((*link, Vec::new()));
                    spheres.len() - 1
                });
                spheres
                    .get_mut(at)
                    .into_iter()
                    .for_each(|(_, own)| own.extend_from_slice(more));
            }
            waiting.extend(other.clones.iter().rev());
        }
        list.push(SphereGroup {
            name: group.key.text.clone(),
            spheres,
        });
    }
    list
}

/// Reads a group's own spheres, without links that have none. `count` is the total number of
/// spheres so far; `smallest` is that of [`Groups`].
fn spheres(
    findings: &mut Findings,
    frames: &Yaml,
    element: &str,
    known: &mut Known<'_>,
    (count, smallest): (&mut usize, &mut Vec<(LinkId, Mark, f64)>),
) -> Vec<(LinkId, Vec<Sphere>)> {
    let element = below(element, "spheres");
    let mut list = Vec::new();
    for (key, spheres) in findings.lists(frames, &element) {
        let link = known.frame(findings, (key.at, &key.text), &element);
        let element = below(&element, &key.text);
        let mut link_spheres = Vec::new();
        let mut least: Option<(Mark, f64)> = None;
        for sphere in spheres {
            let fields = findings.fields(sphere, &element, &["center", "radius"]);
            let center = findings.require(&fields, "center", sphere.at, &element);
            let center = center
                .and_then(|center| findings.three_numbers(center, &below(&element, "center")));
            // Real files have negative radii, which only a buffer distance makes positive.
            let radius = findings.require(&fields, "radius", sphere.at, &element);
            let radius =
                radius.and_then(|radius| findings.number(radius, &below(&element, "radius")));
            let (Some(center), Some(radius), Some(_)) = (center, radius, link) else {
                continue;
            };
            if *count == MAX_SPHERES {
                let message = format!(
                    "the limit of {MAX_SPHERES} spheres is reached; further ones are left out"
                );
                findings.report(
                    &codes::TOO_MANY_SPHERES,
                    sphere.at,
                    &element,
                    message,
                    "use fewer and larger spheres",
                );
                break;
            }
            *count += 1;
            if least.is_none_or(|(_, least)| radius < least) {
                least = Some((sphere.at, radius));
            }
            link_spheres.push(Sphere {
                center: Point3::from(center),
                radius,
            });
        }
        smallest.extend(
            link.zip(least)
                .map(|(link, (at, radius))| (link, at, radius)),
        );
        if let Some(link) = link.filter(|_| !link_spheres.is_empty()) {
            list.push((link, link_spheres));
        }
    }
    list
}
