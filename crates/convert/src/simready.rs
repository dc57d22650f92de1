//! Files that SimReady requires beside the layers: a picture of the robot (SR.002), and metadata
//! about its identity, author and licence (SR.004 of the SimReady foundation).
//!
//! A field that neither the robot nor its package provides is omitted, never invented.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{codes, publish, time};
use crate::thumbnail;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_resolve::{Files, package_of};
use urdf_usd_robot::{CacheEvicted, Robot};
use urdf_usd_usd_write as usd_write;

/// Width and height of the picture, in pixels.
const SIDE: u16 = 256;
/// Wikidata item for robots.
const ROBOT: &str = "Q11012";
/// Fields that users may set.
const GIVEN: [&str; 4] = ["author", "asset_license", "category", "qcode"];

/// Statements of users about an asset, for SimReady's metadata. They take precedence over the
/// source's.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Simready {
    given: BTreeMap<&'static str, String>,
}

impl Simready {
    /// Parses `KEY=VALUE` texts; keys are `author`, `asset_license`, `category` and `qcode`.
    ///
    /// # Errors
    /// Returns a message for the user that names the fault.
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Self, String> {
        let mut given = BTreeMap::new();
        for text in texts.iter().map(AsRef::as_ref) {
            let (key, value) = text.split_once('=').unwrap_or((text, ""));
            let (key, value) = (key.trim(), value.trim());
            let Some(key) = GIVEN.into_iter().find(|known| *known == key) else {
                return Err(format!(
                    "unknown field {key:?}; write KEY=VALUE with one of {}",
                    GIVEN.join(", ")
                ));
            };
            if value.is_empty() {
                return Err(format!("{key} has no value; write {key}=VALUE"));
            }
            if key == "qcode" && !value.strip_prefix('Q').is_some_and(is_number) {
                return Err(format!(
                    "{value:?} is not a Wikidata item; write Q and its number, such as qcode={ROBOT}"
                ));
            }
            given.insert(key, value.to_owned());
        }
        Ok(Self { given })
    }

    /// Returns the `KEY=VALUE` texts.
    pub fn texts(&self) -> Vec<String> {
        self.given
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect()
    }
}

impl TryFrom<Vec<String>> for Simready {
    type Error = String;

    fn try_from(texts: Vec<String>) -> Result<Self, String> {
        Self::parse(&texts)
    }
}

impl From<Simready> for Vec<String> {
    fn from(simready: Simready) -> Self {
        simready.texts()
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// Statements of a package's manifest about its contents.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Provenance {
    author: Option<String>,
    /// The licences, separated by commas.
    pub license: Option<String>,
    /// The description of the package.
    pub description: Option<String>,
    /// The origin of the package: its repository, otherwise its website.
    pub url: Option<String>,
}

impl Provenance {
    /// Reads the package.xml of the package that contains `file`; empty if there is none.
    pub(super) fn read(file: &Path, files: &Files) -> Self {
        let manifest = file
            .parent()
            .and_then(package_of)
            .map(|package| package.folder.join("package.xml"));
        let read = manifest.and_then(|path| files.open(&path.to_string_lossy(), None).ok());
        read.and_then(|file| Self::parse(std::str::from_utf8(&file.bytes).ok()?))
            .unwrap_or_default()
    }

    /// Parses a manifest. Maintainers replace missing authors.
    fn parse(manifest: &str) -> Option<Self> {
        let document = roxmltree::Document::parse(manifest.trim_start_matches('\u{feff}')).ok()?;
        let elements = |tag: &'static str| {
            document
                .root_element()
                .children()
                .filter(move |node| node.has_tag_name(tag))
        };
        // A description may contain HTML elements.
        let text = |node: roxmltree::Node<'_, '_>| {
            let texts: String = node
                .descendants()
                .filter(|inner| inner.is_text())
                .filter_map(|inner| inner.text())
                .collect();
            Some(texts.split_whitespace().collect::<Vec<_>>().join(" "))
                .filter(|text| !text.is_empty())
        };
        let all = |tag| {
            Some(
                elements(tag)
                    .filter_map(text)
                    .collect::<Vec<_>>()
                    .join(", "),
            )
            .filter(|text| !text.is_empty())
        };
        let url = |kind: Option<&str>| {
            elements("url")
                .find(|url| url.attribute("type") == kind)
                .and_then(text)
        };
        Some(Self {
            author: all("author").or_else(|| all("maintainer")),
            license: all("license"),
            description: all("description"),
            url: url(Some("repository"))
                .or_else(|| url(Some("website")))
                .or_else(|| url(None)),
        })
    }
}

/// The subject of the metadata.
pub(super) struct Subject<'a> {
    /// The robot.
    pub robot: &'a Robot,
    /// Name of the entry layer without its extension.
    pub name: &'a str,
    /// The written asset.
    pub asset: &'a usd_write::Written,
    /// The source: a URI, or the hash of a text.
    pub source: String,
    /// Statements of its package.
    pub provenance: &'a Provenance,
    /// The directory of the asset.
    pub directory: &'a Path,
}

