//! The colour that is written for what has no material, and that is read back as none.

/// Linear grey, opaque.
pub const UNPAINTED: [f32; 4] = [0.6, 0.6, 0.6, 1.0];
