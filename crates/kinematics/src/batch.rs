//! Batches of configurations, as many at a time as a vector register has lanes: AVX-512, AVX2, NEON,
//! or one number at a time, by the processor that runs it.
//!
//! A batch is an array in row-major order with a row of coordinates for each configuration, and so
//! is its result. Rows are independent: the result of one does not depend on the others.

#![allow(
    clippy::indexing_slicing,
    reason = "`Mechanism::of` makes all steps, each after the one that it hangs on; the buffers have an entry for each"
)]

use nalgebra::Vector3;
use pulp::bytemuck::{cast_slice, cast_slice_mut};
use pulp::{Arch, Simd, WithSimd};

use crate::chain::{Chain, Reference};
use crate::lanes::{Frame, Num, Vector};
use crate::mechanism::{Lump, Mechanism, Step};

/// Number of elements of a pose: a homogeneous matrix, in row-major order.
pub const POSE: usize = 16;

/// Computes a block of rows of a result, one in each lane.
trait Calculation {
    /// Buffers for intermediate results.
    type Scratch<S: Simd>;

    /// Returns the columns of the coordinates that it reads.
    fn inputs(&self) -> Vec<usize>;

    fn scratch<S: Simd>(&self, simd: S) -> Self::Scratch<S>;

    /// Writes rows of `width` elements for the values of the [inputs](Self::inputs): at most one for
    /// each lane.
    fn write<S: Simd>(
        &self,
        simd: S,
        q: &[S::f64s],
        scratch: &mut Self::Scratch<S>,
        width: usize,
        rows: &mut [f64],
    );
}

/// Elements of a row in all lanes.
struct Elements<S: Simd> {
    values: Vec<S::f64s>,
    /// The element of each value, and the value, by element.
    places: Vec<(usize, usize)>,
}

impl<S: Simd> Elements<S> {
    #[inline(always)]
    fn new(simd: S, places: Vec<(usize, usize)>) -> Self {
        Self {
            values: vec![simd.splat_f64s(0.0); places.len()],
            places,
        }
    }

    /// Creates the elements of a row in which none is always zero.
    #[inline(always)]
    fn dense(simd: S, count: usize) -> Self {
        Self::new(simd, (0..count).map(|element| (element, element)).collect())
    }

    /// Writes the elements of each lane to its row.
    #[inline(always)]
    fn write(&self, width: usize, rows: &mut [f64]) {
        let flat = cast_slice::<_, f64>(&self.values);
        for (lane, row) in rows.chunks_exact_mut(width).enumerate() {
            for &(element, value) in &self.places {
                row[element] = flat[value * S::F64_LANES + lane];
            }
        }
    }
}

/// A calculation for a batch: `columns` coordinates a row, and `width` elements of the result.
struct Batch<'a, C> {
    calculation: &'a C,
    columns: usize,
    q: &'a [f64],
    width: usize,
    out: &'a mut [f64],
}

impl<C: Calculation> WithSimd for Batch<'_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            calculation,
            columns,
            q,
            width,
            out,
        } = self;
        if width == 0 {
            return;
        }
        let lanes = S::F64_LANES;
        let inputs = calculation.inputs();
        let mut values = vec![simd.splat_f64s(0.0); inputs.len()];
        let mut scratch = calculation.scratch(simd);
        for (block, out) in out.chunks_mut(lanes * width).enumerate() {
            let first = block * lanes;
            let count = out.len() / width;
            let flat = cast_slice_mut::<_, f64>(&mut values);
            for lane in 0..lanes {
                // The last rows fill all lanes.
                let row = (first + lane.min(count - 1)) * columns;
                for (value, input) in flat.chunks_exact_mut(lanes).zip(&inputs) {
                    value[lane] = q.get(row + input).copied().unwrap_or(0.0);
                }
            }
            calculation.write(simd, &values, &mut scratch, width, out);
        }
    }
}

/// Runs a calculation for a batch; elements of `out` that are always zero are not written.
fn run(calculation: &impl Calculation, columns: usize, q: &[f64], width: usize, out: &mut [f64]) {
    Arch::new().dispatch(Batch {
        calculation,
        columns,
        q,
        width,
        out,
    });
}

