//! The robots of a batch: from files, folders, patterns and manifests.

use std::collections::{BTreeMap, HashSet};
use std::path::{Component, Path, PathBuf};

use serde_json::Value as Json;
use urdf_usd_convert::option::{Kind, Value};
use urdf_usd_convert::options::TABLE;
use urdf_usd_convert::{Options, Source, all_robots_in};
use urdf_usd_diagnostic::{Diagnostic, Place, did_you_mean, nearest};
use urdf_usd_objects::is_url;
use urdf_usd_urdf::xacro;

use crate::codes::{MANIFEST, SOURCE};

/// Extensions of descriptions, without which a file is a key's whole name.
pub(crate) const DESCRIPTIONS: [&str; 8] = [
    "xacro", "urdf", "usda", "usd", "usdc", "usdz", "glb", "gltf",
];
/// Columns of a manifest that are no options.
const COLUMNS: [&str; 3] = ["source", "key", "arguments"];

/// A robot of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The name of the robot in the batch, unique there, which is also the path of its folder:
    /// `ur_description/urdf/ur10e`.
    pub key: String,
    /// The description.
    pub source: PathBuf,
    /// The address that the description was downloaded from.
    pub origin: Option<String>,
    /// The arguments of a xacro file.
    pub arguments: Vec<xacro::Argument>,
    /// Options of this robot alone, by name.
    pub options: BTreeMap<String, Value>,
}

impl Item {
    pub(crate) fn new(key: String, source: PathBuf) -> Self {
        Self {
            key,
            source,
            origin: None,
            arguments: Vec::new(),
            options: BTreeMap::new(),
        }
    }

    /// Returns the address or the absolute path of the description, which name it in its row.
    pub fn place(&self) -> PathBuf {
        match &self.origin {
            Some(origin) => PathBuf::from(origin),
            None => std::path::absolute(&self.source).unwrap_or_else(|_| self.source.clone()),
        }
    }

    /// Returns the source of the conversion.
    pub fn to_source(&self) -> Source {
        if self.arguments.is_empty() {
            return Source::File(self.source.clone());
        }
        Source::Xacro {
            file: self.source.clone(),
            arguments: self.arguments.clone(),
        }
    }

