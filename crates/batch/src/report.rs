//! The report of a batch: `report.jsonl`, with a row for each robot in the order of their keys, and
//! `report.html` for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_objects::Asset;

use crate::codes;
use crate::items::Item;
use crate::journal::{Row, Status};
use crate::output::Output;

/// The files of the report.
#[cfg(not(feature = "cloud"))]
const NAMES: [&str; 2] = ["report.jsonl", "report.html"];
/// The files of the report. Compiling the writer of Parquet takes long.
#[cfg(feature = "cloud")]
const NAMES: [&str; 3] = ["report.jsonl", "report.html", "report.parquet"];
/// Maximum number of robots in the page: browsers take seconds for more.
const MAX_IN_PAGE: usize = 5_000;
/// Maximum number of codes in the summary.
const MAX_CODES: usize = 10;

/// The numbers of a batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Robots of the batch, of all shards.
    pub robots: usize,
    /// Robots without a result yet.
    pub open: usize,
    /// Numbers of robots by result.
    pub status: BTreeMap<Status, usize>,
    /// Triangles of all meshes.
    pub triangles: usize,
    /// Size of all assets, in bytes.
    pub bytes: u64,
    /// Duration of all conversions together, in seconds.
    pub seconds: f64,
    /// Numbers of robots by code of their findings.
    pub findings: BTreeMap<String, usize>,
}

impl Summary {
    fn of(items: &[Item], rows: &[&Row]) -> Self {
        let mut summary = Self {
            robots: items.len(),
            open: items.len() - rows.len(),
            ..Self::default()
        };
        for row in rows {
            *summary.status.entry(row.status).or_default() += 1;
            summary.triangles += row.counts.triangles;
            summary.bytes += row.bytes;
            summary.seconds += row.seconds;
            for code in row.findings.keys() {
                *summary.findings.entry(code.clone()).or_default() += 1;
            }
        }
        summary
    }

    /// Returns the codes that most robots have, with the number of robots, the most frequent first.
    pub fn most_frequent(&self) -> Vec<(&str, usize)> {
        let codes = self.findings.iter();
        let mut codes: Vec<(&str, usize)> =
            codes.map(|(code, count)| (code.as_str(), *count)).collect();
        codes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        codes.truncate(MAX_CODES);
        codes
    }

    /// Returns the line for people: `18 robots: 12 ok, 5 with warnings, 1 failed`.
    pub fn line(&self) -> String {
        let states = self.status.iter();
        let states = states.map(|(status, count)| format!("{count} {}", status.as_str()));
        let open = (self.open > 0).then(|| format!("{} open", self.open));
        let states: Vec<String> = states.chain(open).collect();
        let robots = if self.robots == 1 {
            "1 robot".to_owned()
        } else {
            format!("{} robots", self.robots)
        };
        format!("{robots}: {}", states.join(", "))
    }
}

/// Writes the report of a batch from the rows of all its shards. Returns its numbers.
///
/// # Errors
/// If the rows can't be read, or a file can't be written.
pub fn write(output: &Output, items: &[Item]) -> Result<Summary, Diagnostic> {
    let folder = output.folder();
    if let Some(objects) = output.objects() {
        return objects.write_files(&NAMES, || files(output, items));
    }
    // When two shards end together, the second reads the first one's rows.
    let lock = folder.join("journal").join("report.lock");
    let locked = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock)
        .and_then(|file| file.lock().map(|()| file));
    let _locked = locked.map_err(failed(&lock))?;
    let (summary, contents) = files(output, items)?;
    for (name, content) in NAMES.iter().zip(contents) {
        let path = folder.join(name);
        urdf_usd_store::replace_file(&path, &content).map_err(failed(&path))?;
    }
    Ok(summary)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Diagnostic {
    let path = path.to_owned();
    move |error| {
        Diagnostic::new(
            codes::of(&error),
            Place::file(path),
            format!("the report can't be written: {error}"),
        )
        .help("make room or the folder writable, then run the command again")
    }
}

