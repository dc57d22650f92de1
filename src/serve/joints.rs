//! `/joints`: a WebSocket that tells the newest joint positions. Whoever is slow gets fewer states, never older ones, and slows
//! nobody.
//!
//! Every message is a whole state. After each goes a ping with a number, and a few at most are under way: so what waits in the
//! buffers of the network is bounded, however long a client doesn't read.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

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

/// How long a joint is told of that nobody tells any more while others are heard: its publisher left, and its place is needed.
const FORGOTTEN: Duration = Duration::from_secs(10);

/// The newest positions of all joints, and their text once someone asked for it.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    live: bool,
    stamp: f64,
    positions: BTreeMap<String, f64>,
    /// When each was heard last.
    heard: BTreeMap<String, Instant>,
    text: OnceLock<Utf8Bytes>,
}

#[derive(Serialize)]
struct View<'a> {
    /// Whose joints: as yet, of every robot that has them.
    robot: Option<&'a str>,
    live: bool,
    stamp: f64,
    positions: &'a BTreeMap<String, f64>,
}

impl States {
    /// Takes positions in: of names without end the first ones, and numbers only. Whether there were any.
    pub(super) fn take<'a>(&mut self, stamp: f64, positions: impl Iterator<Item = (&'a str, f64)>, now: Instant) -> bool {
        let mut any = false;
        for (name, position) in positions.filter(|(name, position)| position.is_finite() && name.len() <= LONGEST_NAME) {
            any = true;
            if let Some((known, heard)) = self.positions.get_mut(name).zip(self.heard.get_mut(name)) {
                (*known, *heard) = (position, now);
            } else if self.positions.len() < MOST_JOINTS {
                self.positions.insert(name.to_owned(), position);
                self.heard.insert(name.to_owned(), now);
            }
        }
        if any {
            self.heard.retain(|_, heard| now.duration_since(*heard) < FORGOTTEN);
            self.positions.retain(|name, _| self.heard.contains_key(name));
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
        let Self { live, stamp, positions, .. } = self;
        let view = View { robot: None, live: *live, stamp: *stamp, positions };
        self.text.get_or_init(|| serde_json::to_string(&view).unwrap_or_default().into()).clone()
    }
}

pub(super) async fn joints(State(app): State<Arc<App>>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    // Pages of other origins may open WebSockets: that is not stopped by browsers.
    if !host::is_own_origin(&headers) {
        return (StatusCode::FORBIDDEN, "Pages from elsewhere get no joint states from here.\n").into_response();
    }
    let Ok(seat) = app.watchers.clone().try_acquire_owned() else {
        return super::full("joint states");
    };
    let states = app.site.joints();
    upgrade.max_message_size(MOST_BYTES).max_frame_size(MOST_BYTES).on_upgrade(move |socket| async move {
        feed(socket, states).await;
        drop(seat);
    })
}

/// Sends states until the client leaves, or takes nothing any more.
async fn feed(mut socket: WebSocket, mut states: watch::Receiver<Arc<States>>) {
    states.mark_changed();
    let mut window = Window::new(Instant::now());
    let mut next = Instant::now();
    loop {
        let news = async {
            sleep_until(next).await;
            states.changed().await
        };
        let message = tokio::select! {
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
                let newest = states.borrow_and_update().clone();
                Some(newest.text())
            }
            () = sleep_until(window.deadline()) => {
                if window.is_waiting() {
                    return;
                }
                None
            }
        };
        let ping = window.sent(Instant::now());
        match timeout(PATIENCE, send(&mut socket, message, ping)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

async fn send(socket: &mut WebSocket, text: Option<Utf8Bytes>, ping: Bytes) -> Result<(), axum::Error> {
    if let Some(text) = text {
        socket.send(Message::Text(text)).await?;
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
        Self { sent: 0, taken: 0, since: now }
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
        let Ok(number) = number.try_into().map(u64::from_be_bytes) else { return };
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
        assert!(states.take(f64::NAN, names.iter().map(|name| (name.as_str(), 1.0)), start));
        assert!(states.take(2.0, [("j0", f64::NAN), ("j1", 5.0), ("late", 1.0)].into_iter(), start));
        assert_eq!((states.positions.len(), states.positions["j0"], states.positions["j1"]), (MOST_JOINTS, 1.0, 5.0));
        let mut states = States::default();
        let heard = [("x".repeat(LONGEST_NAME + 1), 1.0), ("a".to_owned(), 0.5), ("b".to_owned(), f64::INFINITY)];
        assert!(states.take(2.5, heard.iter().map(|(name, at)| (name.as_str(), *at)), start));
        assert!(!states.take(9.0, [("a", f64::NAN)].into_iter(), start), "no position is no news");
        assert_eq!(states.text().as_str(), r#"{"robot":null,"live":true,"stamp":2.5,"positions":{"a":0.5}}"#);
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
