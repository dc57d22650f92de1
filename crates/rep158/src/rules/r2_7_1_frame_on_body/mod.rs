//! Bodies do not have `RosFrameAPI`.

use super::{Findings, Subject, rule};

rule! {
    severity: Warning,
    meaning: "A body has RosFrameAPI.",
    outcome: "Simulators already publish bodies on joints as frames, so TF may get the frame \
              twice.",
    demand: "RosFrameAPI is for non-physical dummy frames; bodies are published without it.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for &id in &subject.physics.bodies {
        let prim = &subject.stage[id];
        if prim.has("RosFrameAPI") {
            let message = format!("{} is a body and has RosFrameAPI", prim.path);
            findings.prim(
                id,
                None,
                message,
                "remove RosFrameAPI: the frame of a body has the name of its prim",
            );
        }
    }
}
