//! Codes of findings about xacro. Those of the resulting URDF are in [`crate::codes`].

use urdf_usd_diagnostic::codes;

codes! {
    NOT_INSTALLED Error "xacro-not-installed": "The input is xacro, but the program xacro is not in PATH.",
        "Nothing is converted.";
    FAILED Error "xacro-failed":
        "The program xacro could not expand the input. The message is xacro's own; the line is the one that it reports, or the only \
         occurrence of the text that it complains about.",
        "Nothing is converted.";
    TIMEOUT Error "xacro-timeout": "The program xacro did not end within a minute.", "It is terminated; nothing is converted.";
    WARNING Warning "xacro-warning": "The program xacro expanded the input with a warning.",
        "Goes on with the expanded text.";
}
