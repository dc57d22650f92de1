//! The codes of everything that can be wrong with a URDF.

use crate::diagnostic::codes;

codes! {
    // The text as a whole.
    UNSUPPORTED_ENCODING Error "urdf-unsupported-encoding": "The file is in an encoding other than UTF-8, UTF-16, ISO-8859-1 and windows-1252.",
        "Stops.";
    BROKEN_CHARACTERS Warning "urdf-broken-characters": "The text has bytes that its encoding does not allow, or the replacement character U+FFFD.",
        "Goes on; the characters read as U+FFFD.";
    TOO_LARGE Error "urdf-too-large": "The text, its number of attributes or namespaces, or what its entities expand to exceeds the limits.",
        "Stops.";
    TOO_MANY Error "urdf-too-many": "The robot has more links, joints, visuals and collisions than are read, or a name of one is too long.",
        "Stops.";
    TOO_MANY_ELEMENTS Error "urdf-too-many-elements": "More elements and attributes that URDF does not define, or that repeat others, than are kept (50 000).",
        "Goes on without those beyond.";
    MIMIC_TOO_LONG Error "urdf-mimic-too-long": "A joint follows one that follows another, and so on, for more than 64 steps.",
        "Goes on; the joint at which there are too many moves by itself.";
    MALFORMED_XML Error "urdf-malformed-xml": "The text is not well-formed XML.",
        "Stops.";
    NOT_URDF Error "urdf-not-urdf": "The root element is not `robot`: the text is something else.",
        "Stops.";
    XACRO Error "urdf-xacro": "The text is xacro: it has elements that the xacro program has to expand first, and beside them nothing to read.",
        "Stops.";
    XACRO_LEFT Warning "urdf-xacro-left": "An expanded text still has an element of xacro, such as `xacro:include` or `xacro:property`.",
        "Goes on without what the element stands for; it is only kept as custom data.";
    NO_LINKS Error "urdf-no-links": "The robot has no link.",
        "Stops.";
    UNBOUND_PREFIX Warning "urdf-unbound-prefix": "A namespace prefix is used without an xmlns declaration.",
        "Goes on as if it were declared; names are kept as written.";
    LOOSE_COMMENT Info "urdf-loose-comment": "A comment has `--` in it, or ends with `--->`, which XML does not allow.",
        "Goes on; other programs may refuse the text.";
    UNKNOWN_VERSION Warning "urdf-unknown-version": "The robot element names a version of URDF other than 1.0, 1.1 and 1.2, or one without its second number (`1`), which ROS's URDF parser (urdfdom) refuses.",
        "Goes on, reading it as 1.2.";
    TOO_DEEP Error "urdf-too-deep": "Elements are nested more than 64 deep.",
        "Goes on without the elements below that.";
    LEFT_OUT Info "urdf-left-out": "There is text between elements, or a processing instruction, where URDF has none.",
        "Goes on without it.";
    MORE_FINDINGS Info "urdf-more-findings": "There are more findings than are reported (1000).",
        "Goes on.";

    // Names and references.
    NO_NAME Warning "urdf-nameless-robot": "The robot has no name.",
        "Goes on with the file's name, or `robot`.";
    UNNAMED Warning "urdf-unnamed-element": "A link, a joint, or a material of the robot or of a visual has no name. ROS's URDF parser (urdfdom) leaves out a visual whose material has none.",
        "Goes on with a made-up name for a link or joint. The material of a visual keeps its looks; one of the robot, which nothing can refer to, is only kept as custom data.";
    DUPLICATE_LINK Error "urdf-duplicate-link": "Two links have the same name.",
        "Goes on with the first; the second is only kept as custom data.";
    DUPLICATE_JOINT Error "urdf-duplicate-joint": "Two joints have the same name.",
        "Goes on. The second gets a number behind its name, so that the links below it stay attached; if it also joins the same links it is only kept as custom data.";
    NO_JOINT_LINK Error "urdf-joint-without-link": "A joint has no parent or child element, or that has no link attribute.",
        "Goes on without the joint (it is kept as custom data); its child becomes a root.";
    UNKNOWN_LINK Error "urdf-unknown-link": "A joint names a link that the robot does not have.",
        "Goes on without the joint (it is kept as custom data); its child, if that exists, becomes a root.";
    JOINT_TO_ITSELF Error "urdf-joint-to-itself": "A joint has the same link as parent and child.",
        "Goes on without the joint (it is kept as custom data).";
    LOOP Warning "urdf-loop": "A joint reaches a link that another joint moves already, or a link that it hangs on itself, so the links form a loop.",
        "Goes on; the joint is kept as a constraint that closes the loop, the first joint that reached the link stays the one in the tree. \
         In a ring without a beginning, the link that the last joint leads to is the root.";
    SEVERAL_ROOTS Warning "urdf-several-roots": "The robot has more than one root.",
        "Goes on; each is kept with what hangs on it, side by side at the origin. What hangs on a root named world is held, the others are free.";

    // Structure.
    REPEATED_ELEMENT Warning "urdf-repeated-element": "An element stands more than once where URDF has one.",
        "Goes on with the first; the others are kept as custom data.";
    UNKNOWN_JOINT_TYPE Error "urdf-unknown-joint-type": "A joint's type is missing or is none of URDF's six.",
        "Goes on with a fixed joint.";
    NO_GEOMETRY Warning "urdf-no-geometry": "A visual or collision has no geometry.",
        "Goes on without it; it is kept as custom data.";
    UNKNOWN_GEOMETRY Error "urdf-unknown-geometry": "A geometry holds none of box, cylinder, sphere, capsule and mesh.",
        "Goes on without the visual or collision; it is kept as custom data.";
    NO_MESH_FILE Error "urdf-no-mesh-file": "A mesh has no filename.",
        "Goes on without the visual or collision; it is kept as custom data.";

    // Numbers.
    BAD_NUMBER Error "urdf-bad-number": "An attribute that holds numbers holds something else, or another count of them.",
        "Goes on with the default that the message names.";
    NON_FINITE_NUMBER Error "urdf-non-finite-number": "A number is NaN, infinite, or too large for single precision.",
        "Goes on with the default that the message names.";
    MISSING_NUMBER Error "urdf-missing-number": "An attribute without which a shape has no size is missing.",
        "Goes on without the visual or collision; it is kept as custom data.";
    NEGATIVE_DIMENSION Warning "urdf-negative-dimension": "A length or radius is negative.",
        "Goes on with its magnitude.";
    EMPTY_GEOMETRY Warning "urdf-empty-geometry": "A shape has no extent in two or more directions.",
        "Goes on without the visual or collision; it is kept as custom data.";
    FLAT_GEOMETRY Warning "urdf-flat-geometry": "A box or cylinder has no thickness.",
        "Goes on with a thickness of 0.1 mm.";
    ZERO_SCALE Warning "urdf-zero-scale": "A mesh scale has a zero in it.",
        "Goes on with 1 in its place.";
    UNIFORM_SCALE Warning "urdf-uniform-scale": "A mesh scale has one number instead of three.",
        "Goes on with that number in all three directions.";
    TWO_ROTATIONS Warning "urdf-two-rotations": "An origin has both rpy and quat_xyzw.",
        "Goes on with quat_xyzw.";

    // Mass.
    NO_MASS Warning "urdf-no-mass": "An inertial has no mass.",
        "Goes on with mass 0.";
    NO_INERTIA Warning "urdf-no-inertia": "An inertial has no inertia, or a part of it is missing.",
        "Goes on with 0 for what is missing.";
    ZERO_MASS Warning "urdf-zero-mass": "An inertial has mass 0.",
        "Goes on; the value is kept.";
    NEGATIVE_MASS Warning "urdf-negative-mass": "A mass is negative.",
        "Goes on; the value is kept.";
    NON_PHYSICAL_INERTIA Warning "urdf-non-physical-inertia": "No body can have that inertia: a principal moment is not positive, or larger than the sum of the other two.",
        "Goes on with the values as they are; OpenUSD gets the nearest that a body can have (`inertia-repaired`).";

    // Joints.
    MISSING_ATTRIBUTE Warning "urdf-missing-attribute": "A limit has no effort or no velocity, a safety_controller no k_velocity, or a dynamics element neither damping nor friction. URDF requires them, and ROS's URDF parser (urdfdom) refuses the robot.",
        "Goes on without the value.";
    ZERO_AXIS Warning "urdf-zero-axis": "The axis of a joint that moves along or about it has no length.",
        "Goes on with 1 0 0.";
    AXIS_NOT_UNIT Info "urdf-axis-not-unit": "An axis is not of unit length.",
        "Goes on with the axis normalised.";
    NO_LIMIT Warning "urdf-no-limit": "A revolute or prismatic joint has no lower and no upper limit.",
        "Goes on; the joint is unlimited.";
    HALF_LIMIT Warning "urdf-half-limit": "A revolute or prismatic joint has only one of lower and upper.",
        "Goes on with 0 for the other, URDF's default.";
    INFINITE_LIMIT Warning "urdf-infinite-limit": "A limit is infinite.",
        "Goes on without that limit.";
    LIMITS_SWAPPED Warning "urdf-limits-swapped": "A lower limit is above the upper one.",
        "Goes on with the two exchanged.";
    NEGATIVE_LIMIT Warning "urdf-negative-limit": "An effort or velocity limit is negative.",
        "Goes on with its magnitude.";
    DANGLING_MIMIC Warning "urdf-dangling-mimic": "A joint mimics a joint that the robot does not have, or does not say which.",
        "Goes on without the mimic (it is kept as custom data).";
    MIMIC_CYCLE Warning "urdf-mimic-cycle": "A joint mimics itself, directly or through others.",
        "Goes on without the mimic that closes the circle (it is kept as custom data).";
    MIMIC_WITHOUT_POSITION Warning "urdf-mimic-without-position": "A mimic has a follower or leader that has no single position: a fixed, planar or floating joint.",
        "Goes on without the mimic (it is kept as custom data).";

    // Materials.
    DUPLICATE_MATERIAL Warning "urdf-duplicate-material": "Two materials of the robot have the same name. ROS's URDF parser (urdfdom) refuses that even where they are alike.",
        "Goes on with the first; a second that differs is only kept as custom data.";
    MATERIAL_REDEFINED Warning "urdf-material-redefined": "A visual gives a material a colour or texture that differs from another material of the same name.",
        "Goes on; the visual keeps its own.";
    UNKNOWN_MATERIAL Warning "urdf-unknown-material": "A visual names a material that is defined nowhere.",
        "Goes on with grey.";
    EMPTY_MATERIAL Warning "urdf-empty-material": "A material has neither colour nor texture.",
        "Goes on with grey.";
    NO_TEXTURE_FILE Warning "urdf-no-texture-file": "A texture has no filename.",
        "Goes on without the texture.";
    COLOUR_RANGE Warning "urdf-colour-range": "A component of a colour is below 0 or above 1.",
        "Goes on with the nearest of the two.";
    NO_ALPHA Warning "urdf-no-alpha": "A colour has three numbers instead of four.",
        "Goes on with an opacity of 1.";

    // What others than URDF define: Gazebo, ros2_control, transmissions; and SRDF.
    BAD_SETTING Warning "urdf-bad-setting": "A value in a gazebo, sensor, ros2_control or transmission element is no number, not finite, or makes no sense.",
        "Goes on with what the message names: the default, or the nearest value that makes sense.";
    UNKNOWN_REFERENCE Warning "urdf-unknown-reference": "A gazebo, sensor, ros2_control or transmission element names a link or joint that the robot does not have.",
        "Goes on without what stands there; it is kept as custom data.";
    SENSOR_WITHOUT_LINK Warning "urdf-sensor-without-link": "A sensor does not say which link it is on.",
        "Goes on without it; it is kept as custom data.";
    UNKNOWN_SENSOR Info "urdf-unknown-sensor": "A sensor has no type, or one of which it is not known what it publishes.",
        "Goes on; the sensor has no topics.";
    OLD_SENSOR Info "urdf-old-sensor": "Sensors are written as for Gazebo before 1.0 (`<sensor:camera>`).",
        "Goes on without them; they are kept as custom data.";
    UNKNOWN_PLUGIN Info "urdf-unknown-plugin": "A sensor has a plugin of which it is not known what it publishes.",
        "Goes on with the topics that the sensor has without it.";
    SENSOR_FRAME Info "urdf-sensor-frame": "The frame that is named for a sensor's messages is no link of the robot, or, for a camera, no optical frame of it.",
        "Goes on with a frame of that name where the sensor is; with the frame of the sensor's link if another sensor has the name or ROS does not allow it; with the camera's own optical frame if a link is none of it.";
    OPTICAL_PARENT Info "urdf-camera-on-optical-frame": "A camera of Gazebo sits on a link whose name says that it is an optical frame.",
        "Goes on; the camera looks along that link's x axis, as it does in Gazebo.";
    INVALID_TOPIC Warning "urdf-invalid-topic": "The name of a topic or sensor is no valid ROS name.",
        "Goes on with the valid name that the message gives.";
    PROHIBITED_INTERFACE Warning "urdf-prohibited-interface": "An interface belongs to the simulator (/clock, simulation_interfaces), so an asset must not have it (REP-158 §2.9).",
        "Goes on without it.";
    NO_COMMAND Info "urdf-no-command": "A transmission names no known hardware interface, or a joint of ros2_control takes none of position, velocity and effort.",
        "Goes on; the joint has no drive from it.";
    NOT_DRIVABLE Info "urdf-not-drivable": "A command or transmission is for a joint that follows another, or that has no single position.",
        "Goes on; the joint has no drive.";
    UNKNOWN_CONTROLLER Info "urdf-unknown-controller": "A controller file names a controller of a type of which it is not known what it offers.",
        "Goes on without its topics and actions.";
    EXCLUSIVE_CONTROLLER Info "urdf-exclusive-controller": "Two controllers command the same joint, so only one of them can be active (REP-158 §4.2.3).",
        "Goes on; what the second one offers has `starts_enabled` false. A trajectory controller comes first, then the one that is named first.";
    CONTROLLER_FILE Warning "urdf-controller-file": "A controller file is no YAML of a parameter file.",
        "Goes on without it.";
    TOO_MANY_CONTROLLERS Warning "urdf-too-many-controllers": "A robot has more than 100 controller files, or these name more than 1000 controllers.",
        "Goes on with the first of them.";
    ASSUMED_CONTROLLERS Info "urdf-assumed-controllers": "The robot has ros2_control commands, but no file says which controllers it has.",
        "Goes on with controllers by convention.";
}
