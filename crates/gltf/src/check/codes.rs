//! What [`check`](super::check) reports. Each code is a rule of the specification's section "Validation rules", with its number there.

use urdf_usd_diagnostic::{Code, Severity};

// The file.

/// The file is no glTF 2.0, neither GLB nor JSON, or its JSON is larger than 512 MiB.
pub const UNREADABLE: Code = Code {
    id: "kinematics-unreadable",
    severity: Severity::Error,
    meaning: "The file is no glTF 2.0, neither GLB nor JSON, or its JSON is larger than 512 MiB.",
    outcome: "Nothing else is checked.",
};

/// The file does not use EXT_robot_kinematics.
pub const MISSING: Code = Code {
    id: "kinematics-missing",
    severity: Severity::Error,
    meaning: "The file does not use EXT_robot_kinematics.",
    outcome: "Nothing else is checked.",
};

/// The extension is there, but not listed in extensionsUsed.
pub const NOT_DECLARED: Code = Code {
    id: "kinematics-not-declared",
    severity: Severity::Error,
    meaning: "The extension is there, but not listed in extensionsUsed.",
    outcome: "Loaders may ignore the extension, and the file is no valid glTF.",
};

/// The extension is listed in extensionsRequired, though the robot can be drawn without it.
pub const REQUIRED: Code = Code {
    id: "kinematics-required",
    severity: Severity::Warning,
    meaning: "The extension is listed in extensionsRequired, though the robot can be drawn without it.",
    outcome: "Viewers that do not know the extension refuse the file.",
};

/// The extension's JSON does not follow its schema: a property is missing, unknown or of another type.
pub const SCHEMA: Code = Code {
    id: "kinematics-schema",
    severity: Severity::Error,
    meaning: "The extension's JSON does not follow its schema: a property is missing, unknown or of another type.",
    outcome: "Loaders may fail, or ignore what they do not understand.",
};

// References and names.

/// The index of a node is not that of a node.
pub const NODE_INDEX: Code = Code {
    id: "kinematics-node-index",
    severity: Severity::Error,
    meaning: "The index of a node is not that of a node.",
    outcome: "Loaders can't find the frame, the degree of freedom or the shape.",
};

/// The index of a link is not that of a link of the model.
pub const LINK_INDEX: Code = Code {
    id: "kinematics-link-index",
    severity: Severity::Error,
    meaning: "The index of a link is not that of a link of the model.",
    outcome: "Loaders can't tell what the joint connects.",
};

/// The index of a joint is not that of a joint of the model.
pub const JOINT_INDEX: Code = Code {
    id: "kinematics-joint-index",
    severity: Severity::Error,
    meaning: "The index of a joint is not that of a joint of the model.",
    outcome: "Loaders can't tell what the joint follows.",
};

/// Two links or two joints of a model have the same name.
pub const DUPLICATE_NAME: Code = Code {
    id: "kinematics-duplicate-name",
    severity: Severity::Error,
    meaning: "Two links or two joints of a model have the same name.",
    outcome: "Programs that find joints by name move the wrong one.",
};

/// One node has two parts, such as the origin and the degree of freedom of a joint, or the frames of two links.
pub const SHARED_NODE: Code = Code {
    id: "kinematics-shared-node",
    severity: Severity::Error,
    meaning: "One node has two parts, such as the origin and the degree of freedom of a joint, or the frames of two links.",
    outcome: "Setting a joint overwrites a fixed transform, or moves what it should not.",
};

// The trees.

/// Nodes are their own descendants.
pub const NODE_CYCLE: Code = Code {
    id: "kinematics-node-cycle",
    severity: Severity::Error,
    meaning: "Nodes are their own descendants.",
    outcome: "The file is no valid glTF; loaders may not end.",
};

/// A node is the child of several nodes, or twice of one.
pub const NODE_PARENTS: Code = Code {
    id: "kinematics-node-parents",
    severity: Severity::Error,
    meaning: "A node is the child of several nodes, or twice of one.",
    outcome: "The file is no valid glTF; which frame the node is in is undefined.",
};

/// A link is the child of several joints.
pub const SEVERAL_PARENTS: Code = Code {
    id: "kinematics-several-parents",
    severity: Severity::Error,
    meaning: "A link is the child of several joints.",
    outcome: "Its pose is undefined: a link has one node, which has one parent.",
};

/// Links are their own descendants through joints.
pub const JOINT_LOOP: Code = Code {
    id: "kinematics-joint-loop",
    severity: Severity::Error,
    meaning: "Links are their own descendants through joints.",
    outcome: "There is no order from parent to child, so no pose.",
};

