//! The transforms that several publishers give for one frame, and whether they contradict each
//! other.
//!
//! Only the last transform of a frame is in TF, so two publishers that contradict each other would
//! be right or wrong by chance. Each publisher's transforms are therefore kept apart as a claim, and
//! each pair of publishers has a record of how much its claims differed.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::check::distance;
use crate::input::PublisherId;
use crate::tf::Moment;

/// Maximum number of publishers of one frame.
const MAX_CLAIMS: usize = 8;
/// Maximum number of moments per publisher.
const MAX_MOMENTS: usize = 16;
/// Minimum distance of their stamps, in ns. With [`MAX_MOMENTS`] they cover 0.8 s, more than the
/// latency of a publisher.
const MIN_SPACING: i64 = 50_000_000;
/// Maximum distance of two stamps, in ns, for a comparison with a moment between them.
const MAX_SPACING: i64 = 200_000_000;
/// Minimum distance of the stamps, in ns, of two publishers with different clocks.
const OTHER_CLOCK: i64 = 1_000_000_000;
/// Maximum latency of a publisher whose stamps can't be compared.
const LATENCY: Duration = Duration::from_millis(300);
/// Time for which the earlier of two publishers must go on after the first message of the later
/// one, and for which it must have gone on before or the later one must go on, too. A node that
/// restarts is also two publishers, whose last and first messages may be interleaved, the last one
/// even first.
const OVERLAP: Duration = Duration::from_secs(1);
/// Minimum silence after which a publisher counts as a new one, and the maximum period of a slow one.
const SILENCE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(60));
/// Time after which smaller differences replace larger ones.
const MEMORY: Duration = Duration::from_secs(2);
/// No difference, in m and rad.
const NONE: (f64, f64) = (0.0, 0.0);

/// The transforms of one publisher.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) publisher: PublisherId,
    pub(crate) parent: String,
    pub(crate) last: Moment,
    /// Some moments, sorted by stamp.
    moments: VecDeque<Moment>,
    /// Time of arrival of the first message.
    first: Instant,
    /// Time between its messages.
    period: Duration,
}

/// The difference between two publishers under the same parent.
#[derive(Clone, Copy, Debug)]
struct Difference {
    pair: (PublisherId, PublisherId),
    /// The latest comparison: position error in metres and angular error in radians, beyond what
    /// the frame's own motion explains.
    latest: (f64, f64),
    /// The largest difference in two comparisons in a row, as a single one may be a glitch: since
    /// `since`, and in the time before. So a moment at which the two agree by chance does not hide
    /// the contradiction.
    largest: [(f64, f64); 2],
    since: Instant,
}

/// The reason why a moment can't be compared with those of a publisher.
enum Incomparable {
    /// Its stamp is not between theirs.
    Outside,
    /// They are too far apart.
    Sparse,
}

/// A contradiction between two publishers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Contradiction {
    /// They put the frame under these parents.
    Parents(String, String),
    /// Their poses differ by this position error in metres and angular error in radians.
    Poses(f64, f64),
}

/// The claims about one frame on one topic; empty while it has a single publisher.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    /// When the single publisher began, if there is only one.
    since: Option<Instant>,
    claims: Vec<Claim>,
    differences: Vec<Difference>,
}

impl Claim {
    fn new(publisher: PublisherId, parent: &str, moment: Moment) -> Self {
        Self {
            publisher,
            parent: parent.to_owned(),
            last: moment,
            moments: VecDeque::from([moment]),
            first: moment.heard,
            period: Duration::ZERO,
        }
    }

    fn add(&mut self, parent: &str, moment: Moment) {
        let silence = moment.heard.saturating_duration_since(self.last.heard);
        if silence > SILENCE.0.max(4 * self.period) {
            self.first = moment.heard;
        }
        // A decaying maximum, since messages may come in bursts.
        self.period = silence.max(self.period / 2).min(SILENCE.1);
        if self.parent != parent {
            parent.clone_into(&mut self.parent);
            self.moments.clear();
        }
        self.last = moment;
        let spacing = self.moments.back().map(|back| {
            if moment.stamp == 0 || back.stamp == 0 {
                let spacing = moment.heard.saturating_duration_since(back.heard);
                i64::try_from(spacing.as_nanos()).unwrap_or(i64::MAX)
            } else {
                moment.stamp.saturating_sub(back.stamp)
            }
        });
        match spacing {
            // Its clock was set back.
            Some(spacing) if spacing < -OTHER_CLOCK / 2 => self.moments.clear(),
            Some(spacing) if spacing < MIN_SPACING => return,
            _ => {}
        }
        if self.moments.len() == MAX_MOMENTS {
            self.moments.pop_front();
        }
        self.moments.push_back(moment);
    }

    /// Returns whether it is still published.
    pub(crate) fn is_active(&self, now: Instant, timeout: Duration) -> bool {
        // A slow publisher is active between its messages, too.
        let patience = timeout.max(self.period.mul_f64(2.5).min(SILENCE.1));
        now.saturating_duration_since(self.last.heard) <= patience
    }

