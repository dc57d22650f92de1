//! Names of the Isaac robot schema: schemas, properties and their allowed tokens, for code that
//! writes or reads it.
//!
//! Types and fallbacks are in the codeless plugin of the schema ([`crate::ISAAC_SCHEMA_FILES`]).

/// API schema of a robot: its name and type, links, joints and poses.
pub const ROBOT_API: &str = "IsaacRobotAPI";
/// API schema of a body that is a link of a robot.
pub const LINK_API: &str = "IsaacLinkAPI";
/// API schema of a UsdPhysics joint that is a joint of a robot.
pub const JOINT_API: &str = "IsaacJointAPI";
/// API schema of a point of interest: a tool mount, or a place for a sensor.
pub const SITE_API: &str = "IsaacSiteAPI";
/// Former name of [`SITE_API`].
pub const REFERENCE_POINT_API: &str = "IsaacReferencePointAPI";
/// API schema of a joint at which a surface gripper can hold something.
pub const ATTACHMENT_POINT_API: &str = "IsaacAttachmentPointAPI";
/// Type of prims that are surface grippers.
pub const SURFACE_GRIPPER: &str = "IsaacSurfaceGripper";
/// Type of prims that are named poses, an Xform.
pub const NAMED_POSE: &str = "IsaacNamedPose";
/// The scope of named poses in the robot's prim, as the schema's documentation spells it.
pub const NAMED_POSES: &str = "Named_Poses";
/// The scope in which Isaac Sim 6.0 stores poses, and looks them up by name.
pub const SIM_NAMED_POSES: &str = "NamedPoses";

/// `string`.
pub const DESCRIPTION: &str = "isaac:description";
/// `string`.
pub const NAMESPACE: &str = "isaac:namespace";
/// `token`, one of [`RobotType::ALL`].
pub const ROBOT_TYPE: &str = "isaac:robotType";
/// `token`, one of [`LICENSES`].
pub const LICENSE: &str = "isaac:license";
/// `string`.
pub const SOURCE: &str = "isaac:source";
/// `string`.
pub const VERSION: &str = "isaac:version";
/// `string[]`.
pub const CHANGELOG: &str = "isaac:changelog";
/// Relationship to the links in order, base first; to sites too.
pub const ROBOT_LINKS: &str = "isaac:physics:robotLinks";
/// Relationship to the joints in order.
pub const ROBOT_JOINTS: &str = "isaac:physics:robotJoints";
/// Relationship to the named poses.
pub const ROBOT_POSES: &str = "isaac:robot:namedPoses";

/// `string`, of links and joints: a name that replaces the prim's name.
pub const NAME_OVERRIDE: &str = "isaac:nameOverride";
/// Spelling of [`NAME_OVERRIDE`] for joints in the schema's file; programs read [`NAME_OVERRIDE`].
pub const JOINT_NAME_OVERRIDE: &str = "isaac:NameOverride";
/// `token[]`, of joints with several degrees of freedom: their order, from [`DOF_TOKENS`].
pub const DOF_ORDER: &str = "isaac:physics:DofOffsetOpOrder";
/// The allowed tokens of [`DOF_ORDER`].
pub const DOF_TOKENS: [&str; 6] = ["TransX", "TransY", "TransZ", "RotX", "RotY", "RotZ"];
/// `bool[]`, of joints: which degrees of freedom are driven.
pub const ACTUATOR: &str = "isaac:actuator";
/// `string`, of sites.
pub const SITE_DESCRIPTION: &str = "isaac:Description";
/// `uniform token`, of sites: `X`, `Y` or `Z`.
pub const FORWARD_AXIS: &str = "isaac:forwardAxis";

/// Relationship to the first link of a pose's chain.
pub const POSE_START: &str = "isaac:robot:pose:startLink";
/// Relationship to the last link or site of the chain.
pub const POSE_END: &str = "isaac:robot:pose:endLink";
/// Relationship to the joints that the pose sets, in order.
pub const POSE_JOINTS: &str = "isaac:robot:pose:joints";
/// `bool`: whether the positions are within limits.
pub const POSE_VALID: &str = "isaac:robot:pose:valid";
/// `float[]`: a position for each of the joints, degrees or metres.
pub const POSE_VALUES: &str = "isaac:robot:pose:jointValues";
/// `bool[]`: whether inverse kinematics keeps each of the joints fixed.
pub const POSE_FIXED: &str = "isaac:robot:pose:jointFixed";

