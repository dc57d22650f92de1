//! `/joints`: a WebSocket with the latest joint positions, and the poses of robots in the frames
//! above them. A slow client gets fewer states, never
//! older ones.
//!
//! Every message is the complete state of one robot, or of all robots with such joints. A numbered
//! ping follows each batch, and at most [`MAX_IN_FLIGHT`] of them may be unanswered: this bounds
//! the data in network buffers even if a client stops reading, which TCP's own flow control would
//! not.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::seats::Seat;
use super::{App, host};

/// Maximum number of joints per robot, against invented names.
const MAX_JOINTS: usize = 4096;
/// Maximum length of a joint's name, in bytes.
const MAX_NAME_BYTES: usize = 512;
/// Minimum time between two batches to one client: 60 Hz.
const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / 60);
/// Maximum number of batches to a client without a pong.
const MAX_IN_FLIGHT: u64 = 4;
/// Time without messages after which a client is pinged.
const PING_INTERVAL: Duration = Duration::from_secs(10);
/// Time limit for a pong.
const PONG_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum size of a message from a client; none with content is expected.
const MAX_MESSAGE_BYTES: usize = 1024;

/// Time to keep publishing a joint after its last update, while others are updated.
const JOINT_EXPIRY: Duration = Duration::from_secs(10);

/// Maximum number of robots in a batch. If there are more, those sent longest ago come first.
const MAX_BATCH: usize = 64;

/// The pose of a robot's root in a frame above it in TF.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Base {
    /// The frame.
    pub frame: String,
    /// x, y, z in metres, then the quaternion x, y, z, w.
    pub pose: [f64; 7],
}

/// The poses of roots by their name, in all frames above, the nearest first.
pub type Bases = BTreeMap<String, Vec<Base>>;

/// The latest positions of each robot. The key `None` means every robot with such joints, and
/// always exists.
#[derive(Debug)]
pub(super) struct AllStates {
    robots: BTreeMap<Option<Arc<str>>, Arc<States>>,
    /// Counts updates.
    turn: u64,
}

impl Default for AllStates {
    fn default() -> Self {
        Self {
            robots: BTreeMap::from([(None, Arc::default())]),
            turn: 0,
        }
    }
}

impl AllStates {
    /// Changes the state of a robot; returns whether `change` did.
    pub(super) fn change(
        &mut self,
        robot: Option<&str>,
        change: impl FnOnce(&mut States) -> bool,
    ) -> bool {
        let key = robot.map(Arc::<str>::from);
        let known = self.robots.remove(&key);
        let is_known = known.is_some();
        let mut states = known.unwrap_or_else(|| {
            Arc::new(States {
                robot: key.clone(),
                ..States::default()
            })
        });
        let newest = Arc::make_mut(&mut states);
        let is_changed = change(newest);
        if is_changed {
            self.turn += 1;
            newest.turn = self.turn;
        }
        if is_changed || is_known {
            self.robots.insert(key, states);
        }
        is_changed
    }

    /// Forgets a robot; returns whether it was known.
    pub(super) fn forget(&mut self, robot: &str) -> bool {
        self.robots.remove(&Some(robot.into())).is_some()
    }

    /// Returns updates not yet sent, oldest first and at most a batch, and whether there are more.
    /// Records them in `sent_turns`, the last turn sent to a client per robot.
    fn pending(&self, sent_turns: &mut HashMap<Option<Arc<str>>, u64>) -> (Vec<Arc<States>>, bool) {
        sent_turns.retain(|robot, _| self.robots.contains_key(robot));
        let is_new = |states: &&Arc<States>| sent_turns.get(&states.robot) != Some(&states.turn);
        let mut pending: Vec<Arc<States>> = self.robots.values().filter(is_new).cloned().collect();
        let is_more = pending.len() > MAX_BATCH;
        if is_more {
            // `None`, never sent, comes first.
            pending.sort_by_key(|states| sent_turns.get(&states.robot).copied());
            pending.truncate(MAX_BATCH);
        }
        sent_turns.extend(
            pending
                .iter()
                .map(|states| (states.robot.clone(), states.turn)),
        );
        (pending, is_more)
    }
}

/// The latest positions of a robot's joints, with their JSON once it was requested.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    robot: Option<Arc<str>>,
    turn: u64,
    live: bool,
    stamp: f64,
    positions: BTreeMap<String, f64>,
    bases: Bases,
    /// Time of each joint's last update.
    heard: BTreeMap<String, Instant>,
    text: OnceLock<Utf8Bytes>,
}

