//! Reads contact properties: friction and restitution of Gazebo and of Bullet.

use std::collections::BTreeMap;

use super::scope::{Scope, child, descend};
use crate::codes;
use urdf_usd_robot::{Contact, Element, LinkId};

/// Coefficient of friction of a link with a restitution but no friction: Gazebo's default.
pub(super) const DEFAULT_FRICTION: f64 = 1.0;

/// The settings of a source for a link; later settings override earlier ones, as in Gazebo.
#[derive(Clone, Copy, Default)]
struct Given {
    first: Option<f64>,
    second: Option<f64>,
    restitution: Option<f64>,
}

impl Given {
    fn is_empty(self) -> bool {
        self.first.or(self.second).or(self.restitution).is_none()
    }

    /// Overrides settings by those of `later`.
    fn overlay(&mut self, later: Self) {
        self.first = later.first.or(self.first);
        self.second = later.second.or(self.second);
        self.restitution = later.restitution.or(self.restitution);
    }

    /// Takes missing settings from `other`.
    fn complete(&mut self, other: Self) {
        if self.first.or(self.second).is_none() {
            (self.first, self.second) = (other.first, other.second);
        }
        self.restitution = self.restitution.or(other.restitution);
    }
}

/// Reads the contact properties of all links that have any.
pub(super) fn read(scope: &mut Scope<'_>) -> Vec<(LinkId, Contact)> {
    let robot = scope.robot;
    let mut links: BTreeMap<LinkId, Given> = BTreeMap::new();
    for block in scope.elements("gazebo") {
        let Some(reference) = super::reference(block) else {
            continue;
        };
        let mut given = Given::default();
        gazebo(scope, block, &mut given);
        if given.is_empty() {
            continue;
        }
        match scope.link(reference) {
            Some(link) => links.entry(link).or_default().overlay(given),
            // Gazebo ignores contact settings of a joint as well.
            None if scope.joint(reference).is_some() => {}
            None => scope.report_unknown("link", reference, &block.place),
        }
    }
    for (index, link) in robot.links().iter() {
        for element in link
            .custom
            .elements
            .iter()
            .filter(|element| element.name == "contact")
        {
            let mut given = Given::default();
            bullet(scope, element, &mut given);
            // Gazebo's settings take precedence over Bullet's.
            links.entry(index).or_default().complete(given);
        }
    }
    links
        .into_iter()
        .filter_map(|(link, given)| Some((link, contact(given)?)))
        .collect()
}

fn contact(given: Given) -> Option<Contact> {
    let (first, second) = match (given.first, given.second) {
        (None, None) => (
            given.restitution.map(|_| DEFAULT_FRICTION)?,
            DEFAULT_FRICTION,
        ),
        (first, second) => (first.or(second)?, second.or(first)?),
    };
    Some(Contact {
        static_friction: first.max(second),
        dynamic_friction: first.min(second),
        restitution: given.restitution,
    })
}

fn gazebo(scope: &mut Scope<'_>, block: &Element, given: &mut Given) {
    coefficients(scope, block, given);
    for holder in [Some(block), child(block, "collision")]
        .into_iter()
        .flatten()
    {
        if let Some(ode) = descend(holder, &["surface", "friction", "ode"]) {
            coefficients(scope, ode, given);
        }
        if let Some(bounce) = descend(holder, &["surface", "bounce"]) {
            coefficients(scope, bounce, given);
        }
    }
}

fn coefficients(scope: &mut Scope<'_>, element: &Element, given: &mut Given) {
    given.first = coefficient(scope, element, &["mu", "mu1"]).or(given.first);
    given.second = coefficient(scope, element, &["mu2"]).or(given.second);
    given.restitution =
        restitution(scope, element, "restitution_coefficient").or(given.restitution);
}

/// Reads Bullet's `<contact>` in a link.
fn bullet(scope: &mut Scope<'_>, element: &Element, given: &mut Given) {
    if let Some(friction) = coefficient(scope, element, &["lateral_friction"]) {
        (given.first, given.second) = (Some(friction), Some(friction));
    }
    given.restitution = restitution(scope, element, "restitution").or(given.restitution);
}

/// Returns the last valid, non-negative number in the elements `names`.
fn coefficient(scope: &mut Scope<'_>, element: &Element, names: &[&str]) -> Option<f64> {
    let mut last = None;
    for node in element
        .children
        .iter()
        .filter(|child| names.contains(&child.name.as_str()))
    {
        match scope.own_number(node, "it is ignored") {
            Some(value) if value < 0.0 => {
                let message = format!(
                    "{} is {value}, but a coefficient must not be negative; it is ignored",
                    node.name
                );
                scope.report(
                    &codes::BAD_SETTING,
                    &node.place,
                    message,
                    "correct the value",
                );
            }
            Some(value) => last = Some(value),
            None => {}
        }
    }
    last
}

fn restitution(scope: &mut Scope<'_>, element: &Element, name: &'static str) -> Option<f64> {
    let value = coefficient(scope, element, &[name])?;
    if value > 1.0 {
        let message = format!("{name} is {value}, but restitution is at most 1; 1 is used");
        scope.report(
            &codes::BAD_SETTING,
            &element.place,
            message,
            "use a number from 0 to 1",
        );
    }
    Some(value.min(1.0))
}
