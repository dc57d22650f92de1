//! Seats: a bounded number of connections or streams, shared fairly between peers.
//!
//! If all seats are taken, a new connection evicts one: that with the longest time since its last
//! progress, of the peer that holds most seats (max-min fairness). So clients that hold connections
//! open, however slowly they send or read, can't lock others out, and a peer is limited only while
//! another one needs its seats. A new connection is exempt for a grace period, or a burst of others
//! would evict it before its request is read. A take is O(n) in the number of seats, which is a few
//! hundred at most.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout_at;

/// A bounded number of seats. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Seats(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    max: usize,
    /// Time for which a new holder is exempt from eviction.
    grace: Duration,
    table: Mutex<Table>,
    /// Notified when a seat is given back.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    holders: BTreeMap<u64, Holder>,
}

#[derive(Debug)]
struct Holder {
    peer: IpAddr,
    /// When its grace period ends.
    grace_end: Instant,
    /// Time of the last progress.
    since: Instant,
    /// Whether it is exempt from eviction.
    is_protected: bool,
    evicted: Arc<Notify>,
    /// The seat of the connection that carries the stream.
    connection: Option<Arc<Seat>>,
}

/// A seat, held until it is dropped or evicted.
#[derive(Debug)]
pub(super) struct Seat {
    shared: Arc<Shared>,
    number: u64,
    peer: IpAddr,
    evicted: Arc<Notify>,
}

/// Why no seat can be taken.
enum Refused {
    /// All holders that may be evicted for the newcomer are exempt.
    Exempt,
    /// The next one to evict is exempt until this time.
    UntilGraceEnds(Instant),
}

impl Seats {
    /// Creates `max` seats; a new holder is exempt from eviction for `grace`.
    pub(super) fn new(max: usize, grace: Duration) -> Self {
        Self(Arc::new(Shared {
            max,
            grace,
            table: Mutex::default(),
            freed: Notify::new(),
        }))
    }

    /// Takes a seat for a peer, evicting another if necessary. Waits while those it may evict are
    /// in their grace period. `None` if all are exempt for longer.
    pub(super) async fn take(&self, address: IpAddr) -> Option<Seat> {
        loop {
            match self.take_for(peer(address), None) {
                Ok(seat) => return Some(seat),
                Err(Refused::Exempt) => return None,
                // A seat that is freed meanwhile can be taken at once.
                Err(Refused::UntilGraceEnds(end)) => {
                    let _ = timeout_at(end.into(), self.0.freed.notified()).await;
                }
            }
        }
    }

    /// Takes a seat for a stream on a connection, whose own seat lasts as long as the stream's.
    pub(super) fn take_stream(&self, connection: &Arc<Seat>) -> Option<Seat> {
        self.take_for(connection.peer, Some(connection.clone()))
            .ok()
    }

    fn take_for(&self, peer: IpAddr, connection: Option<Arc<Seat>>) -> Result<Seat, Refused> {
        let evicted = Arc::new(Notify::new());
        let now = Instant::now();
        let mut table = self.0.lock();
        let victim = if table.holders.len() < self.0.max {
            None
        } else {
            let number = table.victim(peer, now)?;
            table.holders.remove(&number)
        };
        let number = table.next;
        table.next += 1;
        let holder = Holder {
            peer,
            grace_end: now + self.0.grace,
            since: now,
            is_protected: false,
            evicted: evicted.clone(),
            connection,
        };
        table.holders.insert(number, holder);
        drop(table);
        if let Some(victim) = victim {
            victim.evicted.notify_one();
            // Its client may not read any more, so that it would never see the end of the stream:
            // let the connection be evicted too.
            if let Some(connection) = victim.connection {
                connection.set_protected(false);
            }
        }
        Ok(Seat {
            shared: self.0.clone(),
            number,
            peer,
            evicted,
        })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Returns the seat to evict for a newcomer.
    fn victim(&self, newcomer: IpAddr, now: Instant) -> Result<u64, Refused> {
        // The newcomer counts with the seat that it wants, so that it never evicts a peer with
        // fewer.
        let mut held = HashMap::from([(newcomer, 1)]);
        for holder in self.holders.values() {
            *held.entry(holder.peer).or_insert(0) += 1;
        }
        let evictable = self
            .holders
            .iter()
            .filter(|(_, holder)| !holder.is_protected);
        // Grace periods don't count here: a client that reads must not pay for those of a burst of
        // idle connections.
        let order = |holder: &Holder| (held.get(&holder.peer).copied(), Reverse(holder.since));
        let (number, holder) = evictable
            .max_by_key(|(_, holder)| order(holder))
            .ok_or(Refused::Exempt)?;
        if holder.grace_end > now {
            return Err(Refused::UntilGraceEnds(holder.grace_end));
        }
        Ok(*number)
    }
}

impl Seat {
    /// Returns the peer, as identified for fairness.
    pub(super) fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Records progress. Single bytes must not count, or a client that sends one now and then would
    /// keep its seat.
    pub(super) fn touch(&self) {
        if let Some(holder) = self.shared.lock().holders.get_mut(&self.number) {
            holder.since = Instant::now();
        }
    }

