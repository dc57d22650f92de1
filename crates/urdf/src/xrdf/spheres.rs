//! `geometry` (section 3): groups of spheres.

use std::collections::HashSet;

use nalgebra::Point3;

use super::codes;
use super::reader::{Findings, Known, below};
use crate::xml::short;
use urdf_usd_robot::{LinkId, Sphere, SphereGroup};
use urdf_usd_yaml::Yaml;

/// The most spheres of all groups together: real robots have some hundred, and each may be held against all others.
const MAX_SPHERES: usize = 10_000;

/// The groups.
#[derive(Default)]
pub(super) struct Groups {
    /// In the order of the text.
    pub list: Vec<SphereGroup>,
    /// The links that have spheres in any of them.
    pub links: HashSet<LinkId>,
    /// How many spheres there are.
    count: usize,
}

/// Reads the section.
pub(super) fn read(findings: &mut Findings, section: &Yaml, known: &mut Known<'_>, is_first_version: bool) -> Groups {
    let mut groups = Groups::default();
    for (index, (key, group)) in findings.entries(section, "geometry").into_iter().enumerate() {
        let element = below("geometry", &key.text);
        if is_first_version && index == 1 {
            let message = format!("\"{}\" is another geometry group; version 1.0 uses only one", short(&key.text));
            findings.report(&codes::SEVERAL_GEOMETRIES, key.at, &element, message, "put all spheres into one group");
        }
        let spheres = spheres(findings, group, &element, known, &mut groups);
        groups.list.push(SphereGroup { name: key.text.clone(), spheres });
    }
    groups
}

/// The spheres of a group. A link without any is left out.
fn spheres(
    findings: &mut Findings,
    group: &Yaml,
    element: &str,
    known: &mut Known<'_>,
    groups: &mut Groups,
) -> Vec<(LinkId, Vec<Sphere>)> {
    let fields = findings.fields(group, element, &["spheres"]);
    let Some(frames) = findings.required(&fields, "spheres", group.at, element) else { return Vec::new() };
    let element = below(element, "spheres");
    let mut list = Vec::new();
    for (key, spheres) in findings.entries(frames, &element) {
        let link = known.frame(findings, (key.at, &key.text), &element);
        let element = below(&element, &key.text);
        let mut of_link = Vec::new();
        for sphere in findings.items(spheres, &element) {
            let fields = findings.fields(sphere, &element, &["center", "radius"]);
            let center = findings.required(&fields, "center", sphere.at, &element);
            let center = center.and_then(|center| findings.three_numbers(center, &below(&element, "center")));
            // Real files have negative ones, which only a buffer distance makes a sphere of.
            let radius = findings.required(&fields, "radius", sphere.at, &element);
            let radius = radius.and_then(|radius| findings.number(radius, &below(&element, "radius")));
            let (Some(center), Some(radius), Some(_)) = (center, radius, link) else { continue };
            if groups.count == MAX_SPHERES {
                let message = format!("there are more than {MAX_SPHERES} spheres; from here on none is read");
                findings.report(&codes::TOO_MANY_SPHERES, sphere.at, &element, message, "give larger spheres, and fewer");
                break;
            }
            groups.count += 1;
            of_link.push(Sphere { center: Point3::from(center), radius });
        }
        if let Some(link) = link.filter(|_| !of_link.is_empty()) {
            groups.links.insert(link);
            list.push((link, of_link));
        }
    }
    list
}
