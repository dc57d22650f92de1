//! The extension's types of joints as the model has them.

use super::extension::JointType;
use urdf_usd_robot::JointKind;

macro_rules! same {
    ($($kind:ident),*) => {
        impl From<JointKind> for JointType {
            fn from(kind: JointKind) -> Self {
                match kind {
                    $(JointKind::$kind => Self::$kind,)*
                }
            }
        }

        impl From<JointType> for JointKind {
            fn from(kind: JointType) -> Self {
                match kind {
                    $(JointType::$kind => Self::$kind,)*
                }
            }
        }
    };
}

same!(Fixed, Revolute, Continuous, Prismatic, Planar, Floating);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_of_freedom_are_positions() {
        for word in [
            "fixed",
            "revolute",
            "continuous",
            "prismatic",
            "planar",
            "floating",
        ] {
            let kind = JointType::of(word).unwrap();
            let joint_kind = JointKind::from(kind);
            assert_eq!(
                (joint_kind.as_str(), JointType::from(joint_kind)),
                (word, kind)
            );
            assert_eq!(
                urdf_usd_robot::kinematics::position_count(joint_kind),
                kind.motions().len()
            );
        }
    }
}