/// Returns the numbers of a batch and the contents of [`NAMES`].
fn files(output: &Output, items: &[Item]) -> Result<(Summary, Vec<Vec<u8>>), Diagnostic> {
    let all = output.all_rows(items)?;
    let rows: Vec<&Row> = items.iter().filter_map(|item| all.get(&item.key)).collect();
    let summary = Summary::of(items, &rows);
    let mut lines = Vec::new();
    for row in &rows {
        // A map with texts as keys can always be written.
        serde_json::to_writer(&mut lines, row)
            .map_err(|error| failed(output.folder())(error.into()))?;
        lines.push(b'\n');
    }
    let folder = output.objects().is_none().then(|| output.folder());
    let page = page(folder, &summary, &rows).into_bytes();
    #[cfg(not(feature = "cloud"))]
    let contents = vec![lines, page];
    #[cfg(feature = "cloud")]
    let contents = vec![
        lines,
        page,
        crate::parquet::write(&rows)
            .map_err(|error| failed(output.folder())(io::Error::other(error)))?,
    ];
    Ok((summary, contents))
}

/// Returns the page: robots with faults first. `folder` is that of the batch; `None` if it is in an
/// object store, whose rows have their pictures.
fn page(folder: Option<&Path>, summary: &Summary, rows: &[&Row]) -> String {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| std::cmp::Reverse(row.status));
    let mut page = String::from(HEAD);
    let mut add = |text: std::fmt::Arguments<'_>| {
        // Writing to a string can't fail.
        let _ = page.write_fmt(text);
    };
    add(format_args!("<h1>{}</h1>\n", escape(&summary.line())));
    add(format_args!(
        "<p>{} triangles, {:.1} MB, {:.0} s of conversions</p>\n",
        summary.triangles,
        summary.bytes as f64 / 1e6,
        summary.seconds
    ));
    if !summary.findings.is_empty() {
        add(format_args!("<h2>Robots by finding</h2>\n<ul>\n"));
        for (code, count) in summary.most_frequent() {
            add(format_args!(
                "<li><code>{}</code>: {count}</li>\n",
                escape(code)
            ));
        }
        add(format_args!("</ul>\n"));
    }
    add(format_args!(
        "<table>\n<tr><th></th><th>Robot</th><th>Result</th><th>Links</th><th>Joints</th><th>Triangles</th><th>Seconds</th><th>Findings</th></tr>\n"
    ));
    for row in rows.iter().take(MAX_IN_PAGE) {
        let picture = match folder {
            Some(folder) => row.asset.as_ref().and_then(|asset| picture(folder, asset)),
            None => row.picture.clone(),
        };
        let picture = picture.map_or_else(String::new, |path| {
            format!("<img loading=\"lazy\" alt=\"\" src=\"{}\">", escape(&path))
        });
        let findings: Vec<String> = row
            .findings
            .iter()
            .map(|(code, count)| format!("{} ×{count}", escape(code)))
            .collect();
        let message = row
            .message
            .as_deref()
            .map_or_else(String::new, |message| format!("<br>{}", escape(message)));
        add(format_args!(
            "<tr class=\"{}\"><td>{picture}</td><td>{}</td><td>{}{message}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.2}</td><td>{}</td></tr>\n",
            if row.status.is_good() { "good" } else { "bad" },
            escape(&row.key),
            row.status.as_str(),
            row.counts.links,
            row.counts.joints,
            row.counts.triangles,
            row.seconds,
            findings.join(", "),
        ));
    }
    add(format_args!("</table>\n"));
    if rows.len() > MAX_IN_PAGE {
        add(format_args!(
            "<p>and {} more in report.jsonl</p>\n",
            rows.len() - MAX_IN_PAGE
        ));
    }
    page + "</html>\n"
}

