//! How many robots the system has room for: what is left out for lack of descriptors, told once and until it is taken in.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Engine, codes};
use crate::bridge::descriptors::{PUBLISHER, Room, SUBSCRIPTION};
use crate::bridge::robots::{self, pair};
use crate::diagnostic::{Diagnostic, Place};
use crate::ros::Node;
use crate::ros::msg::diagnostic_msgs::DiagnosticStatus;

/// What a robot of a namespace costs at most: its description, its transforms and joint states, and what is said of its asset.
const ROBOT: usize = SUBSCRIPTION + MOTION + PUBLISHER;
/// What its transforms, static ones and joint states cost of that.
const MOTION: usize = 3 * SUBSCRIPTION;
/// How long a robot that was taken in may take until its topics are there. What it does not have then, others may have.
const SHOWS: Duration = Duration::from_secs(10);
/// How often in a row the wait after a conversion that lacked descriptors is doubled.
const MOST_DOUBLED: u32 = 6;

/// How many robots the system has room for.
pub(super) struct Holding {
    room: Room,
    /// The topics of descriptions that were taken in, and when.
    since: BTreeMap<String, Instant>,
    /// What is kept for those of them that may not have opened all yet.
    kept: usize,
    /// Those that there was no room for.
    left_out: BTreeSet<String>,
    /// The namespaces whose transforms and joint states there was no room for.
    unheard: BTreeSet<Arc<str>>,
    /// Whether it was told.
    is_told: bool,
}

impl Holding {
    pub(super) fn new(room: Room) -> Self {
        Self { room, since: BTreeMap::new(), kept: 0, left_out: BTreeSet::new(), unheard: BTreeSet::new(), is_told: false }
    }

    /// Whether something was left out.
    pub(super) fn is_short(&self) -> bool {
        !self.left_out.is_empty() || !self.unheard.is_empty()
    }

    /// Begins a look at all topics.
    pub(super) fn begin(&mut self, now: Instant) {
        self.left_out.clear();
        self.unheard.clear();
        let is_new = |since: &&Instant| now.saturating_duration_since(**since) < SHOWS;
        self.kept = self.since.values().filter(is_new).count() * (ROBOT - SUBSCRIPTION);
    }

    /// Whether there is room for the robot of one more topic. What robots that were taken in lately have not opened yet is kept for them.
    pub(super) fn admit(&mut self, topic: &str, now: Instant) -> bool {
        let rest = ROBOT - SUBSCRIPTION;
        let is_admitted = self.room.take(SUBSCRIPTION, self.kept + rest, now);
        if is_admitted {
            self.kept += rest;
            self.since.insert(topic.to_owned(), now);
        } else {
            self.left_out.insert(topic.to_owned());
        }
        is_admitted
    }

    /// A topic is followed no more.
    pub(super) fn release(&mut self, topic: &str) {
        self.since.remove(topic);
    }

    /// Whether there is room to hear so many topics of a namespace.
    pub(super) fn hear(&mut self, namespace: &Arc<str>, topics: usize, now: Instant) -> bool {
        let is_there = self.room.take(topics * SUBSCRIPTION, 0, now);
        if !is_there {
            self.unheard.insert(namespace.clone());
        }
        is_there
    }

    fn message(&self, held: usize) -> String {
        let open = self.room.limit();
        let mut message =
            format!("the {open} descriptors that robots may have are enough for {held} of {}", held + self.left_out.len());
        if !self.unheard.is_empty() {
            message.push_str(&format!("; of {} the transforms and joint states are not heard", self.unheard.len()));
        }
        message
    }
}

impl<N: Node> Engine<N> {
    /// Tells how many robots there is room for: once when it is too few, and when it is enough again.
    pub(super) fn tell_holding(&mut self) {
        let is_short = self.holding.is_short();
        if is_short {
            self.withdraw_gone();
        }
        if std::mem::replace(&mut self.holding.is_told, is_short) == is_short {
            return;
        }
        if is_short {
            let message = self.holding.message(self.descriptions.followed());
            let help = "raise the limit before the node starts: ulimit -n 65536, LimitNOFILE= of a service, --ulimit nofile= of a container";
            tracing::warn!("{}", Diagnostic::new(&codes::DESCRIPTORS, Place::default(), message).help(help));
        } else {
            tracing::info!("there are descriptors for all robots again");
        }
    }

    /// How many robots there is room for, on `/diagnostics`, while it is too few.
    pub(super) fn holding_status(&self) -> Option<DiagnosticStatus> {
        let Holding { left_out, unheard, .. } = &self.holding;
        self.holding.is_short().then(|| {
            let named = |names: Vec<&str>| names.into_iter().take(robots::MOST_NAMED).collect::<Vec<_>>().join(", ");
            DiagnosticStatus {
                level: DiagnosticStatus::WARN,
                name: format!("{}: robots held", self.node.name()),
                message: self.holding.message(self.descriptions.followed()),
                hardware_id: "none".to_owned(),
                values: vec![
                    pair("code", codes::DESCRIPTORS.id),
                    pair("held", self.descriptions.followed()),
                    pair("left out", left_out.len()),
                    pair("left out first", named(left_out.iter().map(String::as_str).collect())),
                    pair("not heard", unheard.len()),
                    pair("not heard first", named(unheard.iter().map(|namespace| &**namespace).collect())),
                ],
            }
        })
    }

    /// Returns a warning about nodes whose requests the node's ROS client can't answer; `None` if there are none.
    pub(super) fn services_status(&self) -> Option<DiagnosticStatus> {
        let first: Vec<String> = self
            .unreachable_clients
            .iter()
            .take(robots::MOST_NAMED)
            .map(|(node, service)| format!("{node} ({service})"))
            .collect();
        (!first.is_empty()).then(|| DiagnosticStatus {
            level: DiagnosticStatus::WARN,
            name: format!("{}: services", self.node.name()),
            message: "services can't be exchanged with nodes on Fast DDS or Connext by this build; topics can".to_owned(),
            hardware_id: "none".to_owned(),
            values: vec![
                pair("code", crate::ros::codes::OTHER_SERVICE_WIRE.id),
                pair("clients", self.unreachable_clients.len()),
                pair("clients first", first.join(", ")),
            ],
        })
    }

    /// A conversion lacked descriptors, or did not: then the next time is the first again.
    pub(super) fn note_starved(&mut self, key: &str, diagnostics: &[Diagnostic]) {
        let Some(robot) = self.robots.get_mut(key) else { return };
        if !crate::convert::is_out_of_files(diagnostics) {
            robot.starved = None;
            return;
        }
        let times = robot.starved.map_or(0, |(times, _)| (times + 1).min(MOST_DOUBLED));
        robot.starved = Some((times, Instant::now() + Duration::from_secs(1 << times)));
        // What it found holds for that moment only.
        robot.fingerprint = None;
    }

    /// Converts what lacked descriptors once more.
    pub(super) fn try_starved_again(&mut self) {
        let now = Instant::now();
        let mut due = Vec::new();
        for (key, robot) in &mut self.robots {
            if let Some((times, at)) = robot.starved.as_mut().filter(|(_, at)| *at <= now) {
                *at = now + Duration::from_secs(1 << *times);
                due.push(key.clone());
            }
        }
        for key in due {
            tracing::info!("{key:?} lacked descriptors: it is converted again");
            self.convert_again(&key);
        }
    }
}
