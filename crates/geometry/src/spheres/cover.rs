//! Covers points with few of some balls: a greedy set cover, improved by a large neighbourhood
//! search.
//!
//! The cover is sought for few of the points first. Those that it leaves open are added, and it is
//! mended, until it covers all: most points are between others, so a cover of a tenth of them is
//! nearly one of all, and is found in a tenth of the time.

#![allow(
    clippy::indexing_slicing,
    reason = "balls and points are numbered here, and the numbers index the arrays that they were made for"
)]

use pulp::{Arch, NullaryFnOnce};

use super::Point;
use crate::vector::{add, distance_squared, norm, scale, subtract};
use crate::{Bounds, Random};

/// Number of points, about, that the first cover is sought for.
const FIRST_POINTS: usize = 3000;
/// Number of improvement attempts per chosen ball.
const TRIES: usize = 70;
/// Minimum and maximum number of improvement attempts.
const TRIES_IN_ALL: (usize, usize) = (800, 5500);
/// Arbitrary, but fixed: the spheres of all robots depend on it.
const SEED: u64 = 0xd134_2543_de82_ef95;
/// Minimum and maximum number of balls replaced in one attempt.
const AT_ONCE: (u64, u64) = (2, 7);

/// Number of points in a block: one for each bit.
const BLOCK: usize = 64;

/// A ball: centre and radius.
pub(super) type Ball = (Point, f64);

/// Returns whether a ball covers a point with its radius.
fn is_covered((point, reach): &Ball, ball: &Ball) -> bool {
    let room = ball.1 - reach;
    room >= 0.0 && distance_squared(*point, ball.0) <= room * room
}

/// Up to 64 points, which their order makes neighbours.
pub(super) struct Block {
    /// The points, each with the radius that has to be covered.
    pub points: Vec<Ball>,
    /// Contains the points.
    bounds: Ball,
    /// Minimum and maximum radius that one of the points represents.
    reach: (f64, f64),
}

impl Block {
    fn of(points: Vec<Ball>) -> Self {
        let bounds = Bounds::of(points.iter().map(|(point, _)| *point));
        let half = scale(bounds.size(), 0.5);
        let reaches = points.iter().map(|(_, reach)| *reach);
        Self {
            bounds: (add(bounds.low, half), norm(half)),
            reach: (
                reaches.clone().fold(f64::INFINITY, f64::min),
                reaches.fold(0.0, f64::max),
            ),
            points,
        }
    }

    /// Splits points into blocks.
    pub fn all(points: &[Ball]) -> Vec<Self> {
        points
            .chunks(BLOCK)
            .map(|points| Self::of(points.to_vec()))
            .collect()
    }

    /// Returns a lower and an upper bound of the room between a point, with its radius, and the
    /// surface of a ball around it; negative outside.
    pub fn room(&self, ball: &Ball) -> (f64, f64) {
        let far = norm(subtract(self.bounds.0, ball.0));
        (
            ball.1 - far - self.bounds.1 - self.reach.1,
            ball.1 - (far - self.bounds.1).max(0.0) - self.reach.0,
        )
    }

    /// Returns the points that a ball covers as a bitset.
    fn covered(&self, ball: &Ball) -> u64 {
        // A margin for rounding: the points decide.
        if self.room(ball).1 < -1e-9 * ball.1 {
            return 0;
        }
        let points = self.points.iter().enumerate();
        points.fold(0, |bits, (index, (point, reach))| {
            bits | u64::from(is_covered(&(*point, *reach), ball)) << index
        })
    }

    /// Returns a bitset of all points.
    fn full(&self) -> u64 {
        u64::MAX >> (BLOCK - self.points.len())
    }
}

/// A set of points: the numbers of blocks in ascending order, with their bitsets, none of which is
/// zero.
type Row = Vec<(usize, u64)>;

/// Removes points of a set from `open`, which has a bitset for each block.
fn close(row: &Row, open: &mut [u64]) {
    row.iter().for_each(|(block, bits)| open[*block] &= !bits);
}

/// Returns the numbers of the bits that are set.
fn each_bit(bits: u64) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(bits), |bits| Some(bits & bits.wrapping_sub(1)))
        .take_while(|bits| *bits != 0)
        .map(|bits| bits.trailing_zeros() as usize)
}

