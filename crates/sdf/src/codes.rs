//! Codes of findings about parts of a robot that SDFormat can't express.

use urdf_usd_diagnostic::codes;

codes! {
    MASS Warning "sdf-mass-missing":
        "A link moves, but neither it nor any link fixed to it has a positive mass. Gazebo and Drake require moving links to have mass.",
        "In the SDF, the link has the mass and inertia of a ball of 1 g and 5 cm radius.";
    INERTIA Info "sdf-inertia-repaired":
        "The inertia tensor of a link with a mass is not physically realisable: a principal moment is not positive, or not below the sum \
         of the other two, with a margin of 2e-6. libsdformat rejects such a tensor, or a program that reads the file in single precision does.",
        "The SDF has the nearest realisable moments, like the OpenUSD asset (inertia-repaired).";
    PLANAR Warning "sdf-planar": "A joint is planar, which SDFormat does not support.",
        "The joint is left out of the SDF; its child link is free, and starts at the joint's zero position.";
    MERGED Info "sdf-joint-merged":
        "A fixed joint connects a link without a mass, which SDFormat does not allow.",
        "The SDF has one link for both, with a frame for each link without a mass. Motion and masses do not change.";
    LOOP Warning "sdf-loop":
        "A joint closes a loop between links that are rigidly connected, or ends at the world. In SDFormat a joint connects two links, and \
         its child is never the world.",
        "The joint is left out of the SDF.";
    MIMIC Warning "sdf-mimic": "A joint mimics another, and one of them does not have exactly one degree of freedom in the SDF.",
        "In the SDF, the joint moves independently.";
    SHAPE Warning "sdf-shape": "A visual or collision has no extent, or its mesh was not read.",
        "The visual or collision is left out of the SDF.";
    LOOKS Info "sdf-looks":
        "A material of a box, cylinder, sphere or capsule has images other than its colour image, or an index of refraction.",
        "The SDF has its colour, colour image, metalness, roughness and emission.";
    SENSOR Info "sdf-sensor":
        "SDFormat can't express a sensor, or requires data that is unknown: the rays of a lidar, the collisions of a contact sensor, the joint \
         of a force-torque sensor, the measurements of an unknown kind. Or the source URDF has settings that SDFormat does not define.",
        "The SDF lacks the sensor, or the settings that SDFormat does not define. If the source URDF has the `<sensor>` element of a lidar, that element is written.";
    LIGHT Info "sdf-light":
        "Lights in SDFormat have a relative intensity instead of candela or lux, and no extent.",
        "The light has its colour, cone and range, and intensity 1. Set `<intensity>` as the renderer requires.";
    DRIVE Info "sdf-drive":
        "SDFormat has no element for the gains and targets of a drive. Drake reads the stiffness and damping of a position drive from \
         `drake:controller_gains`, but no target, no velocity drive, and no drive that sets an acceleration.",
        "The finding names the properties that are left out of the SDF.";
    NO_WORD Info "sdf-no-word":
        "SDFormat can't express parts of the robot: floating joints, names of materials of primitives, soft limits, calibration, marks of assumed masses, drives, named poses, \
         pairs of links with disabled collisions, data for motion planners, static friction that differs from dynamic friction, ROS \
         interfaces and contexts, attributes of a URDF, and elements of a URDF other than Gazebo's sensors and model plugins.",
        "They are left out of the SDF.";
    RENAMED Info "sdf-renamed":
        "The name of a link or joint is not allowed: links, joints and frames share one namespace in SDFormat, `world` and names with `__` at \
         both ends are reserved, and `::` separates scopes.",
        "A joint with the name of a link gets the suffix `_joint`, others get a numeric suffix; `::` becomes `__`.";
    CHARACTERS Warning "sdf-characters": "A name contains a control character, which XML does not allow.", "The SDF has U+FFFD instead.";
}