/// Adds the picture of `robot` to the files of an asset; returns a finding instead if there is none.
///
/// # Errors
/// Fails if a mesh is no longer in the cache.
pub(super) fn add_picture(
    robot: &Robot,
    entry: &str,
    files: &mut publish::Files,
) -> Result<Option<Diagnostic>, CacheEvicted> {
    let Some(png) = thumbnail::png(robot, SIDE)? else {
        let message = "cannot encode the picture of the robot";
        let found = Diagnostic::new(&codes::INTERNAL, Place::default(), message);
        return Ok(Some(found.help("please report this")));
    };
    let path = format!(".thumbs/{SIDE}x{SIDE}/{entry}.png");
    files.insert(path, png.into());
    Ok(None)
}

/// Adds the metadata to the files of an asset; returns a finding if it is incomplete.
///
/// # Errors
/// Fails if a mesh, or the content of a file, is no longer in the cache.
pub(super) fn add(
    simready: &Simready,
    subject: &Subject<'_>,
    files: &mut publish::Files,
) -> Result<Option<Diagnostic>, CacheEvicted> {
    let metadata_path = format!("{}.json", subject.name);
    // Before the metadata is added: the date depends on whether all other files are unchanged.
    let date = generated_on(subject.directory, &metadata_path, files)?;
    let (metadata, missing) = metadata(simready, subject, date)?;
    let incomplete = || {
        let message = format!(
            "SimReady's metadata lacks {}: neither the source nor its package provides it",
            missing.join(" and ")
        );
        let help = "add it to the package.xml of the URDF's package (author, license), or use --simready-metadata KEY=VALUE";
        let place = subject.robot.place.clone();
        Diagnostic::new(&codes::SIMREADY_INCOMPLETE, place, message).help(help)
    };
    let finding = (!missing.is_empty()).then(incomplete);
    let text = serde_json::to_vec_pretty(&metadata).unwrap_or_default();
    files.insert(metadata_path, text.into());
    Ok(finding)
}

/// Returns the fields of SR.004, and the names of those that are missing.
fn metadata(
    simready: &Simready,
    subject: &Subject<'_>,
    date: String,
) -> Result<(BTreeMap<&'static str, Value>, Vec<&'static str>), CacheEvicted> {
    let size = thumbnail::extents(subject.robot)?;
    let provenance = subject.provenance;
    let mut fields: BTreeMap<&'static str, Option<Value>> = BTreeMap::from([
        ("asset_name", Some(json!(subject.robot.name()))),
        ("asset_type", Some(json!("robot"))),
        ("category", Some(json!("robot"))),
        ("qcode", Some(json!(ROBOT))),
        (
            "author",
            provenance.author.as_ref().map(|author| json!(author)),
        ),
        (
            "asset_license",
            provenance.license.as_ref().map(|license| json!(license)),
        ),
        ("source_file", Some(json!(subject.source))),
        ("usd_date_generated", Some(json!(date))),
        ("rigid_body_count", Some(json!(subject.asset.bodies))),
        ("asset_extents", Some(json!([size.x, size.y, size.z]))),
        // Without a body, there is no mass to declare.
        (
            "mass",
            Some(subject.asset.mass)
                .filter(|&mass| mass > 0.0)
                .map(|mass| json!(mass)),
        ),
    ]);
    fields.extend(
        simready
            .given
            .iter()
            .map(|(&key, value)| (key, Some(json!(value)))),
    );
    let missing = fields
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|(&key, _)| key)
        .collect();
    Ok((
        fields
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .collect(),
        missing,
    ))
}

/// Returns the date of the files: that of the last revision if they are unchanged, otherwise today
/// (UTC) or `SOURCE_DATE_EPOCH`.
///
/// A repeated conversion therefore does not create another revision.
fn generated_on(
    directory: &Path,
    metadata: &str,
    files: &publish::Files,
) -> Result<String, CacheEvicted> {
    let last = || {
        let json: Value = serde_json::from_slice(&fs::read(directory.join(metadata)).ok()?).ok()?;
        json.get("usd_date_generated")?.as_str().map(str::to_owned)
    };
    let today = || time::date(time::now());
    for (path, content) in files {
        if !publish::file_equals(content, &directory.join(path))? {
            return Ok(today());
        }
    }
    Ok(last().unwrap_or_else(today))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_name_author_and_licence() {
        let both = "<package><author>A\n B</author><author>C</author><maintainer>D</maintainer><license>MIT</license><license>X</license></package>";
        let expected = Provenance {
            author: Some("A B, C".into()),
            license: Some("MIT, X".into()),
            ..Provenance::default()
        };
        assert_eq!(Provenance::parse(both), Some(expected));
        let maintained = Provenance {
            author: Some("D".into()),
            ..Provenance::default()
        };
        assert_eq!(
            Provenance::parse("<package><maintainer>D</maintainer><license/></package>"),
            Some(maintained)
        );
        assert_eq!(Provenance::parse("<package>"), None);
    }

    #[test]
    fn metadata_of_users_is_validated() {
        let simready = Simready::parse(&["author=A = B", " qcode = Q1 "]).unwrap();
        assert_eq!(
            simready.given,
            BTreeMap::from([("author", "A = B".to_owned()), ("qcode", "Q1".to_owned())])
        );
        for (text, part) in [
            ("mass=1", "unknown field \"mass\""),
            ("author", "no value"),
            ("author= ", "no value"),
            ("qcode=1", "Wikidata"),
        ] {
            let message = Simready::parse(&[text]).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }
}
