//! Parses references, without looking for files.

use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;

use super::{Error, codes};

/// A parsed reference. All spellings are tried, the likelier first: with percent-encoding decoded,
/// and as written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// `package://NAME/path`.
    Package {
        name: String,
        spellings: Vec<String>,
    },
    /// `file://`, or no scheme at all.
    Path { spellings: Vec<String> },
}

/// Parses `uri`.
pub(super) fn parse(uri: &str) -> Result<Reference, Error> {
    let malformed = |what: &str, help: &str| {
        Err(Error::new(
            &codes::MALFORMED_URI,
            format!("\"{uri}\" {what}"),
            help,
        ))
    };
    let decoded = |text: &str| {
        percent_decode_str(text)
            .decode_utf8()
            .ok()
            .map(|d| d.into_owned())
    };
    if uri.trim().is_empty() {
        return malformed(
            "names no file",
            "give the file, as in package://NAME/meshes/file.stl",
        );
    }
    if uri.contains('\0') || decoded(uri).is_some_and(|d| d.contains('\0')) {
        return malformed(
            "contains a NUL character, which no file name can contain",
            "correct the file name",
        );
    }
    let Some((scheme, rest)) = split_scheme(uri) else {
        // A plain path is not a URI: it is taken literally, and decoded only if no such file
        // exists.
        return Ok(Reference::Path {
            spellings: distinct([Some(uri.to_owned()), decoded(uri)]),
        });
    };
    match scheme.to_ascii_lowercase().as_str() {
        "package" => {
            let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
            let name = decoded(name).unwrap_or_default();
            if matches!(name.as_str(), "" | "." | "..") || name.contains('/') {
                return malformed(
                    "names no package",
                    "write package://NAME/path, with the name of a ROS package",
                );
            }
            if path.trim_matches('/').is_empty() {
                return malformed(
                    "names a package but no file in it",
                    "write package://NAME/path",
                );
            }
            Ok(Reference::Package {
                name,
                spellings: distinct([decoded(path), Some(path.to_owned())]),
            })
        }
        "file" => {
            // `localhost` means the same as an empty host (RFC 8089, section 2).
            let path = rest
                .strip_prefix("localhost")
                .filter(|path| path.starts_with('/'))
                .unwrap_or(rest);
            if !path.starts_with('/') {
                let help = "write file:// with an absolute path, three slashes in all (file:///home/…), or a relative path without file://";
                return malformed("has no absolute path", help);
            }
            Ok(Reference::Path {
                spellings: distinct([decoded(path), Some(path.to_owned())]),
            })
        }
        other => {
            let help = match other {
                "model" => {
                    "model:// works in Gazebo only; write package://NAME/path, where NAME is the package that contains the model"
                }
                "http" | "https" | "ftp" => {
                    "download the file into the package and refer to it with package://NAME/path"
                }
                _ => {
                    "write package://NAME/path, file:///path, or a path relative to the URDF's folder"
                }
            };
            Err(Error::new(
                &codes::UNSUPPORTED_SCHEME,
                format!("\"{uri}\" has the unsupported scheme {other}://"),
                help,
            ))
        }
    }
}

/// Splits off the scheme and `://`, if there is one (RFC 3986, section 3.1).
fn split_scheme(uri: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = uri.split_once("://")?;
    let valid = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    valid.then_some((scheme, rest))
}

fn distinct(spellings: [Option<String>; 2]) -> Vec<String> {
    let mut out: Vec<String> = spellings.into_iter().flatten().collect();
    out.dedup();
    out
}

/// Joins `inside` to `root`, resolving `.` and `..` lexically; `None` if the result is outside
/// `root`.
pub(super) fn join_inside(root: &Path, inside: &str) -> Option<PathBuf> {
    let mut path = root.to_owned();
    let mut depth = 0_usize;
    for component in Path::new(inside).components() {
        match component {
            Component::Normal(name) => {
                path.push(name);
                depth += 1;
            }
            Component::ParentDir => {
                depth = depth.checked_sub(1)?;
                path.pop();
            }
            // `package://NAME//file` has a leading slash, which must not lead to the file system's
            // root.
            Component::CurDir | Component::RootDir => {}
            Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// Returns `path` with `.` and `..` resolved lexically.
pub(super) fn normalised(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, spellings: &[&str]) -> Reference {
        Reference::Package {
            name: name.to_owned(),
            spellings: spellings.iter().map(|&s| s.to_owned()).collect(),
        }
    }

    fn path(spellings: &[&str]) -> Reference {
        Reference::Path {
            spellings: spellings.iter().map(|&s| s.to_owned()).collect(),
        }
    }

    #[test]
    fn references_are_taken_apart() {
        assert_eq!(
            parse("package://arm/meshes/a.stl"),
            Ok(package("arm", &["meshes/a.stl"]))
        );
        assert_eq!(
            parse("PACKAGE://arm/a%20b.stl"),
            Ok(package("arm", &["a b.stl", "a%20b.stl"]))
        );
        assert_eq!(parse("file:///tmp/a b.stl"), Ok(path(&["/tmp/a b.stl"])));
        assert_eq!(parse("file://localhost/tmp/a"), Ok(path(&["/tmp/a"])));
        assert_eq!(
            parse("../meshes/100%25.stl"),
            Ok(path(&["../meshes/100%25.stl", "../meshes/100%.stl"]))
        );
        assert_eq!(parse("/a%FF"), Ok(path(&["/a%FF"])));
    }

    #[test]
    fn faulty_references_have_codes() {
        for uri in [
            "",
            "  ",
            "package://",
            "package:///a",
            "package://arm",
            "package://arm/",
            "package://../a",
            "package://a%2Fb/c",
        ] {
            assert_eq!(
                parse(uri).map_err(|e| e.code.id),
                Err("resolve-malformed-uri"),
                "{uri}"
            );
        }
        for uri in [
            "file://meshes/a.stl",
            "file://",
            "a\0b",
            "package://arm/a%00b",
        ] {
            assert_eq!(
                parse(uri).map_err(|e| e.code.id),
                Err("resolve-malformed-uri"),
                "{uri}"
            );
        }
        for uri in ["model://arm/a.stl", "https://example.org/a.stl", "data://x"] {
            assert_eq!(
                parse(uri).map_err(|e| e.code.id),
                Err("resolve-unsupported-scheme"),
                "{uri}"
            );
        }
    }

    #[test]
    fn parents_stay_inside_the_root() {
        let root = Path::new("/r");
        assert_eq!(join_inside(root, "//a/./b/../c"), Some("/r/a/c".into()));
        assert_eq!(join_inside(root, "a/../../r/a"), None);
        assert_eq!(join_inside(root, "../r"), None);
        assert_eq!(
            normalised(Path::new("/a/./b/../../../c")),
            PathBuf::from("/c")
        );
    }
}
