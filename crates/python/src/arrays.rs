//! Batches of numbers from and to NumPy.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::failure::{defect, usage};
use crate::work::threads;

/// Minimum number of rows of a batch that is worth several threads.
const MIN_ROWS: usize = 64;

/// Calculates `width` numbers for each row of `rows`, and returns them one after the other.
///
/// `scratch` creates the buffers of a thread; `row` writes the numbers of a row.
pub fn calculate<'py, S>(
    py: Python<'py>,
    rows: &PyReadonlyArray2<'py, f64>,
    columns: usize,
    width: usize,
    scratch: impl Fn() -> S + Sync,
    row: impl Fn(&mut S, &[f64], &mut [f64]) + Sync,
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
    let pool = threads()?;
    // NumPy from 2.2 on asks Linux for huge pages, which a `Vec` does not: the page faults of 10,000
    // mass matrices of a humanoid take 0.1 s, ten times as long as the matrices. Called through
    // Python, it raises an exception if memory is short; `PyArray1::zeros` panics.
    let zeros = py.import("numpy")?.getattr("zeros")?;
    let array = zeros.call1((count.saturating_mul(width),))?;
    let array = array.cast_into::<PyArray1<f64>>()?;
    let mut view = array.readwrite();
    let numbers = view
        .as_slice_mut()
        .map_err(|_| defect("a new array is not contiguous"))?;
    py.detach(|| {
        if width == 0 {
            return;
        }
        // A robot without coordinates has rows without numbers.
        let of = |index: usize| {
            values
                .get(index * columns..(index + 1) * columns)
                .unwrap_or_default()
        };
        if count < MIN_ROWS {
            let mut buffers = scratch();
            for (index, out) in numbers.chunks_exact_mut(width).enumerate() {
                row(&mut buffers, of(index), out);
            }
        } else {
            pool.install(|| {
                let batch = numbers.par_chunks_exact_mut(width).enumerate();
                batch
                    .with_min_len(MIN_ROWS)
                    .for_each_init(&scratch, |buffers, (index, out)| {
                        row(buffers, of(index), out);
                    });
            });
        }
    });
    drop(view);
    Ok(array)
}
