//! The findings that this module reports.

use urdf_usd_diagnostic::{Code, Severity};

/// Every code of this module.
pub const ALL: &[&Code] = &[
    &FORMAT,
    &UNREADABLE,
    &UNSUPPORTED,
    &EMPTY,
    &TOO_LARGE,
    &DEGENERATE,
    &BAD_VALUES,
    &ASSET,
    &SKIPPED,
    &SIZE_MISMATCH,
    &REFERENCE,
    &MATERIAL_LIBRARY,
    &MATERIAL,
    &OPACITY_ZERO,
    &SIMPLIFIED,
    &TEXTURE_MISSING,
    &TEXTURE_UNREADABLE,
    &TEXTURE_FORMAT,
    &TEXTURE_TOO_LARGE,
    &TEXTURE_TOO_MANY_PIXELS,
    &TEXTURE_DEEP,
    &HULL_FLAT,
    &OPEN,
];

const GEOMETRY_LOST: &str = "The shape has no geometry; the rest of the robot goes on.";
const COLOUR_STAYS: &str = "The material keeps its plain colour.";

/// Not a mesh format that is read.
pub const FORMAT: Code = Code {
    id: "mesh-format",
    severity: Severity::Error,
    meaning: "The file is not of a mesh format that is read: STL, OBJ, Collada (DAE), glTF or GLB.",
    outcome: GEOMETRY_LOST,
};

/// Broken file.
pub const UNREADABLE: Code = Code {
    id: "mesh-unreadable",
    severity: Severity::Error,
    meaning: "The mesh file breaks the rules of its format so that it can't be read.",
    outcome: GEOMETRY_LOST,
};

/// A feature that is not read.
pub const UNSUPPORTED: Code = Code {
    id: "mesh-unsupported",
    severity: Severity::Error,
    meaning: "The mesh file needs a feature that is not read, such as geometry compressed by Draco.",
    outcome: GEOMETRY_LOST,
};

/// No triangle.
pub const EMPTY: Code = Code {
    id: "mesh-empty",
    severity: Severity::Error,
    meaning: "The mesh file holds no triangle with an area.",
    outcome: GEOMETRY_LOST,
};

/// Beyond the limits.
pub const TOO_LARGE: Code = Code {
    id: "mesh-too-large",
    severity: Severity::Error,
    meaning: "Instances or shared data in the mesh file multiply it beyond what its size justifies, or it is nested too deeply.",
    outcome: GEOMETRY_LOST,
};

/// Triangles without area.
pub const DEGENERATE: Code = Code {
    id: "mesh-degenerate-triangles",
    severity: Severity::Info,
    meaning: "Some triangles have no area.",
    outcome: "They are left out.",
};

/// Values that can't be used.
pub const BAD_VALUES: Code = Code {
    id: "mesh-bad-values",
    severity: Severity::Warning,
    meaning: "Some faces refer to vertices that don't exist or whose coordinates are not finite numbers.",
    outcome: "They are left out.",
};

/// A unit or up axis that makes no sense.
pub const ASSET: Code = Code {
    id: "mesh-asset",
    severity: Severity::Warning,
    meaning: "What a Collada file says of its unit or its up axis makes no sense.",
    outcome: "The unit is taken as a metre, the up axis as y.",
};

/// Lines and points.
pub const SKIPPED: Code = Code {
    id: "mesh-skipped-primitives",
    severity: Severity::Info,
    meaning: "The mesh file holds lines, points or other primitives that are no surface.",
    outcome: "They are left out.",
};

/// A wrong count.
pub const SIZE_MISMATCH: Code = Code {
    id: "mesh-size-mismatch",
    severity: Severity::Warning,
    meaning: "A binary STL file declares another number of triangles than it holds.",
    outcome: "All whole triangles that it holds are read.",
};

/// A reference to nothing.
pub const REFERENCE: Code = Code {
    id: "mesh-reference",
    severity: Severity::Warning,
    meaning: "A reference inside the mesh file leads nowhere, to another file, or round in a circle.",
    outcome: "What it refers to is left out.",
};

/// No MTL.
pub const MATERIAL_LIBRARY: Code = Code {
    id: "mesh-material-library",
    severity: Severity::Warning,
    meaning: "A material library (MTL) of an OBJ file can't be opened.",
    outcome: "Faces that use its materials have no material of their own, so the robot's material shows.",
};

/// Unknown material.
pub const MATERIAL: Code = Code {
    id: "mesh-material",
    severity: Severity::Warning,
    meaning: "A mesh uses a material that its file does not define, or defines in a way that is not read.",
    outcome: "Those faces have no material of their own, so the robot's material shows.",
};

/// Opacity of zero.
pub const OPACITY_ZERO: Code = Code {
    id: "mesh-opacity-zero",
    severity: Severity::Info,
    meaning: "A material is fully transparent by the letter, which exporters write by mistake.",
    outcome: "It is taken as opaque.",
};

/// Not carried over.
pub const SIMPLIFIED: Code = Code {
    id: "mesh-material-simplified",
    severity: Severity::Info,
    meaning: "A material says something that has no counterpart in the output, such as a factor on a texture.",
    outcome: "It is left out, or a mean stands for it.",
};

/// No image.
pub const TEXTURE_MISSING: Code = Code {
    id: "mesh-texture-missing",
    severity: Severity::Warning,
    meaning: "An image that a mesh refers to can't be opened.",
    outcome: COLOUR_STAYS,
};

/// Broken image.
pub const TEXTURE_UNREADABLE: Code = Code {
    id: "texture-unreadable",
    severity: Severity::Warning,
    meaning: "The file of an image is empty, damaged, or a pointer of Git LFS.",
    outcome: COLOUR_STAYS,
};

/// Unknown image format.
pub const TEXTURE_FORMAT: Code = Code {
    id: "texture-format",
    severity: Severity::Warning,
    meaning: "An image is not of a format that is read: PNG, JPEG, TIFF, BMP, TGA, GIF or WebP.",
    outcome: COLOUR_STAYS,
};

/// Image beyond the limits.
pub const TEXTURE_TOO_LARGE: Code = Code {
    id: "texture-too-large",
    severity: Severity::Warning,
    meaning: "An image is larger than 16384 pixels on a side, 64 megapixels or 64 MiB.",
    outcome: COLOUR_STAYS,
};

/// Too many images.
pub const TEXTURE_TOO_MANY_PIXELS: Code = Code {
    id: "texture-too-many-pixels",
    severity: Severity::Warning,
    meaning: "All images of a robot together have more than 256 megapixels.",
    outcome: COLOUR_STAYS,
};

/// More than eight bits.
pub const TEXTURE_DEEP: Code = Code {
    id: "texture-deep",
    severity: Severity::Info,
    meaning: "An image has more than 8 bits a channel, which REP-158 §3.2 does not allow.",
    outcome: "It becomes a PNG of 8 bits.",
};

/// No volume.
pub const HULL_FLAT: Code = Code {
    id: "hull-flat",
    severity: Severity::Warning,
    meaning: "The points of a collider's mesh are in one plane or on one line, so they have no convex hull.",
    outcome: "The default variant gets a hull that is 0.1 % of the mesh's size (the diagonal of its box) thick; a mesh without any size \
              keeps its triangles.",
};
/// A collider that encloses nothing.
pub const OPEN: Code = Code {
    id: "mesh-open",
    severity: Severity::Info,
    meaning: "A collider's mesh is not watertight: it has edges that are not of exactly two triangles, or are wound differently in them.",
    outcome: "The default variant has its convex hull, which is closed. The variant `trimesh` of `collision_fidelity` has the mesh as it is.",
};