/// The allowed tokens of [`LICENSE`].
pub const LICENSES: [&str; 12] = [
    "MIT",
    "Apache-2.0",
    "GPL-3.0",
    "LGPL-3.0",
    "BSD-3-Clause",
    "BSD-2-Clause",
    "ISC",
    "MPL-2.0",
    "EPL-2.0",
    "CC0-1.0",
    "Unlicense",
    OTHER_LICENSE,
];
/// Token of licences that the schema does not list.
pub const OTHER_LICENSE: &str = "Other";

/// Returns the schema's token for a licence in a `package.xml`: an exact match, or a spelling
/// common in ROS packages. "BSD" alone is ambiguous, because the schema has two of them.
pub fn license(name: &str) -> &'static str {
    if let Some(token) = LICENSES
        .into_iter()
        .find(|token| token.eq_ignore_ascii_case(name.trim()))
    {
        return token;
    }
    let plain: String = name
        .to_lowercase()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '.')
        .collect();
    // `GPLv3`, `GPL version 3` and `The GPL 3 License` become the same.
    let plain = plain
        .replace("license", "")
        .replace("version", "")
        .replace("v", "")
        .replace("the", "");
    let known = |of: &str| {
        of.to_lowercase()
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '.')
            .collect::<String>()
    };
    let spelt = match plain.as_str() {
        "apache2" | "apache2.0" => "Apache-2.0",
        "bsd3" | "3clausebsd" => "BSD-3-Clause",
        "bsd2" | "2clausebsd" => "BSD-2-Clause",
        "gpl3"
        | "gpl3.0only"
        | "gpl3.0orlater"
        | "gnugpl3"
        | "gnugeneralpublic3"
        | "gnugeneralpublic3.0" => "GPL-3.0",
        "lgpl3"
        | "lgpl3.0only"
        | "lgpl3.0orlater"
        | "gnulgpl3"
        | "gnulessergeneralpublic3"
        | "gnulessergeneralpublic3.0" => "LGPL-3.0",
        "mpl2" | "mozilla2.0" | "mozillapublic2" | "mozillapublic2.0" => "MPL-2.0",
        "epl2" | "eclipse2.0" | "eclipsepublic2" | "eclipsepublic2.0" => "EPL-2.0",
        "cc0" => "CC0-1.0",
        _ => "",
    };
    let is_it = |token: &&str| **token == *spelt || known(token) == plain;
    LICENSES.into_iter().find(is_it).unwrap_or(OTHER_LICENSE)
}

/// Returns the path that a named pose has in the scope of the other spelling; `None` outside of both.
pub fn other_pose_path(path: &str) -> Option<String> {
    let (scope, name) = path.rsplit_once('/')?;
    let (robot, spelling) = scope.rsplit_once('/')?;
    let other = match spelling {
        NAMED_POSES => SIM_NAMED_POSES,
        SIM_NAMED_POSES => NAMED_POSES,
        _ => return None,
    };
    Some(format!("{robot}/{other}/{name}"))
}

/// Types of robots that the schema's documentation names as examples and its file does not allow.
pub const EXAMPLE_ROBOT_TYPES: [&str; 1] = ["Mobile Base"];

/// The scopes in which named poses are authored. Readers accept both spellings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum PoseScope {
    /// The prims are in [`NAMED_POSES`], and [`SIM_NAMED_POSES`] inherits that scope.
    #[default]
    Both,
    /// Only [`NAMED_POSES`], in which Isaac Sim 6.0 lists poses but does not find them by name.
    Documented,
    /// Only [`SIM_NAMED_POSES`].
    Sim,
}