    /// Exempts the seat from eviction, or ends that; returns whether it is still held.
    pub(super) fn set_protected(&self, is_protected: bool) -> bool {
        let mut table = self.shared.lock();
        let Some(holder) = table.holders.get_mut(&self.number) else {
            return false;
        };
        (holder.is_protected, holder.since) = (is_protected, Instant::now());
        true
    }

    /// Waits until the seat is evicted.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.shared.lock().holders.remove(&self.number).is_some() {
            self.shared.freed.notify_one();
        }
    }
}

/// Maps an address to its peer: all loopback addresses are one, since a local program can use any
/// of them, and so is an IPv6 /64 network, the smallest allocation to a customer.
fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        address if address.is_loopback() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;

    use super::*;

    fn is_evicted(seat: &Seat) -> bool {
        seat.evicted().now_or_never().is_some()
    }

    #[tokio::test]
    async fn the_peer_with_most_seats_gives_up_the_idlest() {
        let seats = Seats::new(4, Duration::ZERO);
        let take = |address: &str| {
            std::thread::sleep(Duration::from_millis(2));
            seats.take(address.parse().unwrap()).now_or_never().unwrap()
        };
        let many: Vec<Seat> = ["::1", "127.0.0.1", "127.9.9.9"]
            .iter()
            .filter_map(|address| take(address))
            .collect();
        let other = take("10.0.0.1").unwrap();
        std::thread::sleep(Duration::from_millis(2));
        many[0].touch();
        let next = take("10.0.0.2").unwrap();
        assert_eq!(
            many.iter().map(is_evicted).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert!(!many[1].set_protected(true), "it was evicted");
        // Among peers with equally many seats, the most idle one is evicted; exempt seats stay.
        assert!(many[2].set_protected(true));
        let last = take("10.0.0.3").unwrap();
        assert!(is_evicted(&many[0]) && !is_evicted(&other) && !is_evicted(&next));
        for seat in [&other, &next, &last] {
            assert!(seat.set_protected(true));
        }
        assert!(take("10.0.0.4").is_none());
        drop(next);
        assert!(take("10.0.0.4").is_some());
    }

    #[tokio::test]
    async fn a_burst_waits_for_the_grace_of_those_before_it() {
        const GRACE: Duration = Duration::from_millis(50);
        let seats = Seats::new(2, GRACE);
        let take = |address: &str| seats.take(address.parse().unwrap());
        let begin = Instant::now();
        let first = [
            take("10.0.0.1").await.unwrap(),
            take("10.0.0.1").await.unwrap(),
        ];
        assert!(take("10.0.0.1").now_or_never().is_none());
        // A seat that is given back can be taken at once.
        let [kept, left] = first;
        drop(left);
        let next = take("10.0.0.1").now_or_never().flatten().unwrap();
        let last = take("10.0.0.1").await.unwrap();
        assert!(begin.elapsed() >= GRACE && is_evicted(&kept));
        for seat in [&next, &last] {
            assert!(seat.set_protected(true));
        }
        assert!(take("10.0.0.1").now_or_never().unwrap().is_none());
    }

    #[tokio::test]
    async fn progress_outlasts_the_grace_of_others() {
        let seats = Seats::new(3, Duration::from_millis(20));
        let take = || async { seats.take("10.0.0.1".parse().unwrap()).await.unwrap() };
        let reader = take().await;
        std::thread::sleep(Duration::from_millis(30));
        let mut idle = vec![take().await, take().await];
        for _ in 0..4 {
            reader.touch();
            idle.push(take().await);
        }
        assert!(!is_evicted(&reader) && idle[..4].iter().all(is_evicted));
    }

    #[test]
    fn addresses_of_one_network_are_one_peer() {
        let peer = |address: &str| peer(address.parse().unwrap());
        assert_eq!(peer("::ffff:127.0.0.2"), peer("::1"));
        assert_eq!(peer("2001:db8:0:1::5"), peer("2001:db8:0:1:ffff::"));
        assert_ne!(peer("2001:db8:0:1::5"), peer("2001:db8:0:2::5"));
        assert_ne!(peer("10.0.0.1"), peer("10.0.0.2"));
    }
}
