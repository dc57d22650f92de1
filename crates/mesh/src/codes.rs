//! The findings that this module reports.

use urdf_usd_diagnostic::codes;

const GEOMETRY_LOST: &str = "The shape has no geometry; the rest of the robot goes on.";
const COLOUR_STAYS: &str = "The material keeps its plain colour.";

codes! {
    FORMAT Error "mesh-format": "The file is not of a mesh format that is read: STL, OBJ, Collada (DAE), glTF or GLB.",
        GEOMETRY_LOST;
    UNREADABLE Error "mesh-unreadable": "The mesh file breaks the rules of its format so that it can't be read.", GEOMETRY_LOST;
    UNSUPPORTED Error "mesh-unsupported": "The mesh file needs a feature that is not read, such as geometry compressed by Draco.",
        GEOMETRY_LOST;
    EMPTY Error "mesh-empty": "The mesh file holds no triangle with an area.", GEOMETRY_LOST;
    BUFFER_MISSING Error "mesh-buffer-missing":
        "A glTF file refers to a buffer (.bin), which holds its triangles, and it can't be opened.", GEOMETRY_LOST;
    TOO_LARGE Error "mesh-too-large":
        "Instances or shared data in the mesh file multiply it beyond what its size justifies, or it is nested too deeply.",
        GEOMETRY_LOST;
    DEGENERATE Info "mesh-degenerate-triangles": "Some triangles have no area.", "They are left out.";
    BAD_VALUES Warning "mesh-bad-values":
        "Some faces refer to vertices that don't exist or whose coordinates are not finite numbers.",
        "They are left out.";
    ASSET Warning "mesh-asset": "What a Collada file says of its unit or its up axis makes no sense.",
        "The unit is taken as a metre, the up axis as y.";
    SKIPPED Info "mesh-skipped-primitives": "The mesh file holds lines, points or other primitives that are no surface.",
        "They are left out.";
    SIZE_MISMATCH Warning "mesh-size-mismatch": "A binary STL file declares another number of triangles than it holds.",
        "All whole triangles that it holds are read.";
    MORPHS Info "mesh-morph-targets":
        "A mesh of a glTF, Collada or OpenUSD file has morph targets (blend shapes).",
        "The mesh has its base shape; targets and weights are left out.";
    REFERENCE Warning "mesh-reference": "A reference inside the mesh file leads nowhere, to another file, or round in a circle.",
        "What it refers to is left out.";
    MATERIAL_LIBRARY Warning "mesh-material-library": "A material library (MTL) of an OBJ file can't be opened.",
        "Faces that use its materials have no material of their own, so the robot's material shows.";
    MATERIAL Warning "mesh-material":
        "A mesh uses a material that its file does not define, or defines in a way that is not read.",
        "Those faces have no material of their own, so the robot's material shows.";
    OPACITY_ZERO Info "mesh-opacity-zero": "A material is fully transparent by the letter, which exporters write by mistake.",
        "It is taken as opaque.";
    SIMPLIFIED Info "mesh-material-simplified":
        "A material says something that has no counterpart in the output, such as a factor on a texture.",
        "It is left out, or a mean stands for it.";
    TEXTURE_MISSING Warning "mesh-texture-missing": "An image that a mesh refers to can't be opened.", COLOUR_STAYS;
    TEXTURE_UNREADABLE Warning "texture-unreadable": "The file of an image is empty, damaged, or a pointer of Git LFS.",
        COLOUR_STAYS;
    TEXTURE_FORMAT Warning "texture-format": "An image is not of a format that is read: PNG, JPEG, TIFF, BMP, TGA, GIF or WebP.",
        COLOUR_STAYS;
    TEXTURE_TOO_LARGE Warning "texture-too-large": "An image is larger than 16384 pixels on a side, 64 megapixels or 64 MiB.",
        COLOUR_STAYS;
    TEXTURE_TOO_MANY_PIXELS Warning "texture-too-many-pixels": "All images of a robot together have more than 256 megapixels.",
        COLOUR_STAYS;
    TEXTURE_DEEP Info "texture-deep": "An image has more than 8 bits a channel, which REP-158 §3.2 does not allow.",
        "It becomes a PNG of 8 bits.";
    HULL_FLAT Warning "hull-flat":
        "The points of a collider's mesh are in one plane or on one line, so they have no convex hull.",
        "The default variant gets a hull that is 0.1 % of the mesh's size (the diagonal of its box) thick; a mesh without any \
         size keeps its triangles.";
    PARTS_COARSE Info "convex-parts-coarse":
        "The convex parts of a collider's mesh deviate from it by more than 2 % of its size, since there are too few, or it encloses \
         no volume.",
        "The variant `convex_decomposition` of `collision_fidelity`, MJCF, and colliders of a glTF have these parts.";
    PARTS_NONE Info "convex-parts-none":
        "A collider's mesh has no convex parts: it has no extent, or more than 4 million triangles.",
        "It collides as its convex hull.";
    OPEN Info "mesh-open":
        "A collider's mesh is not watertight: it has edges that are not of exactly two triangles, or are wound differently in \
         them.",
        "The default variant has its convex hull, which is closed. The variant `trimesh` of `collision_fidelity` has the mesh as \
         it is.";
}
