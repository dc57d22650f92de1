//! The codes of what an SDF can't say of a robot.

use urdf_usd_diagnostic::codes;

codes! {
    MASS Warning "sdf-mass-missing":
        "A link moves, and neither it nor what is fixed to it has a mass above zero. Gazebo and Drake move no link without a mass.",
        "The link has the mass and inertia of a ball of 1 g and 5 cm radius in the SDF.";
    INERTIA Info "sdf-inertia-repaired":
        "A link has a mass, but an inertia tensor that no body has: a principal moment that is not above zero, or one that is above the \
         sum of the other two. libsdformat takes no such tensor.",
        "The SDF has the nearest moments that a body can have, as the OpenUSD asset has them (inertia-repaired).";
    PLANAR Warning "sdf-planar": "A joint is planar. SDFormat has no such joint.",
        "In the SDF no joint holds its link; the link is where it is at the joint's zero.";
    LOOP Warning "sdf-loop":
        "A joint closes a loop between links that are rigid in each other, or at the world. In SDFormat a joint is between two links, and \
         the world is never its child.",
        "The joint is left out of the SDF.";
    MIMIC Warning "sdf-mimic": "A joint follows another, and one of them has not exactly one degree of freedom in the SDF.",
        "In the SDF the joint moves by itself.";
    SHAPE Warning "sdf-shape": "A visual or collision has no extent, or a mesh that was not read.",
        "The SDF has no such visual or collision.";
    LOOKS Info "sdf-looks":
        "A material of a box, cylinder, sphere or capsule has images of anything but its colour, or an index of refraction.",
        "The SDF has its colour, the image of its colour, its metalness, its roughness and the light that it emits.";
    SENSOR Info "sdf-sensor":
        "SDFormat has no word for a sensor, or needs to know more of it: the rays of a lidar, the collisions of a contact sensor, the joint of \
         a force-torque sensor, what a sensor of an unknown kind senses. Or the source is a URDF and says more of it than SDFormat defines.",
        "The SDF has no such sensor, or the sensor without what SDFormat does not define. If the source is a URDF with SDFormat's `<sensor>` in it, a lidar is written as that says.";
    LIGHT Info "sdf-light":
        "SDFormat's lights have a relative power, where the robot has candela or lux, and no extent.",
        "The light has its colour, its cone and its range, and the power 1. Set `<intensity>` as the renderer wants it.";
    NO_WORD Info "sdf-no-word":
        "SDFormat has no word for something of the robot: soft limits, calibration, drives, named poses, pairs of links that need no check \
         for collision, static friction that is not the sliding one, ROS interfaces, elements of a URDF other than Gazebo's sensors and \
         plugins of the model.",
        "They are not in the SDF.";
    RENAMED Info "sdf-renamed":
        "A link or joint can't have its name: links, joints and frames share their names in SDFormat, `world` and names with `__` at both ends \
         are its own, and `::` separates names.",
        "A joint with the name of a link gets `_joint` behind its name, others a number; `::` becomes `__`.";
    CHARACTERS Warning "sdf-characters": "A name has a control character, which no XML can hold.", "U+FFFD stands in its place.";
}