/// The points to cover, with the balls that cover them.
struct Table<'a> {
    balls: Vec<Ball>,
    /// All points.
    all: &'a [Block],
    /// The points that each ball covers, of those balls that were chosen once.
    rows_of_all: Vec<Option<Row>>,
    /// The points that are looked at.
    blocks: Vec<Block>,
    /// The points looked at that each ball covers.
    rows: Vec<Row>,
    /// For each block, the balls that cover points in it, in ascending order, with these points.
    columns: Vec<Vec<(usize, u64)>>,
    /// For each block, the number of balls that cover each point.
    counts: Vec<Vec<u32>>,
    /// For each block, the least of these numbers, or less.
    least_counts: Vec<u32>,
}

impl<'a> Table<'a> {
    /// Creates a table of `all` points that looks at `points`, some of them.
    fn new(balls: Vec<Ball>, all: &'a [Block], points: &[Ball]) -> Self {
        let blocks = Block::all(points);
        let mut table = Self {
            all,
            rows_of_all: Vec::new(),
            rows: Vec::new(),
            columns: vec![Vec::new(); blocks.len()],
            least_counts: vec![0; blocks.len()],
            counts: blocks
                .iter()
                .map(|block| vec![0; block.points.len()])
                .collect(),
            blocks,
            balls: Vec::new(),
        };
        for ball in balls {
            table.add_ball(ball);
        }
        let least = |counts: &Vec<u32>| counts.iter().copied().min().unwrap_or(0);
        table.least_counts = table.counts.iter().map(least).collect();
        table
    }

    /// Adds a ball; returns its number.
    fn add_ball(&mut self, ball: Ball) -> usize {
        let mut row = Row::new();
        for (index, block) in self.blocks.iter().enumerate() {
            let bits = block.covered(&ball);
            if bits != 0 {
                row.push((index, bits));
                each_bit(bits).for_each(|point| self.counts[index][point] += 1);
                self.columns[index].push((self.balls.len(), bits));
            }
        }
        self.rows.push(row);
        self.rows_of_all.push(None);
        self.balls.push(ball);
        self.balls.len() - 1
    }

    /// Adds a point to look at.
    fn add_point(&mut self, point: Ball) {
        if self
            .blocks
            .last()
            .is_none_or(|block| block.points.len() == BLOCK)
        {
            self.blocks.push(Block::of(Vec::new()));
            self.columns.push(Vec::new());
            self.counts.push(Vec::new());
            self.least_counts.push(u32::MAX);
        }
        let last = self.blocks.len() - 1;
        let bit = 1 << self.blocks[last].points.len();
        let mut count = 0;
        let mut before = std::mem::take(&mut self.columns[last])
            .into_iter()
            .peekable();
        for (index, ball) in self.balls.iter().enumerate() {
            let known = before.next_if(|(other, _)| *other == index);
            let known = known.map_or(0, |(_, bits)| bits);
            let is_covered = is_covered(&point, ball);
            let bits = if is_covered { known | bit } else { known };
            if bits != 0 {
                self.columns[last].push((index, bits));
            }
            if is_covered {
                match self.rows[index].last_mut() {
                    Some((block, bits)) if *block == last => *bits |= bit,
                    _ => self.rows[index].push((last, bit)),
                }
                count += 1;
            }
        }
        self.counts[last].push(count);
        self.least_counts[last] = self.least_counts[last].min(count);
        let mut points = std::mem::take(&mut self.blocks[last].points);
        points.push(point);
        self.blocks[last] = Block::of(points);
    }

    /// Returns the points looked at that none of some balls covers.
    fn open(&self, chosen: &[usize]) -> Vec<u64> {
        let mut open: Vec<u64> = self.blocks.iter().map(Block::full).collect();
        for ball in chosen {
            close(&self.rows[*ball], &mut open);
        }
        open
    }

    /// Returns the points of all that a ball covers.
    fn row_of_all(&mut self, ball: usize) -> &Row {
        self.rows_of_all[ball].get_or_insert_with(|| {
            let bits = |block: &Block| block.covered(&self.balls[ball]);
            let rows = self.all.iter().map(bits).enumerate();
            rows.filter(|(_, bits)| *bits != 0).collect()
        })
    }