    /// Returns the difference between a pose and this publisher's at the same stamp, beyond its
    /// motion between the moments around that stamp.
    ///
    /// # Errors
    /// There are no such moments.
    fn difference(&self, moment: &Moment) -> Result<(f64, f64), Incomparable> {
        let after = self
            .moments
            .partition_point(|other| other.stamp < moment.stamp);
        let after_moment = self.moments.get(after).ok_or(Incomparable::Outside)?;
        if after_moment.stamp == moment.stamp {
            return Ok(distance(&after_moment.pose, &moment.pose));
        }
        let before = after
            .checked_sub(1)
            .and_then(|index| self.moments.get(index));
        let before = before.ok_or(Incomparable::Outside)?;
        if after_moment.stamp.saturating_sub(before.stamp) > MAX_SPACING {
            return Err(Incomparable::Sparse);
        }
        let step = distance(&before.pose, &after_moment.pose);
        Ok([before, after_moment]
            .map(|other| beyond(distance(&other.pose, &moment.pose), step))
            .into_iter()
            .fold((f64::MAX, f64::MAX), least))
    }

    /// Returns the differences between a moment and those that arrived around the same time.
    fn around(&self, moment: &Moment, window: Duration) -> impl Iterator<Item = (f64, f64)> {
        let is_near = move |other: &&Moment| {
            let (a, b) = (other.heard, moment.heard);
            a.max(b).saturating_duration_since(a.min(b)) <= window
        };
        self.moments
            .iter()
            .filter(is_near)
            .map(|other| distance(&other.pose, &moment.pose))
    }

    /// Returns the largest motion between two moments in a row.
    fn step(&self) -> (f64, f64) {
        self.moments
            .iter()
            .zip(self.moments.iter().skip(1))
            .map(|(a, b)| distance(&a.pose, &b.pose))
            .fold(NONE, most)
    }
}

/// Returns the difference of two claims under the same parent, if it can be told.
fn compare(a: &Claim, b: &Claim) -> Option<(f64, f64)> {
    let is_stamped = a.last.stamp != 0 && b.last.stamp != 0;
    let mut is_sparse = false;
    if is_stamped {
        let mut found = None;
        for other in [b.difference(&a.last), a.difference(&b.last)] {
            match other {
                Ok(difference) => found = Some(found.map_or(difference, |by| most(by, difference))),
                Err(Incomparable::Sparse) => is_sparse = true,
                Err(Incomparable::Outside) => {}
            }
        }
        if found.is_some() || has_same_clock(&a.last, &b.last) && !is_sparse {
            return found;
        }
    }
    // Their stamps can't be related: compare by times of arrival. The two differ if neither was
    // at the other's pose around that time.
    if a.moments.len().max(b.moments.len()) < 3 {
        return None;
    }
    let window = a.period.min(b.period).clamp(LATENCY, OVERLAP);
    let nearest = a
        .around(&b.last, window)
        .chain(b.around(&a.last, window))
        .reduce(least)?;
    Some(beyond(nearest, most(a.step(), b.step())))
}

/// Returns whether two moments are as far apart by their stamps as by their times of arrival.
fn has_same_clock(a: &Moment, b: &Moment) -> bool {
    let (early, late) = if a.heard <= b.heard { (a, b) } else { (b, a) };
    let apart = late.heard.saturating_duration_since(early.heard).as_nanos();
    let apart = i64::try_from(apart).unwrap_or(i64::MAX);
    let stamps = late.stamp.saturating_sub(early.stamp);
    stamps.saturating_sub(apart).saturating_abs() <= OTHER_CLOCK
}

fn most(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.max(b.0), a.1.max(b.1))
}

fn least(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.min(b.1))
}

fn beyond(by: (f64, f64), step: (f64, f64)) -> (f64, f64) {
    ((by.0 - step.0).max(0.0), (by.1 - step.1).max(0.0))
}

impl Claims {
    /// Adds a transform. `before` is the frame's last one: its publisher, parent and moment.
    /// `is_static` says that publishers do not repeat their transforms.
    pub(crate) fn add(
        &mut self,
        before: (PublisherId, &str, Moment),
        publisher: PublisherId,
        parent: &str,
        moment: Moment,
        is_static: bool,
    ) {
        if self.claims.is_empty() {
            let (other, under, last) = before;
            let since = *self.since.get_or_insert(last.heard);
            if other == publisher {
                return;
            }
            self.claims.push(Claim {
                first: since,
                ..Claim::new(other, under, last)
            });
        }
        if !is_static {
            let now = moment.heard;
            self.retain(|claim| {
                claim.publisher == publisher
                    || now.saturating_duration_since(claim.last.heard) <= SILENCE.1
            });
        }
        let known = |claim: &Claim| claim.publisher == publisher;
        let index = match self.claims.iter().position(known) {
            Some(index) => {
                if let Some(claim) = self.claims.get_mut(index) {
                    claim.add(parent, moment);
                }
                index
            }
            None => {
                if self.claims.len() == MAX_CLAIMS {
                    let oldest = self.claims.iter().map(|claim| claim.last.heard).min();
                    self.retain(|claim| Some(claim.last.heard) != oldest);
                }
                self.claims.push(Claim::new(publisher, parent, moment));
                self.claims.len() - 1
            }
        };
        if !is_static {
            self.compare_with_others(index, moment.heard);
        }
        if let [only] = &self.claims[..]
            && only.publisher == publisher
        {
            self.since = Some(only.first);
            self.claims.clear();
        }
    }

