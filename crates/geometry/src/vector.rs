//! Operations on coordinates in arrays, in single or double precision.

use num_traits::Float;

/// Subtracts `b` from `a`.
pub fn subtract<T: Float>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Adds two vectors.
pub fn add<T: Float>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Multiplies a vector by a factor.
pub fn scale<T: Float>(a: [T; 3], factor: T) -> [T; 3] {
    [a[0] * factor, a[1] * factor, a[2] * factor]
}

/// Returns the dot product.
pub fn dot<T: Float>(a: [T; 3], b: [T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the cross product.
pub fn cross<T: Float>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// Returns the length of a vector.
pub fn norm<T: Float>(a: [T; 3]) -> T {
    dot(a, a).sqrt()
}

/// Returns the squared distance between two points.
pub fn distance_squared<T: Float>(a: [T; 3], b: [T; 3]) -> T {
    let offset = subtract(a, b);
    dot(offset, offset)
}
