//! The codes of what an MJCF can't say of a robot.

use urdf_usd_diagnostic::codes;

codes! {
    MASS Warning "mjcf-mass-missing":
        "A link moves, and neither it nor what is fixed to it has a mass above zero. MuJoCo moves no body without a mass.",
        "The link has the mass and inertia of a ball of 1 g and 5 cm radius in the MJCF.";
    INERTIA Info "mjcf-inertia-repaired":
        "A link has a mass, but an inertia tensor that no body has: a principal moment that is not above zero, or one that is above the \
         sum of the other two. MuJoCo takes no such tensor.",
        "The MJCF has the nearest moments that a body can have, as the OpenUSD asset has them (inertia-repaired).";
    RANGE Info "mjcf-range-locked":
        "The limits of a joint are one and the same position, and a range of MuJoCo has some extent.",
        "An equality constraint holds the joint at that position.";
    LOOP Warning "mjcf-loop":
        "A joint closes a loop, and MuJoCo has no constraint for such a joint, or none for its limits, friction and drive: it closes loops \
         by points that meet and by frames that coincide.",
        "A joint that slides is left out. A joint that turns has two points on its axis that meet; its limits, dynamics and drive are left \
         out, and so is a mimic that follows it.";
    MIMIC Warning "mjcf-mimic": "A joint follows another, and one of them has not exactly one degree of freedom.",
        "In MuJoCo the joint moves by itself.";
    SHAPE Warning "mjcf-shape":
        "A visual or collision has no extent, or a mesh that was not read or that has no surface, or it collides and its mesh is flat. \
         MuJoCo takes none of these.",
        "The MJCF has no such geometry; a flat mesh stays where it is only seen.";
    HULL Info "mjcf-hull": "A mesh collides. MuJoCo lets meshes collide by their convex hulls.",
        "The mesh file of the collision has the convex hull.";
    LOOKS Info "mjcf-looks":
        "A material has more than MJCF's materials have here: images of anything but its colour, light of another colour than its own, \
         colours of corners, an index of refraction.",
        "The MJCF has its colour or the image of its colour, its metalness and its roughness.";
    IMAGE Warning "mjcf-image": "An image can't be written as a PNG, which is what MuJoCo reads.",
        "The material has its mean colour instead.";
    GAINS Info "mjcf-gains":
        "A joint takes positions or speeds as command, and nothing says with which gain.",
        "The actuator has none, so that MuJoCo's own default holds (kp or kv of 1). Set the one that the controller has.";
    SENSOR Info "mjcf-sensor":
        "MJCF has no word for a sensor, or not for all of it: rays of a lidar, what is too near or too far for a camera, a position on the \
         earth, sensors of unknown kinds.",
        "There is a site where the sensor is; a camera has its field of view and resolution; for a satellite receiver the site's position \
         in the world is measured.";
    NO_WORD Info "mjcf-no-word":
        "MJCF has no word for something of the robot: ROS interfaces, limits of speed, soft limits, calibration, restitution, elements \
         of Gazebo and ros2_control as they were written.",
        "They are not in the MJCF.";
    RENAMED Info "mjcf-renamed":
        "Two things of a kind have the same name, or a link is called `world`, which is MuJoCo's own, or a name is empty.",
        "The later one gets a number behind its name.";
    DEEP Warning "mjcf-too-deep": "The links hang on each other so deeply that MuJoCo's reader of XML (500 levels) refuses the MJCF.",
        "It is written all the same.";
    CHARACTERS Warning "mjcf-characters": "A name has a control character, which no XML can hold.", "U+FFFD stands in its place.";
}