/// Returns the value of a step for a coordinate.
#[inline(always)]
fn value<S: Simd>(simd: S, factor: f64, coordinate: S::f64s, offset: f64) -> Num<S> {
    Num::new(simd, coordinate).times_plus(Num::splat(simd, factor), Num::splat(simd, offset))
}

/// Writes the homogeneous matrix of a frame to `out`.
#[inline(always)]
fn write<S: Simd>(simd: S, frame: &Frame<S>, out: &mut [S::f64s]) {
    for (to, from) in out.iter_mut().zip(frame.elements(simd)) {
        *to = from.lanes;
    }
}

impl Mechanism {
    /// Computes the frame of each step after its motion, the root's first.
    #[inline(always)]
    fn frames<S: Simd>(&self, simd: S, q: &[S::f64s], frames: &mut [Frame<S>]) {
        for (index, step) in self.steps.iter().enumerate() {
            let frame = frames[step.parent].then(simd, &step.origin);
            let by = value(simd, step.factor, q[step.coordinate], step.offset);
            frames[index + 1] = frame.moved(step.is_turn, by);
        }
    }

    #[inline(always)]
    fn root_frames<S: Simd>(&self, simd: S) -> Vec<Frame<S>> {
        vec![Frame::splat(simd, &crate::Transform::IDENTITY); self.steps.len() + 1]
    }

    fn batch(&self, calculation: &impl Calculation, q: &[f64], width: usize, out: &mut [f64]) {
        run(calculation, self.coordinates().len(), q, width, out);
    }

    /// Writes the pose of each link in its root as a matrix, in the order of
    /// [`Robot::links`](urdf_usd_robot::Robot::links), for each row of `q`.
    pub fn batch_poses(&self, q: &[f64], poses: &mut [f64]) {
        self.batch(&Poses(self), q, self.seats.values().count() * POSE, poses);
    }

    /// Writes the mass matrix, with a row and a column for each coordinate, for each row of `q`: kg·m²
    /// between angles, kg between distances, kg·m between the two. `matrices` must be zero:
    /// elements of joints on different branches are not written.
    pub fn batch_mass_matrices(&self, q: &[f64], matrices: &mut [f64]) {
        let size = self.coordinates().len();
        self.batch(&MassMatrix::of(self), q, size * size, matrices);
    }

    /// Writes the generalised forces that hold the robot still against `gravity` (m/s², in the
    /// root's axes; [`crate::GRAVITY`]), N·m and N, for each row of `q`. `forces` must be zero.
    pub fn batch_gravity_forces(&self, q: &[f64], gravity: &Vector3<f64>, forces: &mut [f64]) {
        let calculation = Gravity {
            mechanism: self,
            masses: self.composite_masses(),
            gravity: *gravity,
        };
        self.batch(&calculation, q, self.coordinates().len(), forces);
    }

    /// Returns the mass of each step and its descendants, kg; the root's first.
    fn composite_masses(&self) -> Vec<f64> {
        let mut masses: Vec<f64> = self.lumps.iter().map(|lump| lump.mass).collect();
        for (index, step) in self.steps.iter().enumerate().rev() {
            masses[step.parent] += masses[index + 1];
        }
        masses
    }
}

impl Chain {
    /// Writes the pose of the tip in the base as a matrix for each row of the mechanism's
    /// coordinates, of which there are `columns`.
    pub fn batch_poses(&self, columns: usize, q: &[f64], poses: &mut [f64]) {
        run(&Tip(self), columns, q, POSE, poses);
    }

    /// Writes the Jacobian of the tip in the base as a matrix with the velocities (linear, then
    /// angular) as its rows and the mechanism's coordinates as its columns, for each row of these.
    /// `jacobians` must be zero: columns of coordinates that are not on the path are not written.
    pub fn batch_jacobians(
        &self,
        columns: usize,
        q: &[f64],
        reference: Reference,
        jacobians: &mut [f64],
    ) {
        let calculation = Jacobian {
            chain: self,
            columns,
            reference,
        };
        run(&calculation, columns, q, 6 * columns, jacobians);
    }

