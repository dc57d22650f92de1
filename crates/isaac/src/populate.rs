//! Writes the lists of a robot from its articulation.

use std::collections::{HashMap, HashSet};

use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_stage::PrimId;
use urdf_usd_usd_author::isaac_schema as names;
use urdf_usd_usd_author::{Attribute, Layer, Relationship};

use crate::migrate::{free_axes, offsets};
use crate::report::Findings;
use crate::{View, articulation, codes, overlay};

/// Options for sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sites {
    /// Whether prims that look like sites ([`detect_sites`]) become sites.
    pub detect: bool,
    /// Whether sites are at the end of the list of links, instead of after their link.
    pub last: bool,
}

impl Default for Sites {
    fn default() -> Self {
        Self {
            detect: true,
            last: false,
        }
    }
}

/// The lists of a robot after an update.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Populated {
    /// `isaac:physics:robotLinks`: the paths of links, sites and nested robots.
    pub links: Vec<String>,
    /// `isaac:physics:robotJoints`: the paths of joints and nested robots.
    pub joints: Vec<String>,
    /// The sites among the links.
    pub sites: Vec<String>,
    /// The removed entries.
    pub removed: Vec<String>,
    /// The new entries.
    pub added: Vec<String>,
    /// The opinions that could not be authored.
    pub diagnostics: Vec<Diagnostic>,
}

/// Returns the children of a link that look like sites: empty Xforms without composition arcs, and
/// without schemas other than that of a TF frame.
pub fn detect_sites(view: &View<'_>, link: PrimId) -> Vec<PrimId> {
    let is_site = |id: &PrimId| {
        let prim = &view.stage[*id];
        let is_bare = prim.children.is_empty() && prim.arcs.is_empty() && !prim.is_instance;
        prim.type_name == "Xform"
            && is_bare
            && prim.schemas.iter().all(|schema| schema == "RosFrameAPI")
    };
    let below = view
        .subtree(link)
        .skip(1)
        .filter(|id| view.stage[*id].parent == Some(link));
    below.filter(is_site).collect()
}

/// Makes the prim `robot` a robot with lists of all its links and joints, breadth-first from the base.
///
/// Replaces existing lists. Authors `IsaacRobotAPI`, `IsaacLinkAPI` on bodies, `IsaacJointAPI` on
/// joints, with the order of their degrees of freedom if they have several, `IsaacSiteAPI` on detected
/// sites, and prepended lists. `layer` is the strongest of the stage.
pub fn populate(view: &View<'_>, robot: PrimId, sites: Sites, layer: &mut Layer) -> Populated {
    let work = Work::new(view, robot, sites, layer);
    let (links, joints) = (work.found.links.clone(), work.found.joints.clone());
    let links = work.with_sites(&links);
    work.write(&links, &joints)
}

/// Updates the lists of a robot.
///
/// Valid entries keep their order, invalid ones are removed, new links and joints are appended, and
/// new sites follow their link (or are appended, with [`Sites::last`]). Applies schemas like
/// [`populate`].
pub fn recalculate(view: &View<'_>, robot: PrimId, sites: Sites, layer: &mut Layer) -> Populated {
    let work = Work::new(view, robot, sites, layer);
    let kept = |relationship: &str, is_valid: &dyn Fn(PrimId) -> bool| -> Vec<PrimId> {
        let mut seen = HashSet::new();
        let existing = view.stage[robot]
            .targets(relationship)
            .iter()
            .filter_map(|path| view.at(path));
        existing
            .filter(|&id| is_valid(id) && seen.insert(id))
            .collect()
    };
    let is_robot = |id: PrimId| id != robot && view.is_robot(id);
    let is_marked = |id: PrimId| view.stage[id].has(names::LINK_API) || view.is_site(id);
    let links = kept(names::ROBOT_LINKS, &|id| {
        view.is_body(id) || is_marked(id) || is_robot(id)
    });
    let joints = kept(names::ROBOT_JOINTS, &|id| view.is_joint(id) || is_robot(id));

    // A list may name the links of a nested robot instead of the robot itself.
    let is_covered = |id: PrimId, kept: &[PrimId]| {
        kept.contains(&id)
            || is_robot(id)
                && kept
                    .iter()
                    .any(|&other| view.nested_robot_of(other, robot) == Some(id))
    };
    let new = |all: &[PrimId], kept: &[PrimId]| -> Vec<PrimId> {
        all.iter()
            .copied()
            .filter(|&id| !is_covered(id, kept))
            .collect()
    };
    let new_links = new(&work.found.links, &links);
    let joints: Vec<PrimId> = joints
        .iter()
        .copied()
        .chain(new(&work.found.joints, &joints))
        .collect();
    let links = work.with_new_sites(links, &new_links);
    work.write(&links, &joints)
}

