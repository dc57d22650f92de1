//! Covers points with few of some balls: a greedy set cover, improved by a large neighbourhood
//! search.

#![allow(
    clippy::indexing_slicing,
    reason = "balls and points are numbered here, and the numbers index the arrays that they were made for"
)]

use super::Point;
use crate::Random;
use crate::vector::{add, dot, norm, scale, subtract};

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

/// A ball: centre and radius.
pub(super) type Ball = (Point, f64);

/// The incidence of points and balls.
struct Table {
    balls: Vec<Ball>,
    /// One bitset of points for each ball.
    rows: Vec<Vec<u64>>,
    words: usize,
}

impl Table {
    /// Creates an empty table for `points`, each with the radius that has to be covered.
    fn new(points: &[Ball]) -> Self {
        Self {
            balls: Vec::new(),
            rows: Vec::new(),
            words: points.len().div_ceil(64),
        }
    }

    fn add(&mut self, ball: Ball, points: &[Ball]) {
        let mut row = vec![0_u64; self.words];
        for (index, (point, reach)) in points.iter().enumerate() {
            let room = ball.1 - reach;
            let offset = subtract(*point, ball.0);
            if room >= 0.0 && dot(offset, offset) <= room * room {
                row[index / 64] |= 1 << (index % 64);
            }
        }
        self.balls.push(ball);
        self.rows.push(row);
    }

    /// Returns the number of points in `open` that a ball covers.
    fn gain(&self, ball: usize, open: &[(usize, u64)]) -> u32 {
        let row = &self.rows[ball];
        open.iter()
            .map(|(word, bits)| (row[*word] & bits).count_ones())
            .sum()
    }
}

/// Returns the non-empty words of a bitset.
fn words(bits: &[u64]) -> Vec<(usize, u64)> {
    bits.iter()
        .copied()
        .enumerate()
        .filter(|(_, bits)| *bits != 0)
        .collect()
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
        .for_each(|ball| table.add(*ball, points));
    let mut open = vec![u64::MAX; table.words];
    // Bits beyond the last point must not count as open.
    if let Some(last) = open.last_mut()
        && !points.len().is_multiple_of(64)
    {
        *last = (1 << (points.len() % 64)) - 1;
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
    loop {
        let left = words(&open);
        let Some((first, bits)) = left.first() else {
            break;
        };
        let ball = loop {
            let Some((_, std::cmp::Reverse(ball))) = heap.pop() else {
                break None;
            };
            let gain = table.gain(ball, &left);
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
                let index = first * 64 + bits.trailing_zeros() as usize;
                table.add(own(points[index].0), points);
                let ball = table.balls.len() - 1;
                if table.gain(ball, &left) == 0 {
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
        open.iter_mut()
            .zip(&table.rows[ball])
            .for_each(|(open, row)| *open &= !row);
    }
    improve(&table, &mut chosen, points.len());
    (chosen.len() <= most).then(|| chosen.into_iter().map(|ball| table.balls[ball]).collect())
}

/// Removes a group of nearby balls and replaces them if fewer balls cover the points left open.
fn improve(table: &Table, chosen: &mut Vec<usize>, points: usize) {
    // At most twice `MOST_SPHERES` balls cover a point.
    let mut counts = vec![0_u16; points];
    let count = |counts: &mut Vec<u16>, ball: usize, is_added: bool| {
        for (word, mut bits) in words(&table.rows[ball]) {
            while bits != 0 {
                let point = word * 64 + bits.trailing_zeros() as usize;
                counts[point] = if is_added {
                    counts[point] + 1
                } else {
                    counts[point] - 1
                };
                bits &= bits - 1;
            }
        }
    };
    chosen
        .iter()
        .for_each(|ball| count(&mut counts, *ball, true));
    let mut random = Random::new(SEED);
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
        removed
            .iter()
            .for_each(|ball| count(&mut counts, *ball, false));
        let mut open = vec![0_u64; table.words];
        for ball in &removed {
            for (word, mut bits) in words(&table.rows[*ball]) {
                while bits != 0 {
                    let bit = bits.trailing_zeros();
                    if counts[word * 64 + bit as usize] == 0 {
                        open[word] |= 1 << bit;
                    }
                    bits &= bits - 1;
                }
            }
        }
        // Only balls that reach into the removed ones can cover any of it.
        let middle = removed.iter().fold([0.0; 3], |sum, ball| {
            add(sum, scale(table.balls[*ball].0, 1.0 / most as f64))
        });
        let reach = |(center, radius): Ball| norm(subtract(center, middle)) + radius;
        let around = removed
            .iter()
            .map(|ball| reach(table.balls[*ball]))
            .fold(0.0, f64::max);
        let is_near = |ball: &usize| {
            let (center, radius) = table.balls[*ball];
            norm(subtract(center, middle)) <= radius + around
        };
        let useful = (0..table.balls.len()).filter(is_near).collect();
        // A replacement of the same size is accepted, too: it lets the search leave a plateau.
        let added = again(table, &words(&open), useful, most, &mut random).unwrap_or(removed);
        added
            .iter()
            .for_each(|ball| count(&mut counts, *ball, true));
        chosen.extend(added);
    }
}

/// Chooses at most `most` of the `useful` balls that cover the points in `open`, greedily by gains
/// with random noise. A ball that covers all of them is always taken.
fn again(
    table: &Table,
    open: &[(usize, u64)],
    mut useful: Vec<usize>,
    most: usize,
    random: &mut Random,
) -> Option<Vec<usize>> {
    let mut open = open.to_vec();
    let mut added = Vec::new();
    while !open.is_empty() {
        if added.len() == most {
            return None;
        }
        let left: u32 = open.iter().map(|(_, bits)| bits.count_ones()).sum();
        let mut best: Option<(f64, usize)> = None;
        useful.retain(|&ball| {
            let gain = table.gain(ball, &open);
            // Noise makes attempts at the same place differ.
            let worth = if gain == left {
                f64::INFINITY
            } else {
                f64::from(gain) * (0.85 + 0.15 * random.unit())
            };
            if gain > 0 && best.is_none_or(|(most, _)| worth > most) {
                best = Some((worth, ball));
            }
            gain > 0
        });
        let (_, ball) = best?;
        added.push(ball);
        open.iter_mut()
            .for_each(|(word, bits)| *bits &= !table.rows[ball][*word]);
        open.retain(|(_, bits)| *bits != 0);
    }
    Some(added)
}
