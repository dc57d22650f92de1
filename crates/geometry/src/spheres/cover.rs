//! Covers points with few of some balls: a greedy set cover, improved by a large neighbourhood
//! search.

#![allow(
    clippy::indexing_slicing,
    reason = "balls and points are numbered here, and the numbers index the arrays that they were made for"
)]

use super::Point;
use crate::vector::{add, dot, norm, scale, subtract};
use crate::{Bounds, Random};

/// Maximum number of candidate balls.
const MOST_BALLS: usize = 4000;
/// Number of improvement attempts per chosen ball.
const TRIES: usize = 20;
/// Maximum number of improvement attempts.
const MOST_TRIES: usize = 1500;
/// Arbitrary, but fixed: the spheres of all robots depend on it.
const SEED: u64 = 0xd134_2543_de82_ef95;
/// Minimum and maximum number of balls replaced in one attempt.
const AT_ONCE: (u64, u64) = (2, 7);

/// Number of points in a block: one for each bit.
const BLOCK: usize = 64;

/// A ball: centre and radius.
pub(super) type Ball = (Point, f64);

/// 64 points, which the order of the points makes neighbours.
struct Block {
    /// Contains the points.
    bounds: Ball,
    /// Minimum radius that one of the points represents.
    reach: f64,
    /// The balls that cover some of the points, and those points as a bitset.
    balls: Vec<(usize, u64)>,
}

/// The incidence of points and balls, which is sparse: a ball covers a few hundredths of the points.
struct Table<'a> {
    points: &'a [Ball],
    blocks: Vec<Block>,
    balls: Vec<Ball>,
    /// The blocks of which each ball covers points, and those points as bitsets.
    rows: Vec<Vec<(usize, u64)>>,
}

