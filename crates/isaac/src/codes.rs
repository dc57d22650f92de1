//! The findings about the Isaac robot schema.

use urdf_usd_diagnostic::codes;

codes! {
    NO_ROBOT Error "isaac-no-robot":
        "No prim of the asset applies IsaacRobotAPI.",
        "There is nothing to hold against the schema. `urdf_usd isaac populate` makes the asset a robot.";
    TARGET Error "isaac-target-missing":
        "A list of a robot (isaac:physics:robotLinks, isaac:physics:robotJoints, isaac:robot:namedPoses) names a prim that is not there.",
        "Programs leave it out. `urdf_usd isaac recalculate` removes it from the lists of links and joints.";
    TARGET_KIND Error "isaac-target-kind":
        "A list of a robot names a prim that does not belong there: in the list of links what is no link, site or robot, in that of joints \
         what is no joint or robot, in that of poses what is no IsaacNamedPose.",
        "Programs leave it out. `urdf_usd isaac recalculate` removes it from the lists of links and joints.";
    EMPTY Error "isaac-list-empty":
        "A robot has bodies or joints, but its list of links or joints is empty.",
        "Programs find nothing of it. `urdf_usd isaac populate` fills the lists.";
    LINK_API Error "isaac-link-api":
        "A rigid body of a robot does not apply IsaacLinkAPI.",
        "Programs that go by the schema do not see it as a link. `urdf_usd isaac recalculate` applies it.";
    JOINT_API Error "isaac-joint-api":
        "A joint of a robot does not apply IsaacJointAPI; all joints of a robot do, whether they are listed or not.",
        "Programs that go by the schema do not see it as a joint. `urdf_usd isaac recalculate` applies it.";
    UNLISTED Info "isaac-unlisted":
        "A body or joint of a robot is not in its list. The lists need to name only what is reported.",
        "Programs that go by the lists alone do not report it. `urdf_usd isaac recalculate` appends it.";
    FIRST_LINK Warning "isaac-first-link":
        "The list of links does not begin with the base: its first link hangs on another link of the robot, or it begins with a site.",
        "The tree of links, which begins with the first, is another than the robot's.";
    LOOP Warning "isaac-loop":
        "A joint closes a loop and is not excluded from the articulation (physics:excludeFromArticulation).",
        "The loop is opened at a joint that depends on the order of the joints.";
    CIRCLE Error "isaac-robots-in-circle":
        "Robots name each other in their lists in a circle.",
        "Each is gone through once.";
    EXPLICIT Warning "isaac-explicit-list":
        "A layer gives a list of a robot in full, not as what is put in front of what weaker layers have (`prepend rel`).",
        "What weaker layers have is hidden. `urdf_usd isaac migrate` puts a list that is prepended over it.";
    DEPRECATED_SITE Warning "isaac-reference-point":
        "A prim applies IsaacReferencePointAPI, the former name of IsaacSiteAPI.",
        "Newer programs warn of it. `urdf_usd isaac migrate` applies IsaacSiteAPI instead.";
    DEPRECATED_DOF Warning "isaac-dof-offset":
        "A joint has attributes for the place of each axis among the degrees of freedom (isaac:physics:Tr_X:DoFOffset, …), which one list, \
         isaac:physics:DofOffsetOpOrder, has taken the place of.",
        "Newer programs do not read them. `urdf_usd isaac migrate` makes the list of them.";
    DOF_ORDER Error "isaac-dof-order":
        "The order of a joint's degrees of freedom (isaac:physics:DofOffsetOpOrder) has something twice, or what is none of TransX, TransY, \
         TransZ, RotX, RotY and RotZ.",
        "Programs order the degrees of freedom otherwise.";
    TOKEN Error "isaac-token":
        "A robot's type or licence, or a site's forward axis, is none that the schema allows.",
        "Programs take the schema's fallback.";
    POSE Error "isaac-pose":
        "A named pose does not say what it must: it has not one value for each joint, or its joints or its first or last link are not there.",
        "The pose cannot be taken as it is meant.";
    POSE_UNLISTED Warning "isaac-pose-unlisted":
        "A named pose stands in a robot whose list of poses (isaac:robot:namedPoses) does not name it.",
        "Programs that go by the list do not find it.";
    INSTANCE Warning "isaac-in-instance":
        "What is to be authored belongs on a prim below an instance, where no layer can author anything.",
        "It is left out. Make the prim above no instance (`instanceable = false`), or author it in the layer that is referenced.";
    BAD_JSON Error "pose-json":
        "A file of poses is no JSON, or not in the form that `urdf_usd pose export` writes.",
        "Nothing of it, or not the pose that is named, is taken.";
    NO_CHAIN Error "pose-no-chain":
        "A pose sets no joint that has one position, or joints of several trees of the robot: no chain of links has them.",
        "The pose is not stored, or not exported.";
    POSE_NAME Error "pose-name":
        "The name or the group of a pose is empty, longer than 100 characters, or has control characters.",
        "The pose is not stored.";
    POSE_COUNT Error "pose-count":
        "An asset has 1000 named poses already.",
        "The pose is not stored. One in place of another of the same name and group still is.";
}