/// The common state of [`populate`] and [`recalculate`].
struct Work<'v, 'a, 'l> {
    view: &'v View<'a>,
    robot: PrimId,
    sites: Sites,
    layer: &'l mut Layer,
    found: articulation::Articulation,
    /// The sites of each body, marked and detected, in the order of the stage.
    sites_of: HashMap<PrimId, Vec<PrimId>>,
    /// Sites outside of bodies.
    free: Vec<PrimId>,
    findings: Findings<'a>,
}

impl<'v, 'a, 'l> Work<'v, 'a, 'l> {
    fn new(view: &'v View<'a>, robot: PrimId, sites: Sites, layer: &'l mut Layer) -> Self {
        let found = articulation(view, robot);
        let links = found
            .links
            .iter()
            .filter(|id| sites.detect && view.is_body(**id));
        let detected: HashSet<PrimId> = links.flat_map(|&link| detect_sites(view, link)).collect();
        let (mut sites_of, mut free): (HashMap<PrimId, Vec<PrimId>>, Vec<PrimId>) =
            Default::default();
        for id in view.subtree(robot) {
            let is_site = detected.contains(&id) || view.is_site(id) && !view.is_body(id);
            if !is_site || view.nested_robot_of(id, robot).is_some() {
                continue;
            }
            match view.body_of(id) {
                Some(body) => sites_of.entry(body).or_default().push(id),
                None => free.push(id),
            }
        }
        Self {
            view,
            robot,
            sites,
            layer,
            found,
            sites_of,
            free,
            findings: Findings::new(view.stage),
        }
    }

    /// Adds sites to a list, each after its link, or all at the end.
    fn with_sites(&self, links: &[PrimId]) -> Vec<PrimId> {
        let sites = |link: &PrimId| {
            self.sites_of
                .get(link)
                .map_or(&[][..], Vec::as_slice)
                .iter()
                .copied()
        };
        let mut out: Vec<PrimId> = match self.sites.last {
            true => links
                .iter()
                .copied()
                .chain(links.iter().flat_map(sites))
                .collect(),
            false => links
                .iter()
                .flat_map(|link| std::iter::once(*link).chain(sites(link)))
                .collect(),
        };
        out.extend(&self.free);
        out
    }

    /// Appends new links to a list, and inserts missing sites after their link and its sites, or at
    /// the end.
    fn with_new_sites(&self, kept: Vec<PrimId>, new: &[PrimId]) -> Vec<PrimId> {
        let existing: HashSet<PrimId> = kept.iter().copied().collect();
        let mut missing: HashMap<PrimId, Vec<PrimId>> = HashMap::new();
        for (body, sites) in &self.sites_of {
            missing.insert(
                *body,
                sites
                    .iter()
                    .copied()
                    .filter(|site| !existing.contains(site))
                    .collect(),
            );
        }
        let links: Vec<PrimId> = kept.into_iter().chain(new.iter().copied()).collect();
        let (mut out, mut last) = (Vec::with_capacity(links.len()), Vec::new());
        for (index, &link) in links.iter().enumerate() {
            out.push(link);
            let body = self.view.body_of(link);
            let next = links.get(index + 1).copied();
            // Insert after the last listed site of the link.
            let has_more_sites = next
                .is_some_and(|next| self.view.body_of(next) == body && !self.view.is_body(next));
            if let Some(sites) = body
                .filter(|_| !has_more_sites)
                .and_then(|body| missing.remove(&body))
            {
                if self.sites.last {
                    last.extend(sites)
                } else {
                    out.extend(sites)
                }
            }
        }
        // Bodies outside of the list may have sites too; sort them into the order of the stage.
        let mut others: Vec<PrimId> = missing.into_values().flatten().collect();
        others.sort();
        let free = self
            .free
            .iter()
            .copied()
            .filter(|site| !existing.contains(site));
        out.into_iter()
            .chain(last)
            .chain(others)
            .chain(free)
            .collect()
    }