    #[inline(always)]
    fn frames<S: Simd>(&self, simd: S) -> Vec<Frame<S>> {
        vec![Frame::splat(simd, &crate::Transform::IDENTITY); self.motions.len()]
    }

    /// Returns the frame of the tip, and writes that of each motion.
    #[inline(always)]
    fn frame<S: Simd>(&self, simd: S, q: &[S::f64s], frames: &mut [Frame<S>]) -> Frame<S> {
        let mut frame = Frame::splat(simd, &crate::Transform::IDENTITY);
        for (motion, out) in self.motions.iter().zip(frames) {
            let by = value(simd, motion.factor, q[motion.coordinate], motion.offset);
            frame = frame.then(simd, &motion.before).moved(motion.is_turn, by);
            *out = frame;
        }
        frame.then(simd, &self.tail)
    }
}

/// The pose of the tip of a chain.
struct Tip<'a>(&'a Chain);

impl Calculation for Tip<'_> {
    type Scratch<S: Simd> = (Vec<Frame<S>>, Elements<S>);

    fn inputs(&self) -> Vec<usize> {
        self.0.coordinates().to_vec()
    }

    #[inline(always)]
    fn scratch<S: Simd>(&self, simd: S) -> Self::Scratch<S> {
        (self.0.frames(simd), Elements::dense(simd, POSE))
    }

    #[inline(always)]
    fn write<S: Simd>(
        &self,
        simd: S,
        q: &[S::f64s],
        (frames, elements): &mut Self::Scratch<S>,
        width: usize,
        rows: &mut [f64],
    ) {
        write(simd, &self.0.frame(simd, q, frames), &mut elements.values);
        elements.write(width, rows);
    }
}

/// The poses of all links.
struct Poses<'a>(&'a Mechanism);

impl Calculation for Poses<'_> {
    type Scratch<S: Simd> = (Vec<Frame<S>>, Elements<S>);

    fn inputs(&self) -> Vec<usize> {
        (0..self.0.coordinates().len()).collect()
    }

    #[inline(always)]
    fn scratch<S: Simd>(&self, simd: S) -> Self::Scratch<S> {
        let count = self.0.seats.values().count() * POSE;
        (self.0.root_frames(simd), Elements::dense(simd, count))
    }

    #[inline(always)]
    fn write<S: Simd>(
        &self,
        simd: S,
        q: &[S::f64s],
        (frames, elements): &mut Self::Scratch<S>,
        width: usize,
        rows: &mut [f64],
    ) {
        self.0.frames(simd, q, frames);
        let poses = elements.values.chunks_exact_mut(POSE);
        for (seat, out) in self.0.seats.values().zip(poses) {
            write(simd, &frames[seat.on].then(simd, &seat.pose), out);
        }
        elements.write(width, rows);
    }
}

/// The Jacobian of the tip of a chain.
struct Jacobian<'a> {
    chain: &'a Chain,
    /// Number of coordinates of the mechanism.
    columns: usize,
    reference: Reference,
}

impl Calculation for Jacobian<'_> {
    type Scratch<S: Simd> = (Vec<Frame<S>>, Elements<S>);

    fn inputs(&self) -> Vec<usize> {
        self.chain.coordinates().to_vec()
    }

    #[inline(always)]
    fn scratch<S: Simd>(&self, simd: S) -> Self::Scratch<S> {
        let mut places: Vec<_> = (0..6)
            .flat_map(|row| {
                let columns = self.chain.coordinates().iter().enumerate();
                columns.map(move |(own, column)| (row * self.columns + column, own * 6 + row))
            })
            .collect();
        places.sort_unstable();
        (self.chain.frames(simd), Elements::new(simd, places))
    }

    #[inline(always)]
    fn write<S: Simd>(
        &self,
        simd: S,
        q: &[S::f64s],
        (frames, elements): &mut Self::Scratch<S>,
        width: usize,
        rows: &mut [f64],
    ) {
        let out = &mut elements.values;
        let tip = self.chain.frame(simd, q, frames);
        out.fill(simd.splat_f64s(0.0));
        let zero = Vector::splat(simd, &Vector3::zeros());
        for (motion, frame) in self.chain.motions.iter().zip(frames) {
            let z = frame.z * Num::splat(simd, motion.factor);
            let arm = match self.reference {
                Reference::Base => zero,
                Reference::TipInBase | Reference::Tip => tip.origin,
            } - frame.origin;
            let (linear, angular) = match motion.is_turn {
                true => (z.cross(&arm), z),
                false => (z, zero),
            };
            let (linear, angular) = match self.reference {
                Reference::Tip => (tip.unrotated(&linear), tip.unrotated(&angular)),
                Reference::Base | Reference::TipInBase => (linear, angular),
            };
            // Added to the column: joints that follow another share its coordinate.
            let column = out[6 * motion.coordinate..].iter_mut();
            let twist = [
                linear.x, linear.y, linear.z, angular.x, angular.y, angular.z,
            ];
            for (to, from) in column.zip(twist) {
                *to = (Num::new(simd, *to) + from).lanes;
            }
        }
        elements.write(width, rows);
    }
}