    /// Returns the robot as a line of a manifest that is valid in any folder.
    pub fn to_json(&self) -> Json {
        let source = std::path::absolute(&self.source).unwrap_or_else(|_| self.source.clone());
        let arguments = self.arguments.iter().map(ToString::to_string);
        let given = [
            ("source", Json::from(source.to_string_lossy())),
            ("key", Json::from(self.key.as_str())),
            ("arguments", arguments.collect()),
        ];
        let options = self.options.iter();
        // A map with texts as keys can always be written.
        let options = options.map(|(name, value)| (name.as_str(), serde_json::json!(value)));
        given
            .into_iter()
            .chain(options)
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// Parses a line of a manifest in JSON; relative paths start from the folder of `manifest`.
    ///
    /// # Errors
    /// Returns the column, from 1, or 0 if it is unknown, and the reason for the user.
    pub fn parse(line: &str, manifest: &Path) -> Result<Self, (usize, String)> {
        let row: BTreeMap<String, Json> = serde_json::from_str(line).map_err(|error| {
            // The line in its message is that of the object.
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            (error.column(), message.to_owned())
        })?;
        if let Some(message) = row.keys().find_map(|name| unknown(name)) {
            return Err((0, message));
        }
        let values = row.into_iter().map(|(name, value)| {
            let value = serde_json::from_value(value).map_err(|_| {
                format!("{name}: give a text, a number, true, false or a list of texts")
            })?;
            Ok((name, value))
        });
        let row = values.collect::<Result<BTreeMap<_, _>, String>>();
        row.and_then(|row| item_of_row(manifest, row))
            .map_err(|message| (0, message))
    }

    /// Returns the options of the conversion: those of the batch, and those of the robot over them.
    ///
    /// # Errors
    /// Returns the reason if a value is not one of its option.
    pub fn options(&self, batch: &Options) -> Result<Options, String> {
        let mut options = batch.clone();
        for (name, value) in &self.options {
            let row = TABLE.iter().find(|row| row.about.name == name);
            let set = row.map(|row| row.set(&mut options, value));
            set.unwrap_or_else(|| Err("there is no such option".to_owned()))
                .map_err(|why| format!("{name}: {why}"))?;
        }
        Ok(options)
    }
}

/// Returns the robots of sources, in the order of their keys. Those below the folder `except` are left
/// out: the output of the batch.
///
/// A source is a description, a folder with descriptions, a pattern such as `robots/**/*.urdf`, or a
/// manifest (`.csv`, `.jsonl`). Keys that would share a folder get numbers.
///
/// # Errors
/// Returns all faults of the sources if there are any.
pub fn find(sources: &[PathBuf], except: &Path) -> Result<Vec<Item>, Vec<Diagnostic>> {
    let (mut items, mut faults) = (Vec::new(), Vec::new());
    for source in sources {
        match items_of_source(source, sources.len() > 1) {
            Ok(found) => items.extend(found),
            Err(found) => faults.extend(found),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    if let Ok(except) = except.canonicalize() {
        items.retain(|item: &Item| {
            let path = item.source.canonicalize();
            path.map_or(true, |path| !path.starts_with(&except))
        });
    }
    if items.is_empty() {
        let message = "the sources name no robot outside of the folder of the batch";
        let fault = Diagnostic::new(&SOURCE, Place::file(except), message);
        return Err(vec![
            fault.help("give other sources, or another folder with -o"),
        ]);
    }
    items.sort_by(|a, b| (&a.key, &a.source).cmp(&(&b.key, &b.source)));
    make_distinct(&mut items);
    items.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(items)
}

/// Makes keys distinct, and none of them a folder of another one. Some file systems do not
/// distinguish upper and lower case.
fn make_distinct(items: &mut [Item]) {
    let lower: Vec<String> = items.iter().map(|item| item.key.to_lowercase()).collect();
    let mut given: HashSet<String> = lower.iter().cloned().collect();
    let folders: HashSet<&str> = lower
        .iter()
        .flat_map(|key| key.match_indices('/').filter_map(|(end, _)| key.get(..end)))
        .collect();
    let mut taken: HashSet<String> = HashSet::new();
    for (item, lower) in items.iter_mut().zip(&lower) {
        let is_free = !folders.contains(lower.as_str()) && !taken.contains(lower);
        if !is_free {
            let is_new = |number: &usize| {
                let numbered = format!("{lower}-{number}");
                !given.contains(&numbered) && !folders.contains(numbered.as_str())
            };
            let number = (2_usize..).find(is_new).unwrap_or_default();
            item.key = format!("{}-{number}", item.key);
        }
        taken.insert(item.key.to_lowercase());
        given.insert(item.key.to_lowercase());
    }
}

fn items_of_source(source: &Path, is_one_of_several: bool) -> Result<Vec<Item>, Vec<Diagnostic>> {
    let fault = |message: String, help: &str| {
        vec![Diagnostic::new(&SOURCE, Place::file(source), message).help(help)]
    };
    if source.is_dir() {
        let root = match source.parent() {
            Some(above) if is_one_of_several => above,
            _ => source,
        };
        let robots = all_robots_in(source);
        if robots.is_empty() {
            let message = "the folder has neither a robot description nor an asset".to_owned();
            return Err(fault(message, "give a folder with .urdf or .xacro files"));
        }
        let item =
            |robot: PathBuf| Item::new(key_of(robot.strip_prefix(root).unwrap_or(&robot)), robot);
        return Ok(robots.into_iter().map(item).collect());
    }
    let ending = source.extension().unwrap_or_default().to_ascii_lowercase();
    if source.is_file() {
        return match ending.to_str() {
            Some("csv") => read_csv(source),
            Some("jsonl" | "ndjson") => read_json_lines(source),
            _ => {
                let name = source.file_name().map(Path::new).unwrap_or(source);
                Ok(vec![Item::new(key_of(name), source.to_owned())])
            }
        };
    }
    let text = source.to_string_lossy();
    if !text.contains(['*', '?', '[']) {
        return Err(fault(
            "there is no such file or folder".to_owned(),
            "correct the path",
        ));
    }
    let paths = glob::glob(&text).map_err(|error| {
        fault(
            format!("the pattern is not valid: {error}"),
            "write [[] for a bracket",
        )
    })?;
    // The part of the pattern without wildcards is the same for all.
    let fixed: PathBuf = source
        .components()
        .take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']))
        .collect();
    let (files, folders): (Vec<PathBuf>, Vec<PathBuf>) = paths
        .flatten()
        .filter(|path| !path.symlink_metadata().is_ok_and(|meta| meta.is_symlink()))
        .partition(|path| path.is_file());
    let robots = folders.iter().flat_map(|folder| all_robots_in(folder));
    let mut robots: Vec<PathBuf> = files.into_iter().chain(robots).collect();
    robots.sort();
    robots.dedup();
    if robots.is_empty() {
        return Err(fault(
            "the pattern matches no robot".to_owned(),
            "quote the pattern, and use ** for folders at any depth",
        ));
    }
    let item =
        |robot: PathBuf| Item::new(key_of(robot.strip_prefix(&fixed).unwrap_or(&robot)), robot);
    Ok(robots.into_iter().map(item).collect())
}

/// Returns the key of a path: its parts without those that lead elsewhere, and without the
/// extensions of descriptions.
fn key_of(path: &Path) -> String {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(safe(&name.to_string_lossy())),
        _ => None,
    });
    let mut key = parts.collect::<Vec<_>>().join("/");
    while let Some((rest, ending)) = key.rsplit_once('.')
        && DESCRIPTIONS.contains(&ending.to_ascii_lowercase().as_str())
        && !rest.is_empty()
        && !rest.ends_with('/')
    {
        key.truncate(rest.len());
    }
    if key.is_empty() {
        "robot".to_owned()
    } else {
        key
    }
}

/// Replaces characters that some file system, shell or URL gives a meaning.
fn safe(name: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || "._-+@".contains(c);
    let text: String = name
        .chars()
        .map(|c| if is_safe(c) { c } else { '_' })
        .collect();
    match text.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => text,
    }
}

