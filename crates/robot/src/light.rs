//! Lights on a robot: headlamps, beacons, the lamp beside a camera.

use super::{LinkId, Pose};
use urdf_usd_diagnostic::Place;

/// A light on a link. It shines along -z of its own frame.
#[derive(Clone, Debug)]
pub struct Light {
    /// The name as the source gives it; not necessarily unique.
    pub name: String,
    /// Shape of the emitter.
    pub kind: LightKind,
    /// The link that it sits on.
    pub link: LinkId,
    /// The light's frame in the link's.
    pub origin: Pose,
    /// Linear red, green and blue, each from 0 to 1; `intensity` is multiplied with it.
    pub color: [f32; 3],
    /// Not negative: lux of a directional light, on what faces it; candela of all others, along the
    /// axis of a spot.
    pub intensity: f64,
    /// Metres beyond which it gives no light, if the source says; above zero. Always `None` of a
    /// directional light.
    pub range: Option<f64>,
    /// Position in the source.
    pub place: Place,
}

/// The shapes that a robot's lights have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LightKind {
    /// Parallel light from very far away.
    Directional {
        /// Radians: how wide the source looks from here; from 0 to 2π.
        angle: f64,
    },
    /// Light to all sides.
    Point {
        /// Metres, of the ball that shines; 0 for a point.
        radius: f64,
    },
    /// Light in a cone.
    Spot {
        /// Metres, of the ball that shines; 0 for a point.
        radius: f64,
        /// Radians from the axis up to which it is as bright as on it; from 0 to `outer`.
        inner: f64,
        /// Radians from the axis beyond which there is no light; above 0, at most π/2.
        outer: f64,
    },
}

impl Light {
    /// The colour and the intensity of a light that is `intensity` times `color` bright: where the
    /// colour has more than 1 of something, the intensity takes it.
    pub fn balanced(color: [f32; 3], intensity: f64) -> ([f32; 3], f64) {
        let color = color.map(|part| if part.is_finite() { part.max(0.0) } else { 0.0 });
        let most = color.into_iter().fold(1.0, f32::max);
        (color.map(|part| part / most), intensity * f64::from(most))
    }
}