impl<'a> Table<'a> {
    /// Creates an empty table for `points`, each with the radius that has to be covered.
    fn new(points: &'a [Ball]) -> Self {
        let block = |points: &[Ball]| {
            let bounds = Bounds::of(points.iter().map(|(point, _)| *point));
            let half = scale(bounds.size(), 0.5);
            Block {
                bounds: (add(bounds.low, half), norm(half)),
                reach: points
                    .iter()
                    .map(|(_, reach)| *reach)
                    .fold(f64::INFINITY, f64::min),
                balls: Vec::new(),
            }
        };
        Self {
            points,
            blocks: points.chunks(BLOCK).map(block).collect(),
            balls: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn add(&mut self, ball: Ball) {
        let mut row = Vec::new();
        for (index, block) in self.blocks.iter_mut().enumerate() {
            let far = norm(subtract(block.bounds.0, ball.0)) - block.bounds.1;
            // A margin for rounding: the points decide.
            if far + block.reach > ball.1 * (1.0 + 1e-9) {
                continue;
            }
            let points = self.points[index * BLOCK..].iter().take(BLOCK);
            let bits = points.enumerate().fold(0, |bits, (index, (point, reach))| {
                let room = ball.1 - reach;
                let offset = subtract(*point, ball.0);
                let is_covered = room >= 0.0 && dot(offset, offset) <= room * room;
                bits | u64::from(is_covered) << index
            });
            if bits != 0 {
                row.push((index, bits));
                block.balls.push((self.balls.len(), bits));
            }
        }
        self.balls.push(ball);
        self.rows.push(row);
    }

    /// Returns the number of points in `open`, one bitset for each block, that a ball covers.
    fn gain(&self, ball: usize, open: &[u64]) -> u32 {
        self.rows[ball]
            .iter()
            .map(|(block, bits)| (open[*block] & bits).count_ones())
            .sum()
    }

    /// Returns the numbers of the points that a ball covers.
    fn covered(&self, ball: usize) -> impl Iterator<Item = usize> {
        self.rows[ball].iter().flat_map(|&(block, bits)| {
            std::iter::successors(Some(bits), |bits| Some(bits & bits.wrapping_sub(1)))
                .take(bits.count_ones() as usize)
                .map(move |bits| block * BLOCK + bits.trailing_zeros() as usize)
        })
    }

    /// Removes the points that a ball covers from `open`.
    fn close(&self, ball: usize, open: &mut [u64]) {
        self.rows[ball]
            .iter()
            .for_each(|(block, bits)| open[*block] &= !bits);
    }
}

/// Chooses few of `balls` that cover all `points`, each with its radius. For a point that none of
/// them covers, `own` creates a ball. Returns `None` if that doesn't cover it either, or if more
/// than `most` balls are needed.
pub(super) fn cover(
    balls: &[Ball],
    points: &[Ball],
    own: impl Fn(Point) -> Ball,
    most: usize,
) -> Option<Vec<Ball>> {
    let mut table = Table::new(points);
    let stride = balls.len().div_ceil(MOST_BALLS).max(1);
    balls
        .iter()
        .step_by(stride)
        .for_each(|ball| table.add(*ball));
    let mut open = vec![u64::MAX; table.blocks.len()];
    // Bits beyond the last point must not count as open.
    if let Some(last) = open.last_mut()
        && !points.len().is_multiple_of(BLOCK)
    {
        *last = (1 << (points.len() % BLOCK)) - 1;
    }
    // Lazy greedy (Minoux 1978): gains only shrink as points are covered, so a ball whose gain is
    // still at least the next upper bound is the best, and the others need no update.
    let mut heap: std::collections::BinaryHeap<(u32, std::cmp::Reverse<usize>)> =
        (0..table.balls.len())
            // `Reverse` prefers the lower number among equal gains. The first bounds are infinite:
            // a gain is computed when its ball is popped.
            .map(|ball| (u32::MAX, std::cmp::Reverse(ball)))
            .collect();
    let mut chosen: Vec<usize> = Vec::new();
    // No block before this one has open points.
    let mut first = 0;
    loop {
        first += open[first..].iter().take_while(|bits| **bits == 0).count();
        let Some(bits) = open.get(first) else {
            break;
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
                let index = first * BLOCK + bits.trailing_zeros() as usize;
                table.add(own(points[index].0));
                let ball = table.balls.len() - 1;
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
        table.close(ball, &mut open);
    }
    improve(&table, &mut chosen);
    (chosen.len() <= most).then(|| chosen.into_iter().map(|ball| table.balls[ball]).collect())
}

/// Removes a group of nearby balls and replaces them if fewer balls cover the points left open.
fn improve(table: &Table, chosen: &mut Vec<usize>) {
    // At most twice `MOST_SPHERES` balls cover a point.
    let mut counts = vec![0_u16; table.points.len()];
    for ball in &*chosen {
        table.covered(*ball).for_each(|point| counts[point] += 1);
    }
    let mut random = Random::new(SEED);
    let mut open = vec![0_u64; table.blocks.len()];
    let mut gains = vec![0_u32; table.balls.len()];
    for _ in 0..(TRIES * chosen.len()).min(MOST_TRIES) {
        if chosen.len() < 2 {
            return;
        }
        let seed = table.balls[chosen[random.number() as usize % chosen.len()]];
        let gap =
            |ball: &usize| norm(subtract(table.balls[*ball].0, seed.0)) - table.balls[*ball].1;
        chosen.sort_by(|a, b| gap(a).total_cmp(&gap(b)));
        let most = chosen
            .len()
            .min((AT_ONCE.0 + random.number() % (AT_ONCE.1 - AT_ONCE.0 + 1)) as usize);
        let removed: Vec<usize> = chosen.drain(..most).collect();
        for point in removed.iter().flat_map(|ball| table.covered(*ball)) {
            counts[point] -= 1;
            if counts[point] == 0 {
                open[point / BLOCK] |= 1 << (point % BLOCK);
            }
        }
        let blocks: Vec<usize> = (0..open.len()).filter(|block| open[*block] != 0).collect();
        // A replacement of the same size is accepted, too: it lets the search leave a plateau.
        let added = again(table, &mut open, &blocks, &mut gains, most, &mut random);
        blocks.iter().for_each(|block| open[*block] = 0);
        let added = added.unwrap_or(removed);
        for point in added.iter().flat_map(|ball| table.covered(*ball)) {
            counts[point] += 1;
        }
        chosen.extend(added);
    }
}

/// A ball that covers some of the open points.
struct Candidate {
    ball: usize,
    /// Upper bound of its gain: the gain when it was last computed, since gains only shrink.
    gain: u32,
    /// Random factor, so that attempts at the same place differ.
    noise: f64,
}

impl Candidate {
    fn worth(&self, left: u32) -> f64 {
        // A ball that covers all of them is always taken.
        if self.gain == left {
            f64::INFINITY
        } else {
            f64::from(self.gain) * self.noise
        }
    }
}

/// Chooses at most `most` balls that cover the points in `open`, greedily by gains with random noise.
/// `blocks` are those with open points, `gains` are zeros for all balls, before and afterwards.
fn again(
    table: &Table,
    open: &mut [u64],
    blocks: &[usize],
    gains: &mut [u32],
    most: usize,
    random: &mut Random,
) -> Option<Vec<usize>> {
    let mut useful = Vec::new();
    for block in blocks {
        for (ball, bits) in &table.blocks[*block].balls {
            let gain = (bits & open[*block]).count_ones();
            if gain > 0 && gains[*ball] == 0 {
                useful.push(*ball);
            }
            gains[*ball] += gain;
        }
    }
    let candidate = |ball| Candidate {
        ball,
        gain: std::mem::take(&mut gains[ball]),
        noise: 0.85 + 0.15 * random.unit(),
    };
    let mut candidates: Vec<Candidate> = useful.into_iter().map(candidate).collect();
    let mut added = Vec::new();
    loop {
        let left: u32 = blocks.iter().map(|block| open[*block].count_ones()).sum();
        if left == 0 {
            return Some(added);
        }
        // Most attempts end here: the balls that may still be added can't cover what is left.
        let gain = candidates.iter().map(|candidate| candidate.gain).max()?;
        if gain as usize * (most - added.len()) < left as usize {
            return None;
        }
        let mut best: Option<(f64, usize)> = None;
        for candidate in &mut candidates {
            let is_best = |candidate: &Candidate| {
                candidate.gain > 0 && best.is_none_or(|(most, _)| candidate.worth(left) > most)
            };
            // More than what is left can't be gained.
            candidate.gain = candidate.gain.min(left);
            if is_best(candidate) {
                candidate.gain = table.gain(candidate.ball, open);
                if is_best(candidate) {
                    best = Some((candidate.worth(left), candidate.ball));
                }
            }
        }
        let (_, ball) = best?;
        added.push(ball);
        table.close(ball, open);
    }
}