/// The mass of steps in the root's axes, about its origin, but for the mass itself.
#[derive(Clone, Copy)]
struct Inertia<S: Simd> {
    /// Mass times centre, kg·m.
    moment: Vector<S>,
    /// The diagonal of the inertia tensor, kg·m².
    diagonal: Vector<S>,
    /// Its elements yz, xz, xy.
    products: Vector<S>,
}

impl<S: Simd> Inertia<S> {
    /// Returns the inertia of `lump`, whose frame is `frame`.
    #[inline(always)]
    fn placed(simd: S, lump: &Lump, frame: &Frame<S>) -> Self {
        let Frame { x, y, z, origin: p } = frame;
        let column = |of: usize| Vector::splat(simd, &lump.inertia.column(of).into());
        // R I Rᵀ, which is symmetric.
        let (a, b, c) = (
            frame.rotated(&column(0)),
            frame.rotated(&column(1)),
            frame.rotated(&column(2)),
        );
        let sum =
            |a: Num<S>, x, b: Num<S>, y, c: Num<S>, z| a.times_plus(x, b.times_plus(y, c * z));
        let moment = frame.rotated(&Vector::splat(simd, &lump.moment));
        // Parallel axis theorem, in terms of the first moment: the centre of mass may be undefined.
        let mass = Num::splat(simd, lump.mass);
        let w = p.times_plus(Num::splat(simd, 0.5 * lump.mass), &moment);
        let two = Num::splat(simd, 2.0);
        let (xx, yy, zz) = (p.x * w.x * two, p.y * w.y * two, p.z * w.z * two);
        Self {
            moment: p.times_plus(mass, &moment),
            diagonal: Vector {
                x: sum(a.x, x.x, b.x, y.x, c.x, z.x) + (yy + zz),
                y: sum(a.y, x.y, b.y, y.y, c.y, z.y) + (zz + xx),
                z: sum(a.z, x.z, b.z, y.z, c.z, z.z) + (xx + yy),
            },
            products: Vector {
                x: p.y
                    .times_minus(w.z, w.y.times_minus(p.z, sum(a.y, x.z, b.y, y.z, c.y, z.z))),
                y: p.x
                    .times_minus(w.z, w.x.times_minus(p.z, sum(a.x, x.z, b.x, y.z, c.x, z.z))),
                z: p.x
                    .times_minus(w.y, w.x.times_minus(p.y, sum(a.x, x.y, b.x, y.y, c.x, z.y))),
            },
        }
    }

    #[inline(always)]
    fn plus(&self, other: &Self) -> Self {
        Self {
            moment: self.moment + other.moment,
            diagonal: self.diagonal + other.diagonal,
            products: self.products + other.products,
        }
    }

