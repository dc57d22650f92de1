//! What the glTF reader reports beside what the mesh reader does ([`urdf_usd_mesh::codes`]).

use urdf_usd_diagnostic::{Code, Severity};

/// Not glTF at all.
pub const UNREADABLE: Code = Code {
    id: "gltf-read-unreadable",
    severity: Severity::Error,
    meaning: "The file is no glTF 2.0: its container or its JSON is broken, or it is another format.",
    outcome: "There is no robot.",
};

/// A glTF file without robots.
pub const NO_KINEMATICS: Code = Code {
    id: "gltf-read-no-kinematics",
    severity: Severity::Error,
    meaning: "The glTF file has no EXT_robot_kinematics, or no model in it, so nothing says what its links and joints are.",
    outcome: "There is no robot.",
};

/// More than anyone needs.
pub const TOO_MANY: Code = Code {
    id: "gltf-read-too-many",
    severity: Severity::Error,
    meaning: "The file has more kinematic models than are read.",
    outcome: "The first ones are read.",
};

/// A model without links.
pub const NO_LINKS: Code = Code {
    id: "gltf-read-no-links",
    severity: Severity::Error,
    meaning: "A kinematic model has no link.",
    outcome: "The model is left out.",
};

/// A value of the wrong kind.
pub const BAD_VALUE: Code = Code {
    id: "gltf-read-bad-value",
    severity: Severity::Warning,
    meaning: "A value is of another kind than the specification says, or is nothing that a robot could have.",
    outcome: "It counts as not given, unless the message says what is used instead.",
};

/// A name that is missing.
pub const NO_NAME: Code = Code {
    id: "gltf-read-no-name",
    severity: Severity::Warning,
    meaning: "A model, link or joint has no name.",
    outcome: "It gets that of its node, or a made-up one.",
};

/// A name given twice.
pub const DUPLICATE_NAME: Code = Code {
    id: "gltf-read-duplicate-name",
    severity: Severity::Warning,
    meaning: "Two links or two joints of a model have the same name.",
    outcome: "The later one gets a number behind its name.",
};

/// A link without a frame.
pub const LINK_NODE: Code = Code {
    id: "gltf-read-link-node",
    severity: Severity::Warning,
    meaning: "A link has no node, one that does not exist, or one that is another link's.",
    outcome: "The link has no shapes, and its joint's own nodes say where it is.",
};

/// A joint between links that are not there.
pub const JOINT_LINKS: Code = Code {
    id: "gltf-read-joint-links",
    severity: Severity::Error,
    meaning: "A joint does not say which two links it joins, or names some that the model does not have.",
    outcome: "The joint is left out.",
};

/// A joint whose type is unknown or contradicts its degrees of freedom.
pub const JOINT_TYPE: Code = Code {
    id: "gltf-read-joint-type",
    severity: Severity::Warning,
    meaning: "A joint's type is missing or unknown, or its degrees of freedom are not those of its type.",
    outcome: "The degrees of freedom decide what it is, unless it says that it is fixed; where they are of no known type, it is fixed.",
};

/// A joint whose nodes are not where the extension wants them.
pub const JOINT_NODES: Code = Code {
    id: "gltf-read-joint-nodes",
    severity: Severity::Warning,
    meaning: "The nodes of a joint do not exist, or do not lead from its parent link's node to its child link's.",
    outcome: "The joint's frame is what the nodes that are there make of it at rest.",
};

/// A dof node that is not at zero.
pub const REST: Code = Code {
    id: "gltf-read-dof-at-rest",
    severity: Severity::Warning,
    meaning: "A dof node has a rotation or translation of its own where the joint's position sets it, and not that of its default.",
    outcome: "The position counts, as the extension says: zero is where the node would be without.",
};

/// A link's node away from its joint.
pub const LINK_MOVED: Code = Code {
    id: "gltf-read-link-moved",
    severity: Severity::Warning,
    meaning: "A link's node is not where its joint moves: its frame in the file is another than the joint's.",
    outcome: "The link's frame is the joint's; what is on the link stays where it is.",
};

/// A closed loop of joints.
pub const LOOP: Code = Code {
    id: "gltf-read-loop",
    severity: Severity::Warning,
    meaning: "A joint of the model closes a loop, or leads to a link that another joint moves already.",
    outcome: "It is kept as a joint that closes a loop.",
};

/// An axis without direction, or of another length than one.
pub const AXIS: Code = Code {
    id: "gltf-read-axis",
    severity: Severity::Warning,
    meaning: "The axis of a degree of freedom is missing, has no direction, or has not the length one.",
    outcome: "Its direction counts; without one, glTF's z (forward) is used.",
};

/// Limits the wrong way round.
pub const LIMITS_SWAPPED: Code = Code {
    id: "gltf-read-limits-swapped",
    severity: Severity::Warning,
    meaning: "A lower limit is above the upper one.",
    outcome: "They are exchanged.",
};

/// A mimic that can't be.
pub const MIMIC: Code = Code {
    id: "gltf-read-mimic",
    severity: Severity::Warning,
    meaning: "A joint follows one that does not exist or has not exactly one degree of freedom, or follows itself through others.",
    outcome: "It follows none.",
};

/// A configuration that does not fit the joints.
pub const CONFIGURATION: Code = Code {
    id: "gltf-read-configuration",
    severity: Severity::Warning,
    meaning: "A named configuration has not the positions that the model's joints take.",
    outcome: "The positions that do not fit are left out of it; without any it is left out.",
};

/// Nodes that form no tree.
pub const NODE_TREE: Code = Code {
    id: "gltf-read-node-tree",
    severity: Severity::Warning,
    meaning: "The nodes form no strict tree: one has several parents, is among its own, or a child does not exist.",
    outcome: "The first parent counts; a circle is cut.",
};

/// A transform that is no rotation, scale and translation.
pub const SHEAR: Code = Code {
    id: "gltf-read-shear",
    severity: Severity::Warning,
    meaning: "The transforms down to a node shear what is on it, or its matrix leaves nothing of it.",
    outcome: "The nearest rotation and scale are used.",
};

/// A link in a scaled frame.
pub const SCALED_FRAME: Code = Code {
    id: "gltf-read-scaled-frame",
    severity: Severity::Warning,
    meaning: "A link's node is scaled, by itself or by what is above it.",
    outcome: "Distances and meshes are scaled with it, so that all is where viewers show it; positions of joints are not.",
};

/// A shape that can't be shown.
pub const SHAPE: Code = Code {
    id: "gltf-read-shape",
    severity: Severity::Warning,
    meaning: "A node of a shape does not exist or is not on its link, has a mesh that does not exist, or is hidden for no known reason.",
    outcome: "The shape is left out, or is on the link whose node is nearest.",
};

/// All of them.
pub const ALL: &[&Code] = &[
    &UNREADABLE,
    &NO_KINEMATICS,
    &TOO_MANY,
    &NO_LINKS,
    &BAD_VALUE,
    &NO_NAME,
    &DUPLICATE_NAME,
    &LINK_NODE,
    &JOINT_LINKS,
    &JOINT_TYPE,
    &JOINT_NODES,
    &REST,
    &LINK_MOVED,
    &LOOP,
    &AXIS,
    &LIMITS_SWAPPED,
    &MIMIC,
    &CONFIGURATION,
    &NODE_TREE,
    &SHEAR,
    &SCALED_FRAME,
    &SHAPE,
];
