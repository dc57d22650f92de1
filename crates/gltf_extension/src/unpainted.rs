//! Colour of shapes without a material, which the reader converts back to none.

/// Linear grey, opaque.
pub const UNPAINTED: [f32; 4] = [0.6, 0.6, 0.6, 1.0];
