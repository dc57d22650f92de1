//! No two interfaces conflict over a name.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{Findings, Subject, rule};
use crate::ros::{self, Interface, Kind};

rule! {
    severity: Error,
    meaning: "Two interfaces conflict over a name.",
    outcome: "ROS does not connect topics of different types, and either of two servers may \
              answer.",
    demand: "A topic has one type; a service or an action has one server (ROS 2).",
    section: ("Interface Resolution", "§2.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let mut known: HashMap<(Kind, String), Interface<'_>> = HashMap::new();
    for interface in ros::interfaces(stage) {
        let Some(name) = interface.text("name") else {
            continue;
        };
        let is_server = interface.text("role") == Some("server");
        // Any number of clients may share a name.
        if interface.kind != Kind::Topic && !is_server {
            continue;
        }
        let other =
            match known.entry((interface.kind, ros::resolve_name(stage, interface.id, name))) {
                Entry::Vacant(free) => {
                    free.insert(interface);
                    continue;
                }
                Entry::Occupied(taken) => *taken.get(),
            };
        let (path, other_path) = (&interface.prim.path, &other.prim.path);
        let message = match (interface.text("type"), other.text("type")) {
            _ if is_server => format!(
                "{path} and {other_path} are both servers of the {} {name}",
                interface.kind.label()
            ),
            (Some(type_name), Some(other_type)) if type_name != other_type => {
                format!(
                    "{path} and {other_path} are both the topic {name}, but have the types {type_name} and {other_type}"
                )
            }
            _ => continue,
        };
        findings.prim(
            interface.id,
            Some(&interface.attribute("name")),
            message,
            "give one of them another name",
        );
    }
}
