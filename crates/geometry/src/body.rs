//! Distances of points from the body that a mesh bounds.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::spheres::solid::Solid;
use crate::vector::{add, norm, subtract};

type Point = [f64; 3];

/// The body that a mesh bounds. Cavities that can't be seen from outside are part of it.
pub(crate) struct Body {
    solid: Solid,
    /// Upper bounds of the distances of cells' centres from the body, by number of the cell: most samples
    /// of a surface are in cells that show at once that they protrude less than others.
    heights: RefCell<HashMap<[i32; 3], f64, foldhash::fast::FixedState>>,
}

impl Body {
    pub fn new(triangles: &[[Point; 3]]) -> Self {
        Self {
            solid: Solid::new(triangles, 0.0),
            heights: RefCell::default(),
        }
    }

    /// Returns the largest distance of a point outside of the body; 0 if none is.
    pub fn excess(&self, points: impl Iterator<Item = Point>) -> f64 {
        let (edge, low) = (self.solid.edge, self.solid.low);
        let mut heights = self.heights.borrow_mut();
        let mut bound = |point: Point| {
            let cell = subtract(point, low).map(|x| (x / edge).floor());
            let centre = add(low, cell.map(|x| (x + 0.5) * edge));
            let height = heights
                .entry(cell.map(|x| x as i32))
                .or_insert_with(|| self.solid.max_height(centre));
            // Heights of points differ by at most their distance.
            *height + norm(subtract(point, centre))
        };
        let mut bounds: Vec<(f64, Point)> = points.map(|point| (bound(point), point)).collect();
        bounds.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let mut highest = 0.0;
        for (bound, point) in bounds {
            if bound <= highest {
                break;
            }
            highest = self.solid.height_above(point, highest);
        }
        highest
    }
}