/// Reads a manifest with a column `source`, and perhaps `key`, `arguments` (of a xacro file, separated
/// by spaces) and options of the conversion.
fn read_csv(manifest: &Path) -> Result<Vec<Item>, Vec<Diagnostic>> {
    let fault = |line: u64, message: String| {
        let line = u32::try_from(line).unwrap_or_default();
        let place = Place {
            line,
            ..Place::file(manifest)
        };
        Diagnostic::new(&MANIFEST, place, message).help(help())
    };
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_path(manifest)
        .map_err(|error| vec![fault(0, error.to_string())])?;
    let headers = reader
        .headers()
        .cloned()
        .map_err(|error| vec![fault(1, error.to_string())])?;
    let mut faults: Vec<Diagnostic> = headers
        .iter()
        .filter_map(|name| unknown(name).map(|message| fault(1, message)))
        .collect();
    if !headers.iter().any(|name| name == "source") {
        faults.push(fault(1, "there is no column \"source\"".to_owned()));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut items = Vec::new();
    for record in reader.records() {
        let read = record.map_err(|error| {
            let line = error.position().map_or(0, csv::Position::line);
            fault(line, error.to_string())
        });
        let item = read.and_then(|record| {
            let line = record.position().map_or(0, csv::Position::line);
            let cells = headers
                .iter()
                .zip(&record)
                .filter(|(_, cell)| !cell.is_empty());
            let cells = cells.map(|(name, cell)| Ok((name.to_owned(), parse_cell(name, cell)?)));
            cells
                .collect::<Result<BTreeMap<_, _>, String>>()
                .and_then(|row| item_of_row(manifest, row))
                .map_err(|message| fault(line, message))
        });
        match item {
            Ok(item) => items.push(item),
            Err(found) => faults.push(found),
        }
    }
    if faults.is_empty() {
        Ok(items)
    } else {
        Err(faults)
    }
}

/// Returns a cell as a value of its column.
fn parse_cell(name: &str, cell: &str) -> Result<Value, String> {
    let texts = |separator: char| {
        cell.split(separator)
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
            .collect()
    };
    match TABLE.iter().find(|row| row.about.name == name) {
        Some(row) if row.about.kind.is_list() => Ok(Value::List(texts(','))),
        Some(row) => row
            .about
            .kind
            .parse(&[cell.to_owned()])
            .map_err(|why| format!("{name}: {why}")),
        None if name == "arguments" => Ok(Value::List(texts(' '))),
        None => Ok(Value::Text(cell.to_owned())),
    }
}

/// Reads a manifest with a JSON object on each line: the fields of [`read_csv`], with lists as lists.
fn read_json_lines(manifest: &Path) -> Result<Vec<Item>, Vec<Diagnostic>> {
    let text = std::fs::read_to_string(manifest).map_err(|error| {
        vec![Diagnostic::new(
            &MANIFEST,
            Place::file(manifest),
            error.to_string(),
        )]
    })?;
    let (mut items, mut faults) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match Item::parse(line, manifest) {
            Ok(item) => items.push(item),
            Err((column, message)) => {
                let place = Place {
                    line: u32::try_from(number + 1).unwrap_or_default(),
                    column: u32::try_from(column).unwrap_or_default(),
                    ..Place::file(manifest)
                };
                faults.push(Diagnostic::new(&MANIFEST, place, message).help(help()));
            }
        }
    }
    if faults.is_empty() {
        Ok(items)
    } else {
        Err(faults)
    }
}

