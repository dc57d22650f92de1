//! `geometry` (section 3): groups of spheres, which in version 2.0 may have those of other groups
//! in them (`clone`).

use std::collections::{HashMap, HashSet};

use nalgebra::Point3;

use super::reader::{Findings, Known, below, entry};
use super::{Version, codes};
use crate::xml::short;
use urdf_usd_robot::{LinkId, PlanningCollision, Robot, Sphere, SphereGroup};
use urdf_usd_text::yaml::{Key, Mark, Yaml};

/// The most spheres of all groups together: real robots have some hundred, and each may be held
/// against all others.
const MAX_SPHERES: usize = 10_000;
/// How often groups are cloned at most, by way of others included.
const MAX_CLONES: usize = 10_000;

/// The groups.
#[derive(Default)]
pub(super) struct Groups {
    /// In the order of the text.
    pub list: Vec<SphereGroup>,
    /// The links that have spheres in any of them.
    pub links: HashSet<LinkId>,
    /// Of each link its smallest sphere: where that stands, and its radius. In the order of the
    /// text.
    smallest: Vec<(LinkId, Mark, f64)>,
}

/// A group as it stands in the text.
struct Group<'a> {
    key: &'a Key,
    /// Its own spheres.
    spheres: Vec<(LinkId, Vec<Sphere>)>,
    /// The groups whose spheres it has, too, and where they are named.
    clones: Vec<(Mark, usize)>,
}

/// Reads the section.
pub(super) fn read(
    findings: &mut Findings,
    section: &Yaml,
    known: &mut Known<'_>,
    version: Version,
) -> Groups {
    let entries = findings.entries(section, "geometry");
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
                "\"{}\" is another geometry group; version 1.0 uses only one",
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
        // A group may be made of others alone.
        let own = match clone {
            Some(_) => entry(&fields, "spheres").map(|(_, own)| own),
            None => findings.required(&fields, "spheres", group.at, &element),
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
    /// Says which spheres are none, with the buffer distances of the two kinds of collisions.
    pub fn report_none(
        &self,
        findings: &mut Findings,
        robot: &Robot,
        collisions: [Option<&PlanningCollision>; 2],
    ) {
        let mut told = HashSet::new();
        for (link, at, radius) in &self.smallest {
            let buffer = |collision: &PlanningCollision| {
                collision
                    .buffers
                    .iter()
                    .find(|(of, _)| of == link)
                    .map_or(0.0, |(_, buffer)| *buffer)
            };
            let largest = collisions
                .into_iter()
                .flatten()
                .map(buffer)
                .reduce(f64::max)
                .unwrap_or(0.0);
            if radius + largest <= 0.0 && told.insert(link) {
                let name = short(robot.links()[*link].name());
                let message = format!(
                    "a sphere of \"{name}\" has the radius {radius}, and {largest} with it as buffer distance"
                );
                let help = "give it a radius above zero, or a larger buffer distance";
                findings.report(&codes::NO_SPHERE, *at, "geometry", message, help);
            }
        }
    }
}

/// The groups that one has in it, each once; those that there are not are reported.
fn clones(
    findings: &mut Findings,
    (key, names): &(Key, Yaml),
    element: &str,
    number: &HashMap<&str, usize>,
    version: Version,
) -> Vec<(Mark, usize)> {
    let element = below(element, "clone");
    if version == Version::First {
        let message = "clone is of version 2.0 of XRDF; it is read all the same";
        let help = "write the spheres out, or format_version: 2.0";
        findings.report(&codes::OTHER_VERSION, key.at, &element, message, help);
    }
    let mut clones = Vec::new();
    for (at, name) in findings.names(names, &element) {
        match number.get(name) {
            Some(group) => clones.push((at, *group)),
            None => {
                let message = format!("there is no geometry group \"{}\"", short(name));
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

/// The groups with the spheres of those that they have in them, of each of these once. `count`: how
/// many spheres stand in the text.
fn with_clones(
    findings: &mut Findings,
    groups: Vec<Group<'_>>,
    mut count: usize,
) -> Vec<SphereGroup> {
    let mut visits = 0;
    let mut list = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let mut spheres = group.spheres.clone();
        // Where each link stands in `spheres`.
        let mut of_link: HashMap<LinkId, usize> = spheres
            .iter()
            .enumerate()
            .map(|(at, (link, _))| (*link, at))
            .collect();
        let mut seen = HashSet::from([index]);
        let mut waiting: Vec<(Mark, usize)> = group.clones.iter().rev().copied().collect();
        while let Some((at, other)) = waiting.pop() {
            let element = || below(&below("geometry", &group.key.text), "clone");
            if other == index {
                let message = format!("the group \"{}\" has itself in it", short(&group.key.text));
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
                        "groups are cloned more than {MAX_CLONES} times; from here on none is"
                    ),
                    false => format!(
                        "there are more than {MAX_SPHERES} spheres with those that are cloned; the group is not"
                    ),
                };
                findings.report(
                    &codes::TOO_MANY_SPHERES,
                    at,
                    &element(),
                    message,
                    "give larger spheres, and fewer",
                );
                break;
            }
            count += added;
            for (link, more) in &other.spheres {
                let at = *of_link.entry(*link).or_insert_with(|| {
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

/// The spheres of a group that stand in it. A link without any is left out. `count`: how many
/// spheres there are; `smallest`: as in [`Groups`].
fn spheres(
    findings: &mut Findings,
    frames: &Yaml,
    element: &str,
    known: &mut Known<'_>,
    (count, smallest): (&mut usize, &mut Vec<(LinkId, Mark, f64)>),
) -> Vec<(LinkId, Vec<Sphere>)> {
    let element = below(element, "spheres");
    let mut list = Vec::new();
    for (key, spheres) in findings.entries(frames, &element) {
        let link = known.frame(findings, (key.at, &key.text), &element);
        let element = below(&element, &key.text);
        let mut of_link = Vec::new();
        let mut least: Option<(Mark, f64)> = None;
        for sphere in findings.items(spheres, &element) {
            let fields = findings.fields(sphere, &element, &["center", "radius"]);
            let center = findings.required(&fields, "center", sphere.at, &element);
            let center = center
                .and_then(|center| findings.three_numbers(center, &below(&element, "center")));
            // Real files have negative ones, which only a buffer distance makes a sphere of.
            let radius = findings.required(&fields, "radius", sphere.at, &element);
            let radius =
                radius.and_then(|radius| findings.number(radius, &below(&element, "radius")));
            let (Some(center), Some(radius), Some(_)) = (center, radius, link) else {
                continue;
            };
            if *count == MAX_SPHERES {
                let message =
                    format!("there are more than {MAX_SPHERES} spheres; from here on none is read");
                findings.report(
                    &codes::TOO_MANY_SPHERES,
                    sphere.at,
                    &element,
                    message,
                    "give larger spheres, and fewer",
                );
                break;
            }
            *count += 1;
            if least.is_none_or(|(_, least)| radius < least) {
                least = Some((sphere.at, radius));
            }
            of_link.push(Sphere {
                center: Point3::from(center),
                radius,
            });
        }
        smallest.extend(
            link.zip(least)
                .map(|(link, (at, radius))| (link, at, radius)),
        );
        if let Some(link) = link.filter(|_| !of_link.is_empty()) {
            list.push((link, of_link));
        }
    }
    list
}