    /// Looks at points in `open`, which has a bitset for each block of all points, that none of some
    /// balls covers, one of each block; returns whether there are some.
    fn look_at_open(
        &mut self,
        mut open: Vec<u64>,
        chosen: impl IntoIterator<Item = usize>,
    ) -> bool {
        for ball in chosen {
            close(self.row_of_all(ball), &mut open);
        }
        let mut found = false;
        for (block, bits) in self.all.iter().zip(open).filter(|(_, bits)| *bits != 0) {
            self.add_point(block.points[bits.trailing_zeros() as usize]);
            found = true;
        }
        found
    }

    /// Returns whether two balls meet.
    fn meet(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.balls[a], &self.balls[b]);
        distance_squared(a.0, b.0) <= (a.1 + b.1).powi(2)
    }

    /// Returns the number of points in `open` that a ball covers.
    #[inline(always)]
    fn gain(&self, ball: usize, open: &[u64]) -> u32 {
        self.rows[ball]
            .iter()
            .map(|(block, bits)| (open[*block] & bits).count_ones())
            .sum()
    }
}

/// Chooses few of `balls` that cover all points of `blocks`, each with its radius. For a point that
/// none of them covers, `own` creates a ball. Returns `None` if that doesn't cover it either, or if
/// more than `most` balls are needed.
pub(super) fn cover(
    balls: &[Ball],
    blocks: &[Block],
    own: impl Fn(Point) -> Ball,
    most: usize,
) -> Option<Vec<Ball>> {
    let points = || blocks.iter().flat_map(|block| &block.points);
    let stride = points().count().div_ceil(FIRST_POINTS).max(1);
    let first: Vec<Ball> = points().step_by(stride).copied().collect();
    let mut table = Table::new(balls.to_vec(), blocks, &first);
    let mut chosen = Vec::new();
    loop {
        complete(&mut table, &mut chosen, &own, most)?;
        let all = blocks.iter().map(Block::full).collect();
        if !table.look_at_open(all, chosen.iter().copied()) {
            break;
        }
    }
    improve(&mut table, &mut chosen);
    (chosen.len() <= most).then(|| chosen.into_iter().map(|ball| table.balls[ball]).collect())
}

/// Adds balls until the chosen ones cover all points looked at, those with the most open points
/// first.
fn complete(
    table: &mut Table<'_>,
    chosen: &mut Vec<usize>,
    own: impl Fn(Point) -> Ball,
    most: usize,
) -> Option<()> {
    let mut open = table.open(chosen);
    // Lazy greedy (Minoux 1978): gains only shrink as points are covered, so a ball whose gain is
    // still at least the next upper bound is the best, and the others need no update.
    let mut heap: std::collections::BinaryHeap<(u32, std::cmp::Reverse<usize>)> =
        (0..table.balls.len())
            // `Reverse` prefers the lower number among equal gains. The first bounds are infinite:
            // a gain is computed when its ball is popped.
            .map(|ball| (u32::MAX, std::cmp::Reverse(ball)))
            .collect();
    // No block before this one has open points.
    let mut first = 0;
    loop {
        first += open[first..].iter().take_while(|bits| **bits == 0).count();
        let Some(bits) = open.get(first) else {
            return Some(());
        };
        let ball = loop {
            let Some((_, std::cmp::Reverse(ball))) = heap.pop() else {
                break None;
            };
            let gain = table.gain(ball, &open);
            if gain == 0 {
                continue;
            }
            if heap.peek().is_none_or(|(next, _)| gain >= *next) {
                break Some(ball);
            }
            heap.push((gain, std::cmp::Reverse(ball)));
        };
        let ball = match ball {
            Some(ball) => ball,
            None => {
                let point = table.blocks[first].points[bits.trailing_zeros() as usize].0;
                let ball = table.add_ball(own(point));
                if table.gain(ball, &open) == 0 {
                    return None;
                }
                ball
            }
        };
        chosen.push(ball);
        // Give up early: the improvement can't be expected to halve the number of balls.
        if chosen.len() > most.saturating_mul(2) {
            return None;
        }
        close(&table.rows[ball], &mut open);
    }
}

