//! Diagnostic codes of the USD reader.

use urdf_usd_diagnostic::codes;

codes! {
    COMPOSITION Warning "usd-read-not-composed":
        "A layer, a reference, a payload or another arc of an asset that is read leads nowhere, or to what can't be read.",
        "What it would have brought in is missing. The rest of the asset is read.";
    WHOLE_STAGE Info "usd-read-whole-stage":
        "The default prim of an asset that is read holds no rigid body, or there is none, but bodies stand elsewhere in the stage.",
        "The robot is read from the whole stage.";
    JOINT Error "usd-read-joint-left-out":
        "A joint of an asset that is read is disabled, names no body or one that is not there, has both ends on one body, or is of a \
         type that is not known.",
        "The robot has no such joint. A body that nothing else holds becomes a root.";
    JOINT_KIND Warning "usd-read-joint-approximated":
        "A joint of an asset that is read keeps a distance, or its limits lock it, or it closes a loop with several degrees of freedom.",
        "It becomes the kind that the finding names.";
    CHAIN Info "usd-read-joint-chain":
        "A joint of an asset that is read has several degrees of freedom (a ball joint, a PhysicsJoint with several free axes), or several \
         joints with one degree of freedom each connect the same two bodies, as converters of MuJoCo's files write them.",
        "The robot has a chain of joints with one degree of freedom each, and links without mass between them. MJCF has them as joints of \
         one body, or as a ball joint.";
    DRIVE Warning "usd-read-drive-instance":
        "A drive (PhysicsDriveAPI) of an asset that is read is named after an axis on a joint that turns or slides, or has the name of no \
         degree of freedom of its joint, or its joint follows another. UsdPhysics gives a revolute joint the drive `angular`, and a \
         prismatic one `linear`.",
        "A drive that is named after the joint's own axis is read; others are left out.";
    APART Info "usd-read-joint-away-from-zero":
        "The bodies of a joint do not stand in the stage as they do when the joint is at zero.",
        "The frames of the joint place the bodies: the robot is read with all joints at zero.";
    PIVOT Info "usd-read-joint-off-origin":
        "A joint turns a body about a line that does not go through the origin of the body's prim. In a robot, a joint's frame is the \
         frame of the link that it moves.",
        "A link of its own stands on the axis, and the body is fixed to it. All bodies move as in the asset.";
    BASE Info "usd-read-base-placed":
        "The base of a robot that nothing holds does not stand at the origin of the stage with z up.",
        "Its place in the stage is left out. If the stage has y up, the base hangs on a link that has z up.";
    NAME Warning "usd-read-name-taken":
        "Two bodies or frames of an asset that is read have one name.", "The later one gets a number behind its name.";
    STATE Info "usd-read-joint-state":
        "Joints of an asset that is read have a state (`state:*:physics:position` of PhysX, `newton:*:position` of Newton) that is not zero.",
        "Their positions are the named pose `initial_state`, and the initial positions of their drives. Velocities are left out.";
    POSE Warning "usd-read-pose":
        "A named pose of an asset that is read (IsaacNamedPose) sets what is no joint of the robot, or has not one value for each joint.",
        "The pose is read without that.";
    ISAAC_LEFT_OUT Warning "usd-read-isaac-left-out":
        "An asset that is read has data of Isaac's robot schema for which the robot model has no word: attachment points \
         (IsaacAttachmentPointAPI), surface grippers (IsaacSurfaceGripper), an order of degrees of freedom other than translations before \
         rotations, and what a robot within another one says about itself.",
        "It is left out. Links and joints of a robot within another one are part of the robot.";
    MIMIC Error "usd-read-mimic-left-out":
        "A joint of an asset that is read follows itself, a joint that is not there, or one without exactly one degree of freedom; or by a \
         polynomial of a higher degree (`mjc:coef2`).",
        "The joint moves freely.";
    MASS_ASSUMED Warning "usd-read-mass-assumed":
        "A body of an asset that is read has neither a mass nor a density.",
        "Its mass is that of its colliders with 1000 kg/m³, as UsdPhysics says.";
    MASS_MISSING Warning "usd-read-mass-missing":
        "A body of an asset that is read has no mass, or no inertia, and no collider to compute it from.",
        "The link has no inertial, or one without moments of inertia.";
    SHAPE Error "usd-read-shape-left-out":
        "Geometry of an asset that is read cannot be on a link: it has no extent, no face with an area, or is an infinite plane that \
         collides.",
        "The link is without it.";
    AS_MESH Info "usd-read-shape-as-mesh":
        "Geometry of an asset that is read is a solid that the robot model does not have: a cone, an ellipsoid, a solid that is sheared.",
        "It is read as a mesh of 48 sides.";
    LEFT_OUT Info "usd-read-left-out":
        "An asset that is read has a prim of a kind for which the robot model has no word: curves, points.",
        "It is left out.";
    ATTRIBUTES Info "usd-read-attributes-left-out":
        "Prims of an asset that is read have attributes of engines, editors or users, which are not defined by OpenUSD, REP-158 or \
         this program; or attributes of UsdPhysics that a robot model does not have: a kinematic body, velocities at the start, the \
         force that breaks a joint, other approximations than a convex hull; or file paths in `assetInfo`.",
        "They are left out. The finding counts them by namespace.";
    COLLISION_FILTER Warning "usd-read-collision-filter":
        "An asset that is read lets the bodies that a joint connects collide (`physics:collisionEnabled`). Or its collision groups filter \
         some colliders of two links but not all, have members by other collections, `includeRoot` or expressions, or exceed a limit: \
         1000 groups, 1000 sets of groups, 100,000 pairs of links.",
        "Links that a joint connects do not collide; links that are filtered in part collide. Such members, groups and further pairs are \
         left out.";
    PROHIBITED_INTERFACE Warning "usd-read-prohibited-interface":
        "A ROS interface of an asset that is read belongs to the simulator (/clock, simulation_interfaces), so an asset must not have it \
         (REP-158 §2.9).",
        "It is left out.";
    AREA_LIGHT Warning "usd-read-area-light":
        "A light of an asset that is read is a rectangle, a disk, a cylinder, a mesh, or of a type that UsdLux does not have. Simulators \
         and glTF have none of them (REP-158 §3.6).",
        "It is left out.";
    DOME_LIGHT Info "usd-read-dome-light":
        "An asset that is read has a dome light: the light of a surrounding, which is no part of a robot.", "It is left out.";
    DARK_LIGHT Info "usd-read-dark-light":
        "A light of an asset that is read has no intensity, or no surface to shine from.", "It is left out.";
    LIGHT Warning "usd-read-light-approximated":
        "A light of an asset that is read says more than lights of glTF and of simulators do: a focus, an IES profile, a cone wider than \
         90°, other brightness for diffuse and for specular reflection, filters.",
        "It is read without that; a wider cone becomes one of 90°.";
    MATERIAL Warning "usd-read-material-left-out":
        "A material of an asset that is read has neither a UsdPreviewSurface nor an MDL shader with parameters for colour, images, \
         roughness, metalness, opacity or normals; or it has a part for which the robot model has no word; or the prim that is bound is \
         missing or not a material.",
        "The shape shows without it: without that part, in its display colour, or in grey.";
    VARIANT Info "usd-read-variant-baked":
        "A variant set of an asset that is read changes more than materials, or has too many variants to compare. The sets of REP-158 §1.3 \
         (`collision_fidelity`, `visual_representation`) always do and are not told.",
        "The robot is that of the selected variant.";
    UNSELECTED Warning "usd-read-variant-unselected":
        "A variant set of an asset that is read selects none of its variants.",
        "The asset is read without them. `--variant` selects one.";
    TEXTURE Warning "usd-read-texture-left-out":
        "An image of an asset that is read is missing or can't be read.", "The material shows without it.";
}
