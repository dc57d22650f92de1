//! Lights on a robot: headlamps, beacons, the lamp beside a camera.

use super::{LinkId, Pose};
use urdf_usd_diagnostic::Place;

/// A light on a link. It shines along -z of its frame.
#[derive(Clone, Debug)]
pub struct Light {
    /// The name as the source gives it; not necessarily unique.
    pub name: String,
    /// Shape of the emitter.
    pub kind: LightKind,
    /// The link that it is mounted on.
    pub link: LinkId,
    /// The light's frame in the link's.
    pub origin: Pose,
    /// Linear red, green and blue, each from 0 to 1; `intensity` is multiplied with it.
    pub color: [f32; 3],
    /// Not negative: illuminance of a directional light at normal incidence, lux; luminous
    /// intensity of all others, along the axis of a spot, candela.
    pub intensity: f64,
    /// Metres beyond which it gives no light, if given; above zero. Always `None` for a directional
    /// light.
    pub range: Option<f64>,
    /// Position in the source.
    pub place: Place,
}

/// Shapes of lights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LightKind {
    /// Parallel light from an infinite distance.
    Directional {
        /// Angular diameter of the source, radians; from 0 to 2π.
        angle: f64,
    },
    /// Light in all directions.
    Point {
        /// Radius of the luminous sphere, metres; 0 for a point.
        radius: f64,
    },
    /// Light in a cone.
    Spot {
        /// Radius of the luminous sphere, metres; 0 for a point.
        radius: f64,
        /// Angle from the axis within which the intensity is full, radians; from 0 to `outer`.
        inner: f64,
        /// Angle from the axis beyond which there is no light, radians; above 0, at most π/2.
        outer: f64,
    },
}

impl Light {
    /// Normalises a colour and an intensity: a colour with a component above 1 is scaled down, and
    /// the intensity up.
    pub fn balanced(color: [f32; 3], intensity: f64) -> ([f32; 3], f64) {
        let color = color.map(|part| if part.is_finite() { part.max(0.0) } else { 0.0 });
        let most = color.into_iter().fold(1.0, f32::max);
        (color.map(|part| part / most), intensity * f64::from(most))
    }
}
