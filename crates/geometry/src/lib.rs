//! Geometry of points and triangles: convex hulls, simplification, covers of spheres, and the
//! bounding box trees that they search.
//!
//! - [`MeshArrays`]: indexed triangles with values at their corners.
//! - [`convex_hull`], [`thick_hull`]: hulls by exact predicates.
//! - [`decompose::convex_parts`]: convex parts that together cover a mesh.
//! - [`primitives::fit`]: the box, ball, cylinder or capsule that a mesh resembles.
//! - `simplify::tiers`: lighter versions of a mesh, within a proved bound.
//! - [`spheres::fit`]: few spheres that cover the volume enclosed by triangles.
//! - [`BoxTree`]: bounding volumes for searches among triangles.
//! - [`Random`]: numbers that are the same for the same seed.
//! - [`vector`]: operations on arrays of coordinates.
//!
//! Results are deterministic, regardless of the number of threads. This crate must not know robots,
//! materials, files or file formats.

mod arrays;
mod body;
mod boxes;
pub mod decompose;
mod deviation;
mod hull;
pub mod invariants;
pub mod primitives;
mod random;
pub mod shapes;
pub mod simplify;
pub mod spheres;
pub mod vector;

pub use arrays::{Corners, MeshArrays, Outline};
pub use boxes::{Bounds, BoxTree, Content};
pub use hull::{Flat, convex_hull, thick_hull};
pub use random::Random;