/// Removes groups of nearby balls and replaces each if no more balls cover the points left open.
fn improve(table: &mut Table<'_>, chosen: &mut Vec<usize>) {
    let mut random = Random::new(SEED);
    // Instructions that count bits are not in the baseline of x86-64.
    let arch = Arch::new();
    for _ in 0..(TRIES * chosen.len()).clamp(TRIES_IN_ALL.0, TRIES_IN_ALL.1) {
        if chosen.len() < 2 {
            return;
        }
        let seed = table.balls[chosen[random.number() as usize % chosen.len()]].0;
        let most = chosen
            .len()
            .min((AT_ONCE.0 + random.number() % (AT_ONCE.1 - AT_ONCE.0 + 1)) as usize);
        let gap = |ball: &usize| norm(subtract(table.balls[*ball].0, seed)) - table.balls[*ball].1;
        let mut near: Vec<(f64, usize)> = chosen.iter().map(|ball| (gap(ball), *ball)).collect();
        near.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let [removed, kept] = [&near[..most], &near[most..]]
            .map(|balls| balls.iter().map(|(_, ball)| *ball).collect::<Vec<usize>>());
        // Only points that removed balls cover are open: the others are covered by the kept ones.
        let beside: Vec<usize> = kept
            .iter()
            .copied()
            .filter(|kept| removed.iter().any(|ball| table.meet(*kept, *ball)))
            .collect();
        let mut open = vec![0; table.blocks.len()];
        let rows = removed.iter().flat_map(|ball| &table.rows[*ball]);
        rows.for_each(|(block, bits)| open[*block] |= bits);
        let rows = beside.iter().map(|ball| &table.rows[*ball]);
        rows.for_each(|row| close(row, &mut open));
        // A replacement of the same size is accepted, too: it lets the search leave a plateau.
        let again = Again {
            table,
            open: &mut open,
            most,
            random: &mut random,
        };
        if let Some(added) = arch.dispatch(again) {
            let mut open = vec![0; table.all.len()];
            for ball in &removed {
                let row = table.row_of_all(*ball);
                row.iter().for_each(|(block, bits)| open[*block] |= bits);
            }
            let around = beside.into_iter().chain(added.iter().copied());
            if !table.look_at_open(open, around) {
                *chosen = [kept, added].concat();
            }
        }
    }
}

/// The arguments of [`again`].
struct Again<'a, 'b> {
    table: &'a Table<'b>,
    open: &'a mut [u64],
    most: usize,
    random: &'a mut Random,
}

impl NullaryFnOnce for Again<'_, '_> {
    type Output = Option<Vec<usize>>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        again(self.table, self.open, self.most, self.random)
    }
}

/// Chooses at most `most` balls that cover the points in `open`: in each step the ball with the
/// largest gain, with random noise, of those that cover the point with the fewest balls.
#[inline(always)]
fn again(
    table: &Table<'_>,
    open: &mut [u64],
    most: usize,
    random: &mut Random,
) -> Option<Vec<usize>> {
    let mut added = Vec::new();
    let mut blocks: Vec<usize> = (0..open.len()).filter(|block| open[*block] != 0).collect();
    loop {
        blocks.retain(|block| open[*block] != 0);
        // One of the balls that cover this point has to be chosen anyway.
        let mut hardest: Option<(u32, usize, usize)> = None;
        for &block in &blocks {
            let is_easier = |(count, ..): (u32, usize, usize)| count <= table.least_counts[block];
            if hardest.is_some_and(is_easier) {
                continue;
            }
            for point in each_bit(open[block]) {
                let count = table.counts[block][point];
                if hardest.is_none_or(|(least, ..)| count < least) {
                    hardest = Some((count, block, point));
                }
            }
        }
        let Some((_, block, point)) = hardest else {
            return Some(added);
        };
        if added.len() == most {
            return None;
        }
        let left: u32 = blocks.iter().map(|block| open[*block].count_ones()).sum();
        let mut best: Option<(f64, usize)> = None;
        for &(ball, bits) in &table.columns[block] {
            if bits >> point & 1 == 0 {
                continue;
            }
            let gain = table.gain(ball, open);
            // A ball that covers all of them is always taken.
            let worth = match gain == left {
                true => f64::INFINITY,
                false => f64::from(gain) * (0.85 + 0.15 * random.unit()),
            };
            if best.is_none_or(|(most, _)| worth > most) {
                best = Some((worth, ball));
            }
        }
        let (_, ball) = best?;
        added.push(ball);
        close(&table.rows[ball], open);
    }
}
