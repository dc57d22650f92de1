//! A store in memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::Key;

/// Bytes by key; evicts the least recently used entries first.
#[derive(Debug)]
pub(super) struct Memory {
    limit: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Key, Entry>,
    bytes: u64,
    /// Logical clock: the number of accesses so far.
    now: u64,
}

#[derive(Debug)]
struct Entry {
    bytes: Bytes,
    used: u64,
}

impl Memory {
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    pub fn get(&self, key: &Key) -> Option<Bytes> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.now += 1;
        let now = state.now;
        let entry = state.entries.get_mut(key)?;
        entry.used = now;
        Some(entry.bytes.clone())
    }

    pub fn put(&self, key: Key, bytes: Bytes) {
        // An entry beyond the limit would evict all others, and then itself.
        if bytes.len() as u64 > self.limit {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.now += 1;
        let entry = Entry {
            used: state.now,
            bytes,
        };
        state.bytes += entry.bytes.len() as u64;
        if let Some(old) = state.entries.insert(key, entry) {
            state.bytes -= old.bytes.len() as u64;
        }
        if state.bytes > self.limit {
            // Down to three quarters: sorting all entries is paid once for many puts.
            state.shrink(self.limit / 4 * 3);
        }
    }
}

impl State {
    /// Evicts the least recently used entries until at most `limit` bytes remain.
    fn shrink(&mut self, limit: u64) {
        let mut by_age: Vec<(u64, Key)> = self
            .entries
            .iter()
            .map(|(key, entry)| (entry.used, *key))
            .collect();
        by_age.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in by_age {
            if self.bytes <= limit {
                break;
            }
            self.bytes -= self
                .entries
                .remove(&key)
                .map_or(0, |entry| entry.bytes.len() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entries_are_evicted_first() {
        let key = |i: u64| Key::builder("test").and(&i.to_le_bytes()).key();
        let memory = Memory::new(100);
        for i in 0..10 {
            memory.put(key(i), vec![0; 10].into());
        }
        assert!(memory.get(&key(0)).is_some());
        memory.put(key(10), vec![0; 10].into());
        let left: Vec<u64> = (0..=10)
            .filter(|i| memory.get(&key(*i)).is_some())
            .collect();
        assert_eq!(left, [0, 5, 6, 7, 8, 9, 10]);
        memory.put(key(11), vec![0; 101].into());
        assert!(memory.get(&key(11)).is_none(), "larger than the limit");
        memory.put(key(10), vec![0; 20].into());
        assert_eq!(memory.state.lock().unwrap().bytes, 80);
    }
}
