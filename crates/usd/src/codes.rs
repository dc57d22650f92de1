//! The findings of the USD writer.

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
        "A link has a mass, but an inertia tensor that no body has: a principal moment that is not above zero, or one that is \
         above the sum of the other two.",
        "A moment that is not above zero becomes a thousandth of the largest one. If the largest is then above the sum of the \
         others, each of these gets half of what lacks. If none is above zero, they become those of a ball of the same mass and \
         5 cm radius.";
    NEWTON_MIMIC Warning "newton-mimic-left-out":
        "The overlay newton is asked for, and a joint follows another in a way that Newton cannot express: one turns and the \
         other slides, one has not exactly one degree of freedom, or they are in different trees.",
        "In Newton the joint moves freely. The neutral layers say that it follows.";
    ISAAC_POSE Warning "isaac-pose-left-out":
        "The overlay isaac is asked for, and a named pose sets no joint that has one position, or joints of several trees of the robot: no \
         chain of links has them.",
        "The overlay has no such pose.";
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
    READ_COMPOSITION Warning "usd-read-not-composed":
        "A layer, a reference, a payload or another arc of an asset that is read leads nowhere, or to what can't be read.",
        "What it would have brought in is missing. The rest of the asset is read.";
    READ_WHOLE_STAGE Info "usd-read-whole-stage":
        "The default prim of an asset that is read holds no rigid body, or there is none, but bodies stand elsewhere in the stage.",
        "The robot is read from the whole stage.";
    READ_JOINT Error "usd-read-joint-left-out":
        "A joint of an asset that is read is disabled, names no body or one that is not there, has both ends on one body, or is of a \
         type that is not known.",
        "The robot has no such joint. A body that nothing else holds becomes a root.";
    READ_JOINT_KIND Warning "usd-read-joint-approximated":
        "A joint of an asset that is read allows a motion for which the robot model has no kind: a ball joint, a distance, two axes of \
         rotation; or its limits lock it.",
        "It becomes the kind that the finding names.";
    READ_APART Info "usd-read-joint-away-from-zero":
        "The bodies of a joint do not stand in the stage as they do when the joint is at zero.",
        "The frames of the joint place the bodies: the robot is read with all joints at zero.";
    READ_PIVOT Info "usd-read-joint-off-origin":
        "A joint turns a body about a line that does not go through the origin of the body's prim. In a robot, a joint's frame is the \
         frame of the link that it moves.",
        "A link of its own stands on the axis, and the body is fixed to it. All bodies move as in the asset.";
    READ_BASE Info "usd-read-base-placed":
        "The base of a robot that nothing holds does not stand at the origin of the stage with z up.",
        "Its place in the stage is left out. If the stage has y up, the base hangs on a link that has z up.";
    READ_NAME Warning "usd-read-name-taken":
        "Two bodies or frames of an asset that is read have one name.", "The later one gets a number behind its name.";
    READ_POSE Warning "usd-read-pose":
        "A named pose of an asset that is read (IsaacNamedPose) sets what is no joint of the robot, or has not one value for each joint.",
        "The pose is read without that.";
    READ_MIMIC Error "usd-read-mimic-left-out":
        "A joint of an asset that is read follows itself, a joint that is not there, or one without exactly one degree of freedom.",
        "The joint moves freely.";
    READ_MASS_ASSUMED Warning "usd-read-mass-assumed":
        "A body of an asset that is read has neither a mass nor a density.",
        "Its mass is that of its colliders with 1000 kg/m³, as UsdPhysics says.";
    READ_MASS_MISSING Warning "usd-read-mass-missing":
        "A body of an asset that is read has no mass, or no inertia, and no collider to compute it from.",
        "The link has no inertial, or one without moments of inertia.";
    READ_SHAPE Error "usd-read-shape-left-out":
        "Geometry of an asset that is read cannot be on a link: it has no extent, no face with an area, or is an infinite plane that \
         collides.",
        "The link is without it.";
    READ_AS_MESH Info "usd-read-shape-as-mesh":
        "Geometry of an asset that is read is a solid that the robot model does not have: a cone, an ellipsoid, a solid that is sheared.",
        "It is read as a mesh of 48 sides.";
    READ_LEFT_OUT Info "usd-read-left-out":
        "An asset that is read has a prim of a kind for which the robot model has no word: curves, points.",
        "It is left out.";
    READ_AREA_LIGHT Warning "usd-read-area-light":
        "A light of an asset that is read is a rectangle, a disk, a cylinder, a mesh, or of a type that UsdLux does not have. Simulators \
         and glTF have none of them (REP-158 §3.6).",
        "It is left out.";
    READ_DOME_LIGHT Info "usd-read-dome-light":
        "An asset that is read has a dome light: the light of a surrounding, which is no part of a robot.", "It is left out.";
    READ_DARK_LIGHT Info "usd-read-dark-light":
        "A light of an asset that is read has no intensity, or no surface to shine from.", "It is left out.";
    READ_LIGHT Warning "usd-read-light-approximated":
        "A light of an asset that is read says more than lights of glTF and of simulators do: a focus, an IES profile, a cone wider than \
         90°, other brightness for diffuse and for specular reflection, filters.",
        "It is read without that; a wider cone becomes one of 90°.";
    READ_MATERIAL Warning "usd-read-material-left-out":
        "A material of an asset that is read has no UsdPreviewSurface, or one with a part that the robot model has no word for; or what \
         is bound is not there.",
        "The shape shows without it: without that part, in its display colour, or in grey.";
    READ_VARIANT Info "usd-read-variant-baked":
        "A variant set of an asset that is read changes more than materials, or has too many variants to compare. The sets of REP-158 §1.3 \
         (`collision_fidelity`, `visual_representation`) always do and are not told.",
        "The robot is that of the selected variant.";
    READ_TEXTURE Warning "usd-read-texture-left-out":
        "An image of an asset that is read is missing or can't be read.", "The material shows without it.";
    INTERNAL Error "usd-internal-error": "A layer could not be authored: a defect of urdf_usd.", "The layer is left out.";
}
