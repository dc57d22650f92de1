//! Geometry of points and triangles: convex hulls, simplification, spheres that cover a body, and
//! the trees of boxes that they search.
//!
//! - [`MeshArrays`]: indexed triangles with values at their corners.
//! - [`convex_hull`], [`thick_hull`]: hulls by exact predicates.
//! - `simplify::tiers`: lighter versions of a mesh, within a proved bound.
//! - [`spheres::fit`]: few spheres that cover what triangles enclose.
//! - [`BoxTree`]: bounding volumes for searches among triangles.
//! - [`Random`]: numbers that are the same for the same seed.
//! - [`vector`]: operations on arrays of coordinates.
//!
//! The same input gives the same result, however many threads compute it. This crate must not know
//! robots, materials, files or file formats.

mod arrays;
mod boxes;
mod deviation;
mod hull;
pub mod invariants;
mod random;
pub mod shapes;
#[cfg(feature = "simplify")]
pub mod simplify;
pub mod spheres;
pub mod vector;

pub use arrays::{Corners, MeshArrays, Outline};
pub use boxes::{Bounds, BoxTree, Content};
pub use hull::{Flat, convex_hull, thick_hull};
pub use random::Random;
