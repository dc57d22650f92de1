//! Batches of numbers from and to NumPy.

use std::sync::atomic::{AtomicBool, Ordering};

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::failure::{defect, usage};
use crate::work::{run, threads};

/// Minimum number of rows of a batch that is worth several threads.
const MIN_ROWS: usize = 64;
/// Maximum number of rows between two looks for Ctrl-C.
const MAX_ROWS: usize = 4096;
/// Number of rows of cheap calculations during which Ctrl-C may wait: about 0.1 s.
const MANY_ROWS: usize = 100_000;
/// The same as a number of elements: a mass matrix has the square of the coordinates.
const MANY_NUMBERS: usize = 1 << 23;
/// Number of rows that are computed at once on any processor: the lanes of its longest vectors.
const LANES: usize = 8;

/// The division of a batch among threads.
#[derive(Clone, Copy)]
pub struct Parts {
    /// Number of rows of a part.
    pub rows: usize,
    /// True if the batch takes so long that Python handles signals meanwhile, which costs a thread.
    pub is_long: bool,
}

impl Parts {
    /// Returns the parts of a batch of `count` rows of `width` numbers each, which are cheap to
    /// calculate.
    pub fn of(count: usize, width: usize) -> Self {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        // Several parts a thread, as other processes take time of some processors; multiples of the
        // lanes of a vector register.
        let rows = count.div_ceil(4 * threads).next_multiple_of(MIN_ROWS);
        let most = (MANY_NUMBERS / width.max(1)).max(LANES) / LANES * LANES;
        Self {
            rows: rows.clamp(MIN_ROWS, MAX_ROWS).min(most),
            is_long: count >= MANY_ROWS || count.saturating_mul(width) >= MANY_NUMBERS,
        }
    }
}

/// The results of a calculation: the number of elements a row, and the array to write them to.
pub struct Results<'py> {
    /// Number of elements for each row.
    pub width: usize,
    /// The caller's array of that many elements a row; `None` creates one.
    pub out: Option<Bound<'py, PyArray1<f64>>>,
}

impl Results<'_> {
    /// Results in a new array.
    pub fn new(width: usize) -> Self {
        Self { width, out: None }
    }
}

/// Calculates numbers for the rows of a batch, and returns them one after the other.
///
/// `part` gets some of the rows and their results, which are zero. `cancelled` becomes true if Python
/// raises an exception meanwhile.
pub fn calculate<'py>(
    py: Python<'py>,
    rows: &PyReadonlyArray2<'py, f64>,
    columns: usize,
    results: Results<'py>,
    parts: Parts,
    cancelled: &AtomicBool,
    part: impl Fn(&[f64], &mut [f64]) + Sync,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let &[count, given] = rows.shape() else {
        return Err(defect("the array has not two dimensions"));
    };
    if given != columns {
        return Err(usage(format!(
            "q has {given} columns; the robot has {columns} coordinates (dof_names)"
        )));
    }
    let values = rows
        .as_slice()
        .map_err(|_| usage("q is not C-contiguous"))?;
    let width = results.width;
    let is_new = results.out.is_none();
    let array = match results.out {
        Some(array) => array,
        None => {
            // NumPy from 2.2 on asks Linux for huge pages, which a `Vec` does not: the page faults of
            // 10,000 mass matrices of a humanoid take 0.1 s, ten times as long as the matrices.
            // Called through Python, it raises an exception if memory is short; `PyArray1::zeros`
            // panics.
            let zeros = py.import("numpy")?.getattr("zeros")?;
            let array = zeros.call1((count.saturating_mul(width),))?;
            array.cast_into::<PyArray1<f64>>()?
        }
    };
    if array.len() != count.saturating_mul(width) {
        return Err(defect("the array for results has another size"));
    }
    let mut view = array
        .try_readwrite()
        .map_err(|_| usage("out shares memory with q, or is in use"))?;
    let numbers = view
        .as_slice_mut()
        .map_err(|_| defect("the array for results is not contiguous"))?;
    let work = |index: usize, out: &mut [f64]| {
        let first = index * parts.rows;
        let last = first + out.len() / width;
        if !is_new {
            out.fill(0.0);
        }
        // A robot without coordinates has rows without numbers.
        let rows = values.get(first * columns..last * columns);
        part(rows.unwrap_or_default(), out);
    };
    let mut compute = || {
        numbers
            .par_chunks_mut(parts.rows * width)
            .enumerate()
            .for_each(|(index, out)| {
                if !cancelled.load(Ordering::Relaxed) {
                    work(index, out);
                }
            });
    };
    if width == 0 || count == 0 {
    } else if parts.is_long {
        run(py, cancelled, None, |_| compute())?;
    } else if count <= parts.rows {
        py.detach(|| work(0, numbers));
    } else {
        let pool = threads()?;
        py.detach(|| pool.install(compute));
    }
    drop(view);
    Ok(array)
}

/// Returns a part of a calculation that takes one row at a time.
///
/// `scratch` creates the buffers; `row` writes the numbers of a row.
pub fn by_row<S>(
    columns: usize,
    width: usize,
    scratch: impl Fn() -> S + Sync,
    row: impl Fn(&mut S, &[f64], &mut [f64]) + Sync,
) -> impl Fn(&[f64], &mut [f64]) + Sync {
    move |values, numbers| {
        let mut buffers = scratch();
        for (index, out) in numbers.chunks_exact_mut(width).enumerate() {
            let values = values.get(index * columns..(index + 1) * columns);
            row(&mut buffers, values.unwrap_or_default(), out);
        }
    }
}
