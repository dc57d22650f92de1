//! Controllers that can't be active at once, because they command the same joints (REP-158 §4.2.3).

use std::collections::{BTreeMap, HashMap};

use crate::codes;
use crate::xml::short;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::Interface;

/// Maximum number of joints that a message lists.
const MAX_NAMES: usize = 5;

/// A controller and the joints that it commands.
struct Claim<'a> {
    controller: String,
    joints: Vec<&'a str>,
    is_trajectory: bool,
    place: Place,
}

/// The controllers of a robot, with the joints that each commands and the interfaces that it
/// offers.
#[derive(Default)]
pub(super) struct Claims<'a> {
    claims: Vec<Claim<'a>>,
    /// Indices of interfaces, each with a controller that offers it.
    offers: Vec<(usize, usize)>,
}

impl<'a> Claims<'a> {
    /// Adds a controller, or adds joints to the controller of that name; returns its index.
    pub fn add(
        &mut self,
        controller: &str,
        joints: Vec<&'a str>,
        is_trajectory: bool,
        place: &Place,
    ) -> usize {
        let mut known = self.claims.iter_mut().enumerate();
        if let Some((index, claim)) = known.find(|(_, claim)| claim.controller == controller) {
            claim.joints.extend(joints);
            return index;
        }
        self.claims.push(Claim {
            controller: controller.to_owned(),
            joints,
            is_trajectory,
            place: place.clone(),
        });
        self.claims.len() - 1
    }

    /// Adds an interface of a controller to `interfaces`, unless it is listed already.
    pub fn offer(
        &mut self,
        controller: usize,
        interface: Interface,
        interfaces: &mut Vec<Interface>,
    ) {
        let known = interfaces.iter().position(|known| *known == interface);
        self.offers
            .push((known.unwrap_or(interfaces.len()), controller));
        if known.is_none() {
            interfaces.push(interface);
        }
    }

    /// Disables interfaces that only excluded controllers offer, and returns a finding for each of
    /// those.
    ///
    /// A controller is excluded if another one holds one of its joints. Trajectory controllers come
    /// first, because they hold their joints in place until commanded; then the order in which
    /// controllers were added counts.
    pub fn disable_excluded(self, interfaces: &mut [Interface]) -> Vec<Diagnostic> {
        let mut ranked: Vec<(usize, &Claim<'_>)> = self.claims.iter().enumerate().collect();
        ranked.sort_by_key(|(_, claim)| !claim.is_trajectory);
        let mut holders: HashMap<&str, &Claim<'_>> = HashMap::new();
        // Sorted by index, so that findings are in the order in which controllers were added.
        let mut excluded: BTreeMap<usize, Diagnostic> = BTreeMap::new();
        for (index, claim) in ranked {
            let held: Vec<(&str, &Claim<'_>)> = claim
                .joints
                .iter()
                .filter_map(|joint| Some((*joint, *holders.get(joint)?)))
                .collect();
            match held.first() {
                Some(&(_, holder)) => {
                    let joints = held
                        .iter()
                        .filter(|(_, other)| other.controller == holder.controller)
                        .map(|(joint, _)| *joint)
                        .collect();
                    excluded.insert(index, diagnostic(claim, holder, joints));
                }
                // Only an active controller holds joints: an excluded one excludes no other.
                None => holders.extend(claim.joints.iter().map(|joint| (*joint, claim))),
            }
        }
        // An interface that several controllers offer stays enabled if one of them is active.
        let mut is_offered: HashMap<usize, bool> = HashMap::new();
        for &(interface, controller) in &self.offers {
            *is_offered.entry(interface).or_default() |= !excluded.contains_key(&controller);
        }
        for (interface, is_offered) in is_offered {
            if let Some(interface) = interfaces.get_mut(interface) {
                interface.starts_enabled = is_offered;
            }
        }
        excluded.into_values().collect()
    }
}

fn diagnostic(claim: &Claim<'_>, holder: &Claim<'_>, joints: Vec<&str>) -> Diagnostic {
    let names: Vec<String> = joints
        .iter()
        .take(MAX_NAMES)
        .map(|joint| short(joint))
        .collect();
    let more = if joints.len() > MAX_NAMES {
        ", …"
    } else {
        ""
    };
    let why = match (holder.is_trajectory, claim.is_trajectory) {
        (true, false) => "is a trajectory controller",
        _ => "comes first",
    };
    let message = format!(
        "the controllers \"{}\" and \"{}\" command the same joints ({}{more}); \"{}\" starts disabled, because the other one {why}",
        short(&holder.controller),
        short(&claim.controller),
        names.join(", "),
        short(&claim.controller),
    );
    let help = "to choose differently, set starts_enabled on the interfaces of both in a layer over the asset";
    Diagnostic::new(&codes::EXCLUSIVE_CONTROLLER, claim.place.clone(), message).help(help)
}
