//! The grammar of paths in text layers (`SdfPath`). `sdf::Path::new` takes more, such as `/a.b.c`.

use unicode_ident::{is_xid_continue, is_xid_start};

/// Maximum depth of targets in paths: `/a.b[/c.d[/e]]`.
const MAX_TARGETS: usize = 16;

/// Returns whether a text is the path of a prim, variant, property or target, absolute or relative.
pub fn is_path(text: &str) -> bool {
    path(text, 0) == Some("")
}

/// Parses the path that `text` begins with, and returns the rest of the text.
fn path(text: &str, depth: usize) -> Option<&str> {
    if depth > MAX_TARGETS {
        return None;
    }
    let rest = match text.strip_prefix('/') {
        Some(rest) => prims(rest).unwrap_or(rest),
        None if text.starts_with("..") => {
            let mut rest = text.strip_prefix("..")?;
            while let Some(above) = rest.strip_prefix("/..") {
                rest = above;
            }
            match rest.strip_prefix('/') {
                Some(below) => match prims(below) {
                    Some(rest) => rest,
                    None => return property(below, depth),
                },
                None => return Some(rest),
            }
        }
        None => match prims(text) {
            Some(rest) => rest,
            None => return property(text, depth),
        },
    };
    match rest.starts_with('.') {
        true => property(rest, depth),
        false => Some(rest),
    }
}

/// Parses names of prims with variant selections: `a/b{set=variant}c`.
fn prims(text: &str) -> Option<&str> {
    let mut rest = name(text)?;
    loop {
        let before = rest;
        while rest.starts_with('{') {
            rest = selection(rest)?;
        }
        rest = if rest.len() < before.len() {
            match name(rest) {
                Some(rest) => rest,
                None => return Some(rest),
            }
        } else {
            match rest.strip_prefix('/') {
                Some(below) => name(below)?,
                None => return Some(rest),
            }
        };
    }
}

/// Parses `{set=variant}`; a variant can be empty.
fn selection(text: &str) -> Option<&str> {
    fn blank(text: &str) -> &str {
        text.trim_start_matches([' ', '\t'])
    }
    let rest = blank(name(blank(text.strip_prefix('{')?))?);
    let rest = blank(rest.strip_prefix('=')?);
    blank(after_variant(rest)).strip_prefix('}')
}

/// Returns whether a text is the name of a variant or of a set of variants; it can be empty.
pub fn is_variant_name(text: &str) -> bool {
    after_variant(text).is_empty()
}

/// Parses the name of a variant.
fn after_variant(text: &str) -> &str {
    let rest = text.strip_prefix('.').unwrap_or(text);
    rest.trim_start_matches(|c: char| is_xid_continue(c) || matches!(c, '|' | '-'))
}

/// Parses a property, and what follows it: targets, properties of targets, mappers, an expression.
fn property(text: &str, depth: usize) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = name(rest.strip_prefix('.')?)?;
        while let Some(next) = rest.strip_prefix(':') {
            rest = name(next)?;
        }
        if let Some(mapper) = rest
            .strip_prefix(".mapper")
            .filter(|at| at.starts_with('['))
        {
            rest = target(mapper, depth)?;
            return match rest.strip_prefix('.') {
                Some(argument) => name(argument),
                None => Some(rest),
            };
        }
        if let Some(end) = rest.strip_prefix(".expression") {
            return Some(end);
        }
        if !rest.starts_with('[') {
            return Some(rest);
        }
        rest = target(rest, depth)?;
        if !rest.starts_with('.') {
            return Some(rest);
        }
    }
}

/// Parses `[path]`.
fn target(text: &str, depth: usize) -> Option<&str> {
    path(text.strip_prefix('[')?, depth + 1)?.strip_prefix(']')
}

/// Parses an identifier.
fn name(text: &str) -> Option<&str> {
    let first = text.chars().next()?;
    let is_first = first == '_' || is_xid_start(first);
    is_first.then(|| text.trim_start_matches(is_xid_continue))
}

#[cfg(test)]
mod tests {
    use super::is_path;

    #[test]
    fn paths_are_those_of_openusd() {
        for path in [
            "/",
            "..",
            "/a",
            "/a/b.c:d",
            "../../a",
            "../.x",
            ".x",
            "/a{v=w}b",
            "/a{v=}",
            "/a.r[/t].x",
            "/a.r.mapper[/t].arg",
            "/a.x.expression",
            "/é",
        ] {
            assert!(is_path(path), "{path}");
        }
        for path in [
            "",
            ".",
            "./a",
            "//a",
            "/a/",
            "/a//b",
            "/a/../b",
            "/a.b.c",
            "/a.b:",
            "/a b",
            "/1",
            "/a{v}",
            "/a{v=1.2}b",
            "/a.r[]",
            "/a.r[/t",
            "/a.r[/t]/b",
            "..b",
            "/..",
        ] {
            assert!(!is_path(path), "{path}");
        }
        let deep = "/a.b[".repeat(100_000) + &"]".repeat(100_000);
        assert!(!is_path(&deep));
    }
}
