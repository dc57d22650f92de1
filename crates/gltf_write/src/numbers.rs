//! Conversion of numbers to the representations of JSON and buffers.

/// Returns `value` if it is finite. JSON can't represent infinity, and an infinite limit is none.
pub fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// Quantizes a direction to signed normalised 8-bit components.
pub fn eight_bits(direction: [f32; 3]) -> [i8; 3] {
    direction.map(|x| (x * f32::from(i8::MAX)).round() as i8)
}

/// Quantizes a value in [0, 1] to 16 bits; NaN becomes 0.
pub fn sixteen_bits(share: f32) -> u16 {
    (share * f32::from(u16::MAX)).round() as u16
}

/// Returns the smallest and largest coordinates.
pub fn bounds<'a>(positions: impl IntoIterator<Item = &'a [f32; 3]>) -> ([f32; 3], [f32; 3]) {
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for position in positions {
        for ((low, high), &part) in low.iter_mut().zip(&mut high).zip(position) {
            (*low, *high) = (low.min(part), high.max(part));
        }
    }
    (low, high)
}
