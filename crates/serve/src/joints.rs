//! `/joints`: a WebSocket that tells the newest joint positions. Whoever is slow gets fewer states,
//! never older ones, and slows nobody.
//!
//! Every message is the whole state of one robot, or of all that have such joints. After each batch
//! of what is new goes a ping with a number, and a few at most are under way: so what waits in the
//! buffers of the network is bounded, however long a client doesn't read.

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

/// How many joints are told of: beyond it, someone is making up names.
const MOST_JOINTS: usize = 4096;
/// How long a joint's name may be, in bytes.
const LONGEST_NAME: usize = 512;
/// Between two messages to one client: 60 a second.
const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / 60);
/// How many messages may be under way to one client.
const WINDOW: u64 = 4;
/// How long a quiet client is left alone before it is asked whether it is there.
const QUIET: Duration = Duration::from_secs(10);
/// How long a client may take nothing of what is under way.
const PATIENCE: Duration = Duration::from_secs(20);
/// The largest message that is taken from a client; nothing is expected from it.
const MOST_BYTES: usize = 1024;

/// How long a joint is told of that nobody tells any more while others are heard: its publisher
/// left, and its place is needed.
const FORGOTTEN: Duration = Duration::from_secs(10);

/// How many robots are told of in one batch. Of more, those that were told longest ago come first.
const MOST_AT_ONCE: usize = 64;

/// The newest positions of each robot; `None` stands for every robot that has such joints, and is
/// always there.
#[derive(Debug)]
pub(super) struct AllStates {
    robots: BTreeMap<Option<Arc<str>>, Arc<States>>,
    /// Counts what was heard.
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
    /// Changes the state of a robot; whether `change` did.
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

    /// Forgets a robot; whether there was something to forget.
    pub(super) fn forget(&mut self, robot: &str) -> bool {
        self.robots.remove(&Some(robot.into())).is_some()
    }

    /// What is newer than what `told` says was told, the longest untold first, a few at most; and
    /// whether there is more. Notes it as told.
    fn news(&self, told: &mut HashMap<Option<Arc<str>>, u64>) -> (Vec<Arc<States>>, bool) {
        told.retain(|robot, _| self.robots.contains_key(robot));
        let is_new = |states: &&Arc<States>| told.get(&states.robot) != Some(&states.turn);
        let mut news: Vec<Arc<States>> = self.robots.values().filter(is_new).cloned().collect();
        let is_more = news.len() > MOST_AT_ONCE;
        if is_more {
            news.sort_by_key(|states| told.get(&states.robot).copied());
            news.truncate(MOST_AT_ONCE);
        }
        told.extend(
            news.iter()
                .map(|states| (states.robot.clone(), states.turn)),
        );
        (news, is_more)
    }
}

/// The newest positions of a robot's joints, and their text once someone asked for it.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    robot: Option<Arc<str>>,
    turn: u64,
    live: bool,
    stamp: f64,
    positions: BTreeMap<String, f64>,
    /// When each was heard last.
    heard: BTreeMap<String, Instant>,
    text: OnceLock<Utf8Bytes>,
}

#[derive(Serialize)]
struct View<'a> {
    /// Whose joints: the robot's key; `null`: of every robot that has them.
    robot: Option<&'a str>,
    live: bool,
    stamp: f64,
    positions: &'a BTreeMap<String, f64>,
}

impl States {
    /// Takes positions in: of names without end the first ones, and numbers only. Whether there
    /// were any.
    pub(super) fn take<'a>(
        &mut self,
        stamp: f64,
        positions: impl Iterator<Item = (&'a str, f64)>,
        now: Instant,
    ) -> bool {
        let mut any = false;
        for (name, position) in
            positions.filter(|(name, position)| position.is_finite() && name.len() <= LONGEST_NAME)
        {
            any = true;
            if let Some((known, heard)) = self.positions.get_mut(name).zip(self.heard.get_mut(name))
            {
                (*known, *heard) = (position, now);
            } else if self.positions.len() < MOST_JOINTS {
                self.positions.insert(name.to_owned(), position);
                self.heard.insert(name.to_owned(), now);
            }
        }
        if any {
            self.heard
                .retain(|_, heard| now.duration_since(*heard) < FORGOTTEN);
            self.positions
                .retain(|name, _| self.heard.contains_key(name));
            self.live = true;
            self.stamp = if stamp.is_finite() { stamp } else { 0.0 };
            self.text = OnceLock::new();
        }
        any
    }

