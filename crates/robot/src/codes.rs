//! The code of a change that a [`Robot`](crate::Robot) refuses.

use urdf_usd_diagnostic::codes;

codes! {
    REFUSED Error "robot-refused":
        "A reader made something of its source that does not fit the robot: a defect of the program, not of the source.",
        "It is left out. Please report it with the file.";
}