/// A link's node is not below the model's rootNode.
pub const LINK_OUTSIDE_ROOT: Code = Code {
    id: "kinematics-link-outside-root",
    severity: Severity::Error,
    meaning: "A link's node is not below the model's rootNode.",
    outcome: "Moving or hiding the robot by its root leaves the link behind.",
};

// The chain of a joint.

/// The nodes of a joint do not lead from the parent link's node over originNode and dofNodes to the child link's node.
pub const CHAIN_BROKEN: Code = Code {
    id: "kinematics-chain-broken",
    severity: Severity::Error,
    meaning: "The nodes of a joint do not lead from the parent link's node over originNode and dofNodes to the child link's node.",
    outcome: "Setting the joint does not move the child link as it should.",
};

/// Further nodes stand between the nodes of a joint.
pub const CHAIN_INDIRECT: Code = Code {
    id: "kinematics-chain-indirect",
    severity: Severity::Warning,
    meaning: "Further nodes stand between the nodes of a joint.",
    outcome: "The joint moves, but its frame is not the one that the axis is given in if those nodes have a transform.",
};

/// A joint has not as many dofNodes as dofs.
pub const DOF_NODES: Code = Code {
    id: "kinematics-dof-nodes",
    severity: Severity::Error,
    meaning: "A joint has not as many dofNodes as dofs.",
    outcome: "Loaders can't tell which node a degree of freedom drives.",
};

/// A joint has not as many degrees of freedom as its type: none if fixed, two if planar, six if floating, one otherwise.
pub const DOF_COUNT: Code = Code {
    id: "kinematics-dof-count",
    severity: Severity::Error,
    meaning: "A joint has not as many degrees of freedom as its type: none if fixed, two if planar, six if floating, one otherwise.",
    outcome: "Loaders can't set the joint as its type says.",
};

/// A degree of freedom turns where the joint's type says that it slides, or slides where it should turn.
pub const DOF_MOTION: Code = Code {
    id: "kinematics-dof-motion",
    severity: Severity::Error,
    meaning: "A degree of freedom turns where the joint's type says that it slides, or slides where it should turn.",
    outcome: "The joint moves in another way than its type says.",
};

// Transforms.

/// A dof node has a matrix.
pub const DOF_NODE_MATRIX: Code = Code {
    id: "kinematics-dof-node-matrix",
    severity: Severity::Error,
    meaning: "A dof node has a matrix.",
    outcome: "Loaders and animations set translation or rotation, which a node with a matrix does not have.",
};

/// A dof node holds, in the channel that it drives, a transform that is no motion of its degree of freedom.
pub const ORIGIN_IN_DOF: Code = Code {
    id: "kinematics-origin-in-dof",
    severity: Severity::Error,
    meaning: "A dof node holds, in the channel that it drives, a transform that is no motion of its degree of freedom.",
    outcome: "The first position that is set overwrites it, and the child link jumps.",
};

/// A dof node is not at identity at rest.
pub const DOF_NODE_REST: Code = Code {
    id: "kinematics-dof-node-rest",
    severity: Severity::Warning,
    meaning: "A dof node is not at identity at rest.",
    outcome: "The file shows the robot in another pose than at zero, or the joint's origin is in two places.",
};

/// A link's node has a transform of its own.
pub const LINK_TRANSFORM: Code = Code {
    id: "kinematics-link-transform",
    severity: Severity::Warning,
    meaning: "A link's node has a transform of its own.",
    outcome: "The link's frame is not the joint's, so poses differ from those of the source.",
};

/// The node of a link, an origin or a degree of freedom is scaled, mirrored or sheared.
pub const SCALED_FRAME: Code = Code {
    id: "kinematics-scaled-frame",
    severity: Severity::Error,
    meaning: "The node of a link, an origin or a degree of freedom is scaled, mirrored or sheared.",
    outcome: "Positions below it are no longer in metres, or turn the other way.",
};

/// The model's rootNode has a transform.
pub const ROOT_TRANSFORM: Code = Code {
    id: "kinematics-root-transform",
    severity: Severity::Warning,
    meaning: "The model's rootNode has a transform.",
    outcome: "Frames and axes are not in glTF's axes but in others that the root turns, scales or moves.",
};

// Axes.

/// An axis has no length.
pub const AXIS_ZERO: Code = Code {
    id: "kinematics-axis-zero",
    severity: Severity::Error,
    meaning: "An axis has no length.",
    outcome: "There is no direction to move along or turn about.",
};