#[derive(Serialize)]
struct View<'a> {
    /// Key of the robot; `null` for every robot with these joints.
    robot: Option<&'a str>,
    live: bool,
    stamp: f64,
    positions: &'a BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    bases: &'a Bases,
}

impl States {
    /// Stores finite positions, those of new joints only up to a maximum; returns whether there
    /// were any.
    pub(super) fn take<'a>(
        &mut self,
        stamp: f64,
        positions: impl Iterator<Item = (&'a str, f64)>,
        now: Instant,
    ) -> bool {
        let mut any = false;
        for (name, position) in positions
            .filter(|(name, position)| position.is_finite() && name.len() <= MAX_NAME_BYTES)
        {
            any = true;
            if let Some((known, heard)) = self.positions.get_mut(name).zip(self.heard.get_mut(name))
            {
                (*known, *heard) = (position, now);
            } else if self.positions.len() < MAX_JOINTS {
                self.positions.insert(name.to_owned(), position);
                self.heard.insert(name.to_owned(), now);
            }
        }
        if any {
            self.heard
                .retain(|_, heard| now.duration_since(*heard) < JOINT_EXPIRY);
            self.positions
                .retain(|name, _| self.heard.contains_key(name));
            self.live = true;
            self.stamp = if stamp.is_finite() { stamp } else { 0.0 };
            // The cached JSON is that of the old state.
            self.text = OnceLock::new();
        }
        any
    }

    /// Stores the poses of roots; returns whether they differ from the former ones.
    pub(super) fn place(&mut self, bases: Bases) -> bool {
        if self.bases == bases {
            return false;
        }
        self.bases = bases;
        self.text = OnceLock::new();
        true
    }

    /// Records that positions are no longer published; returns whether that is new.
    pub(super) fn end(&mut self) -> bool {
        self.text = OnceLock::new();
        std::mem::replace(&mut self.live, false)
    }

    fn text(&self) -> Utf8Bytes {
        let Self {
            robot,
            live,
            stamp,
            positions,
            bases,
            ..
        } = self;
        let view = View {
            robot: robot.as_deref(),
            live: *live,
            stamp: *stamp,
            positions,
            bases,
        };
        self.text
            .get_or_init(|| serde_json::to_string(&view).unwrap_or_default().into())
            .clone()
    }
}

pub(super) async fn joints(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Seat>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    // Browsers let pages of other origins open WebSockets.
    if !host::is_own_origin(&headers) {
        return (
            StatusCode::FORBIDDEN,
            "Joint states are available to pages of this server only.\n",
        )
            .into_response();
    }
    let Some(seat) = app.watchers.take_stream(&connection) else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let states = app.site.joints();
    upgrade
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .on_upgrade(move |socket| async move {
            // The connection may have been evicted before the upgrade.
            if connection.set_protected(true) {
                tokio::select! {
                    () = feed(socket, states) => {}
                    () = seat.evicted() => {}
                }
            }
        })
}

