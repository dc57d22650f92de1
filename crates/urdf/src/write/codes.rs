//! Codes of findings about parts of a robot that URDF can't express.

use urdf_usd_diagnostic::codes;

codes! {
    LOOP Warning "urdf-write-loop":
        "A joint closes a loop. In URDF every link has at most one parent joint.",
        "The joint is left out of the URDF, and so are mimics of it; the links keep their parent joints in the tree.";
    ROOTS Warning "urdf-write-roots": "The robot has several roots, but URDF allows one.",
        "The other roots are attached to `world`, if that is one of them, otherwise to the first root: by a floating joint, or by a \
         fixed one if no link below has a mass. All roots are at the origin.";
    SHAPE Warning "urdf-write-shape": "The mesh of a visual or collision was not read, and its file is unknown.",
        "The visual or collision is left out of the URDF.";
    NO_WORD Info "urdf-write-no-word":
        "The robot has sensors, drives, contact properties or ROS interfaces that were not read from a URDF, or lights, ROS contexts, marks of \
         assumed masses or data for motion planners. URDF itself can't express them; the extensions `gazebo` and `ros2_control` need more data than the robot has (REP-158 §3.8).",
        "They are left out of the URDF.";
    DRIVE Info "urdf-write-drive":
        "A joint has a drive with gains or targets. URDF has no element for them.",
        "The finding names the properties that are left out of the URDF.";
    SRDF Info "urdf-write-srdf":
        "The robot has named poses, or pairs of links with disabled collisions. SRDF can express them, URDF can't.",
        "They are left out of the URDF.";
    LOOKS Info "urdf-write-looks":
        "A material of a box, cylinder, sphere or capsule has more than a colour and a colour image: metalness, roughness, emission, \
         further images.",
        "The URDF has its colour and colour image only.";
    RENAMED Info "urdf-write-renamed":
        "Two materials have the same name. RViz shows the first for both.",
        "The later one gets a numeric suffix.";
    REQUIRED Info "urdf-write-required":
        "The robot has no value for an attribute that URDF requires: `k_velocity` of a safety controller.",
        "The URDF has 0 instead.";
    LEFT_OUT Info "urdf-write-left-out":
        "An element that URDF defines could not be read, and was kept as custom data: a second link of the same name, a mimic of an \
         unknown joint. ROS's URDF parser rejects such robots.",
        "It is left out of the URDF.";
    CHARACTERS Warning "urdf-write-characters": "A name or text contains a control character, which XML does not allow.",
        "The URDF has U+FFFD instead.";
}
