//! Diagnostic codes of the glTF reader, in addition to those of the mesh reader
//! ([`urdf_usd_mesh::codes`]).

use urdf_usd_diagnostic::codes;

codes! {
    UNREADABLE Error "gltf-read-unreadable":
        "The file is no glTF 2.0: its container or its JSON is broken, or it is another format.",
        "There is no robot.";
    NO_KINEMATICS Error "gltf-read-no-kinematics":
        "The glTF file has no EXT_robot_kinematics, or no model in it, so nothing says what its links and joints are.",
        "There is no robot.";
    TOO_MANY Error "gltf-read-too-many": "The file has more kinematic models than are read.", "The first ones are read.";
    NO_LINKS Error "gltf-read-no-links": "A kinematic model has no link.", "The model is left out.";
    BAD_VALUE Warning "gltf-read-bad-value":
        "A value is of another kind than the specification says, or is nothing that a robot could have.",
        "It counts as not given, unless the message says what is used instead.";
    NO_NAME Warning "gltf-read-no-name": "A model, link or joint has no name.", "It gets that of its node, or a made-up one.";
    DUPLICATE_NAME Warning "gltf-read-duplicate-name": "Two links or two joints of a model have the same name.",
        "The later one gets a number behind its name.";
    LINK_NODE Warning "gltf-read-link-node": "A link has no node, one that does not exist, or one that is another link's.",
        "The link has no shapes, and its joint's own nodes say where it is.";
    JOINT_LINKS Error "gltf-read-joint-links":
        "A joint does not say which two links it joins, or names some that the model does not have.",
        "The joint is left out.";
    JOINT_TYPE Warning "gltf-read-joint-type":
        "A joint's type is missing or unknown, or its degrees of freedom are not those of its type.",
        "The degrees of freedom decide what it is, unless it says that it is fixed; where they are of no known type, it is \
         fixed.";
    JOINT_NODES Warning "gltf-read-joint-nodes":
        "The nodes of a joint do not exist, or do not lead from its parent link's node to its child link's.",
        "The joint's frame is what the nodes that are there make of it at rest.";
    REST Warning "gltf-read-dof-at-rest":
        "A dof node has a rotation or translation of its own where the joint's position sets it, and not that of its default.",
        "The position counts, as the extension says: zero is where the node would be without.";
    LINK_MOVED Warning "gltf-read-link-moved":
        "A link's node is not where its joint moves: its frame in the file is another than the joint's.",
        "The link's frame is the joint's; what is on the link stays where it is.";
    LOOP Warning "gltf-read-loop": "A joint of the model closes a loop, or leads to a link that another joint moves already.",
        "It is kept as a joint that closes a loop.";
    AXIS Warning "gltf-read-axis": "The axis of a degree of freedom is missing, has no direction, or has not the length one.",
        "Its direction counts; without one, glTF's z (forward) is used.";
    LIMITS_SWAPPED Warning "gltf-read-limits-swapped": "A lower limit is above the upper one.", "They are exchanged.";
    MIMIC Warning "gltf-read-mimic":
        "A joint follows one that does not exist or has not exactly one degree of freedom, or follows itself through others.",
        "It follows none.";
    CONFIGURATION Warning "gltf-read-configuration": "A named configuration has not the positions that the model's joints take.",
        "The positions that do not fit are left out of it; without any it is left out.";
    NODE_TREE Warning "gltf-read-node-tree":
        "The nodes form no strict tree: one has several parents, is among its own, or a child does not exist.",
        "The first parent counts; a circle is cut.";
    ROOT Info "gltf-read-root-placed":
        "A root link of a model is not at identity below the node that holds the model's root node.",
        "A tilted root hangs on a link that is upright. Several roots float in a link `world`. Otherwise the place is left out.";
    TURNED Info "gltf-read-turned-root":
        "The root node of a model turns its source's axes, in which z is up, to glTF's.",
        "Frames and joint axes are those of the source, as if all were in glTF's axes.";
    SHEAR Warning "gltf-read-shear": "The transforms down to a node shear what is on it, or its matrix leaves nothing of it.",
        "The nearest rotation and scale are used.";
    SCALED_FRAME Warning "gltf-read-scaled-frame": "A link's node is scaled, by itself or by what is above it.",
        "Distances and meshes are scaled with it, so that all is where viewers show it; positions of joints are not.";
    LIGHT Warning "gltf-read-light": "A node has a light that does not exist, or one of a type that KHR_lights_punctual does not have.",
        "The light is left out.";
    CAMERA Warning "gltf-read-camera": "A node has a camera that does not exist, or one without what it sees.", "It is left out.";
    SHAPE Warning "gltf-read-shape":
        "A node of a shape does not exist or is not on its link, has a mesh that does not exist, or is hidden for no known \
         reason.",
        "The shape is left out, or is on the link whose node is nearest.";
}
