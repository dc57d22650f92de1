//! What the glTF writer reports.

use urdf_usd_diagnostic::{Code, Severity};

/// A joint that glTF's strict tree has no place for.
pub const LOOP_JOINT: Code = Code {
    id: "gltf-loop-joint",
    severity: Severity::Warning,
    meaning: "A joint closes a loop; glTF nodes form a strict tree and EXT_robot_kinematics has no word for loops.",
    outcome: "The joint moves nothing in the GLB. It is kept in the model's extras, under `loops`.",
};

/// A mimic that the extension can't express.
pub const MIMIC_LEFT_OUT: Code = Code {
    id: "gltf-mimic-left-out",
    severity: Severity::Warning,
    meaning: "A mimic relation involves a joint without exactly one degree of freedom, or follows a joint that closes a loop.",
    outcome: "The joint is written without `mimic`, so that it can be set on its own.",
};

/// A texture on a mesh that does not say where it goes.
pub const TEXTURE_WITHOUT_UVS: Code = Code {
    id: "gltf-texture-without-coordinates",
    severity: Severity::Warning,
    meaning: "A material has a texture, but the mesh that it is on has no texture coordinates.",
    outcome: "The part has the material's colour.",
};

/// Images that are too many.
pub const TEXTURES_LEFT_OUT: Code = Code {
    id: "gltf-textures-left-out",
    severity: Severity::Warning,
    meaning: "glTF has fixed channels for roughness, metalness, occlusion and opacity; the images that have to be put together for them have more than 256 megapixels.",
    outcome: "Those beyond are left out of the GLB.",
};

/// More than the container can hold.
pub const TOO_LARGE: Code = Code {
    id: "gltf-too-large",
    severity: Severity::Error,
    meaning: "The geometry and images need more than the 4 GiB that a GLB can hold.",
    outcome: "No GLB is written.",
};

/// All of them.
pub const ALL: &[&Code] = &[&LOOP_JOINT, &MIMIC_LEFT_OUT, &TEXTURE_WITHOUT_UVS, &TEXTURES_LEFT_OUT, &TOO_LARGE];
