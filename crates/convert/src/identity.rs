//! Names of an asset and its source that are the same on every machine.

use std::collections::BTreeMap;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Source;
use urdf_usd_resolve::Files;
use urdf_usd_usd_author::{Value, string};
use urdf_usd_usd_read::AssetInfo;

/// Version of an asset whose source is outside of a package, or in one without a version.
const FIRST_VERSION: &str = "1.0.0";
/// Characters that are percent-encoded in the fragment of a URI: all but the unreserved ones (RFC
/// 3986 §2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The identity of an asset.
#[derive(Debug, PartialEq)]
pub(super) struct Identity {
    /// The source file: a `package://` URI in a package, otherwise without its folders. `None` for
    /// text, even if it has a folder for references.
    pub uri: Option<String>,
    /// `assetInfo:identifier` (REP-158 §1.2.5): that of the source, otherwise the source file in its
    /// package, otherwise the robot's name. One xacro file can describe many robots; with arguments,
    /// the robot's name is the fragment.
    pub identifier: String,
    /// `assetInfo:version`: the source's own version, otherwise the package's.
    pub version: String,
    /// The entries of `assetInfo:ros`: those of the source, and the `package_uri`.
    pub ros: BTreeMap<String, Value>,
    /// The kind of an asset that contains others (REP-158 §1.2.2); `None` for a component.
    pub aggregate: Option<String>,
}

impl Identity {
    /// Returns the identity of the asset of `robot`, described by `source`.
    ///
    /// `file` is the location of the source, `info` has its own statements, which come first.
    pub fn new(
        source: &Source,
        file: Option<&Path>,
        robot: &str,
        info: AssetInfo,
        files: &Files,
    ) -> Self {
        let AssetInfo {
            identifier,
            version,
            mut ros,
            aggregate,
        } = info;
        let file = file.filter(|_| source.is_file());
        let folder = file.and_then(Path::parent);
        let package = folder.and_then(|folder| files.package_of(folder));
        let in_package = package.as_ref().zip(file).and_then(|((package, _), file)| {
            let inside = file.strip_prefix(&package.folder).ok()?;
            Some(format!(
                "package://{}/{}",
                package.name,
                inside.to_string_lossy().replace('\\', "/")
            ))
        });
        let has_arguments = source
            .xacro()
            .is_some_and(|(_, arguments)| !arguments.is_empty());
        let identifier = identifier.unwrap_or_else(|| match &in_package {
            Some(uri) if has_arguments => format!("{uri}#{}", utf8_percent_encode(robot, ESCAPED)),
            Some(uri) => uri.clone(),
            None => robot.to_owned(),
        });
        if let Some(uri) = &in_package {
            ros.entry("package_uri".to_owned())
                .or_insert_with(|| string(uri));
        }
        let version = version.or_else(|| {
            package
                .filter(|_| in_package.is_some())
                .and_then(|(_, version)| version)
        });
        let name = || {
            file?
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        Self {
            uri: in_package.or_else(name),
            identifier,
            version: version.unwrap_or_else(|| FIRST_VERSION.to_owned()),
            ros,
            aggregate,
        }
    }

    /// Returns the URI of the source file, if it is in a package.
    pub fn package_uri(&self) -> Option<&str> {
        self.uri
            .as_deref()
            .filter(|uri| uri.starts_with("package://"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use urdf_usd_resolve::Resolver;
    use urdf_usd_urdf::xacro::Argument;

    #[test]
    fn an_asset_is_called_after_its_file_in_a_package_or_else_after_the_robot() {
        let folder = tempfile::tempdir().unwrap();
        let files = || Files::new(Arc::new(Resolver::new(Default::default())));
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("arm_description/urdf")).unwrap();
        let manifest = |version: &str| {
            fs::write(
                at("arm_description/package.xml"),
                format!("<package><name>arm_description</name>{version}</package>"),
            )
            .unwrap();
        };
        let of = |path: &str| {
            Identity::new(
                &Source::File(at(path)),
                Some(&at(path)),
                "my arm",
                AssetInfo::default(),
                &files(),
            )
        };
        let names = |identity: &Identity| (identity.identifier.clone(), identity.version.clone());
        let uri = "package://arm_description/urdf/arm.urdf";

        manifest("<version> 2.3.1 </version>");
        let packaged = of("arm_description/urdf/arm.urdf");
        assert_eq!(names(&packaged), (uri.to_owned(), "2.3.1".to_owned()));
        assert_eq!(packaged.package_uri(), Some(uri));
        manifest("");
        assert_eq!(names(&of("arm_description/urdf/arm.urdf")).1, "1.0.0");

        let loose = of("robot.urdf");
        assert_eq!(names(&loose), ("my arm".to_owned(), "1.0.0".to_owned()));
        assert_eq!(
            (loose.uri.as_deref(), loose.package_uri()),
            (Some("robot.urdf"), None)
        );

        let file = at("arm_description/urdf/arm.urdf");
        let text = Source::Text {
            text: "".into(),
            file: Some(file.clone()),
        };
        assert_eq!(
            Identity::new(&text, Some(&file), "my arm", AssetInfo::default(), &files()).identifier,
            "my arm"
        );
        let xacro = |arguments| Source::Xacro {
            file: file.clone(),
            arguments,
        };
        assert_eq!(
            Identity::new(
                &xacro(Vec::new()),
                Some(&file),
                "my arm",
                AssetInfo::default(),
                &files()
            )
            .identifier,
            uri
        );
        let argument = Argument::parse("side:=left").unwrap();
        assert_eq!(
            Identity::new(
                &xacro(vec![argument]),
                Some(&file),
                "my arm",
                AssetInfo::default(),
                &files()
            )
            .identifier,
            format!("{uri}#my%20arm")
        );

        // A source that is an asset keeps what it says.
        let own = "package://rover/urdf/rover.urdf";
        let source = Source::File(file.clone());
        let kept = Identity::new(
            &source,
            Some(&file),
            "my arm",
            AssetInfo::from_uri(own),
            &files(),
        );
        assert_eq!(kept.identifier, own);
        assert_eq!(
            kept.ros,
            BTreeMap::from([("package_uri".to_owned(), string(own))])
        );
        assert_eq!(kept.package_uri(), Some(uri));
        assert_eq!(AssetInfo::from_uri("arm.urdf"), AssetInfo::default());
    }
}