    /// Returns the linear and angular momentum of a body of this inertia and `mass`.
    #[inline(always)]
    fn momentum(
        &self,
        mass: Num<S>,
        angular: &Vector<S>,
        linear: &Vector<S>,
    ) -> (Vector<S>, Vector<S>) {
        let (d, p, v) = (&self.diagonal, &self.products, angular);
        let turned = Vector {
            x: d.x.times_plus(v.x, p.z.times_plus(v.y, p.y * v.z)),
            y: p.z.times_plus(v.x, d.y.times_plus(v.y, p.x * v.z)),
            z: p.y.times_plus(v.x, p.x.times_plus(v.y, d.z * v.z)),
        };
        (
            *linear * mass - self.moment.cross(angular),
            turned + self.moment.cross(linear),
        )
    }
}

/// The velocity at the root's origin per unit of a step's coordinate.
#[derive(Clone, Copy)]
struct Axis<S: Simd> {
    angular: Vector<S>,
    linear: Vector<S>,
}

/// Number of products that are computed before they go to the matrices; 1 MiB with the longest vectors.
const MAX_PRODUCTS: usize = 1 << 14;

/// The mass matrix by the composite-rigid-body algorithm (Featherstone, Rigid Body Dynamics
/// Algorithms, 2008, ch. 6): the momentum of all that a step moves, projected on each step above it.
/// Elements of steps on different branches are zero (ch. 6.4), and are neither computed nor written.
///
/// Products go to the matrices when there are many: all of a long chain are larger than its matrix,
/// and those of one step alone would write to all lanes' matrices, which miss the cache.
struct MassMatrix<'a> {
    mechanism: &'a Mechanism,
    masses: Vec<f64>,
    /// Several steps have one coordinate.
    is_shared: bool,
}

impl<'a> MassMatrix<'a> {
    fn of(mechanism: &'a Mechanism) -> Self {
        Self {
            mechanism,
            masses: mechanism.composite_masses(),
            is_shared: mechanism.shared.contains(&true),
        }
    }

    /// Writes products to the matrices of all lanes.
    #[inline(always)]
    fn add<S: Simd>(
        &self,
        products: &[S::f64s],
        elements: &[[usize; 2]],
        width: usize,
        rows: &mut [f64],
    ) {
        let flat = cast_slice::<_, f64>(products);
        for (lane, matrix) in rows.chunks_exact_mut(width).enumerate() {
            let products = flat.chunks_exact(S::F64_LANES);
            for (&[lower, upper], product) in elements.iter().zip(products) {
                let product = product[lane];
                if self.is_shared {
                    // Added: joints that follow another share its coordinate.
                    matrix[lower] += product;
                    if upper != lower {
                        matrix[upper] += product;
                    }
                } else {
                    matrix[lower] = product;
                    matrix[upper] = product;
                }
            }
        }
    }
}

/// Buffers of [`MassMatrix`].
struct Composites<S: Simd> {
    frames: Vec<Frame<S>>,
    inertias: Vec<Inertia<S>>,
    axes: Vec<Axis<S>>,
    /// Products that are not in the matrices yet, and the two elements that each is part of.
    products: Vec<S::f64s>,
    elements: Vec<[usize; 2]>,
}