fn help() -> &'static str {
    "a manifest has the fields source, key, arguments, and options of `urdf_usd convert` by their names"
}

/// Returns the message for a column that is neither one of a manifest nor an option.
fn unknown(name: &str) -> Option<String> {
    let options = TABLE.iter().map(|row| row.about.name);
    let mut names = COLUMNS.into_iter().chain(options);
    if names.any(|known| known == name) {
        return None;
    }
    let options = TABLE.iter().map(|row| row.about.name);
    let meant = did_you_mean(nearest(name, COLUMNS.into_iter().chain(options)));
    let meant = meant.map_or_else(String::new, |meant| format!("; {meant}"));
    Some(format!("there is no field {name:?}{meant}"))
}

/// Returns the robot of a row. Its source, and the paths of its options, start from the manifest's
/// folder: a data set can be moved, downloaded, and converted from any working directory.
fn item_of_row(manifest: &Path, mut row: BTreeMap<String, Value>) -> Result<Item, String> {
    let text = |value| match value {
        Value::Text(text) if !text.is_empty() => Ok(text),
        _ => Err("give a text".to_owned()),
    };
    let source = row.remove("source").ok_or("there is no source")?;
    let source = text(source).map_err(|why| format!("source: {why}"))?;
    let folder = manifest.parent().unwrap_or(Path::new(""));
    let path = folder.join(&source);
    if !path.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    let key = match row.remove("key") {
        Some(key) => key_of(Path::new(&text(key).map_err(|why| format!("key: {why}"))?)),
        None => key_of(Path::new(&source)),
    };
    let arguments = match row.remove("arguments") {
        Some(Value::List(arguments)) => arguments,
        Some(_) => return Err("arguments: give a list of texts".to_owned()),
        None => Vec::new(),
    };
    let arguments = arguments.iter().map(|text| xacro::Argument::parse(text));
    for (name, value) in &mut row {
        if let Some(known) = TABLE.iter().find(|known| known.about.name == name) {
            let kind = match (name.as_str(), &*value) {
                // A folder, unless it is the address of an object store.
                ("cache_url", Value::Text(url)) if !is_url(url) => Kind::Folder,
                _ => known.about.kind,
            };
            let absolute = kind.absolute(value, folder);
            *value = absolute.map_err(|why| format!("{name}: {why}"))?;
        }
    }
    let item = Item {
        arguments: arguments
            .collect::<Result<_, _>>()
            .map_err(|why| format!("arguments: {why}"))?,
        options: row,
        ..Item::new(key, path)
    };
    item.options(&Options::default())?;
    Ok(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_paths_without_extensions_and_stay_below_the_folder() {
        for (path, key) in [
            ("ur/urdf/ur10e.urdf.xacro", "ur/urdf/ur10e"),
            ("../../etc/a b.urdf", "etc/a_b"),
            ("/x/.hidden/r.USDA", "x/_hidden/r"),
            ("v1.2.urdf", "v1.2"),
            (".urdf", "_urdf"),
            ("..", "robot"),
        ] {
            assert_eq!(key_of(Path::new(path)), key);
        }
    }

    #[test]
    fn no_two_keys_share_a_folder() {
        let keys = ["a", "a", "a-2", "a", "b", "b/c", "B"];
        let mut items = keys.map(|key| Item::new(key.to_owned(), PathBuf::new()));
        make_distinct(&mut items);
        let expected = ["a", "a-3", "a-2", "a-4", "b-2", "b/c", "B-3"];
        assert_eq!(items.map(|item| item.key), expected);
    }

    #[test]
    fn manifests_have_options_and_faults_have_lines() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        write("r.urdf", "<robot name='r'/>");
        let good = write(
            "m.csv",
            "source,key,arguments,formats\nr.urdf,left/arm,a:=1 b:=2,\"usd,glb\"\nr.urdf,,,\n",
        );
        let items = find(&[good], Path::new("none")).expect("valid");
        assert_eq!(
            items
                .iter()
                .map(|item| item.key.as_str())
                .collect::<Vec<_>>(),
            ["left/arm", "r"]
        );
        assert_eq!(items[0].arguments.len(), 2);
        assert_eq!(
            items[0].options["formats"],
            Value::List(vec!["usd".into(), "glb".into()])
        );
        let caches = write(
            "c.csv",
            "source,cache_url\nr.urdf,shared\nr.urdf,s3://bucket/cache\nr.urdf,file:///shared\n",
        );
        let caches = find(&[caches], Path::new("none")).expect("valid");
        let shared = folder.path().join("shared").display().to_string();
        assert_eq!(
            caches
                .iter()
                .map(|item| item.options["cache_url"].clone())
                .collect::<Vec<_>>(),
            [&*shared, "s3://bucket/cache", "file:///shared"].map(|url| Value::Text(url.into()))
        );
        let lines = write(
            "m.jsonl",
            "{\"source\": \"r.urdf\", \"formats\": [\"usd\"]}\n\n{\"source\": \"none.urdf\"}\n{\"sorce\": \"r.urdf\"}\n{\"source\": 1\n",
        );
        for item in &items {
            let line = item.to_json().to_string();
            assert_eq!(Item::parse(&line, Path::new("/")).as_ref(), Ok(item));
        }
        let faults = find(&[lines], Path::new("none")).expect_err("faults");
        let places: Vec<_> = faults.iter().map(|fault| fault.place.line).collect();
        assert_eq!(places, [3, 4, 5]);
        assert!(
            faults[1].message.contains("did you mean \"source\""),
            "{}",
            faults[1].message
        );
        let bad = write("b.csv", "source,tiers\nr.urdf,sharp\n");
        let faults = find(&[bad], Path::new("none")).expect_err("faults");
        assert!(
            faults[0].place.line == 2 && faults[0].message.contains("sharp"),
            "{faults:?}"
        );
    }
}
