//! What RustDDS 0.15 needs from below so that it holds. A program that links this crate has three functions of the C library replaced
//! for all its threads, on Linux: see `syscalls.c` for what they do and why. And it can ask how far a thread of RustDDS has come.
//!
//! It knows nothing of ROS, and of RustDDS only the names of its threads.

/// A moment in the work of a thread of RustDDS, by which to tell when it has seen to all that it had to do then.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    thread: i32,
    count: u64,
}

impl Moment {
    /// Now, for the thread with this number.
    pub fn now(thread: i32) -> Self {
        Self { thread, count: count(thread) }
    }

    /// Whether the thread has waited for news since, all that it was woken for done: then it has done what it had been asked for at that
    /// moment. Also true for a thread that is not known.
    ///
    /// A thread that was waiting then and is not woken counts too. So ask again a little later whether that is still so: between being
    /// woken and going on there is an instant in which nothing tells.
    pub fn has_passed(self) -> bool {
        match (self.count, count(self.thread)) {
            (0, _) | (_, 0) => true,
            // Odd while it waits: two rounds of waiting have begun, or one of which it has not been woken.
            (then, now) => now >= then + 3 || now % 2 == 1 && (now >= then + 2 || !is_woken(self.thread)),
        }
    }
}

#[cfg(target_os = "linux")]
mod c {
    unsafe extern "C" {
        pub(super) safe fn urdf_usd_waits(thread: i32) -> u64;
        pub(super) safe fn urdf_usd_is_woken(thread: i32) -> i32;
    }
}

/// How often a thread has begun or ended waiting; 0 if that is not known.
#[cfg(target_os = "linux")]
fn count(thread: i32) -> u64 {
    c::urdf_usd_waits(thread)
}

/// Whether there is news for a thread that waits.
#[cfg(target_os = "linux")]
fn is_woken(thread: i32) -> bool {
    c::urdf_usd_is_woken(thread) != 0
}

#[cfg(not(target_os = "linux"))]
fn count(_: i32) -> u64 {
    0
}

#[cfg(not(target_os = "linux"))]
fn is_woken(_: i32) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::UdpSocket;
    use std::thread;
    use std::time::Duration;

    /// A heartbeat alone in its datagram: header, time, heartbeat of messages 1 to `last` of the writer `kind`.
    fn heartbeat(kind: u8, last: u8, count: u8) -> Vec<u8> {
        let header = [&b"RTPS\x02\x04\x01\x12"[..], &[7; 12]].concat();
        let time = [9, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let ends = [7, 1, 28, 0, 0, 0, 0, 0, 0, 1, 1, kind];
        [&header[..], &time, &ends, &[0, 0, 0, 0, 1, 0, 0, 0], &[0, 0, 0, 0, last, 0, 0, 0], &[count, 0, 0, 0]].concat()
    }

    /// How many of `datagrams`, 10 ms apart, that a thread of this name sends arrive.
    fn arrive(thread: &str, datagrams: Vec<Vec<u8>>) -> usize {
        let (from, to) = (UdpSocket::bind("127.0.0.1:0").expect("a socket"), UdpSocket::bind("127.0.0.1:0").expect("a socket"));
        let address = to.local_addr().expect("an address");
        let send = move || {
            for datagram in datagrams {
                assert_eq!(from.send_to(&datagram, address).expect("sent"), datagram.len());
                thread::sleep(Duration::from_millis(10));
            }
        };
        thread::Builder::new().name(thread.to_owned()).spawn(send).expect("a thread").join().expect("sent");
        to.set_nonblocking(true).expect("a socket");
        std::iter::from_fn(|| to.recv(&mut [0; 100]).ok()).count()
    }

    #[test]
    fn a_repeated_heartbeat_comes_half_as_often_each_time() {
        let repeated = || (0..60).map(|count| heartbeat(3, 5, count)).collect();
        // At 0, 90, 270, 630 ms; each a little later, as is all on a busy machine.
        let arrived = arrive("RustDDS test", repeated());
        assert!((2..=4).contains(&arrived), "{arrived}");
        // Of another writer, thread, or of more messages each time: all.
        assert_eq!(arrive("another", repeated()), 60);
        assert_eq!(arrive("RustDDS test", (0..20).map(|count| heartbeat(0xc2, 5, count)).collect()), 20);
        assert_eq!(arrive("RustDDS test", (0..20).map(|count| heartbeat(3, count, count)).collect()), 20);
    }
}
