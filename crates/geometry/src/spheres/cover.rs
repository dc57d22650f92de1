//! Few balls that have all of some points in them: greedily first, then again and again some of
//! them anew.

#![allow(
    clippy::indexing_slicing,
    reason = "balls and points are numbered here, and the numbers index the arrays that they were made for"
)]

use super::Point;
use crate::Random;
use crate::vector::{add, dot, norm, scale, subtract};

/// The most balls that are chosen from.
const MOST_BALLS: usize = 4000;
/// How often some balls are chosen anew, per ball.
const TRIES: usize = 20;
/// And the most in all.
const MOST_TRIES: usize = 1500;
/// Any number; the spheres of all robots follow from it.
const SEED: u64 = 0xd134_2543_de82_ef95;
/// How many are chosen anew at once, at least and at most.
const AT_ONCE: (u64, u64) = (2, 7);

/// A ball: centre and radius.
pub(super) type Ball = (Point, f64);

/// Which points are in which balls.
struct Table {
    balls: Vec<Ball>,
    /// For each ball, a bit for each point.
    rows: Vec<Vec<u64>>,
    words: usize,
}

impl Table {
    /// `points`: each with what must be around it.
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

    /// How many of the points in `open` are in a ball.
    fn gain(&self, ball: usize, open: &[(usize, u64)]) -> u32 {
        let row = &self.rows[ball];
        open.iter()
            .map(|(word, bits)| (row[*word] & bits).count_ones())
            .sum()
    }
}

/// The words of a set of points that are not empty.
fn words(bits: &[u64]) -> Vec<(usize, u64)> {
    bits.iter()
        .copied()
        .enumerate()
        .filter(|(_, bits)| *bits != 0)
        .collect()
}

/// Few of `balls` that have all `points` in them, each with all that is within its reach. Where
/// none of them has a point, `own` makes a ball for it. `None` if that doesn't have it either, or
/// if there would be more than `most`.
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
    if let Some(last) = open.last_mut()
        && !points.len().is_multiple_of(64)
    {
        *last = (1 << (points.len() % 64)) - 1;
    }
    // A gain only becomes smaller: what was the largest and still is, is.
    let mut heap: std::collections::BinaryHeap<(u32, std::cmp::Reverse<usize>)> =
        (0..table.balls.len())
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
        // What can't be mended later is given up.
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

/// Takes some balls that are near each other away and looks whether fewer others do as well.
fn improve(table: &Table, chosen: &mut Vec<usize>, points: usize) {
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
        // Balls elsewhere have nothing of it.
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
        let added = again(table, &words(&open), useful, most, &mut random).unwrap_or(removed);
        added
            .iter()
            .for_each(|ball| count(&mut counts, *ball, true));
        chosen.extend(added);
    }
}

/// At most `most` of the `useful` balls that have the points in `open` in them, chosen greedily
/// with some chance. The last must do alone.
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
