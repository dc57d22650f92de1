//! The findings of the node itself.

use urdf_usd_diagnostic::codes;
pub(crate) use urdf_usd_worker::codes::SYSTEM;

codes! {
    OUTPUT_DIR Error "bridge-output-dir": "The output directory cannot be used, or another node uses it.",
        "The node does not start.";
    DESCRIPTION_TOO_LARGE Error "bridge-description-too-large": "A robot description of more than 16 MiB.",
        "It is not converted; the last asset stays.";
    REQUEST Error "bridge-request": "A call of a service that asks for what is not allowed or not there.",
        "The call is answered with the reason; nothing is written.";
    DEFECT Error "bridge-defect": "A conversion ended in a defect of urdf_usd.",
        "The robot is set aside until its description, a file of it or a parameter changes; the last asset stays; the node goes \
         on.";
    TIME_LIMIT Error "bridge-time-limit": "A conversion took longer than the parameter time_limit, and did not end.",
        "It is given up and the robot set aside until its description, a file of it or a parameter changes; the last asset \
         stays.";
    ENDED Error "bridge-ended": "A part of the node ended that it would be deaf or dumb without.",
        "The node ends with exit code 1, so that it can be started again.";
    TOO_MANY_ASSETS Error "bridge-too-many-assets":
        "A robot of a new name where output_dir holds as many assets as max_assets allows.",
        "It is not converted; robots whose assets are there go on.";
    DEMO Error "bridge-demo": "The demo could not show what it is for.", "It ends with exit code 1.";
    ARGUMENT Error "bridge-argument": "An argument that is none of the node's.", "The node does not start.";
    FRAME_MISSING Warning "frame-missing": "A frame that the asset declares is on no TF topic.", "`check --live` fails.";
    FRAME_PARENT Error "frame-wrong-parent": "A frame hangs on another frame in TF than in the asset.", "`check --live` fails.";
    FRAME_TOPIC Error "frame-wrong-topic": "A frame is on /tf where the asset says /tf_static, or the other way round.",
        "`check --live` fails.";
    FRAME_OFF Error "frame-off": "A frame is not where the asset, or the joint state of the same moment, puts it.",
        "`check --live` fails.";
    FRAME_STALE Warning "frame-stale": "A frame that moves was not heard for longer than the timeout.", "`check --live` fails.";
    FRAME_EXTRA Info "frame-extra": "A frame under the robot in TF that the asset does not declare.",
        "It is told, and fails nothing.";
}