/// Sends states until the client leaves or stops reading.
async fn feed(mut socket: WebSocket, mut states: watch::Receiver<AllStates>) {
    // The client begins with the present state.
    states.mark_changed();
    let mut sent_turns = HashMap::new();
    let mut window = Window::new(Instant::now());
    let mut next = Instant::now();
    loop {
        let pending = async {
            sleep_until(next).await;
            states.changed().await
        };
        let batch = tokio::select! {
            heard = socket.recv() => match heard {
                Some(Ok(Message::Pong(number))) => {
                    window.taken(&number, Instant::now());
                    continue;
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
            pending = pending, if window.is_open() => {
                if pending.is_err() {
                    return;
                }
                next = Instant::now() + PERIOD;
                // Format the messages outside the lock, so that it is held only briefly.
                let (pending, is_more) = states.borrow_and_update().pending(&mut sent_turns);
                if is_more {
                    states.mark_changed();
                }
                pending
            }
            () = sleep_until(window.deadline()) => {
                if window.is_waiting() {
                    return;
                }
                Vec::new()
            }
        };
        let ping = window.sent(Instant::now());
        // Sending blocks once the socket's buffers are full.
        match timeout(PONG_TIMEOUT, send(&mut socket, &batch, ping)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

async fn send(
    socket: &mut WebSocket,
    batch: &[Arc<States>],
    ping: Bytes,
) -> Result<(), axum::Error> {
    for states in batch {
        socket.send(Message::Text(states.text())).await?;
    }
    socket.send(Message::Ping(ping)).await
}

/// Flow control: the pings in flight to a client.
#[derive(Debug)]
struct Window {
    sent: u64,
    taken: u64,
    /// Time of the last pong, or of the first ping in flight after it.
    since: Instant,
}

impl Window {
    fn new(now: Instant) -> Self {
        Self {
            sent: 0,
            taken: 0,
            since: now,
        }
    }

    /// Returns whether another batch may be sent.
    fn is_open(&self) -> bool {
        self.sent - self.taken < MAX_IN_FLIGHT
    }

    /// Returns whether pings are in flight.
    fn is_waiting(&self) -> bool {
        self.sent > self.taken
    }

    /// Returns when to give up if pings are in flight, else when to ping.
    fn deadline(&self) -> Instant {
        self.since
            + if self.is_waiting() {
                PONG_TIMEOUT
            } else {
                PING_INTERVAL
            }
    }

    /// Records a batch and returns its number, for the ping.
    fn sent(&mut self, now: Instant) -> Bytes {
        if !self.is_waiting() {
            self.since = now;
        }
        self.sent += 1;
        Bytes::copy_from_slice(&self.sent.to_be_bytes())
    }

    /// Records a pong, which also answers all earlier pings.
    fn taken(&mut self, number: &[u8], now: Instant) {
        let Ok(number) = number.try_into().map(u64::from_be_bytes) else {
            return;
        };
        // Clients may send pongs that answer no ping (RFC 6455, section 5.5.3).
        if number > self.taken && number <= self.sent {
            (self.taken, self.since) = (number, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_bounded() {
        let mut states = States::default();
        let start = Instant::now();
        let names: Vec<String> = (0..MAX_JOINTS + 10).map(|n| format!("j{n}")).collect();
        assert!(states.take(
            f64::NAN,
            names.iter().map(|name| (name.as_str(), 1.0)),
            start
        ));
        assert!(states.take(
            2.0,
            [("j0", f64::NAN), ("j1", 5.0), ("late", 1.0)].into_iter(),
            start
        ));
        assert_eq!(
            (
                states.positions.len(),
                states.positions["j0"],
                states.positions["j1"]
            ),
            (MAX_JOINTS, 1.0, 5.0)
        );
        let mut states = States::default();
        let heard = [
            ("x".repeat(MAX_NAME_BYTES + 1), 1.0),
            ("a".to_owned(), 0.5),
            ("b".to_owned(), f64::INFINITY),
        ];
        assert!(states.take(
            2.5,
            heard.iter().map(|(name, at)| (name.as_str(), *at)),
            start
        ));
        assert!(
            !states.take(9.0, [("a", f64::NAN)].into_iter(), start),
            "without a position nothing changes"
        );
        assert_eq!(
            states.text().as_str(),
            r#"{"robot":null,"live":true,"stamp":2.5,"positions":{"a":0.5}}"#
        );
        assert!(states.end() && !states.end());
        assert!(states.text().contains("\"live\":false"));
    }

    #[test]
    fn joints_without_updates_expire() {
        let (mut states, start) = (States::default(), Instant::now());
        states.take(1.0, [("gone", 1.0), ("here", 1.0)].into_iter(), start);
        states.take(2.0, [("here", 2.0)].into_iter(), start + JOINT_EXPIRY / 2);
        assert_eq!(states.positions.len(), 2);
        states.take(3.0, [("here", 3.0)].into_iter(), start + JOINT_EXPIRY);
        assert_eq!(states.positions, BTreeMap::from([("here".to_owned(), 3.0)]));
    }

    #[test]
    fn a_few_messages_are_under_way_and_silence_ends_it() {
        let start = Instant::now();
        let mut window = Window::new(start);
        assert_eq!(window.deadline(), start + PING_INTERVAL);
        let pings: Vec<Bytes> = (0..MAX_IN_FLIGHT).map(|_| window.sent(start)).collect();
        assert!(!window.is_open() && window.deadline() == start + PONG_TIMEOUT);
        let later = start + Duration::from_secs(1);
        // Numbers that were never sent, and payloads that are no numbers, are ignored.
        window.taken(&99_u64.to_be_bytes(), later);
        window.taken(b"x", later);
        assert!(!window.is_open());
        window.taken(&pings[1], later);
        assert!(
            window.is_open() && window.is_waiting() && window.deadline() == later + PONG_TIMEOUT
        );
        window.taken(&pings[0], later);
        window.taken(&pings[3], later);
        assert!(!window.is_waiting() && window.deadline() == later + PING_INTERVAL);
    }
}
