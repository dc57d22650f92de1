//! What a client has open for its node: each thing until its [`Guard`] is dropped, and all of them until the node shuts down.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Guard;

#[derive(Default)]
struct Things {
    last: u64,
    open: HashMap<u64, Box<dyn Any + Send>>,
}

/// Keeps things. Clones keep the same ones.
#[derive(Clone, Default)]
pub(super) struct Kept(Arc<Mutex<Things>>);

struct Keeper {
    kept: Weak<Mutex<Things>>,
    number: u64,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let Some(kept) = self.kept.upgrade() else { return };
        let thing = kept.lock().unwrap_or_else(PoisonError::into_inner).open.remove(&self.number);
        // Only now that the lock is free: this may take a while.
        drop(thing);
    }
}

impl Kept {
    pub(super) fn keep(&self, thing: impl Any + Send) -> Guard {
        let mut things = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        things.last += 1;
        let number = things.last;
        things.open.insert(number, Box::new(thing));
        Arc::new(Keeper { kept: Arc::downgrade(&self.0), number })
    }

    /// Keeps a thing as long as the node, with no guard.
    pub(super) fn keep_on(&self, thing: impl Any + Send) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).open.insert(0, Box::new(thing));
    }

    /// Drops all that is kept.
    pub(super) fn end(&self) {
        let things = std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).open);
        drop(things);
    }
}
