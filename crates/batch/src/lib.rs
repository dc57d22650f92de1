//! Batches: conversions of many robots with one journal and one report.
//!
//! [`items::find`] lists the robots of folders, patterns and manifests. [`run()`] converts those that
//! the [`journal`] does not have, each in a worker process, and [`report`] writes their results.
//! A batch that was killed continues where it was: an asset is published before its row is written.
//!
//! Shards of one batch may run on several machines with a common file system. Each has a journal, and
//! the one that ends last writes the whole report.
//!
//! In an object store, the pointer of a robot's asset has its row, so both are published by one
//! request, and there is no journal.
//!
//! A driver that distributes the work by other means opens the batch ([`Open`]), has each robot
//! converted ([`convert`]), and records the rows ([`Output::record`]).
//!
//! This crate does not know the command line, and decides nothing about robots.

pub mod codes;
pub mod items;
pub mod journal;
mod output;
#[cfg(feature = "cloud")]
mod parquet;
pub mod report;
mod run;

pub use self::output::{Mirror, Output, download, set_origins};
pub use self::run::{Event, Open, Settings, Shard, convert, run, set_defaults};