    fn compare_with_others(&mut self, index: usize, now: Instant) {
        let Some(own) = self.claims.get(index) else {
            return;
        };
        for other in self
            .claims
            .iter()
            .filter(|other| other.publisher != own.publisher && other.parent == own.parent)
        {
            let Some(latest) = compare(own, other) else {
                continue;
            };
            let pair = (
                own.publisher.min(other.publisher),
                own.publisher.max(other.publisher),
            );
            match self.differences.iter_mut().find(|known| known.pair == pair) {
                Some(known) => {
                    let sustained = least(known.latest, latest);
                    known.latest = latest;
                    let age = now.saturating_duration_since(known.since);
                    let [current, before] = known.largest;
                    if age <= MEMORY {
                        known.largest = [most(current, sustained), before];
                    } else {
                        let before = if age <= 2 * MEMORY { current } else { NONE };
                        (known.largest, known.since) = ([sustained, before], now);
                    }
                }
                None => self.differences.push(Difference {
                    pair,
                    latest,
                    largest: [NONE; 2],
                    since: now,
                }),
            }
        }
    }

    /// Keeps the claims for which `is_kept` holds.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&Claim) -> bool) {
        self.claims.retain(is_kept);
        let Self {
            claims,
            differences,
            ..
        } = self;
        let exists = |publisher| claims.iter().any(|claim| claim.publisher == publisher);
        differences.retain(|difference| exists(difference.pair.0) && exists(difference.pair.1));
    }

    /// Returns the claims.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter()
    }

    /// Returns two publishers of a moving frame that contradict each other, among those for which
    /// `counts` holds. `is_exceeded` tells whether a position and an angular error are beyond the
    /// tolerances.
    pub(crate) fn moving_contradiction(
        &self,
        now: Instant,
        timeout: Duration,
        counts: impl Fn(&Claim) -> bool,
        is_exceeded: impl Fn((f64, f64)) -> bool,
    ) -> Option<(PublisherId, PublisherId, Contradiction)> {
        let is_overlapping = |a: &Claim, b: &Claim| {
            let (earlier, later) = if a.first <= b.first { (a, b) } else { (b, a) };
            let is_long =
                later.first >= earlier.first + OVERLAP || later.last.heard >= later.first + OVERLAP;
            is_long && earlier.last.heard >= later.first + OVERLAP
        };
        let counts = |claim: &Claim| counts(claim) && claim.is_active(now, timeout);
        self.pairs()
            .filter(|(a, b)| counts(a) && counts(b) && is_overlapping(a, b))
            .find_map(|(a, b)| {
                let contradiction = if a.parent != b.parent {
                    Contradiction::Parents(a.parent.clone(), b.parent.clone())
                } else {
                    let pair = (a.publisher.min(b.publisher), a.publisher.max(b.publisher));
                    let found = self.differences.iter().find(|known| known.pair == pair)?;
                    let [current, before] = found.largest;
                    let (position, angle) = most(current, before);
                    Contradiction::Poses(position, angle).filter_exceeded(&is_exceeded)?
                };
                Some((a.publisher, b.publisher, contradiction))
            })
    }

    /// Returns two publishers of a static frame that contradict each other, among those for which
    /// `counts` holds.
    pub(crate) fn static_contradiction(
        &self,
        counts: impl Fn(&Claim) -> bool,
        is_exceeded: impl Fn((f64, f64)) -> bool,
    ) -> Option<(PublisherId, PublisherId, Contradiction)> {
        self.pairs()
            .filter(|(a, b)| counts(a) && counts(b))
            .find_map(|(a, b)| {
                let contradiction = if a.parent != b.parent {
                    Contradiction::Parents(a.parent.clone(), b.parent.clone())
                } else {
                    let (position, angle) = distance(&a.last.pose, &b.last.pose);
                    Contradiction::Poses(position, angle).filter_exceeded(&is_exceeded)?
                };
                Some((a.publisher, b.publisher, contradiction))
            })
    }

    fn pairs(&self) -> impl Iterator<Item = (&Claim, &Claim)> {
        self.claims
            .iter()
            .enumerate()
            .flat_map(|(index, a)| self.claims.iter().skip(index + 1).map(move |b| (a, b)))
    }
}

impl Contradiction {
    fn filter_exceeded(self, is_exceeded: impl Fn((f64, f64)) -> bool) -> Option<Self> {
        match self {
            Self::Poses(position, angle) if !is_exceeded((position, angle)) => None,
            contradiction => Some(contradiction),
        }
    }
}
