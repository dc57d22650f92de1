//! Typed views of the extension's objects, with an accessor for each property.

use super::{Entry, Field, JointType, Json, Motion, NAME};

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name<'a> {
            /// The JSON object.
            pub entry: Entry<'a>,
        }

        impl<'a> From<Entry<'a>> for $name<'a> {
            fn from(entry: Entry<'a>) -> Self {
                Self { entry }
            }
        }
    )*};
}

parts! {
    /// The extension's object at the root of a document.
    Extension;
    /// A kinematic model.
    Model;
    /// A link and the node that is its frame.
    Link;
    /// A joint and the chain of nodes that moves its child link.
    Joint;
    /// A scalar degree of freedom.
    Dof;
    /// Limits of position (radians or metres), velocity and effort.
    Limit;
    /// Mimic relation to a driving joint.
    Mimic;
    /// A named configuration.
    Configuration;
    /// Origin of a model.
    Source;
}

fn parts<'e, 'a, T: From<Entry<'a>>>(entry: &'e Entry<'a>, key: &'e str) -> Field<'e, 'a, Vec<T>> {
    entry
        .list(key)
        .map(|entries| entries.into_iter().map(T::from).collect())
}

/// Defines accessors `$name` of the property `$key`, which is read by the method `$read` of
/// [`Entry`].
macro_rules! properties {
    ($($(#[$doc:meta])* $name:ident: $read:ident $key:literal $value:ty;)*) => {$(
        #[doc = concat!("The property `", $key, "`.")]
        $(#[$doc])*
        pub fn $name(&self) -> Field<'_, 'a, $value> {
            self.entry.$read($key)
        }
    )*};
}

impl<'a> Extension<'a> {
    /// Returns the extension's object in the document `root`, whatever its type; `None` if it is
    /// absent.
    pub fn of(root: &'a Json) -> Option<Self> {
        let json = root.get("extensions")?.member(NAME)?;
        Some(Self {
            entry: Entry {
                json,
                at: format!("/extensions/{NAME}"),
            },
        })
    }

    /// Returns the property `models`.
    pub fn models(&self) -> Field<'_, 'a, Vec<Model<'a>>> {
        parts(&self.entry, "models")
    }
}

impl<'a> Model<'a> {
    properties! {
        name: text "name" &'a str;
        root_node: index "rootNode" usize;
    }

    /// Returns the property `links`.
    pub fn links(&self) -> Field<'_, 'a, Vec<Link<'a>>> {
        parts(&self.entry, "links")
    }

    /// Returns the property `joints`.
    pub fn joints(&self) -> Field<'_, 'a, Vec<Joint<'a>>> {
        parts(&self.entry, "joints")
    }

    /// Returns the configurations with their names, in the order of the file.
    pub fn configurations(&self) -> Vec<(&'a str, Configuration<'a>)> {
        let Some(all) = self.entry.get("configurations") else {
            return Vec::new();
        };
        let of = |(name, json): &'a (String, Json)| {
            (
                name.as_str(),
                Configuration {
                    entry: Entry {
                        json,
                        at: all.below(name),
                    },
                },
            )
        };
        all.json.members().iter().map(of).collect()
    }

    /// Returns the property `source`, whatever its type.
    pub fn source(&self) -> Option<Source<'a>> {
        self.entry.get("source").map(Source::from)
    }
}

impl<'a> Link<'a> {
    properties! {
        name: text "name" &'a str;
        node: index "node" usize;
        visual_nodes: indices "visualNodes" Vec<usize>;
        collision_nodes: indices "collisionNodes" Vec<usize>;
    }

    /// Returns the items of `visualNodes`, `None` for those that are not an index.
    pub fn each_visual_node(&self) -> Vec<Option<usize>> {
        self.entry.each_index("visualNodes")
    }

    /// Returns the items of `collisionNodes`, `None` for those that are not an index.
    pub fn each_collision_node(&self) -> Vec<Option<usize>> {
        self.entry.each_index("collisionNodes")
    }
}

impl<'a> Joint<'a> {
    properties! {
        name: text "name" &'a str;
        type_word: text "type" &'a str;
        parent_link: index "parentLink" usize;
        child_link: index "childLink" usize;
        origin_node: index "originNode" usize;
        dof_nodes: indices "dofNodes" Vec<usize>;
    }

    /// Returns the joint type; `None` if it is absent or unknown.
    pub fn kind(&self) -> Option<JointType> {
        self.type_word().value().and_then(JointType::of)
    }

    /// Returns the items of `dofNodes`, `None` for those that are not an index.
    pub fn each_dof_node(&self) -> Vec<Option<usize>> {
        self.entry.each_index("dofNodes")
    }

    /// Returns the property `dofs`.
    pub fn dofs(&self) -> Field<'_, 'a, Vec<Dof<'a>>> {
        parts(&self.entry, "dofs")
    }

    /// Returns the property `mimic`, whatever its type.
    pub fn mimic(&self) -> Option<Mimic<'a>> {
        self.entry.get("mimic").map(Mimic::from)
    }

    /// Returns the property `dynamics`: damping and friction.
    pub fn dynamics(&self) -> Option<Entry<'a>> {
        self.entry.get("dynamics")
    }

    /// Returns the property `safety`.
    pub fn safety(&self) -> Option<Entry<'a>> {
        self.entry.get("safety")
    }

    /// Returns the property `calibration`.
    pub fn calibration(&self) -> Option<Entry<'a>> {
        self.entry.get("calibration")
    }
}

impl<'a> Dof<'a> {
    properties! {
        axis: numbers "axis" [f64; 3];
        default: number "default" f64;
    }

    /// Returns the motion; `None` if it is absent or unknown.
    pub fn motion(&self) -> Option<Motion> {
        self.entry.text("motion").value().and_then(Motion::of)
    }

    /// Returns the property `limit`, whatever its type.
    pub fn limit(&self) -> Option<Limit<'a>> {
        self.entry.get("limit").map(Limit::from)
    }
}

impl<'a> Limit<'a> {
    properties! {
        lower: number "lower" f64;
        upper: number "upper" f64;
        velocity: number "velocity" f64;
        effort: number "effort" f64;
    }
}

impl<'a> Mimic<'a> {
    properties! {
        joint: index "joint" usize;
        multiplier: number "multiplier" f64;
        offset: number "offset" f64;
    }
}

impl<'a> Configuration<'a> {
    /// Returns the property `jointPositions`, whatever its type. It has one entry per joint, in the
    /// order of the joints: a number for one degree of freedom, a list for any other count.
    pub fn joint_positions(&self) -> Option<&'a Json> {
        self.entry.json.get("jointPositions")
    }

    /// Returns the positions if they are one number per degree of freedom, all in a row, which the
    /// extension's draft allows. `counts`: the degrees of freedom of each joint. Where every joint
    /// has exactly one, the two forms are the same, and this is `None`.
    pub fn row(&self, counts: &[usize]) -> Option<Vec<f64>> {
        let positions = self.joint_positions()?.items();
        let is_by_joint = counts.iter().all(|&count| count == 1);
        if is_by_joint || positions.len() != counts.iter().sum::<usize>() {
            return None;
        }
        positions.iter().map(Json::number).collect()
    }
}

impl<'a> Source<'a> {
    properties! {
        format: text "format" &'a str;
        uri: text "uri" &'a str;
        hash: text "hash" &'a str;
        resolved_at: text "resolvedAt" &'a str;
    }
}