impl Calculation for MassMatrix<'_> {
    type Scratch<S: Simd> = Composites<S>;

    fn inputs(&self) -> Vec<usize> {
        Poses(self.mechanism).inputs()
    }

    #[inline(always)]
    fn scratch<S: Simd>(&self, simd: S) -> Self::Scratch<S> {
        let zero = Vector::splat(simd, &Vector3::zeros());
        let none = Inertia {
            moment: zero,
            diagonal: zero,
            products: zero,
        };
        let axis = Axis {
            angular: zero,
            linear: zero,
        };
        let count = self.mechanism.steps.len() + 1;
        Composites {
            frames: self.mechanism.root_frames(simd),
            inertias: vec![none; count],
            axes: vec![axis; count],
            products: Vec::new(),
            elements: Vec::new(),
        }
    }

    #[inline(always)]
    fn write<S: Simd>(
        &self,
        simd: S,
        q: &[S::f64s],
        scratch: &mut Self::Scratch<S>,
        width: usize,
        rows: &mut [f64],
    ) {
        let Composites {
            frames,
            inertias,
            axes,
            products,
            elements,
        } = scratch;
        let size = self.mechanism.coordinates().len();
        let steps = &self.mechanism.steps;
        let zero = Vector::splat(simd, &Vector3::zeros());
        self.mechanism.frames(simd, q, frames);
        for (index, step) in steps.iter().enumerate() {
            let frame = &frames[index + 1];
            inertias[index + 1] = Inertia::placed(simd, &self.mechanism.lumps[index + 1], frame);
            let z = frame.z * Num::splat(simd, step.factor);
            axes[index + 1] = match step.is_turn {
                true => Axis {
                    angular: z,
                    linear: frame.origin.cross(&z),
                },
                false => Axis {
                    angular: zero,
                    linear: z,
                },
            };
        }
        for (index, Step { parent, .. }) in steps.iter().enumerate().rev() {
            inertias[*parent] = inertias[*parent].plus(&inertias[index + 1]);
        }
        for (index, step) in steps.iter().enumerate() {
            let Axis { angular, linear } = axes[index + 1];
            let mass = Num::splat(simd, self.masses[index + 1]);
            let (force, moment) = inertias[index + 1].momentum(mass, &angular, &linear);
            let mut at = index + 1;
            while let Some(Step {
                parent, coordinate, ..
            }) = self.mechanism.step(at)
            {
                let axis = &axes[at];
                let mut product = axis.angular.dot(&moment) + axis.linear.dot(&force);
                let (own, other) = (step.coordinate, *coordinate);
                if at != index + 1 && own == other {
                    // Two steps of one coordinate: both halves of the matrix are in one element.
                    product = product + product;
                }
                products.push(product.lanes);
                elements.push([own * size + other, other * size + own]);
                at = *parent;
            }
            if products.len() >= MAX_PRODUCTS || index + 1 == steps.len() {
                self.add::<S>(products, elements, width, rows);
                products.clear();
                elements.clear();
            }
        }
    }
}

/// The forces against gravity.
struct Gravity<'a> {
    mechanism: &'a Mechanism,
    masses: Vec<f64>,
    gravity: Vector3<f64>,
}

impl Calculation for Gravity<'_> {
    /// The frame, and the mass times centre, of each step and its descendants; the forces.
    type Scratch<S: Simd> = (Vec<Frame<S>>, Vec<Vector<S>>, Elements<S>);

    fn inputs(&self) -> Vec<usize> {
        Poses(self.mechanism).inputs()
    }

    #[inline(always)]
    fn scratch<S: Simd>(&self, simd: S) -> Self::Scratch<S> {
        let zero = Vector::splat(simd, &Vector3::zeros());
        let moments = vec![zero; self.mechanism.lumps.len()];
        let forces = Elements::dense(simd, self.mechanism.coordinates().len());
        (self.mechanism.root_frames(simd), moments, forces)
    }

    #[inline(always)]
    fn write<S: Simd>(
        &self,
        simd: S,
        q: &[S::f64s],
        (frames, moments, forces): &mut Self::Scratch<S>,
        width: usize,
        rows: &mut [f64],
    ) {
        self.mechanism.frames(simd, q, frames);
        let parts = self.mechanism.lumps.iter().zip(frames.iter());
        for ((lump, frame), moment) in parts.zip(moments.iter_mut()) {
            let own = frame.rotated(&Vector::splat(simd, &lump.moment));
            *moment = frame.origin.times_plus(Num::splat(simd, lump.mass), &own);
        }
        let gravity = Vector::splat(simd, &self.gravity);
        let out = &mut forces.values;
        out.fill(simd.splat_f64s(0.0));
        for (index, step) in self.mechanism.steps.iter().enumerate().rev() {
            let (frame, moment) = (&frames[index + 1], moments[index + 1]);
            moments[step.parent] = moments[step.parent] + moment;
            let mass = Num::splat(simd, self.masses[index + 1]);
            // The torque is that about the step's own origin.
            let load = match step.is_turn {
                true => frame.origin.times_minus(mass, &moment).cross(&gravity),
                false => gravity * mass,
            };
            let force = frame.z.dot(&load) * Num::splat(simd, step.factor);
            let to = &mut out[step.coordinate];
            *to = (Num::new(simd, *to) - force).lanes;
        }
        forces.write(width, rows);
    }
}
