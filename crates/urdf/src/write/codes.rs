//! The codes of what a URDF can't say of a robot.

use urdf_usd_diagnostic::codes;

codes! {
    LOOP Warning "urdf-write-loop":
        "A joint closes a loop. In a URDF every link hangs on one joint.",
        "The joint is left out of the URDF, and so is a mimic that follows it; the links keep the joints that they hang on in the tree.";
    ROOTS Warning "urdf-write-roots": "The robot has several roots, where a URDF has one.",
        "The other roots hang on `world`, if that is one of them, or else on the first root: by a floating joint, or by a fixed one if \
         nothing below has a mass. Both are at the origin.";
    SHAPE Warning "urdf-write-shape": "A visual or collision has a mesh that was not read, and nothing says which file it was in.",
        "The URDF has no such visual or collision.";
    NO_WORD Info "urdf-write-no-word":
        "The robot has sensors, drives, contact properties or ROS interfaces that were not read from a URDF, or lights. URDF itself has no \
         word for them; `gazebo` and `ros2_control` are extensions that say more than is known here (REP-158 §3.8).",
        "They are not in the URDF.";
    SRDF Info "urdf-write-srdf":
        "The robot has named poses, or pairs of links that need no check for collision. An SRDF can hold them; a URDF can't.",
        "They are not in the URDF.";
    LOOKS Info "urdf-write-looks":
        "A material of a box, cylinder, sphere or capsule has more than a colour and an image of it: metalness, roughness, light of its \
         own, further images.",
        "The URDF has its colour and the image of its colour.";
    RENAMED Info "urdf-write-renamed":
        "Two materials have the same name. RViz shows the first for both.",
        "The later one gets a number behind its name.";
    REQUIRED Info "urdf-write-required":
        "URDF requires an attribute for which the robot has no value: `k_velocity` of a safety controller.",
        "The URDF has 0 there.";
    LEFT_OUT Info "urdf-write-left-out":
        "An element that URDF defines could not be read, and was kept as it was written: a second link of the same name, a mimic that \
         leads nowhere. ROS's URDF parser refuses robots for such.",
        "It is not in the URDF.";
    CHARACTERS Warning "urdf-write-characters": "A name or text has a control character, which no XML can hold.",
        "U+FFFD stands in its place.";
}
