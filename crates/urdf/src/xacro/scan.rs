//! Finds the files that a xacro file includes by scanning its text, for when the program fails and
//! lists none.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use urdf_usd_resolve::{Opened, Resolver};

/// Maximum number of files, more than any robot has.
const MAX_FILES: usize = 1000;
/// Maximum size of a file, larger than any xacro file.
const MAX_BYTES: u64 = 16 << 20;

/// Returns the files, existing or not, that `file` and the files it includes name without
/// expressions.
pub(super) fn includes(file: &Path, resolver: &Resolver) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![file.to_owned()];
    while let Some(file) = open.pop() {
        let Some(text) = text(&file) else { continue };
        for name in names(&text) {
            if let Some(path) = path(name, &file, resolver)
                && found.len() < MAX_FILES
                && found.insert(path.clone())
            {
                open.push(path);
            }
        }
    }
    found
}

/// Returns the text of a file, if it is not too large.
pub(super) fn text(file: &Path) -> Option<String> {
    let opened = Opened::at(file)
        .ok()
        .filter(|opened| opened.meta.len() <= MAX_BYTES)?;
    let mut text = Vec::new();
    opened.file.take(MAX_BYTES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the values of `filename` in the `<xacro:include …/>` elements of a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split("<xacro:include").skip(1).filter_map(|element| {
        let value = element
            .split('>')
            .next()?
            .split_once("filename")?
            .1
            .trim_start()
            .strip_prefix('=')?
            .trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        value.get(1..)?.split(quote).next()
    })
}

/// Returns the file that a name refers to; `None` if the name has to be evaluated.
fn path(name: &str, includer: &Path, resolver: &Resolver) -> Option<PathBuf> {
    let folder = includer.parent()?;
    let name = match name
        .strip_prefix("$(")
        .and_then(|rest| rest.split_once(')'))
    {
        Some((call, rest)) => {
            let start = match call.split_whitespace().collect::<Vec<_>>()[..] {
                ["find", package] => resolver.package(package, Some(folder)).ok()?.folder,
                ["dirname"] => folder.to_owned(),
                _ => return None,
            };
            format!("{}{rest}", start.display())
        }
        None => name.to_owned(),
    };
    (!name.contains(['$', '*', '?', '[']) && !name.is_empty()).then(|| folder.join(name))
}
