//! What [`check`](super::check) reports. Each code is a rule of the specification's section "Validation rules", with its number there.

use crate::diagnostic::codes;

codes! {
    // The file.
    UNREADABLE Error "kinematics-unreadable":
        "The file is no glTF 2.0, neither GLB nor JSON, or its JSON is larger than 512 MiB.",
        "Nothing else is checked.";
    MISSING Error "kinematics-missing": "The file does not use EXT_robot_kinematics.", "Nothing else is checked.";
    NOT_DECLARED Error "kinematics-not-declared": "The extension is there, but not listed in extensionsUsed.",
        "Loaders may ignore the extension, and the file is no valid glTF.";
    REQUIRED Warning "kinematics-required":
        "The extension is listed in extensionsRequired, though the robot can be drawn without it.",
        "Viewers that do not know the extension refuse the file.";
    SCHEMA Error "kinematics-schema":
        "The extension's JSON does not follow its schema: a property is missing, unknown or of another type.",
        "Loaders may fail, or ignore what they do not understand.";

    // References and names.
    NODE_INDEX Error "kinematics-node-index": "The index of a node is not that of a node.",
        "Loaders can't find the frame, the degree of freedom or the shape.";
    LINK_INDEX Error "kinematics-link-index": "The index of a link is not that of a link of the model.",
        "Loaders can't tell what the joint connects.";
    JOINT_INDEX Error "kinematics-joint-index": "The index of a joint is not that of a joint of the model.",
        "Loaders can't tell what the joint follows.";
    DUPLICATE_NAME Error "kinematics-duplicate-name": "Two links or two joints of a model have the same name.",
        "Programs that find joints by name move the wrong one.";
    SHARED_NODE Error "kinematics-shared-node":
        "One node has two parts, such as the origin and the degree of freedom of a joint, or the frames of two links.",
        "Setting a joint overwrites a fixed transform, or moves what it should not.";

    // The trees.
    NODE_CYCLE Error "kinematics-node-cycle": "Nodes are their own descendants.",
        "The file is no valid glTF; loaders may not end.";
    NODE_PARENTS Error "kinematics-node-parents": "A node is the child of several nodes, or twice of one.",
        "The file is no valid glTF; which frame the node is in is undefined.";
    SEVERAL_PARENTS Error "kinematics-several-parents": "A link is the child of several joints.",
        "Its pose is undefined: a link has one node, which has one parent.";
    JOINT_LOOP Error "kinematics-joint-loop": "Links are their own descendants through joints.",
        "There is no order from parent to child, so no pose.";
    LINK_OUTSIDE_ROOT Error "kinematics-link-outside-root": "A link's node is not below the model's rootNode.",
        "Moving or hiding the robot by its root leaves the link behind.";

    // The chain of a joint.
    CHAIN_BROKEN Error "kinematics-chain-broken":
        "The nodes of a joint do not lead from the parent link's node over originNode and dofNodes to the child link's node.",
        "Setting the joint does not move the child link as it should.";
    CHAIN_INDIRECT Warning "kinematics-chain-indirect": "Further nodes stand between the nodes of a joint.",
        "The joint moves, but its frame is not the one that the axis is given in if those nodes have a transform.";
    DOF_NODES Error "kinematics-dof-nodes": "A joint has not as many dofNodes as dofs.",
        "Loaders can't tell which node a degree of freedom drives.";
    DOF_COUNT Error "kinematics-dof-count":
        "A joint has not as many degrees of freedom as its type: none if fixed, two if planar, six if floating, one otherwise.",
        "Loaders can't set the joint as its type says.";
    DOF_MOTION Error "kinematics-dof-motion":
        "A degree of freedom turns where the joint's type says that it slides, or slides where it should turn.",
        "The joint moves in another way than its type says.";

    // Transforms.
    DOF_NODE_MATRIX Error "kinematics-dof-node-matrix": "A dof node has a matrix.",
        "Loaders and animations set translation or rotation, which a node with a matrix does not have.";
    ORIGIN_IN_DOF Error "kinematics-origin-in-dof":
        "A dof node holds, in the channel that it drives, a transform that is no motion of its degree of freedom.",
        "The first position that is set overwrites it, and the child link jumps.";
    DOF_NODE_REST Warning "kinematics-dof-node-rest": "A dof node is not at identity at rest.",
        "The file shows the robot in another pose than at zero, or the joint's origin is in two places.";
    LINK_TRANSFORM Warning "kinematics-link-transform": "A link's node has a transform of its own.",
        "The link's frame is not the joint's, so poses differ from those of the source.";
    SCALED_FRAME Error "kinematics-scaled-frame":
        "The node of a link, an origin or a degree of freedom is scaled, mirrored or sheared.",
        "Positions below it are no longer in metres, or turn the other way.";
    ROOT_TRANSFORM Warning "kinematics-root-transform": "The model's rootNode has a transform.",
        "Frames and axes are not in glTF's axes but in others that the root turns, scales or moves.";

    // Axes.
    AXIS_ZERO Error "kinematics-axis-zero": "An axis has no length.", "There is no direction to move along or turn about.";
    AXIS_NOT_UNIT Warning "kinematics-axis-not-unit": "An axis is not of unit length.",
        "Loaders that do not normalise it move the joint too far or too little.";
    PLANAR_BASIS Error "kinematics-planar-basis": "The two axes of a planar joint are not at right angles.",
        "Positions in the plane are not metres in two independent directions.";
    FLOATING_BASIS Error "kinematics-floating-basis":
        "The translations or the rotations of a floating joint are not along three axes at right angles, in right-handed order.",
        "Some poses can't be reached, or are mirrored.";
    FLOATING_ORDER Warning "kinematics-floating-order":
        "The axes of a floating joint are not [0, 0, 1], [1, 0, 0], [0, 1, 0]: x, y and z of the joint's frame in glTF axes.",
        "Positions x y z and roll pitch yaw of the source mean other motions.";

    // Limits, mimics, configurations.
    LIMITS_REVERSED Error "kinematics-limits-reversed": "A lower limit is above the upper limit.",
        "No position is allowed; loaders that clamp may fail.";
    CONTINUOUS_BOUNDS Warning "kinematics-continuous-bounds": "A continuous joint has a lower or an upper limit.",
        "Some loaders stop the joint there, others turn it on.";
    DEFAULT_OUTSIDE_LIMITS Warning "kinematics-default-outside-limits":
        "The default position of a degree of freedom is outside its limits.",
        "The robot starts where it may not be.";
    MIMIC_ITSELF Error "kinematics-mimic-itself": "A joint follows itself.", "It has no position.";
    MIMIC_CHAIN Error "kinematics-mimic-chain": "A joint follows one that follows another.",
        "Loaders evaluate one step, in any order, so the position is undefined.";
    MIMIC_DOFS Error "kinematics-mimic-dofs": "A joint follows another, and one of them has not exactly one degree of freedom.",
        "There is no single number to follow or to set.";
    CONFIGURATION_LENGTH Error "kinematics-configuration-length": "A configuration has not one entry per joint.",
        "Positions are set on the wrong joints, or not at all.";
    CONFIGURATION_SHAPE Error "kinematics-configuration-shape":
        "An entry of a configuration is not a number for a joint with one degree of freedom, or an array with one number per \
         degree of freedom for others.",
        "Loaders can't apply it.";
    CONFIGURATION_OUTSIDE_LIMITS Warning "kinematics-configuration-outside-limits":
        "A configuration puts a joint outside its limits.",
        "The robot can't take that pose; loaders that clamp show another.";

    // Animations and shapes.
    ANIMATION_CHANNEL Error "kinematics-animation-channel":
        "An animation changes something of a dof node that its degree of freedom does not drive.",
        "The robot takes poses that no joint position gives.";
    ANIMATED_FRAME Warning "kinematics-animated-frame": "An animation moves the node of a link or of a joint's origin.",
        "Frames that the extension holds to be fixed move.";
    ANIMATED_MATRIX Error "kinematics-animated-matrix": "An animated node of the robot has a matrix.",
        "The file is no valid glTF; the animation can't be played.";
    SHAPE_OUTSIDE_LINK Error "kinematics-shape-outside-link":
        "A node in visualNodes or collisionNodes is not below its link's node, or belongs to a link further down.",
        "The shape does not move with the link that claims it.";
    COLLISION_DRAWN Warning "kinematics-collision-drawn":
        "A collision shape would be drawn: neither KHR_node_visibility hides it nor is its material invisible.",
        "Viewers draw the robot's collision geometry over what it looks like.";

    // What is tolerated.
    CONFIGURATION_FORM Warning "kinematics-configuration-form":
        "Positions of a configuration are one number per degree of freedom in a row, or a fixed joint has a number.",
        "Loaders that expect one entry per joint, and [] for a fixed one, can't use the configuration.";
    OTHER_PROPERTY Warning "kinematics-other-property":
        "A source has `otherXml`, or what a joint has for safety or calibration a property that the extension does not define.",
        "Loaders ignore it.";
}
