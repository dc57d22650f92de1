//! Reads cameras.

use std::f64::consts::PI;

use super::codes;
use super::findings::Findings;
use super::shapes::Drafts;
use urdf_usd_gltf_extension::cameras;
use urdf_usd_gltf_extension::{Entry, Json};
use urdf_usd_robot::{Camera, LinkId, Pose, Sensor, SensorKind, decimal};

/// Default image width in pixels, if the file has none.
const WIDTH: u32 = 640;
/// Far distance in metres of a camera whose far plane is at infinity.
const FAR: f64 = 1e4;

/// A camera at a node of a link, not yet resolved.
pub struct Draft {
    /// Index of the camera in the document.
    pub camera: usize,
    /// Pose of the camera in the frame of the link.
    pub pose: Pose,
    /// Name of the node.
    pub name: Option<String>,
    /// JSON pointer to the node.
    pub at: String,
}

/// Returns the camera at a node, if it has one.
pub fn at_node(entry: &Entry<'_>, pose: Pose) -> Option<Draft> {
    let camera = entry.json.get("camera").and_then(Json::index)?;
    let name = entry
        .json
        .get("name")
        .and_then(Json::text)
        .map(str::to_owned);
    Some(Draft {
        camera,
        pose: cameras::of_node(&pose),
        name,
        at: entry.at.clone(),
    })
}

/// Reads the cameras of a model.
pub fn read(root: &Json, drafts: &[(LinkId, Drafts)], findings: &mut Findings) -> Vec<Sensor> {
    let all = root.get("cameras").map_or(&[][..], Json::items);
    let of_links = drafts
        .iter()
        .flat_map(|(link, drafts)| drafts.cameras.iter().map(move |draft| (link, draft)));
    let mut read = Vec::new();
    for (link, draft) in of_links {
        let Some((json, camera)) = all
            .get(draft.camera)
            .and_then(|json| Some((json, camera(json)?)))
        else {
            let message = format!(
                "{} has a camera that does not exist, or of which nothing says what it sees",
                draft.at
            );
            findings.report(
                &codes::CAMERA,
                &draft.at,
                message,
                "correct the index, or give the camera its yfov or its xmag and ymag",
            );
            continue;
        };
        let named = json
            .get("name")
            .and_then(Json::text)
            .filter(|name| !name.is_empty())
            .map(str::to_owned);
        read.push(Sensor {
            name: named
                .or_else(|| draft.name.clone())
                .unwrap_or_else(|| "camera".to_owned()),
            kind: SensorKind::Camera(camera),
            link: *link,
            origin: draft.pose,
            frame: None,
            frame_name: None,
            interfaces: Vec::new(),
            place: findings.place(&draft.at),
        });
    }
    read
}

/// Reads the parameters of a camera.
fn camera(json: &Json) -> Option<Camera> {
    let number = |view: &str, key: &str| {
        json.at(&[view, key])
            .and_then(Json::number)
            .filter(|number| *number > 0.0 && number.is_finite())
    };
    let pixels = |key: &str| {
        let count = json.at(&["extras", key]).and_then(Json::index)?;
        u32::try_from(count)
            .ok()
            .filter(|count| (1..=65_535).contains(count))
    };
    let size = |aspect: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 1 and 65535"
        )]
        let height = (f64::from(WIDTH) / aspect).round().clamp(1.0, 65_535.0) as u32;
        pixels("width")
            .zip(pixels("height"))
            .unwrap_or((WIDTH, height))
    };
    let range = |view: &str| {
        let near = number(view, "znear").unwrap_or(0.01);
        (near, number(view, "zfar").unwrap_or(FAR).max(near * 1.001))
    };
    match json.get("type").and_then(Json::text)? {
        "perspective" => {
            let vertical = number("perspective", "yfov").filter(|angle| *angle < PI)?;
            // Without an aspect ratio, glTF uses that of the viewport; 4:3 is a substitute.
            let (width, height) = size(number("perspective", "aspectRatio").unwrap_or(4.0 / 3.0));
            let ratio = number("perspective", "aspectRatio")
                .unwrap_or_else(|| f64::from(width) / f64::from(height));
            let computed = 2.0 * ((vertical / 2.0).tan() * ratio).atan();
            let (near, far) = range("perspective");
            let camera = |horizontal_fov| Camera {
                horizontal_fov,
                parallel_width: None,
                width,
                height,
                near,
                far,
            };
            // The file has the vertical angle. The horizontal angle is rounded so that it gives
            // exactly the same vertical one, with as few digits as possible: a written angle is
            // read back unchanged.
            let is_same = |angle: f64| camera(angle).vertical_fov() == vertical;
            let nearest = [computed, computed.next_up(), computed.next_down()]
                .into_iter()
                .find(|angle| is_same(*angle));
            Some(camera(decimal::shortest(
                nearest.unwrap_or(computed),
                is_same,
            )))
        }
        "orthographic" => {
            let (x, y) = number("orthographic", "xmag").zip(number("orthographic", "ymag"))?;
            let (width, height) = size(x / y);
            let (near, far) = range("orthographic");
            Some(Camera {
                horizontal_fov: 1.0,
                parallel_width: Some(2.0 * x),
                width,
                height,
                near,
                far,
            })
        }
        _ => None,
    }
}
