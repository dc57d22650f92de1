//! Hashes of sources have the form and length of their algorithm.

use super::{Findings, Subject, rule};
use crate::findings::short;

rule! {
    severity: Error,
    meaning: "The hash of a source is not the name of an algorithm, a colon, and as many \
              hexadecimal digits in lower case as the algorithm gives.",
    outcome: "Programs cannot tell whether the file is still that of its source.",
    demand: "`source.hash` MUST be an algorithm's name, a colon, and its hexadecimal digits: 64 for \
             `sha256`.",
    section: ("Source", "#source"),
}

/// Hexadecimal digits of common algorithms. Others may have any number of them.
const DIGITS: &[(&str, usize)] = &[
    ("md5", 32),
    ("sha1", 40),
    ("sha224", 56),
    ("sha256", 64),
    ("sha384", 96),
    ("sha512", 128),
];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for model in &subject.asset.models {
        let Some(source) = model.read.source() else {
            continue;
        };
        let hash = source.hash();
        let at = hash.at();
        if let Some(hash) = hash.value()
            && let Some(fault) = fault(hash)
        {
            let message = format!(
                "{}: the hash of its source, \"{}\", {fault}",
                model.title(),
                short(hash)
            );
            let help = "write sha256: and the 64 hexadecimal digits of the source's hash in lower case, or leave the hash out";
            findings.report(at, message, help);
        }
    }
}

/// Describes the fault of a hash, if it has one.
fn fault(hash: &str) -> Option<String> {
    let Some((algorithm, digits)) = hash.split_once(':') else {
        return Some("does not name its algorithm".to_owned());
    };
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !algorithm.starts_with(|c: char| c.is_ascii_lowercase()) || !algorithm.chars().all(is_word) {
        return Some("does not begin with an algorithm's name in lower case".to_owned());
    }
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if digits.is_empty() || !digits.chars().all(is_digit) {
        return Some("has other characters than hexadecimal digits in lower case".to_owned());
    }
    let (_, wanted) = DIGITS.iter().find(|(name, _)| *name == algorithm)?;
    (digits.len() != *wanted).then(|| {
        format!(
            "has {} hexadecimal digits, and {algorithm} gives {wanted}",
            digits.len()
        )
    })
}