/// An axis is not of unit length.
pub const AXIS_NOT_UNIT: Code = Code {
    id: "kinematics-axis-not-unit",
    severity: Severity::Warning,
    meaning: "An axis is not of unit length.",
    outcome: "Loaders that do not normalise it move the joint too far or too little.",
};

/// The two axes of a planar joint are not at right angles.
pub const PLANAR_BASIS: Code = Code {
    id: "kinematics-planar-basis",
    severity: Severity::Error,
    meaning: "The two axes of a planar joint are not at right angles.",
    outcome: "Positions in the plane are not metres in two independent directions.",
};

/// The translations or the rotations of a floating joint are not along three axes at right angles, in right-handed order.
pub const FLOATING_BASIS: Code = Code {
    id: "kinematics-floating-basis",
    severity: Severity::Error,
    meaning: "The translations or the rotations of a floating joint are not along three axes at right angles, in right-handed order.",
    outcome: "Some poses can't be reached, or are mirrored.",
};

/// The axes of a floating joint are not [0, 0, 1], [1, 0, 0], [0, 1, 0]: x, y and z of the joint's frame in glTF axes.
pub const FLOATING_ORDER: Code = Code {
    id: "kinematics-floating-order",
    severity: Severity::Warning,
    meaning: "The axes of a floating joint are not [0, 0, 1], [1, 0, 0], [0, 1, 0]: x, y and z of the joint's frame in glTF axes.",
    outcome: "Positions x y z and roll pitch yaw of the source mean other motions.",
};

// Limits, mimics, configurations.

/// A lower limit is above the upper limit.
pub const LIMITS_REVERSED: Code = Code {
    id: "kinematics-limits-reversed",
    severity: Severity::Error,
    meaning: "A lower limit is above the upper limit.",
    outcome: "No position is allowed; loaders that clamp may fail.",
};

/// A continuous joint has a lower or an upper limit.
pub const CONTINUOUS_BOUNDS: Code = Code {
    id: "kinematics-continuous-bounds",
    severity: Severity::Warning,
    meaning: "A continuous joint has a lower or an upper limit.",
    outcome: "Some loaders stop the joint there, others turn it on.",
};

/// The default position of a degree of freedom is outside its limits.
pub const DEFAULT_OUTSIDE_LIMITS: Code = Code {
    id: "kinematics-default-outside-limits",
    severity: Severity::Warning,
    meaning: "The default position of a degree of freedom is outside its limits.",
    outcome: "The robot starts where it may not be.",
};

/// A joint follows itself.
pub const MIMIC_ITSELF: Code = Code {
    id: "kinematics-mimic-itself",
    severity: Severity::Error,
    meaning: "A joint follows itself.",
    outcome: "It has no position.",
};

/// A joint follows one that follows another.
pub const MIMIC_CHAIN: Code = Code {
    id: "kinematics-mimic-chain",
    severity: Severity::Error,
    meaning: "A joint follows one that follows another.",
    outcome: "Loaders evaluate one step, in any order, so the position is undefined.",
};

/// A joint follows another, and one of them has not exactly one degree of freedom.
pub const MIMIC_DOFS: Code = Code {
    id: "kinematics-mimic-dofs",
    severity: Severity::Error,
    meaning: "A joint follows another, and one of them has not exactly one degree of freedom.",
    outcome: "There is no single number to follow or to set.",
};

/// A configuration has not one entry per joint.
pub const CONFIGURATION_LENGTH: Code = Code {
    id: "kinematics-configuration-length",
    severity: Severity::Error,
    meaning: "A configuration has not one entry per joint.",
    outcome: "Positions are set on the wrong joints, or not at all.",
};

/// An entry of a configuration is not a number for a joint with one degree of freedom, or an array with one number per degree of freedom for others.
pub const CONFIGURATION_SHAPE: Code = Code {
    id: "kinematics-configuration-shape",
    severity: Severity::Error,
    meaning: "An entry of a configuration is not a number for a joint with one degree of freedom, or an array with one number per degree of freedom for others.",
    outcome: "Loaders can't apply it.",
};

/// A configuration puts a joint outside its limits.
pub const CONFIGURATION_OUTSIDE_LIMITS: Code = Code {
    id: "kinematics-configuration-outside-limits",
    severity: Severity::Warning,
    meaning: "A configuration puts a joint outside its limits.",
    outcome: "The robot can't take that pose; loaders that clamp show another.",
};

