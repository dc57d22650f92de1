//! The codes of what can go wrong with xacro. Those of the URDF that it makes are [`crate::urdf::codes`].

use crate::diagnostic::codes;

codes! {
    NOT_INSTALLED Error "xacro-not-installed": "The input is xacro, and no program named xacro is in PATH.",
        "Nothing is converted.";
    FAILED Error "xacro-failed":
        "The program xacro could not expand the input. The message is its own; the line is where it says, or where the only text \
         that fits stands.",
        "Nothing is converted.";
    TIMEOUT Error "xacro-timeout": "The program xacro did not end within a minute.", "It is ended; nothing is converted.";
    WARNING Warning "xacro-warning": "The program xacro expanded the input, and warns of something in it.",
        "Goes on with what it made.";
}
