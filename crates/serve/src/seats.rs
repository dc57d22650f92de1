//! Seats: a bounded number of connections or streams, shared fairly between peers.
//!
//! When all seats are taken, a newcomer gets one all the same: the peer that holds most gives up
//! the one on which nothing has gone on for longest (max-min fairness). So nobody who holds
//! connections open, however slowly they talk or listen, keeps others out; and a peer is limited
//! only where another one needs its seats.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// A bounded number of seats. Clones are the same seats.
#[derive(Clone, Debug)]
pub(super) struct Seats(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    max: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    holders: BTreeMap<u64, Holder>,
}

#[derive(Debug)]
struct Holder {
    peer: IpAddr,
    /// When something last went on that counts.
    since: Instant,
    /// Whether others can't have it.
    is_kept: bool,
    evicted: Arc<Notify>,
    /// The seat of the connection that a stream goes over.
    connection: Option<Arc<Seat>>,
}

/// A seat that is taken, until it is dropped or another peer needs it.
#[derive(Debug)]
pub(super) struct Seat {
    shared: Arc<Shared>,
    number: u64,
    peer: IpAddr,
    evicted: Arc<Notify>,
}

impl Seats {
    /// So many seats.
    pub(super) fn new(max: usize) -> Self {
        Self(Arc::new(Shared {
            max,
            table: Mutex::default(),
        }))
    }

    /// Takes a seat for a peer, if need be that of another. `None` if all are taken by those who
    /// keep theirs.
    pub(super) fn take(&self, address: IpAddr) -> Option<Seat> {
        self.take_for(peer(address), None)
    }

    /// Takes a seat for a stream over a connection, which keeps its own as long as the stream has
    /// one.
    pub(super) fn take_stream(&self, connection: &Arc<Seat>) -> Option<Seat> {
        self.take_for(connection.peer, Some(connection.clone()))
    }

    fn take_for(&self, peer: IpAddr, connection: Option<Arc<Seat>>) -> Option<Seat> {
        let evicted = Arc::new(Notify::new());
        let mut table = self.0.lock();
        let loser = if table.holders.len() < self.0.max {
            None
        } else {
            let number = table.victim(peer)?;
            table.holders.remove(&number)
        };
        let number = table.next;
        table.next += 1;
        let holder = Holder {
            peer,
            since: Instant::now(),
            is_kept: false,
            evicted: evicted.clone(),
            connection,
        };
        table.holders.insert(number, holder);
        drop(table);
        if let Some(loser) = loser {
            loser.evicted.notify_one();
            // Its client may take nothing any more, so that the end of the stream would not reach
            // it.
            if let Some(connection) = loser.connection {
                connection.keep(false);
            }
        }
        Some(Seat {
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
    /// Whose seat a newcomer gets.
    fn victim(&self, newcomer: IpAddr) -> Option<u64> {
        let mut held = HashMap::from([(newcomer, 1)]);
        for holder in self.holders.values() {
            *held.entry(holder.peer).or_insert(0) += 1;
        }
        let evictable = self.holders.iter().filter(|(_, holder)| !holder.is_kept);
        let order = |holder: &Holder| {
            (
                held.get(&holder.peer).copied(),
                std::cmp::Reverse(holder.since),
            )
        };
        evictable
            .max_by_key(|(_, holder)| order(holder))
            .map(|(number, _)| *number)
    }
}

impl Seat {
    /// Whose it is, as peers are told apart.
    pub(super) fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Notes that something went on that counts. Single bytes do not, or whoever sends one now and
    /// then would keep the seat.
    pub(super) fn touch(&self) {
        if let Some(holder) = self.shared.lock().holders.get_mut(&self.number) {
            holder.since = Instant::now();
        }
    }

    /// Keeps the seat from others, or does not any more; whether it is still held.
    pub(super) fn keep(&self, is_kept: bool) -> bool {
        let mut table = self.shared.lock();
        let Some(holder) = table.holders.get_mut(&self.number) else {
            return false;
        };
        (holder.is_kept, holder.since) = (is_kept, Instant::now());
        true
    }

    /// Waits until the seat is another's.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shared.lock().holders.remove(&self.number);
    }
}

/// What addresses count as one peer: all of this machine's own, which a local program can choose
/// from at will, and an IPv6 network of 64 bits, which is what one customer or machine has at
/// least.
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

    #[test]
    fn whoever_holds_most_gives_up_the_idlest() {
        let seats = Seats::new(4);
        let take = |address: &str| {
            std::thread::sleep(Duration::from_millis(2));
            seats.take(address.parse().unwrap())
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
        assert!(!many[1].keep(true), "it is another's by now");
        // Of two that hold as many, the idlest; what is kept stays.
        assert!(many[2].keep(true));
        let last = take("10.0.0.3").unwrap();
        assert!(is_evicted(&many[0]) && !is_evicted(&other) && !is_evicted(&next));
        for seat in [&other, &next, &last] {
            assert!(seat.keep(true));
        }
        assert!(take("10.0.0.4").is_none());
        drop(next);
        assert!(take("10.0.0.4").is_some());
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