// Animations and shapes.

/// An animation changes something of a dof node that its degree of freedom does not drive.
pub const ANIMATION_CHANNEL: Code = Code {
    id: "kinematics-animation-channel",
    severity: Severity::Error,
    meaning: "An animation changes something of a dof node that its degree of freedom does not drive.",
    outcome: "The robot takes poses that no joint position gives.",
};

/// An animation moves the node of a link or of a joint's origin.
pub const ANIMATED_FRAME: Code = Code {
    id: "kinematics-animated-frame",
    severity: Severity::Warning,
    meaning: "An animation moves the node of a link or of a joint's origin.",
    outcome: "Frames that the extension holds to be fixed move.",
};

/// An animated node of the robot has a matrix.
pub const ANIMATED_MATRIX: Code = Code {
    id: "kinematics-animated-matrix",
    severity: Severity::Error,
    meaning: "An animated node of the robot has a matrix.",
    outcome: "The file is no valid glTF; the animation can't be played.",
};

/// A node in visualNodes or collisionNodes is not below its link's node, or belongs to a link further down.
pub const SHAPE_OUTSIDE_LINK: Code = Code {
    id: "kinematics-shape-outside-link",
    severity: Severity::Error,
    meaning: "A node in visualNodes or collisionNodes is not below its link's node, or belongs to a link further down.",
    outcome: "The shape does not move with the link that claims it.",
};

/// A collision shape would be drawn: neither KHR_node_visibility hides it nor is its material invisible.
pub const COLLISION_DRAWN: Code = Code {
    id: "kinematics-collision-drawn",
    severity: Severity::Warning,
    meaning: "A collision shape would be drawn: neither KHR_node_visibility hides it nor is its material invisible.",
    outcome: "Viewers draw the robot's collision geometry over what it looks like.",
};

// What is tolerated.

/// Positions of a configuration are one number per degree of freedom in a row, or a fixed joint has a number.
pub const CONFIGURATION_FORM: Code = Code {
    id: "kinematics-configuration-form",
    severity: Severity::Warning,
    meaning: "Positions of a configuration are one number per degree of freedom in a row, or a fixed joint has a number.",
    outcome: "Loaders that expect one entry per joint, and [] for a fixed one, can't use the configuration.",
};

/// A source, a safety or a calibration has a property that the extension does not define.
pub const OTHER_PROPERTY: Code = Code {
    id: "kinematics-other-property",
    severity: Severity::Warning,
    meaning: "A source has `otherXml`, or what a joint has for safety or calibration a property that the extension does not define.",
    outcome: "Loaders ignore it.",
};

/// All of them, in the order of the specification's table.
pub const ALL: &[&Code] = &[
    &UNREADABLE,
    &MISSING,
    &NOT_DECLARED,
    &REQUIRED,
    &SCHEMA,
    &NODE_INDEX,
    &LINK_INDEX,
    &JOINT_INDEX,
    &DUPLICATE_NAME,
    &SHARED_NODE,
    &NODE_CYCLE,
    &NODE_PARENTS,
    &SEVERAL_PARENTS,
    &JOINT_LOOP,
    &LINK_OUTSIDE_ROOT,
    &CHAIN_BROKEN,
    &CHAIN_INDIRECT,
    &DOF_NODES,
    &DOF_COUNT,
    &DOF_MOTION,
    &DOF_NODE_MATRIX,
    &ORIGIN_IN_DOF,
    &DOF_NODE_REST,
    &LINK_TRANSFORM,
    &SCALED_FRAME,
    &ROOT_TRANSFORM,
    &AXIS_ZERO,
    &AXIS_NOT_UNIT,
    &PLANAR_BASIS,
    &FLOATING_BASIS,
    &FLOATING_ORDER,
    &LIMITS_REVERSED,
    &CONTINUOUS_BOUNDS,
    &DEFAULT_OUTSIDE_LIMITS,
    &MIMIC_ITSELF,
    &MIMIC_CHAIN,
    &MIMIC_DOFS,
    &CONFIGURATION_LENGTH,
    &CONFIGURATION_SHAPE,
    &CONFIGURATION_OUTSIDE_LIMITS,
    &ANIMATION_CHANNEL,
    &ANIMATED_FRAME,
    &ANIMATED_MATRIX,
    &SHAPE_OUTSIDE_LINK,
    &COLLISION_DRAWN,
    &CONFIGURATION_FORM,
    &OTHER_PROPERTY,
];