/// Returns the path of an asset's picture in the batch's folder.
fn picture(folder: &Path, asset: &str) -> Option<String> {
    if !is_below(asset) {
        return None;
    }
    let thumbs = Path::new(asset).join(".thumbs");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder.join(&thumbs))
        .ok()?
        .flatten()
        .flat_map(|size| {
            std::fs::read_dir(size.path())
                .into_iter()
                .flatten()
                .flatten()
        })
        .map(|file| file.path())
        .collect();
    found.sort();
    let path = found.first()?.strip_prefix(folder).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// Returns whether a path of a row leads to no other folder.
fn is_below(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Returns the path of the picture of an asset in an object store, in the batch's folder.
pub(crate) fn published_picture(asset: &Asset) -> Option<String> {
    let is_picture = |path: &str| path.starts_with(".thumbs/") && path.ends_with(".png");
    let paths = asset.files.iter().map(|file| &file.path);
    let path = paths.filter(|path| is_picture(path)).min()?;
    // Others may have written the pointer.
    let path = format!("{}/{path}", asset.folder);
    (path.starts_with("assets/") && is_below(&path)).then_some(path)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\"><meta charset=\"utf-8\"><title>Batch</title>
<meta name=\"viewport\" content=\"width=device-width\">
<style>
:root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif }
body { margin: 1rem auto; max-width: 80rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
td, th { border-bottom: 1px solid #8884; padding: .3rem .5rem; text-align: left; vertical-align: top }
td { overflow-wrap: break-word }
td:nth-child(2) { min-width: 12rem; overflow-wrap: anywhere }
:is(td, th):nth-child(n+4):nth-child(-n+7) { text-align: right; font-variant-numeric: tabular-nums }
img { width: 6rem }
.bad td:nth-child(3) { color: #c33 }
</style>
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::tests::row;

    #[test]
    fn the_page_lists_faults_first_and_escapes() {
        let folder = tempfile::tempdir().unwrap();
        let good = row("a", Status::Ok, 1.0);
        let mut bad = row("b<script>", Status::Failed, 1.0);
        bad.message = Some("link \"x\" & more".to_owned());
        bad.findings.insert("urdf-xml".to_owned(), 2);
        let items: Vec<Item> = ["a", "b<script>", "c"]
            .map(|key| Item {
                key: key.to_owned(),
                source: PathBuf::new(),
                origin: None,
                arguments: Vec::new(),
                options: BTreeMap::new(),
            })
            .to_vec();
        let summary = Summary::of(&items, &[&good, &bad]);
        assert_eq!(summary.line(), "3 robots: 1 ok, 1 failed, 1 open");
        assert_eq!(summary.most_frequent(), [("urdf-xml", 1)]);
        let page = page(Some(folder.path()), &summary, &[&good, &bad]);
        assert!(
            !page.contains("<script>")
                && page.contains("b&lt;script&gt;")
                && page.contains("&quot;x&quot; &amp; more")
        );
        assert!(page.find("b&lt;") < page.find("<td>a</td>"));
    }

    #[test]
    fn pictures_are_files_of_their_asset() {
        let asset = |folder: &str, path: &str| Asset {
            folder: folder.to_owned(),
            ..Asset::new(
                "a",
                "b",
                vec![urdf_usd_objects::File {
                    path: path.to_owned(),
                    bytes: 0,
                    sha256: String::new(),
                }],
            )
        };
        let thumb = ".thumbs/256x256/b.usda.png";
        let mut row = row("a", Status::Ok, 1.0);
        row.picture = published_picture(&asset("assets/a/b/0", thumb));
        let page = page(None, &Summary::default(), &[&row]);
        assert!(page.contains("src=\"assets/a/b/0/.thumbs/256x256/b.usda.png\""));
        for (folder, path) in [
            ("assets/a/b/0", "textures/x.png"),
            ("assets/../b", thumb),
            ("/etc", thumb),
        ] {
            assert_eq!(published_picture(&asset(folder, path)), None, "{folder}");
        }
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("batch");
        std::fs::create_dir_all(outside.path().join("a/.thumbs/x")).unwrap();
        std::fs::write(outside.path().join("a/.thumbs/x/y.png"), "").unwrap();
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(picture(&folder, "../a"), None);
    }
}
