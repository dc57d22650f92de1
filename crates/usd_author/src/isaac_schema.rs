//! The names of the Isaac robot schema: schemas, properties and their allowed tokens, for all that
//! writes or reads it.
//!
//! Types and fallbacks are in the codeless plugin of the schema ([`crate::ISAAC_SCHEMA_FILES`]).

/// Makes a prim a robot: what it is called and is, its links, joints and poses.
pub const ROBOT_API: &str = "IsaacRobotAPI";
/// Makes a body a link of a robot.
pub const LINK_API: &str = "IsaacLinkAPI";
/// Makes a joint of UsdPhysics a joint of a robot.
pub const JOINT_API: &str = "IsaacJointAPI";
/// Makes a prim a point of interest: a tool mount, a place for a sensor.
pub const SITE_API: &str = "IsaacSiteAPI";
/// What [`SITE_API`] was called before.
pub const REFERENCE_POINT_API: &str = "IsaacReferencePointAPI";
/// The type of prims that are named poses, an Xform.
pub const NAMED_POSE: &str = "IsaacNamedPose";
/// The scope of named poses, in the robot's prim.
pub const NAMED_POSES: &str = "Named_Poses";

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

/// `string`, of links and joints: what they are called instead of the prim's name.
pub const NAME_OVERRIDE: &str = "isaac:nameOverride";
/// The same as the schema's file spells it for joints; programs read [`NAME_OVERRIDE`].
pub const JOINT_NAME_OVERRIDE: &str = "isaac:NameOverride";
/// `token[]`, of joints with several degrees of freedom: their order, of [`DOF_TOKENS`].
pub const DOF_ORDER: &str = "isaac:physics:DofOffsetOpOrder";
/// What [`DOF_ORDER`] lists.
pub const DOF_TOKENS: [&str; 6] = ["TransX", "TransY", "TransZ", "RotX", "RotY", "RotZ"];
/// `bool[]`, of joints: which degrees of freedom are driven.
pub const ACTUATOR: &str = "isaac:actuator";
/// `string`, of sites.
pub const SITE_DESCRIPTION: &str = "isaac:Description";
/// `uniform token`, of sites: `X`, `Y` or `Z`.
pub const FORWARD_AXIS: &str = "isaac:forwardAxis";

/// Relationship to the link that the chain of a pose begins with.
pub const POSE_START: &str = "isaac:robot:pose:startLink";
/// Relationship to the link or site that it ends with.
pub const POSE_END: &str = "isaac:robot:pose:endLink";
/// Relationship to the joints that the pose sets, in order.
pub const POSE_JOINTS: &str = "isaac:robot:pose:joints";
/// `bool`: whether the positions are allowed.
pub const POSE_VALID: &str = "isaac:robot:pose:valid";
/// `float[]`: a position for each of the joints, degrees or metres.
pub const POSE_VALUES: &str = "isaac:robot:pose:jointValues";
/// `bool[]`: which of the joints inverse kinematics leaves alone.
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
/// A licence that the schema has no token for.
pub const OTHER_LICENSE: &str = "Other";

/// The token for a licence as a package.xml names it: exactly, or in the words that ROS packages
/// use for it. "BSD" alone is no licence that the schema has: there are two.
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

/// What kind of robot it is: the allowed tokens of [`ROBOT_TYPE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum RobotType {
    /// Nothing is said.
    #[default]
    Default,
    /// A gripper or tool.
    EndEffector,
    /// An arm.
    Manipulator,
    /// Two arms and two legs.
    Humanoid,
    /// On wheels.
    Wheeled,
    /// On wheels, into any direction.
    Holonomic,
    /// Four legs.
    Quadruped,
    /// An arm on a base that moves.
    MobileManipulators,
    /// Flies.
    Aerial,
}

impl RobotType {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Default,
        Self::EndEffector,
        Self::Manipulator,
        Self::Humanoid,
        Self::Wheeled,
        Self::Holonomic,
        Self::Quadruped,
        Self::MobileManipulators,
        Self::Aerial,
    ];

    /// The schema's token.
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

    /// Reads a token; upper and lower case, spaces, hyphens and underscores do not count.
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
        ] {
            assert_eq!(text.parse(), Ok(expected));
        }
        assert!("arm".parse::<RobotType>().is_err());
    }
}