    /// Applies schemas and writes the lists.
    fn write(mut self, links: &[PrimId], joints: &[PrimId]) -> Populated {
        self.apply(self.robot, names::ROBOT_API);
        for link in self.found.links.clone() {
            if self.view.is_body(link) && !self.view.is_robot(link) || link == self.robot {
                self.apply(link, names::LINK_API);
            }
        }
        for joint in self.found.joints.clone() {
            if self.view.is_joint(joint) {
                self.apply(joint, names::JOINT_API);
                self.order_axes(joint);
            }
        }
        for &link in links {
            if !self.view.is_site(link) && !self.view.is_body(link) && !self.view.is_robot(link) {
                let is_marked = self.view.stage[link].has(names::LINK_API);
                self.apply(
                    link,
                    if is_marked {
                        names::LINK_API
                    } else {
                        names::SITE_API
                    },
                );
            }
        }
        let path = |id: &PrimId| self.view.stage[*id].path.clone();
        let is_site = |id: &&PrimId| {
            !self.view.is_body(**id)
                && !self.view.is_robot(**id)
                && !self.view.stage[**id].has(names::LINK_API)
        };
        let sites = links.iter().filter(is_site).map(path).collect();
        let (links, joints): (Vec<String>, Vec<String>) = (
            links.iter().map(path).collect(),
            joints.iter().map(path).collect(),
        );
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for (relationship, list) in [(names::ROBOT_LINKS, &links), (names::ROBOT_JOINTS, &joints)] {
            let before = self.view.stage[self.robot].targets(relationship);
            let (had, has): (HashSet<&String>, HashSet<&String>) =
                (before.iter().collect(), list.iter().collect());
            removed.extend(before.iter().filter(|path| !has.contains(path)).cloned());
            added.extend(list.iter().filter(|path| !had.contains(path)).cloned());
            write_list(self.view, self.robot, relationship, list, self.layer);
        }
        Populated {
            links,
            joints,
            sites,
            removed,
            added,
            diagnostics: self.findings.finish(),
        }
    }

    /// Authors the order of the degrees of freedom of a general joint, unless it has one, or the former
    /// attributes for it, which [`migrate()`](crate::migrate()) converts.
    fn order_axes(&mut self, joint: PrimId) {
        let prim = &self.view.stage[joint];
        let axes = free_axes(prim);
        let has_order = prim.value(names::DOF_ORDER).is_some() || !offsets(prim).is_empty();
        let is_general = prim.type_name == "PhysicsJoint" && axes.len() > 1;
        if is_general && !has_order && overlay::can_author(self.view.stage, joint) {
            let mut over = self.layer.over(&prim.path);
            over.attribute(names::DOF_ORDER, Attribute::token_array(axes));
        }
    }

    /// Applies a schema, unless it is applied, or cannot be.
    fn apply(&mut self, id: PrimId, schema: &'static str) {
        let prim = &self.view.stage[id];
        if prim.has(schema) {
            return;
        }
        if overlay::can_author(self.view.stage, id) {
            self.layer.over(&prim.path).apply([schema]);
        } else {
            let message = format!(
                "{schema} cannot be applied to {}: it is below an instance",
                prim.path
            );
            let help = "make the prim above not instanceable, or apply it in the referenced layer";
            self.findings.add(&codes::INSTANCE, id, None, message, help);
        }
    }
}

/// Writes a list of a robot so that it is composed to `list`: prepended, with deletions of all other
/// entries of weaker layers.
pub(crate) fn write_list(
    view: &View<'_>,
    robot: PrimId,
    relationship: &str,
    list: &[String],
    layer: &mut Layer,
) {
    let prim = &view.stage[robot];
    // The stage does not show the targets that the layer deletes already; without this they would
    // return.
    let mut deleted = layer.deleted_targets(&prim.path, relationship);
    deleted.extend(prim.targets(relationship).iter().cloned());
    let wanted: HashSet<&String> = list.iter().collect();
    let mut seen = HashSet::new();
    deleted.retain(|path| !wanted.contains(path) && seen.insert(path.clone()));
    let list = Relationship::prepend(list.iter().cloned()).delete(deleted);
    layer.over(&prim.path).relationship(relationship, list);
}