impl PoseScope {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Both, Self::Documented, Self::Sim];

    /// Returns the token of users.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Documented => NAMED_POSES,
            Self::Sim => SIM_NAMED_POSES,
        }
    }

    /// Returns the name of the scope that has the prims.
    pub fn scope(self) -> &'static str {
        match self {
            Self::Both | Self::Documented => NAMED_POSES,
            Self::Sim => SIM_NAMED_POSES,
        }
    }
}

impl std::fmt::Display for PoseScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for PoseScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        known.ok_or_else(|| {
            format!(
                "{text:?} is none of {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// The type of a robot: the allowed tokens of [`ROBOT_TYPE`], and [`EXAMPLE_ROBOT_TYPES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum RobotType {
    /// Not specified.
    #[default]
    Default,
    /// A gripper or tool.
    EndEffector,
    /// An arm.
    Manipulator,
    /// A humanoid with two arms and two legs.
    Humanoid,
    /// A wheeled robot.
    Wheeled,
    /// A wheeled robot that moves in any direction.
    Holonomic,
    /// A robot with four legs.
    Quadruped,
    /// An arm on a mobile base.
    MobileManipulators,
    /// A flying robot.
    Aerial,
    /// A base that drives; an example of the schema's documentation.
    MobileBase,
}

impl RobotType {
    /// All types.
    pub const ALL: [Self; 10] = [
        Self::Default,
        Self::EndEffector,
        Self::Manipulator,
        Self::Humanoid,
        Self::Wheeled,
        Self::Holonomic,
        Self::Quadruped,
        Self::MobileManipulators,
        Self::Aerial,
        Self::MobileBase,
    ];

    /// Returns the schema's token.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "Default",
            Self::EndEffector => "End Effector",
            Self::Manipulator => "Manipulator",
            Self::Humanoid => "Humanoid",
            Self::Wheeled => "Wheeled",
            Self::Holonomic => "Holonomic",
            Self::Quadruped => "Quadruped",
            Self::MobileManipulators => "Mobile Manipulators",
            Self::Aerial => "Aerial",
            Self::MobileBase => "Mobile Base",
        }
    }
}

impl std::fmt::Display for RobotType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for RobotType {
    type Err = String;

    /// Parses a token; ignores case, spaces, hyphens and underscores.
    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |text: &str| -> String {
            text.to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric())
                .collect()
        };
        let known = Self::ALL
            .into_iter()
            .find(|value| plain(value.as_str()) == plain(text));
        known.ok_or_else(|| {
            format!(
                "{text:?} is none of {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_have_the_schemas_tokens() {
        for (name, token) in [
            ("MIT", "MIT"),
            ("mit license", "MIT"),
            ("Apache License 2.0", "Apache-2.0"),
            ("Apache-2.0", "Apache-2.0"),
            ("Apache License, Version 2.0", "Apache-2.0"),
            ("BSD-3-Clause", "BSD-3-Clause"),
            ("3-Clause BSD", "BSD-3-Clause"),
            ("GPLv3", "GPL-3.0"),
            ("LGPL-3.0-or-later", "LGPL-3.0"),
            ("MPL 2.0", "MPL-2.0"),
            ("BSD", "Other"),
            ("Proprietary", "Other"),
            ("MIT, BSD", "Other"),
            ("Mozilla Public License Version 2.0", "MPL-2.0"),
            ("Mozilla", "Other"),
            ("GNU General Public License v3.0", "GPL-3.0"),
            ("The Unlicense", "Other"),
            ("", "Other"),
        ] {
            assert_eq!(license(name), token, "{name}");
        }
        for token in LICENSES {
            assert_eq!(
                (license(token), license(&token.to_lowercase())),
                (token, token)
            );
        }
    }

    #[test]
    fn types_of_robots_are_read_as_people_write_them() {
        for (text, expected) in [
            ("Manipulator", RobotType::Manipulator),
            ("end_effector", RobotType::EndEffector),
            ("mobile-manipulators", RobotType::MobileManipulators),
            ("Mobile Base", RobotType::MobileBase),
        ] {
            assert_eq!(text.parse(), Ok(expected));
        }
        assert!("arm".parse::<RobotType>().is_err());
    }
}
