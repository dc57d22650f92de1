//! Codes of findings about URDF.

use urdf_usd_diagnostic::codes;

codes! {
    // The text as a whole.
    UNSUPPORTED_ENCODING Error "urdf-unsupported-encoding": "The file is in an encoding other than UTF-8, UTF-16, ISO-8859-1 and windows-1252.",
        "Stops.";
    BROKEN_CHARACTERS Warning "urdf-broken-characters": "The text contains bytes that are invalid in its encoding, or the replacement character U+FFFD.",
        "Goes on; an invalid byte of UTF-8 reads as its character in windows-1252, any other one as U+FFFD.";
    TOO_LARGE Error "urdf-too-large": "The text, its number of attributes or namespaces, or the expansion of its entities exceeds a limit.",
        "Stops.";
    TOO_MANY Error "urdf-too-many": "The robot has too many links, joints, visuals or collisions, or one of them has too long a name.",
        "Stops.";
    TOO_MANY_ELEMENTS Error "urdf-too-many-elements": "The text has more than 50 000 elements and attributes that URDF does not define, or that repeat others.",
        "Goes on without the excess.";
    MIMIC_TOO_LONG Error "urdf-mimic-too-long": "A chain of mimic joints has more than 64 steps.",
        "Goes on; the joint at which the chain becomes too long moves independently.";
    MALFORMED_XML Error "urdf-malformed-xml": "The text is not well-formed XML.",
        "Stops.";
    NOT_URDF Error "urdf-not-urdf": "The root element is not `robot`, so the text is not URDF.",
        "Stops.";
    XACRO Error "urdf-xacro": "The text is xacro: it contains only elements that xacro has to expand first.",
        "Stops.";
    XACRO_LEFT Warning "urdf-xacro-left": "The text contains an unexpanded xacro element, such as `xacro:include` or `xacro:property`.",
        "Goes on without the element's expansion; the element itself is kept as custom data.";
    NO_LINKS Error "urdf-no-links": "The robot has no link.",
        "Stops.";
    UNBOUND_PREFIX Warning "urdf-unbound-prefix": "A namespace prefix is used without an xmlns declaration.",
        "Goes on as if it were declared; names are kept as written.";
    LOOSE_COMMENT Info "urdf-loose-comment": "A comment contains `--`, or ends with `--->`, which XML does not allow.",
        "Goes on; other programs may reject the text.";
    UNKNOWN_VERSION Warning "urdf-unknown-version": "The robot element names a URDF version other than 1.0, 1.1 and 1.2, or one without a minor number (`1`), which ROS's URDF parser (urdfdom) rejects.",
        "Goes on; the text is read as 1.2.";
    TOO_DEEP Error "urdf-too-deep": "Elements are nested more than 64 deep.",
        "Goes on without the deeper elements.";
    LEFT_OUT Info "urdf-left-out": "Text between elements, or a processing instruction, has no meaning in URDF.",
        "Goes on without it.";
    MORE_FINDINGS Info "urdf-more-findings": "The limit of 1000 findings is reached.",
        "Goes on; further findings are only counted.";

    // Names and references.
    NO_NAME Warning "urdf-nameless-robot": "The robot has no name.",
        "Goes on with the file's name, or `robot`.";
    UNNAMED Warning "urdf-unnamed-element": "A link, a joint, or a material of the robot or of a visual has no name. ROS's URDF parser (urdfdom) drops a visual whose material has no name, with all later visuals and all collisions of its link.",
        "Goes on with a generated name for a link or joint. The material of a visual is used without a name; one of the robot, which no visual can refer to, is kept as custom data.";
    DUPLICATE_LINK Error "urdf-duplicate-link": "Two links have the same name.",
        "Goes on with the first; the second is kept as custom data.";
    DUPLICATE_JOINT Error "urdf-duplicate-joint": "Two joints have the same name.",
        "Goes on. The second gets a numeric suffix, so that the links below it stay attached; if it also connects the same links, it is kept as custom data.";
    NO_JOINT_LINK Error "urdf-joint-without-link": "A joint has no parent or child element, or that element has no link attribute.",
        "Goes on without the joint (it is kept as custom data); its child becomes a root.";
    UNKNOWN_LINK Error "urdf-unknown-link": "A joint names a link that the robot does not have.",
        "Goes on without the joint (it is kept as custom data); its child, if it exists, becomes a root. A parent `world` is added \
         instead, as Drake does.";
    JOINT_TO_ITSELF Error "urdf-joint-to-itself": "A joint has the same link as parent and child.",
        "Goes on without the joint (it is kept as custom data).";
    LOOP Warning "urdf-loop": "A joint's child is already the child of another joint, or an ancestor of the joint itself, so the links form a loop.",
        "Goes on; the joint is kept as a constraint that closes the loop, and the first joint with this child stays in the tree. \
         If all links form a ring, the child of the last joint is the root.";
    SEVERAL_ROOTS Warning "urdf-several-roots": "The robot has more than one root.",
        "Goes on; each is kept with its descendants, all at the origin. Links attached to a root named world are fixed, the others are free.";

    // Structure.
    REPEATED_ELEMENT Warning "urdf-repeated-element": "An element that URDF allows once is repeated.",
        "Goes on with the first; the others are kept as custom data.";
    UNKNOWN_JOINT_TYPE Error "urdf-unknown-joint-type": "A joint's type is missing, or is not one of URDF's six.",
        "Goes on with a fixed joint.";
    NO_GEOMETRY Warning "urdf-no-geometry": "A visual or collision has no geometry.",
        "Goes on without it; it is kept as custom data.";
    UNKNOWN_GEOMETRY Error "urdf-unknown-geometry": "A geometry contains none of box, cylinder, sphere, capsule and mesh.",
        "Goes on without the visual or collision; it is kept as custom data.";
    NO_MESH_FILE Error "urdf-no-mesh-file": "A mesh has no filename.",
        "Goes on without the visual or collision; it is kept as custom data.";

    // Numbers.
    BAD_NUMBER Error "urdf-bad-number": "A numeric attribute contains something else, or the wrong count of numbers.",
        "Goes on with the default that the message names.";
    NON_FINITE_NUMBER Error "urdf-non-finite-number": "A number is NaN, infinite, or too large for single precision.",
        "Goes on with the default that the message names.";
    MISSING_NUMBER Error "urdf-missing-number": "A required dimension of a shape is missing.",
        "Goes on without the visual or collision; it is kept as custom data.";
    NEGATIVE_DIMENSION Warning "urdf-negative-dimension": "A length or radius is negative.",
        "Goes on with its magnitude.";
    EMPTY_GEOMETRY Warning "urdf-empty-geometry": "A shape has no extent in two or more directions.",
        "Goes on without the visual or collision; it is kept as custom data.";
    FLAT_GEOMETRY Warning "urdf-flat-geometry": "A box or cylinder has no thickness.",
        "Goes on with a thickness of 0.1 mm.";
    ZERO_SCALE Warning "urdf-zero-scale": "A mesh scale contains a zero.",
        "Goes on with 1 instead.";
    UNIFORM_SCALE Warning "urdf-uniform-scale": "A mesh scale has one number instead of three.",
        "Goes on with that number in all three directions.";
    TWO_ROTATIONS Warning "urdf-two-rotations": "An origin has both rpy and quat_xyzw.",
        "Goes on with quat_xyzw.";

    // Mass.
    NO_MASS Warning "urdf-no-mass": "An inertial has no mass.",
        "Goes on with mass 0.";
    NO_INERTIA Warning "urdf-no-inertia": "An inertial has no inertia, or a component of it is missing.",
        "Goes on with 0 for missing components.";
    ZERO_MASS Warning "urdf-zero-mass": "An inertial has mass 0.",
        "Goes on; the value is kept.";
    NEGATIVE_MASS Warning "urdf-negative-mass": "A mass is negative.",
        "Goes on; the value is kept.";
    NON_PHYSICAL_INERTIA Warning "urdf-non-physical-inertia": "An inertia tensor is not physically realisable: a principal moment is not positive, or larger than the sum of the other two.",
        "Goes on with the values as given; OpenUSD gets the nearest realisable tensor (`inertia-repaired`).";

    // Joints.
    MISSING_ATTRIBUTE Warning "urdf-missing-attribute": "A limit has no effort or no velocity, a safety_controller no k_velocity, or a dynamics element neither damping nor friction. URDF requires them, and ROS's URDF parser (urdfdom) rejects the robot.",
        "Goes on without the value.";
    ZERO_AXIS Warning "urdf-zero-axis": "The axis of a moving joint has zero length.",
        "Goes on with 1 0 0.";
    AXIS_NOT_UNIT Info "urdf-axis-not-unit": "An axis does not have unit length.",
        "Goes on with the axis normalised.";
    NO_LIMIT Warning "urdf-no-limit": "A revolute or prismatic joint has no lower and no upper limit.",
        "Goes on; the joint is unlimited.";
    HALF_LIMIT Warning "urdf-half-limit": "A revolute or prismatic joint has only one of lower and upper.",
        "Goes on with 0 for the other, URDF's default.";
    INFINITE_LIMIT Warning "urdf-infinite-limit": "A limit is infinite.",
        "Goes on without that limit.";
    LIMITS_SWAPPED Warning "urdf-limits-swapped": "A lower limit is above the upper one. For Bullet, such a joint has no limits.",
        "Goes on with the limits exchanged; without them if the joint is fixed, continuous or floating.";
    NEGATIVE_LIMIT Warning "urdf-negative-limit": "An effort or velocity limit, a damping or a friction is negative.",
        "Goes on with its magnitude.";
    DANGLING_MIMIC Warning "urdf-dangling-mimic": "A mimic names no joint, or one that the robot does not have.",
        "Goes on without the mimic (it is kept as custom data).";
    MIMIC_CYCLE Warning "urdf-mimic-cycle": "A joint mimics itself, directly or through others.",
        "Goes on without the mimic that closes the cycle (it is kept as custom data).";
    MIMIC_WITHOUT_POSITION Warning "urdf-mimic-without-position": "A mimic connects a joint that does not have exactly one degree of freedom: a fixed, planar or floating joint.",
        "Goes on without the mimic (it is kept as custom data).";

    // Materials.
    DUPLICATE_MATERIAL Warning "urdf-duplicate-material": "Two materials of the robot have the same name. ROS's URDF parser (urdfdom) rejects the robot even if they are equal.",
        "Goes on with the first; a second that differs is kept as custom data.";
    MATERIAL_REDEFINED Warning "urdf-material-redefined": "A visual gives a material a colour or texture that differs from another material of the same name.",
        "Goes on; the visual keeps its own colour or texture.";
    UNKNOWN_MATERIAL Warning "urdf-unknown-material": "A visual names an undefined material.",
        "Goes on with grey.";
    UNUSED_MATERIAL Info "urdf-unused-material": "No visual uses a material of the robot.",
        "Goes on; only URDF output contains the material.";
    EMPTY_MATERIAL Warning "urdf-empty-material": "A material has neither colour nor texture.",
        "Goes on with grey.";
    NO_TEXTURE_FILE Warning "urdf-no-texture-file": "A texture has no filename.",
        "Goes on without the texture.";
    COLOUR_RANGE Warning "urdf-colour-range": "A component of a colour is below 0 or above 1.",
        "Goes on with the component clamped.";
    NO_ALPHA Warning "urdf-no-alpha": "A colour has three numbers instead of four.",
        "Goes on with an opacity of 1.";

    // Extensions: Gazebo, ros2_control, transmissions; and SRDF.
    BAD_SETTING Warning "urdf-bad-setting": "A value in a gazebo, sensor, ros2_control or transmission element is not a number, not finite, or out of range.",
        "Goes on with the value that the message names: the default, or the nearest valid value.";
    UNKNOWN_REFERENCE Warning "urdf-unknown-reference": "A gazebo, sensor, ros2_control or transmission element names a link or joint that the robot does not have.",
        "Goes on without the element; it is kept as custom data.";
    SENSOR_WITHOUT_LINK Warning "urdf-sensor-without-link": "A sensor does not name its link.",
        "Goes on without it; it is kept as custom data.";
    UNKNOWN_SENSOR Info "urdf-unknown-sensor": "A sensor has no type, or an unknown one, so its topics are unknown.",
        "Goes on; the sensor has no topics.";
    OLD_SENSOR Info "urdf-old-sensor": "Sensors use the syntax of Gazebo before 1.0 (`<sensor:camera>`).",
        "Goes on without them; they are kept as custom data.";
    UNKNOWN_PLUGIN Info "urdf-unknown-plugin": "A sensor has an unknown plugin, so the topics of the plugin are unknown.",
        "Goes on with the topics of the sensor without the plugin.";
    MODEL_PLUGIN Info "urdf-model-plugin": "A plugin of Gazebo or gz-sim is in a gazebo element, not in a sensor, and is none of those for ros2_control, drives of bases, odometry and joint states. Its topics and services are unknown.",
        "Goes on without its interfaces. The element is kept as custom data; SDF and URDF have it unchanged.";
    SENSOR_FRAME Info "urdf-sensor-frame": "The frame named for a sensor's messages is not a link of the robot or, for a camera, not one of its optical frames.",
        "Goes on with a frame of that name at the sensor; with the frame of the sensor's link if another sensor uses the name or ROS does not allow it; with the camera's own optical frame if the named link is not one of its optical frames.";
    OPTICAL_PARENT Info "urdf-camera-on-optical-frame": "A Gazebo camera is attached to a link whose name denotes an optical frame.",
        "Goes on; the camera looks along that link's x axis, as it does in Gazebo.";
    INVALID_TOPIC Warning "urdf-invalid-topic": "The name of a topic or sensor is not a valid ROS name.",
        "Goes on with the valid name that the message gives.";
    PROHIBITED_INTERFACE Warning "urdf-prohibited-interface": "An interface belongs to the simulator (/clock, simulation_interfaces), so an asset must not have it (REP-158 §2.9).",
        "Goes on without it.";
    NO_COMMAND Info "urdf-no-command": "A transmission names no known hardware interface, or a ros2_control joint has none of the command interfaces position, velocity and effort.",
        "Goes on; the joint gets no drive from it.";
    NOT_DRIVABLE Info "urdf-not-drivable": "A command or transmission is for a mimic joint, or for a joint that does not have exactly one degree of freedom.",
        "Goes on; the joint has no drive.";
    UNKNOWN_CONTROLLER Info "urdf-unknown-controller": "A controller file names a controller of unknown type, so its topics and actions are unknown.",
        "Goes on without its topics and actions.";
    EXCLUSIVE_CONTROLLER Info "urdf-exclusive-controller": "Two controllers command the same joint, so only one of them can be active (REP-158 §4.2.3).",
        "Goes on; the interfaces of the second one get `starts_enabled` false. A trajectory controller takes precedence, then the order of names in the file.";
    CONTROLLER_FILE Warning "urdf-controller-file": "A controller file is not a YAML parameter file.",
        "Goes on without it.";
    TOO_MANY_CONTROLLERS Warning "urdf-too-many-controllers": "A robot has more than 100 controller files, or they name more than 1000 controllers.",
        "Goes on with the first 100 files or 1000 controllers.";
    ASSUMED_CONTROLLERS Info "urdf-assumed-controllers": "The robot has ros2_control command interfaces, but no controller file.",
        "Goes on with conventional controllers.";
}
