//! Diagnostic codes of the USD writer.

use urdf_usd_diagnostic::codes;

codes! {
    NAME_ENCODED Warning "usd-name-encoded":
        "USD cannot hold the name of a link that becomes a rigid body, or a sibling has it already.",
        "The prim gets the nearest name that USD can hold and the original as displayName. Simulators take a body's TF frame \
         from the prim's name (REP-158 §2.7), so they publish the encoded one.";
    FRAME_ID Warning "usd-frame-id":
        "The name of a link that is a TF frame is none that ROS allows: it has other characters than letters, digits and \
         underscores of ASCII, or a digit in front. tf2 takes it, but REP-158 (§2.7) does not.",
        "The frame keeps its name in the asset (`ros:frame:id`, or the prim's name). The REP-158 checker finds fault with it, \
         and simulators may publish the frame under another name.";
    MASS_MISSING Warning "link-without-mass": "A link that must be a rigid body has no mass, or none above zero.",
        "It gets the mass and inertia of a ball of 1 g and 5 cm radius, and never one computed from a density.";
    INERTIA_REPAIRED Info "inertia-repaired":
        "A link has a mass, but an inertia tensor that no body has: a principal moment that is not above zero, or one that is not \
         below the sum of the other two, with a margin of 2e-6. Programs that compute in single precision, such as Newton, reject \
         tensors without the margin.",
        "A moment that is not above zero becomes a thousandth of the largest one. If the largest is then not below the sum of the \
         others, these are raised until it is, by a margin of 4e-6: each gets half of what lacks, but not more than the largest. \
         If none is above zero, they become those of a ball of the same mass and 5 cm radius.";
    MATERIAL_MERGED Info "usd-material-merged":
        "Materials with different names have the same look. Each look is one material of the asset.",
        "Visuals of all of them are bound to one prim, which has the first name.";
    MIMIC Warning "usd-mimic-left-out":
        "A joint follows another, REP-158 of July 2026 is asked for (`rep158`), and no layer of an engine that is written says so: none is asked for \
         (`overlays`), or engines cannot express the relation. Or the asset is a USDZ package, which has no layers of engines.",
        "In the asset the joint moves freely. UsdPhysics has no mimic joints, and since July 2026 REP-158 has no neutral namespace for them.";
    NEWTON_MIMIC Warning "newton-mimic-left-out":
        "The overlay newton is asked for, and a joint follows another in a way that Newton cannot express: one turns and the \
         other slides, one has not exactly one degree of freedom, or they are in different trees.",
        "In Newton the joint moves freely. The neutral layers say that it follows, in the revision of June 2026 of REP-158.";
    PHYSX_MIMIC Warning "physx-mimic-left-out":
        "The overlay physx is asked for, and a joint follows another in a way that PhysX cannot express: one turns and the other slides, one \
         has not exactly one degree of freedom, or they are in different trees.",
        "In PhysX the joint moves freely. The neutral layers say that it follows, in the revision of June 2026 of REP-158.";
    MUJOCO_MIMIC Warning "mujoco-mimic-left-out":
        "The overlay mujoco is asked for, and a joint follows another in a way that its schemas cannot express: one turns and the other slides, one \
         has not exactly one degree of freedom, or they are in different trees.",
        "In MuJoCo the joint moves freely. The neutral layers say that it follows, in the revision of June 2026 of REP-158.";
    MUJOCO_LEFT_OUT Warning "mujoco-left-out":
        "The overlay mujoco is asked for, and MuJoCo's reader of OpenUSD has no word for a joint (a planar one, or one that closes a loop and is not \
         fixed), for a drive that sets an acceleration, or for a pair of a body and the geometry of the link world that does not collide.",
        "The planar joint is fixed in MuJoCo, the loop is open, the joint has no actuator, or the pair collides. `--formats mjcf` expresses all but \
         accelerations.";
    MUJOCO_IMAGE Info "mujoco-image":
        "The overlay mujoco is asked for, and materials have images that are no PNG, which MuJoCo's reader of OpenUSD refuses.",
        "In the overlay, the materials have a colour, metalness and roughness in place of these images.";
    ISAAC_POSE Warning "isaac-pose-left-out":
        "The overlay isaac is asked for, and a named pose sets no joint that has one position, or joints of several trees of the robot: no \
         chain of links has them.",
        "The overlay has no such pose.";
    ISAAC_POSE_BRANCHES Warning "isaac-pose-branches":
        "The overlay isaac is asked for, and a named pose sets joints of several branches of the robot: the schema describes a pose by one \
         chain of joints.",
        "The overlay has the pose with all of its joints; inverse kinematics moves those between its first and its last link.";
    TOO_MANY_PAIRS Warning "usd-too-many-pairs":
        "The pairs of links that need no collision check take more than 64 MiB of paths.",
        "Those of the links up to there are written.";
    BODIES_FLAT Warning "usd-bodies-flat":
        "The links are nested so deeply (more than 64), or have so long names, that paths through all of them would be written \
         again and again.",
        "The prims of all bodies stand in the default prim, as with --bodies flat, and their joints beside them. Joints and TF \
         frames are the same (docs/frames.md says what is different for a body that hangs on a frame); the asset no longer nests \
         links as REP-158 has it.";
    FRAMES_FLAT Warning "usd-frames-flat":
        "Links that are only frames hang on each other so deeply (more than 64) that paths through all of them would be written \
         again and again.",
        "The prim of each frame stands in the body that it is rigid in, in its place; bodies stand in the default prim. A \
         frame's parent in TF is then that body, not the frame before it.";
    RIGID_LOOP Warning "usd-loop-in-body":
        "A joint that moves closes a loop between two links of one rigid body, so it cannot move.",
        "The joint has no prim. Its words stay with the link that it leads to.";
    INTERNAL Error "usd-internal-error": "A layer could not be authored: a defect of urdf_usd.", "The layer is left out.";
}
