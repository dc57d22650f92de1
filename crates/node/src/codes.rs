//! Diagnostic codes of the node itself.

use urdf_usd_diagnostic::codes;
pub(crate) use urdf_usd_worker::codes::SYSTEM;

codes! {
    OUTPUT_DIR Error "bridge-output-dir": "The output directory cannot be used, or another node is using it.",
        "The node does not start.";
    DESCRIPTION_TOO_LARGE Error "bridge-description-too-large": "A robot description is larger than the parameter max_description_bytes.",
        "It is not converted; the last asset is kept.";
    REQUEST Error "bridge-request": "A service call asks for something that is not allowed or does not exist.",
        "The call is answered with the reason; nothing is written.";
    DEFECT Error "bridge-defect": "A conversion failed because of a bug in urdf_usd.",
        "The robot is set aside until its description, a file of it or a parameter changes; the last asset is kept; the node \
         continues running.";
    TIME_LIMIT Error "bridge-time-limit": "A conversion took longer than the parameter time_limit, and was stopped.",
        "The robot is set aside until its description, a file of it or a parameter changes; the last asset is \
         kept.";
    ENDED Error "bridge-ended": "A part that the node cannot work without has ended.",
        "The node ends with exit code 1, so that a supervisor can restart it.";
    TOO_MANY_ASSETS Error "bridge-too-many-assets":
        "A new robot was described, but output_dir already holds max_assets assets.",
        "It is not converted; robots that already have an asset are not affected.";
    DEMO Error "bridge-demo": "The demo could not run.", "It ends with exit code 1.";
    ARGUMENT Error "bridge-argument": "An argument is unknown to the node.", "The node does not start.";
    FRAME_MISSING Warning "frame-missing": "A frame that the asset declares is not published on TF.", "`check --live` fails.";
    FRAME_PARENT Error "frame-wrong-parent": "A frame has another parent in TF than in the asset.", "`check --live` fails.";
    FRAME_TOPIC Error "frame-wrong-topic": "A frame is on /tf but static in the asset, or on /tf_static but not static in the asset.",
        "`check --live` fails.";
    FRAME_OFF Error "frame-off": "A frame's pose differs from the one that the asset and the joint states give.",
        "`check --live` fails.";
    FRAME_STALE Warning "frame-stale": "A moving frame was not updated within frames.timeout.", "`check --live` fails.";
    FRAME_EXTRA Info "frame-extra": "TF has a frame below the robot that the asset does not declare.",
        "Reported only; `check --live` passes.";
}
