//! The findings of the pipeline itself.

use urdf_usd_diagnostic::codes;

codes! {
    SOURCE_KIND Error "source-kind": "The input is of a kind that cannot be converted.", "Nothing is converted.";
    SOURCE_UNREADABLE Error "source-unreadable": "An OpenUSD file that is to be converted can't be opened, or has no robot in it.",
        "Nothing is converted.";
    SOURCE_SEVERAL Warning "source-several-robots": "A glTF file that is to be converted has several kinematic models.",
        "The first is converted.";
    VARIANTS_UNUSED Info "source-variants-unused": "Variants are chosen, and the source is no OpenUSD asset.",
        "The source is converted as it is.";
    TEXTURE_WITHOUT_COORDINATES Warning "texture-without-coordinates":
        "A texture is given for a shape that has no texture coordinates: a primitive, or a mesh without any.",
        "The shape shows the mean colour of the picture; how it would lie on it is not defined.";
    CONTROLLER_FILE Warning "controller-file-unread": "A file that says which controllers the robot has can't be read.",
        "Goes on; if no other names any, the robot has controllers by convention.";
    STAND_IN Info "stand-in":
        "A box stands in for a visual mesh that can't be read, as was asked for: around the link's colliders, or with its mass \
         and inertia.",
        "The visual shows the box, under its own name and with its own material; other lost meshes of the link show nothing.";
    NO_STAND_IN Info "stand-in-none":
        "A box was asked for in place of a visual mesh that can't be read, but nothing says how large the link is.",
        "The visual shows nothing.";
    MASS_ASSUMED Info "mass-assumed":
        "A link has no mass in its source, and got one as was asked for: by a density (`density`) or from a file (`masses_file`).",
        "The mass and an inertia of even density are written, and marked as assumed in OpenUSD (`urdf:inertial:assumed`) and glTF.";
    MASS_UNUSED Warning "mass-unused":
        "The file of masses names a link that the robot does not have, or one with a mass in its source.", "The line is not used.";
    MASSES_FILE Error "masses-file": "The file of masses is no YAML with a number above zero for each link.", "Nothing is converted.";
    IN_PIECES Info "robot-in-pieces":
        "Most parts of a robot are far from the parts that they hang on, with all joints at zero. Meshes in other axes or units than the \
         robot's make that.",
        "It is converted as it is.";
    MESH_LOOKS Info "urdf-mesh-looks":
        "A mesh shows more than the format of the URDF's mesh files can hold (`mesh_format`): STL has no colours, OBJ no image of occlusion \
         and no factors of images.",
        "The file has the triangles; with STL the visual has the material of most of them in the URDF.";
    LOOKS Info "looks-left-out":
        "A robot has other looks (KHR_materials_variants, or variant sets that change materials only), and formats are written that can't \
         hold them: OpenUSD, URDF, SDF, MJCF.",
        "These have the look that the robot has by itself.";
    SPHERES_NONE Error "spheres-no-collision": "An XRDF is to be written, and no link of the robot has collision geometry.",
        "Nothing is written.";
    SPHERES_TOO_FINE Error "spheres-too-fine":
        "The collision geometry of a link can't be covered with at most two thousand spheres that stand out by no more than was asked for.",
        "Goes on; the link has no spheres.";
    XRDF_OPTION Error "xrdf-option": "An option for an XRDF that is to be written names a joint, link or pose that the robot does not have, \
        or a joint that has not one position of its own.", "Nothing is written.";
    XRDF_ASSUMED_LIMITS Info "xrdf-assumed-limits":
        "Nothing says how fast a joint may accelerate, which an XRDF must say. The values that are assumed are those of NVIDIA's XRDF of the UR10e.",
        "The XRDF has 12 rad/s² (m/s²) and 500 rad/s³ (m/s³) for it.";
    XRDF_ASSUMED_TOOL Info "xrdf-assumed-tool":
        "Nothing says which frame the tool is. The frame that most joints are above is taken, the last of those that fixed joints hold to it.",
        "The XRDF has it as its tool frame.";
    XRDF_TOUCHING Warning "xrdf-touching":
        "Spheres of two links that are no neighbours touch at the default positions, where an XRDF must have none that do.",
        "The XRDF ignores the pair: nothing keeps these links off each other.";
    OUTPUT Error "output-unwritable": "The asset cannot be written.", "Nothing is published; the last revision stays.";
    UNCHECKED Warning "asset-unchecked": "The asset was to be held against REP-158, and could not be.",
        "It is published; nothing is known of the rules that it breaks.";
    SIMREADY_INCOMPLETE Warning "simready-incomplete":
        "SimReady's metadata is asked for, and something that it must say is not known: who made the robot, or its licence.",
        "The field is left out of the metadata; SimReady's validation will name it.";
    TYPE_MISSING Warning "ros-type-missing":
        "A ROS workspace is sourced (AMENT_PREFIX_PATH), and it does not have the type of a topic, service or action of the \
         asset.",
        "The interface is in the asset all the same. A simulator that does not find the type leaves it out (REP-158 §2.3).";
    TOO_MUCH_MESH Error "convert-too-much-mesh":
        "The meshes of a robot together have more than 16 Mi triangles, or their files more than 2 GiB.",
        "Nothing is published; the last revision stays.";
    TIMED_OUT Error "convert-timed-out": "The conversion took longer than its time limit.",
        "Nothing is published; the last revision stays.";
    OUT_OF_MEMORY Error "convert-out-of-memory":
        "The process of a conversion, or of another command, needed more memory than its limit (`memory_limit`), or than the machine has.",
        "Nothing is published; the last revision stays. The node goes on, and sets the robot aside until its description, a file of it or a \
         parameter changes.";
    CRASHED Error "convert-crashed": "The process of a conversion, or of another command, ended without an answer: a defect of urdf_usd.",
        "Nothing is published; the last revision stays. The node goes on, and sets the robot aside until its description, a file of it or a \
         parameter changes.";
    CANCELLED Error "convert-cancelled": "The conversion was called off before it was done.",
        "Nothing is published; the last revision stays.";
    INTERNAL Error "internal-error": "A defect of urdf_usd.", "Nothing is published; the last revision stays.";
}
