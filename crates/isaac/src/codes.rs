//! Diagnostic codes for the Isaac robot schema.

use urdf_usd_diagnostic::codes;

codes! {
    NO_ROBOT Error "isaac-no-robot":
        "No prim of the asset applies IsaacRobotAPI.",
        "There is nothing to validate. `urdf_usd isaac populate` makes the asset a robot.";
    TARGET Error "isaac-target-missing":
        "A list of a robot (isaac:physics:robotLinks, isaac:physics:robotJoints, isaac:robot:namedPoses) names a prim that does not exist.",
        "Programs ignore it. `urdf_usd isaac recalculate` removes it from the lists of links and joints.";
    TARGET_KIND Error "isaac-target-kind":
        "A list of a robot names a prim of the wrong kind: the list of links may name links, sites and robots, that of joints joints and \
         robots, that of poses IsaacNamedPose prims.",
        "Programs ignore it. `urdf_usd isaac recalculate` removes it from the lists of links and joints.";
    EMPTY Error "isaac-list-empty":
        "A robot has bodies or joints, but its list of links or joints is empty.",
        "Programs find no links or joints. `urdf_usd isaac populate` fills the lists.";
    LINK_API Error "isaac-link-api":
        "A rigid body of a robot does not apply IsaacLinkAPI.",
        "Programs that rely on the schema do not recognise it as a link. `urdf_usd isaac recalculate` applies it.";
    JOINT_API Error "isaac-joint-api":
        "A joint of a robot does not apply IsaacJointAPI, which all joints need, listed or not.",
        "Programs that rely on the schema do not recognise it as a joint. `urdf_usd isaac recalculate` applies it.";
    UNLISTED Info "isaac-unlisted":
        "A body, joint or site of a robot is not in its list. The lists need to name only the links and joints whose state programs report.",
        "Programs that rely on the lists do not report it. `urdf_usd isaac recalculate` appends it.";
    SCHEMA_KIND Error "isaac-schema-kind":
        "IsaacJointAPI is applied to a prim that is no joint, or IsaacLinkAPI to a joint.",
        "Programs that rely on the schema take the prim for a joint or a link that it is not.";
    FIRST_LINK Warning "isaac-first-link":
        "The list of links does not begin with the base: its first entry is a child of another link, or a site.",
        "The tree of links has the wrong root.";
    LOOP Warning "isaac-loop":
        "A joint closes a loop and is not excluded from the articulation (physics:excludeFromArticulation).",
        "Programs open the loop at an arbitrary joint, which depends on the order of the joints.";
    CIRCLE Error "isaac-robots-in-circle":
        "The lists of robots name each other in a cycle.",
        "Each robot is traversed once.";
    EXPLICIT Warning "isaac-explicit-list":
        "A layer authors a list of a robot explicitly, instead of prepending it (`prepend rel`).",
        "Entries in weaker layers are hidden. `urdf_usd isaac migrate` authors a prepended list over it.";
    DEPRECATED_SITE Warning "isaac-reference-point":
        "A prim applies IsaacReferencePointAPI, the former name of IsaacSiteAPI.",
        "Newer programs warn about it. `urdf_usd isaac migrate` applies IsaacSiteAPI instead.";
    DEPRECATED_DOF Warning "isaac-dof-offset":
        "A joint has attributes for the order of its degrees of freedom (isaac:physics:Tr_X:DoFOffset, …), which the list \
         isaac:physics:DofOffsetOpOrder has replaced.",
        "Newer programs do not read them. `urdf_usd isaac migrate` converts them to the list.";
    DOF_ORDER Error "isaac-dof-order":
        "The order of a joint's degrees of freedom (isaac:physics:DofOffsetOpOrder) has a duplicate, a token other than TransX, TransY, \
         TransZ, RotX, RotY and RotZ, or an axis that the joint's limits lock; or a PhysicsJoint with several degrees of freedom has no order.",
        "Programs use another order of the degrees of freedom.";
    TOKEN Error "isaac-token":
        "A robot's type or licence, or a site's forward axis, is not a value that the schema allows.",
        "Programs use the fallback of the schema.";
    POSE Error "isaac-pose":
        "A named pose is incomplete or wrong: it does not have one finite value per joint, its joints or its first or last link do not \
         exist, it sets a fixed joint, or its first or last prim is neither a link nor a site.",
        "Programs cannot apply the pose.";
    POSE_CHAIN Warning "isaac-pose-chain":
        "A named pose sets joints that are not between its first and its last link, or not in the order of that chain, or no joints \
         connect these links. A pose of several branches of the robot is one of them.",
        "Inverse kinematics for the pose does not move the other joints, and programs that count along the chain exchange values.";
    POSE_VALID Error "isaac-pose-valid":
        "A named pose is marked as valid (isaac:robot:pose:valid), and sets a joint outside its limits, or its last link does not reach \
         the target, by forward kinematics.",
        "Programs apply a pose that the robot cannot take, or that leads elsewhere.";
    POSE_UNLISTED Warning "isaac-pose-unlisted":
        "A named pose is not in the list of poses of its robot (isaac:robot:namedPoses).",
        "Programs that rely on the list do not find it.";
    INSTANCE Warning "isaac-in-instance":
        "An opinion would have to be authored on a prim below an instance, where no layer can author.",
        "The opinion is left out. Make the prim above not instanceable (`instanceable = false`), or author the opinion in the referenced layer.";
    BAD_JSON Error "pose-json":
        "A file of poses is not valid JSON, or not in the format that `urdf_usd pose export` writes.",
        "The file, or the pose that the message names, is not imported.";
    NO_CHAIN Error "pose-no-chain":
        "A pose sets no joint with a single position, or joints of several trees of the robot, so that no chain of links contains them.",
        "The pose is not stored, or not exported.";
    POSE_LEFT_OUT Warning "pose-joint-left-out":
        "A file of positions sets a joint with several positions, which a named pose cannot set.",
        "The pose is stored without that joint.";
    ROBOT_TYPE Warning "isaac-robot-type":
        "A robot's type is an example of the schema's documentation that the schema's file does not allow.",
        "Programs that compare types do not know it.";
    POSE_NAME Error "pose-name":
        "The name or the group of a pose is empty, longer than 100 characters, or has control characters.",
        "The pose is not stored.";
    POSE_COUNT Error "pose-count":
        "An asset already has 1000 named poses.",
        "The pose is not stored. A pose that replaces one of the same name and group still is.";
}
