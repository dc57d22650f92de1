//! A list of findings that does not grow without end.

use super::{Code, Diagnostic, Place, Severity};

/// Maximum number of findings of one code that a check lists; further ones are counted only.
pub const MAX_PER_CODE: usize = 100;

/// How many findings a [`Collector`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Most {
    /// So many of each code.
    OfEachCode(usize),
    /// So many altogether.
    Together(usize),
}

/// Keeps findings up to a limit and counts those beyond.
#[derive(Clone, Debug)]
pub struct Collector {
    most: Most,
    kept: Vec<Diagnostic>,
    /// How many of each code are kept.
    counts: Vec<(&'static str, usize)>,
    omitted: Vec<Omitted>,
}

/// The findings of a code that were counted only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    /// Their code, [`Code::id`].
    pub code: &'static str,
    /// Their severity.
    pub severity: Severity,
    /// How many there are.
    pub count: usize,
}

impl Omitted {
    /// A finding of the same kind that says how many were left out.
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
    /// An empty list that keeps at most so many.
    pub const fn new(most: Most) -> Self {
        Self {
            most,
            kept: Vec::new(),
            counts: Vec::new(),
            omitted: Vec::new(),
        }
    }

    /// An empty list that keeps at most [`MAX_PER_CODE`] findings of each code.
    pub const fn per_code() -> Self {
        Self::new(Most::OfEachCode(MAX_PER_CODE))
    }

    /// Whether there is a finding of this code.
    pub fn has(&self, code: &str) -> bool {
        self.counts.iter().any(|(known, _)| *known == code)
    }

    /// Whether a further finding of this code is counted only.
    pub fn is_full(&self, code: &str) -> bool {
        match self.most {
            Most::OfEachCode(most) => self
                .counts
                .iter()
                .any(|&(known, count)| known == code && count >= most),
            Most::Together(most) => self.kept.len() >= most,
        }
    }

    /// Makes a finding and keeps it, or counts it; whether it was kept.
    pub fn report(
        &mut self,
        code: &'static Code,
        place: &Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> bool {
        self.push(Diagnostic::new(code, place.clone(), message).help(help))
    }

    /// Keeps a finding, or counts it; whether it was kept.
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

    /// Keeps a finding that people must be told of, however many there are.
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

    /// The findings that are kept so far, in the order in which they came.
    pub fn kept(&self) -> &[Diagnostic] {
        &self.kept
    }

    /// The findings that were kept, in the order in which they came, and how many were not, in the
    /// order in which codes first exceeded the limit.
    pub fn finish(self) -> (Vec<Diagnostic>, Vec<Omitted>) {
        (self.kept, self.omitted)
    }

    /// The findings that were kept and, for each code of which there were more, in the order of
    /// codes, one that says how many, at the place of the last that was kept. `help`: what to do
    /// about those.
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

    /// The findings that were kept and, for each code of which there were more, one at `place` that
    /// says how many.
    pub fn finish_at(self, place: &Place) -> Vec<Diagnostic> {
        let (mut kept, omitted) = self.finish();
        kept.extend(omitted.iter().map(|more| {
            let message = format!("{} more findings of this kind", more.count);
            more.summary(place.clone(), message)
        }));
        kept
    }

    /// The findings that were kept and, if there were more, one of the kind `more` at `place` that
    /// says how many.
    pub fn finish_with(self, more: &'static Code, place: Place) -> Vec<Diagnostic> {
        let (mut kept, omitted) = self.finish();
        let count: usize = omitted.iter().map(|omitted| omitted.count).sum();
        if count > 0 {
            kept.push(
                Diagnostic::new(more, place, format!("there are {count} more findings"))
                    .help("mend the ones above first"),
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
    fn all_together_have_one_limit_but_for_what_must_be_told() {
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
        assert_eq!(all[3].message, "there are 2 more findings");
        assert_eq!(
            Collector::new(Most::Together(0)).finish_with(&MORE, Place::default()),
            []
        );
    }
}
