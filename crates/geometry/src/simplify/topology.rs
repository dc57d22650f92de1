//! The triangles at each point, and connected components of points. This module knows indices only.

/// The triangles at each point.
pub(super) struct Around {
    /// The offset of each point's triangles in `triangles`, and the end of the last.
    first: Vec<u32>,
    triangles: Vec<u32>,
}

impl Around {
    /// Every index of a triangle is below `points`.
    pub(super) fn new(points: usize, triangles: &[[u32; 3]]) -> Self {
        let mut first = vec![0_u32; points + 1];
        triangles
            .as_flattened()
            .iter()
            .for_each(|&point| first[point as usize] += 1);
        // Counting sort: first each point's end, which moves down to its start as triangles are
        // filled in.
        let mut end = 0;
        for count in &mut first {
            end += *count;
            *count = end;
        }
        let mut around = vec![0; end as usize];
        for (number, triangle) in (0..).zip(triangles) {
            for &point in triangle {
                let at = &mut first[point as usize];
                *at -= 1;
                around[*at as usize] = number;
            }
        }
        Self {
            first,
            triangles: around,
        }
    }

    /// Returns the numbers of the triangles at `point`.
    pub(super) fn of(&self, point: u32) -> &[u32] {
        let at = point as usize;
        &self.triangles[self.first[at] as usize..self.first[at + 1] as usize]
    }
}

/// Numbers the connected components of a mesh. Returns the number of each point's component, and
/// their count.
pub(super) fn components(points: usize, triangles: &[[u32; 3]]) -> (Vec<u32>, usize) {
    /// Returns the smallest point known to be connected with this one, by union-find with path
    /// halving.
    fn root(least: &mut [u32], mut point: u32) -> u32 {
        while least[point as usize] != point {
            let next = least[least[point as usize] as usize];
            least[point as usize] = next;
            point = next;
        }
        point
    }
    let mut least: Vec<u32> = (0..points as u32).collect();
    for [a, b, c] in triangles {
        for (from, to) in [(a, b), (a, c)] {
            let (from, to) = (root(&mut least, *from), root(&mut least, *to));
            // The smaller root wins, so links lead downwards only: the numbering below relies on
            // it.
            least[from.max(to) as usize] = from.min(to);
        }
    }
    let mut numbers = vec![0; points];
    let mut count = 0;
    for point in 0..points {
        // It is no greater than the point, so its number is known already.
        let next = least[point] as usize;
        numbers[point] = if next == point {
            count += 1;
            count - 1
        } else {
            numbers[next]
        };
    }
    (numbers, count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_triangles_connect_is_one_component() {
        let triangles = [[0, 1, 2], [5, 4, 3], [7, 6, 4], [2, 8, 9]];
        assert_eq!(
            components(11, &triangles),
            (vec![0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 2], 3)
        );
        // A strip whose points are numbered at random, and one that is numbered from its end.
        let strip = [
            [3, 9, 1],
            [9, 1, 7],
            [1, 7, 4],
            [7, 4, 0],
            [6, 2, 5],
            [8, 6, 2],
        ];
        assert_eq!(
            components(10, &strip),
            (vec![0, 0, 1, 0, 0, 1, 1, 0, 1, 0], 2)
        );
    }

    #[test]
    fn triangles_at_points() {
        let around = Around::new(5, &[[0, 1, 2], [2, 1, 3]]);
        let sorted = |point| {
            let mut found = around.of(point).to_vec();
            found.sort_unstable();
            found
        };
        assert_eq!(
            [0, 1, 2, 3, 4].map(sorted),
            [vec![0], vec![0, 1], vec![0, 1], vec![1], vec![]]
        );
    }
}
