//! ROS interface types of a sourced workspace.

use std::collections::BTreeSet;
use std::fs::read_dir;
use std::path::Path;

use super::Resolver;

impl Resolver {
    /// Returns the names of all interface types installed by packages of the ament index, as in
    /// `std_msgs/msg/String`; `None` if no workspace is sourced, since then nothing is known.
    pub fn interfaces(&self) -> Option<BTreeSet<String>> {
        let prefixes = &self.options.ament_prefixes;
        let mut found = BTreeSet::new();
        for prefix in prefixes {
            for package in read_dir(prefix.join("share"))
                .into_iter()
                .flatten()
                .flatten()
            {
                for kind in ["msg", "srv", "action"] {
                    for file in read_dir(package.path().join(kind))
                        .into_iter()
                        .flatten()
                        .flatten()
                    {
                        // Packages install both the source (`.msg`) and the generated `.idl`; some
                        // are written in IDL only.
                        let name = file.file_name();
                        let name = Path::new(&name);
                        if let (Some(stem), Some(package)) =
                            (name.file_stem(), package.file_name().to_str())
                            && name
                                .extension()
                                .is_some_and(|ending| ending == kind || ending == "idl")
                        {
                            found.insert(format!("{package}/{kind}/{}", stem.to_string_lossy()));
                        }
                    }
                }
            }
        }
        (!prefixes.is_empty()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::{Options, Resolver};

    #[test]
    fn interfaces_are_those_of_all_prefixes() {
        let folder = tempfile::tempdir().unwrap();
        let [under, over] = ["under", "over"].map(|name| folder.path().join(name));
        for file in [
            under.join("share/std_msgs/msg/String.msg"),
            under.join("share/std_msgs/msg/String.json"),
            over.join("share/my_robot/srv/Reset.idl"),
            over.join("share/my_robot/cmake/x.cmake"),
        ] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let interfaces = |ament_prefixes| {
            Resolver::new(Options {
                ament_prefixes,
                ..Options::default()
            })
            .interfaces()
        };
        let found = interfaces(vec![over, under, folder.path().join("gone")]).unwrap();
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            ["my_robot/srv/Reset", "std_msgs/msg/String"]
        );
        assert_eq!(interfaces(vec![]), None);
    }
}
