//! Codes of findings about parts of a robot that MJCF can't express.

use urdf_usd_diagnostic::codes;

codes! {
    MASS Warning "mjcf-mass-missing":
        "A link moves, but neither it nor any link fixed to it has a positive mass. MuJoCo requires moving bodies to have mass.",
        "In the MJCF, the link has the mass and inertia of a ball of 1 g and 5 cm radius.";
    INERTIA Info "mjcf-inertia-repaired":
        "The inertia tensor of a link with a mass is not physically realisable: a principal moment is not positive, or not below the sum \
         of the other two, with a margin of 2e-6. MuJoCo rejects such a tensor, or a program that reads the file in single precision does.",
        "The MJCF has the nearest realisable moments, like the OpenUSD asset (inertia-repaired).";
    RANGE Info "mjcf-range-locked":
        "The limits of a joint are equal, but ranges in MuJoCo must not be empty.",
        "An equality constraint holds the joint at that position.";
    LOOP Warning "mjcf-loop":
        "A joint closes a loop, and MuJoCo has no constraint for its type, or none for its limits, friction and drive: it closes loops by \
         connecting points and by welding frames.",
        "A prismatic joint is left out. A revolute joint is replaced by two connected points on its axis; its limits, dynamics and drive are \
         left out, and so are mimics of it.";
    MIMIC Warning "mjcf-mimic": "A joint mimics another, and one of them does not have exactly one degree of freedom.",
        "In MuJoCo, the joint moves independently.";
    BALL Info "mjcf-ball-limit":
        "A ball joint of an OpenUSD asset has a cone that limits its swing. MuJoCo limits the whole rotation of a ball joint, with its twist.",
        "The ball joint of the MJCF has no range.";
    SHAPE Warning "mjcf-shape":
        "A visual or collision has no extent, or its mesh was not read or has no surface, or it is a collision with a flat mesh. MuJoCo \
         rejects these.",
        "The geometry is left out of the MJCF; a flat mesh stays in visuals.";
    HULL Info "mjcf-hull": "A collision has a mesh. MuJoCo collides meshes as their convex hulls.",
        "The mesh file of the collision contains the convex hull.";
    LOOKS Info "mjcf-looks":
        "A material has properties that MJCF materials lack: images other than its colour image, emission of another colour than its own, \
         vertex colours, an index of refraction.",
        "The MJCF has its colour or colour image, its metalness and its roughness.";
    IMAGE Warning "mjcf-image": "An image can't be converted to PNG, which MuJoCo requires.",
        "The material has its mean colour instead.";
    GAINS Info "mjcf-gains":
        "A joint takes position or velocity commands, but its gain is unknown.",
        "The actuator has no gain, so MuJoCo uses its default (kp or kv of 1). Set the gain of the controller.";
    ACCELERATION Warning "mjcf-acceleration-drive":
        "A drive sets an acceleration: its gains are multiplied by the inertia that the joint carries, which changes with the pose. The \
         actuators of MuJoCo set forces.",
        "The actuator has no gain, so MuJoCo uses its default (kp or kv of 1).";
    SENSOR Info "mjcf-sensor":
        "MJCF can't express a sensor, or not completely: the rays of a lidar, the clipping range of a camera, a position on the earth, \
         sensors of unknown kinds.",
        "The MJCF has a site at the sensor. A camera has its field of view and resolution; a satellite receiver measures the site's position \
         in the world.";
    NO_WORD Info "mjcf-no-word":
        "MJCF can't express parts of the robot: names of fixed joints, ROS interfaces and contexts, velocity limits, soft limits, calibration, marks of assumed \
         masses, restitution, static friction that differs from dynamic friction, lights, data for motion planners, custom elements and \
         attributes.",
        "They are left out of the MJCF.";
    RENAMED Info "mjcf-renamed":
        "Two elements of a kind have the same name, or a link is named `world`, which MuJoCo reserves, or a name is empty.",
        "The later one gets a numeric suffix.";
    DEEP Warning "mjcf-too-deep": "The chain of links is so long that MuJoCo's XML reader (500 levels) rejects the MJCF.",
        "The MJCF is written nevertheless.";
    CHARACTERS Warning "mjcf-characters": "A name contains a control character, which XML does not allow.", "The MJCF has U+FFFD instead.";
}