    /// Notes that nobody tells positions any more; whether that is new.
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
            ..
        } = self;
        let view = View {
            robot: robot.as_deref(),
            live: *live,
            stamp: *stamp,
            positions,
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
    // Pages of other origins may open WebSockets: that is not stopped by browsers.
    if !host::is_own_origin(&headers) {
        return (
            StatusCode::FORBIDDEN,
            "Pages from elsewhere get no joint states from here.\n",
        )
            .into_response();
    }
    let Some(seat) = app.watchers.take_stream(&connection) else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let states = app.site.joints();
    upgrade
        .max_message_size(MOST_BYTES)
        .max_frame_size(MOST_BYTES)
        .on_upgrade(move |socket| async move {
            // The connection may have made room for another one before it was a stream.
            if connection.keep(true) {
                tokio::select! {
                    () = feed(socket, states) => {}
                    () = seat.evicted() => {}
                }
            }
        })
}

/// Sends states until the client leaves, or takes nothing any more.
async fn feed(mut socket: WebSocket, mut states: watch::Receiver<AllStates>) {
    states.mark_changed();
    let mut told = HashMap::new();
    let mut window = Window::new(Instant::now());
    let mut next = Instant::now();
    loop {
        let news = async {
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
            news = news, if window.is_open() => {
                if news.is_err() {
                    return;
                }
                next = Instant::now() + PERIOD;
                // What is told is written out away from the lock, so that nobody waits for it.
                let (news, is_more) = states.borrow_and_update().news(&mut told);
                if is_more {
                    states.mark_changed();
                }
                news
            }
            () = sleep_until(window.deadline()) => {
                if window.is_waiting() {
                    return;
                }
                Vec::new()
            }
        };
        let ping = window.sent(Instant::now());
        match timeout(PATIENCE, send(&mut socket, &batch, ping)).await {
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

/// What is under way to a client.
#[derive(Debug)]
struct Window {
    sent: u64,
    taken: u64,
    /// When the client last took something, or when something was sent that it could take.
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

    /// Whether another message may go.
    fn is_open(&self) -> bool {
        self.sent - self.taken < WINDOW
    }

    /// Whether something is under way.
    fn is_waiting(&self) -> bool {
        self.sent > self.taken
    }

    /// When to give up, or to ask.
    fn deadline(&self) -> Instant {
        self.since + if self.is_waiting() { PATIENCE } else { QUIET }
    }

    /// Notes a message; its number, for the ping.
    fn sent(&mut self, now: Instant) -> Bytes {
        if !self.is_waiting() {
            self.since = now;
        }
        self.sent += 1;
        Bytes::copy_from_slice(&self.sent.to_be_bytes())
    }

    /// Notes a pong, which answers all pings before it.
    fn taken(&mut self, number: &[u8], now: Instant) {
        let Ok(number) = number.try_into().map(u64::from_be_bytes) else {
            return;
        };
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
        let names: Vec<String> = (0..MOST_JOINTS + 10).map(|n| format!("j{n}")).collect();
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
            (MOST_JOINTS, 1.0, 5.0)
        );
        let mut states = States::default();
        let heard = [
            ("x".repeat(LONGEST_NAME + 1), 1.0),
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
            "no position is no news"
        );
        assert_eq!(
            states.text().as_str(),
            r#"{"robot":null,"live":true,"stamp":2.5,"positions":{"a":0.5}}"#
        );
        assert!(states.end() && !states.end());
        assert!(states.text().contains("\"live\":false"));
    }

    #[test]
    fn joints_that_nobody_tells_any_more_are_forgotten() {
        let (mut states, start) = (States::default(), Instant::now());
        states.take(1.0, [("gone", 1.0), ("here", 1.0)].into_iter(), start);
        states.take(2.0, [("here", 2.0)].into_iter(), start + FORGOTTEN / 2);
        assert_eq!(states.positions.len(), 2);
        states.take(3.0, [("here", 3.0)].into_iter(), start + FORGOTTEN);
        assert_eq!(states.positions, BTreeMap::from([("here".to_owned(), 3.0)]));
    }

    #[test]
    fn a_few_messages_are_under_way_and_silence_ends_it() {
        let start = Instant::now();
        let mut window = Window::new(start);
        assert_eq!(window.deadline(), start + QUIET);
        let pings: Vec<Bytes> = (0..WINDOW).map(|_| window.sent(start)).collect();
        assert!(!window.is_open() && window.deadline() == start + PATIENCE);
        let later = start + Duration::from_secs(1);
        // Numbers that were never sent, and what is no number, mean nothing.
        window.taken(&99_u64.to_be_bytes(), later);
        window.taken(b"x", later);
        assert!(!window.is_open());
        window.taken(&pings[1], later);
        assert!(window.is_open() && window.is_waiting() && window.deadline() == later + PATIENCE);
        window.taken(&pings[0], later);
        window.taken(&pings[3], later);
        assert!(!window.is_waiting() && window.deadline() == later + QUIET);
    }
}
