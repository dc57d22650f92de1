//! Reads the parameters of motion planners from the extras of a model (see `json::planning` of
//! `gltf_write`).

use std::collections::{HashMap, HashSet};

use nalgebra::Point3;

use super::findings::Findings;
use urdf_usd_gltf_extension::axes;
use urdf_usd_gltf_extension::{Entry, Misfits, Model};
use urdf_usd_robot::kinematics::position_count;
use urdf_usd_robot::{
    Arena, Coordinate, JointId, Link, LinkId, Planning, PlanningCollision, Robot, Sphere,
    SphereGroup,
};

/// Maximum magnitude of a number; larger ones count as infinite.
const MAX_MAGNITUDE: f64 = 1e30;

/// Reads the planning parameters of a model. `ids`: the joint of each entry of the model. Invalid
/// references are reported and dropped.
pub fn read(
    model: &Model<'_>,
    ids: &[Option<JointId>],
    robot: &Robot,
    findings: &mut Findings,
) -> Planning {
    let Some(entry) = model
        .entry
        .get("extras")
        .and_then(|extras| extras.get("planning"))
    else {
        return Planning::default();
    };
    let mut reader = Reader {
        links: robot.links(),
        findings,
    };
    let mut planning = Planning {
        tool_frames: reader.frames(&entry),
        ..Planning::default()
    };
    let mut seen = HashSet::new();
    for entry in reader.list(&entry, "coordinates") {
        let joint = entry.index("joint").or_report(reader.findings);
        let id = joint
            .and_then(|joint| ids.get(joint).copied().flatten())
            .filter(|id| {
                let joint = &robot.joints()[*id];
                position_count(joint.kind()) == 1 && joint.mimic().is_none() && seen.insert(*id)
            });
        let Some(joint) = id else {
            reader.findings.misfit(
                &entry.below("joint"),
                "another joint of the model with one position of its own",
            );
            continue;
        };
        let acceleration = reader.limit(&entry, "accelerationLimit");
        planning.coordinates.push(Coordinate {
            joint,
            acceleration,
            jerk: reader.limit(&entry, "jerkLimit"),
        });
    }
    let mut names = HashSet::new();
    for entry in reader.list(&entry, "sphereGroups") {
        let Some(name) = entry.text("name").or_report(reader.findings) else {
            continue;
        };
        if name.is_empty() || !names.insert(name.to_owned()) {
            reader
                .findings
                .misfit(&entry.below("name"), "a name of its own");
            continue;
        }
        planning.groups.push(SphereGroup {
            name: name.to_owned(),
            spheres: reader.spheres(&entry),
        });
    }
    planning.collision = reader.collision(&entry, "collision", planning.groups.len());
    planning.self_collision = reader.collision(&entry, "selfCollision", planning.groups.len());
    let links = reader.links;
    let pairs = entry
        .json
        .list("ignoredPairs")
        .iter()
        .enumerate()
        .filter_map(|(index, pair)| {
            let pair = match pair.items() {
                [one, other] => one.index().zip(other.index()),
                _ => None,
            };
            let pair = pair.and_then(|(a, b)| Some((links.handle(a)?, links.handle(b)?)));
            let pair = pair.filter(|(a, b)| a != b);
            if pair.is_none() {
                reader.findings.misfit(
                    &entry.below(&format!("ignoredPairs/{index}")),
                    "a pair of links of the model",
                );
            }
            pair
        });
    planning.ignored = pairs.collect();
    planning
}

struct Reader<'r, 'f> {
    /// Links of the model.
    links: &'r Arena<Link>,
    findings: &'f mut Findings,
}

impl Reader<'_, '_> {
    fn list<'a>(&mut self, owner: &Entry<'a>, key: &str) -> Vec<Entry<'a>> {
        if owner.json.get(key).is_none() {
            return Vec::new();
        }
        owner.list(key).or_report(self.findings).unwrap_or_default()
    }

    fn link(&mut self, owner: &Entry<'_>) -> Option<LinkId> {
        let index = owner.index("link").or_report(self.findings)?;
        let link = self.links.handle(index);
        if link.is_none() {
            self.findings
                .misfit(&owner.below("link"), "a link of the model");
        }
        link
    }

    fn frames(&mut self, owner: &Entry<'_>) -> Vec<LinkId> {
        if owner.json.get("toolFrames").is_none() {
            return Vec::new();
        }
        let frames = owner
            .indices("toolFrames")
            .or_report(self.findings)
            .unwrap_or_default();
        let count = frames.len();
        let mut frames: Vec<LinkId> = frames
            .into_iter()
            .filter_map(|frame| self.links.handle(frame))
            .collect();
        if frames.len() < count {
            self.findings
                .misfit(&owner.below("toolFrames"), "a list of links of the model");
        }
        let mut seen = HashSet::new();
        frames.retain(|frame| seen.insert(*frame));
        frames
    }

    fn limit(&mut self, owner: &Entry<'_>, key: &str) -> Option<f64> {
        let limit = owner.number(key).or_report(self.findings)?;
        let is_limit = limit > 0.0 && limit <= MAX_MAGNITUDE;
        if !is_limit {
            self.findings
                .misfit(&owner.below(key), "a number above zero");
        }
        is_limit.then_some(limit)
    }

    /// Reads a length, which may be negative.
    fn length(&mut self, owner: &Entry<'_>, key: &str) -> Option<f64> {
        owner
            .number(key)
            .or_report(self.findings)
            .filter(|length| length.abs() <= MAX_MAGNITUDE)
    }

    fn spheres(&mut self, owner: &Entry<'_>) -> Vec<(LinkId, Vec<Sphere>)> {
        let mut spheres: Vec<(LinkId, Vec<Sphere>)> = Vec::new();
        let mut places: HashMap<LinkId, usize> = HashMap::new();
        for entry in self.list(owner, "spheres") {
            let (link, radius) = (self.link(&entry), self.length(&entry, "radius"));
            let center = entry
                .numbers("center")
                .or_report(self.findings)
                .map(axes::to_vector);
            let (Some(link), Some(radius), Some(center)) = (link, radius, center) else {
                continue;
            };
            let sphere = Sphere {
                center: Point3::from(center),
                radius,
            };
            let place = *places.entry(link).or_insert(spheres.len());
            match spheres.get_mut(place) {
                Some((_, of_link)) => of_link.push(sphere),
                None => spheres.push((link, vec![sphere])),
            }
        }
        spheres
    }

    fn collision(
        &mut self,
        owner: &Entry<'_>,
        key: &str,
        groups: usize,
    ) -> Option<PlanningCollision> {
        let entry = owner.get(key)?;
        let group = entry.index("group").or_report(self.findings)?;
        if group >= groups {
            self.findings
                .misfit(&entry.below("group"), "a group of spheres of the model");
            return None;
        }
        let mut buffers: Vec<(LinkId, f64)> = Vec::new();
        let mut seen = HashSet::new();
        for entry in self.list(&entry, "buffers") {
            let buffer = self.link(&entry).zip(self.length(&entry, "distance"));
            buffers.extend(buffer.filter(|(link, _)| seen.insert(*link)));
        }
        Some(PlanningCollision { group, buffers })
    }
}
