//! Numbers as JSON and buffers hold them.

/// `value` if JSON can hold it; an infinite bound is no bound.
pub fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// A direction in 8 bits.
pub fn eight_bits(direction: [f32; 3]) -> [i8; 3] {
    direction.map(|x| (x * f32::from(i8::MAX)).round() as i8)
}

/// A share of one in 16 bits; what is no number is nothing.
pub fn sixteen_bits(share: f32) -> u16 {
    (share * f32::from(u16::MAX)).round() as u16
}

/// The smallest and largest coordinates.
pub fn bounds<'a>(positions: impl IntoIterator<Item = &'a [f32; 3]>) -> ([f32; 3], [f32; 3]) {
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for position in positions {
        for ((low, high), &part) in low.iter_mut().zip(&mut high).zip(position) {
            (*low, *high) = (low.min(part), high.max(part));
        }
    }
    (low, high)
}
