//! The results of a step.

#[derive(Default)]
pub(crate) struct Count {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// The output of the step, shown if something failed.
    pub(crate) said: String,
    /// A line that is always shown; may be empty.
    pub(crate) note: String,
    /// Number of checks that only the long form runs.
    pub(crate) left: usize,
}

impl Count {
    pub(crate) fn one_passed(note: String) -> Self {
        Self { passed: 1, note, ..Self::default() }
    }

    /// Counts one check, which passed if there are no faults.
    pub(crate) fn add(&mut self, faults: impl IntoIterator<Item = String>) {
        let before = self.said.len();
        self.said.extend(faults.into_iter().map(|fault| fault + "\n"));
        let passed = self.said.len() == before;
        self.passed += usize::from(passed);
        self.failed += usize::from(!passed);
    }

    /// The sum of both.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.passed += other.passed;
        self.failed += other.failed;
        self.left += other.left;
        for (text, further) in [(&mut self.said, other.said), (&mut self.note, other.note)] {
            if !text.is_empty() && !further.is_empty() {
                text.push('\n');
            }
            text.push_str(&further);
        }
        self
    }
}
