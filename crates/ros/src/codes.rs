//! Codes of this crate's diagnostics.

use urdf_usd_diagnostic::codes;

codes! {
    INVALID_NAME Error "ros-invalid-name": "A node, namespace, topic or service name that ROS 2 does not allow.",
        "The node does not start.";
    ARGUMENT Error "ros-argument": "An invalid argument after `--ros-args`.", "The node does not start.";
    PARAMETER_FILE Error "ros-parameter-file": "A parameter file that can't be read or does not have the structure of a ROS 2 parameter file.",
        "The node does not start.";
    PARAMETER_TYPE Error "ros-parameter-type": "A value of another type than its parameter's.",
        "At start: the node does not start. Later: the change is refused.";
    PARAMETER_VALUE Error "ros-parameter-value": "A value outside the parameter's range, or refused by its rule.",
        "At start: the node does not start. Later: the change is refused.";
    UNKNOWN_PARAMETER Warning "ros-unknown-parameter": "A value for a parameter that this node does not have.",
        "The value is ignored.";
    WITHOUT_EFFECT Warning "ros-without-effect":
        "An argument or environment variable of ROS 2 that has no effect on this node.",
        "It is ignored.";
    ENVIRONMENT Error "ros-environment": "An environment variable of ROS 2 with a value that this node does not support.",
        "The node does not start.";
    TRANSPORT Error "ros-transport": "The network or the ROS client refused an operation.",
        "At start: the node does not start. Later: that message or answer is lost.";
    NO_ANSWER Error "ros-no-answer": "A service of another node is missing, or does not answer in time.",
        "The answer stays unknown; the message says what follows.";
    OTHER_SERVICE_WIRE Warning "ros-other-service-wire":
        "A service between this node on its embedded Cyclone DDS and a node on Fast DDS or Connext, which identify requests differently.",
        "The request is refused, or the service is not called. Topics are not affected.";
}
