//! A list of findings of bounded length.

use super::{Code, Diagnostic, Place, Severity};

/// Maximum number of findings of one code that a check lists; further ones are only counted.
pub const MAX_PER_CODE: usize = 100;

/// Maximum number of findings that a [`Collector`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Most {
    /// Limit for each code.
    OfEachCode(usize),
    /// Limit for all codes together.
    Together(usize),
}

/// Keeps findings up to a limit and counts those beyond.
#[derive(Clone, Debug)]
pub struct Collector {
    most: Most,
    kept: Vec<Diagnostic>,
    /// Number of findings kept, by code.
    counts: Vec<(&'static str, usize)>,
    omitted: Vec<Omitted>,
}

/// The findings of one code beyond the limit, which were only counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    /// Their [`Code::id`].
    pub code: &'static str,
    /// Their severity.
    pub severity: Severity,
    /// Their number.
    pub count: usize,
}

impl Omitted {
    /// Returns a finding of the same kind whose message says how many were left out.
    pub fn summary(&self, place: Place, message: impl Into<String>) -> Diagnostic {
        let (help, cause, about) = <(String, String, String)>::default();
        Diagnostic {
            severity: self.severity,
            code: self.code,
            message: message.into(),
            place,
            help,
            cause,
            about,
        }
    }
}

impl Collector {
    /// Creates an empty collector with the limit `most`.
    pub const fn new(most: Most) -> Self {
        Self {
            most,
            kept: Vec::new(),
            counts: Vec::new(),
            omitted: Vec::new(),
        }
    }

    /// Creates an empty collector that keeps at most [`MAX_PER_CODE`] findings of each code.
    pub const fn per_code() -> Self {
        Self::new(Most::OfEachCode(MAX_PER_CODE))
    }

    /// Returns whether a finding of this code was pushed.
    pub fn has(&self, code: &str) -> bool {
        self.counts.iter().any(|(known, _)| *known == code)
    }

    /// Returns whether a further finding of this code would only be counted.
    pub fn is_full(&self, code: &str) -> bool {
        match self.most {
            Most::OfEachCode(most) => self
                .counts
                .iter()
                .any(|&(known, count)| known == code && count >= most),
            Most::Together(most) => self.kept.len() >= most,
        }
    }

    /// Creates a finding, and keeps or counts it; returns whether it was kept.
    pub fn report(
        &mut self,
        code: &'static Code,
        place: &Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> bool {
        self.push(Diagnostic::new(code, place.clone(), message).help(help))
    }

    /// Keeps a finding, or counts it beyond the limit; returns whether it was kept.
    pub fn push(&mut self, finding: Diagnostic) -> bool {
        if !self.is_full(finding.code) {
            self.keep(finding);
            return true;
        }
        match self
            .omitted
            .iter_mut()
            .find(|omitted| omitted.code == finding.code)
        {
            Some(omitted) => omitted.count += 1,
            None => self.omitted.push(Omitted {
                code: finding.code,
                severity: finding.severity,
                count: 1,
            }),
        }
        false
    }

    /// Keeps a finding that must be reported, whatever the limit.
    pub fn keep(&mut self, finding: Diagnostic) {
        match self
            .counts
            .iter_mut()
            .find(|(code, _)| *code == finding.code)
        {
            Some((_, count)) => *count += 1,
            None => self.counts.push((finding.code, 1)),
        }
        self.kept.push(finding);
    }

    /// Returns the findings kept so far, in order of arrival.
    pub fn kept(&self) -> &[Diagnostic] {
        &self.kept
    }

    /// Returns the findings kept, in order of arrival, and the number omitted by code, in the order
    /// in which codes first exceeded the limit.
    pub fn finish(self) -> (Vec<Diagnostic>, Vec<Omitted>) {
        (self.kept, self.omitted)
    }

    /// Returns the findings kept and, sorted by code, a finding with the number of omitted ones for
    /// each code, at the place of the last one kept. `help` is the remedy of these.
    pub fn finish_by_code(self, help: &str) -> Vec<Diagnostic> {
        let (mut kept, mut omitted) = self.finish();
        omitted.sort_by_key(|more| more.code);
        for more in omitted {
            let last = kept.iter().rfind(|finding| finding.code == more.code);
            let place = last.map(|finding| finding.place.clone());
            let message = format!("there are {} more findings of this kind", more.count);
            let summary = more.summary(place.unwrap_or_default(), message);
            kept.push(summary.help(help));
        }
        kept
    }

    /// Returns the findings kept and, for each code, a finding at `place` with the number of omitted
    /// ones.
    pub fn finish_at(self, place: &Place) -> Vec<Diagnostic> {
        let (mut kept, omitted) = self.finish();
        kept.extend(omitted.iter().map(|more| {
            let message = format!("{} more findings of this kind", more.count);
            more.summary(place.clone(), message)
        }));
        kept
    }

    /// Returns the findings kept. If any were omitted, a last finding of the kind `more` at `place`
    /// gives their number.
    pub fn finish_with(self, more: &'static Code, place: Place) -> Vec<Diagnostic> {
        let (mut kept, omitted) = self.finish();
        let count: usize = omitted.iter().map(|omitted| omitted.count).sum();
        if count > 0 {
            kept.push(
                Diagnostic::new(more, place, format!("{count} more findings are not listed"))
                    .help("correct the findings above first"),
            );
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::codes! {
        A Warning "test-a": "A.", "Goes on.";
        B Error "test-b": "B.", "Stops.";
        MORE Info "test-more": "More.", "Goes on.";
    }

    fn finding(code: &'static Code) -> Diagnostic {
        Diagnostic::new(code, Place::default(), "x")
    }

    #[test]
    fn each_code_has_its_own_limit() {
        let mut findings = Collector::new(Most::OfEachCode(2));
        for code in [&A, &B, &B, &B, &A, &A, &B] {
            assert_eq!(findings.is_full(code.id), !findings.push(finding(code)));
        }
        let known: Vec<&str> = ALL
            .iter()
            .map(|code| code.id)
            .filter(|id| findings.has(id))
            .collect();
        assert_eq!(known, [A.id, B.id]);
        let (kept, omitted) = findings.finish();
        assert_eq!(
            kept.iter().map(|d| d.code).collect::<Vec<_>>(),
            ["test-a", "test-b", "test-b", "test-a"]
        );
        assert_eq!(
            omitted
                .iter()
                .map(|o| (o.code, o.severity, o.count))
                .collect::<Vec<_>>(),
            [
                ("test-b", Severity::Error, 2),
                ("test-a", Severity::Warning, 1)
            ]
        );
        assert_eq!(
            omitted[0].summary(Place::default(), "2 more"),
            Diagnostic::new(&B, Place::default(), "2 more")
        );
    }

    #[test]
    fn kept_findings_ignore_the_common_limit() {
        let mut findings = Collector::new(Most::Together(2));
        for code in [&A, &B, &B, &A] {
            findings.push(finding(code));
        }
        findings.keep(finding(&B));
        let all = findings.finish_with(&MORE, Place::default());
        assert_eq!(
            all.iter().map(|d| d.code).collect::<Vec<_>>(),
            ["test-a", "test-b", "test-b", "test-more"]
        );
        assert_eq!(all[3].message, "2 more findings are not listed");
        assert_eq!(
            Collector::new(Most::Together(0)).finish_with(&MORE, Place::default()),
            []
        );
    }
}
