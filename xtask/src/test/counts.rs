//! Reads how many tests passed and failed from what the test programs print.

use crate::process::Output;
use crate::test::Count;

/// The sums of `test result: ok. 3 passed; 0 failed; …` lines.
pub(crate) fn of_cargo(output: &Output) -> Count {
    let mut sums = (0, 0);
    for line in output.text.lines().filter_map(|line| line.trim().strip_prefix("test result: ")) {
        sums.0 += number_before(line, "passed");
        sums.1 += number_before(line, "failed");
    }
    judged(output, sums)
}

/// The last line of pytest: `2 failed, 10 passed, 1 error in 0.42s`.
pub(crate) fn of_pytest(output: &Output) -> Count {
    let is_summary = |line: &&str| {
        line.contains(" in ") && ["passed", "failed", "error", "no tests ran"].iter().any(|word| line.contains(word))
    };
    let line = output.text.lines().rev().find(is_summary).unwrap_or_default();
    judged(output, (number_before(line, "passed"), number_before(line, "failed") + number_before(line, "error")))
}

/// The last lines of `node --test --test-reporter=tap`: `# pass 3`, `# fail 0`, `# cancelled 0`.
pub(crate) fn of_node(output: &Output) -> Count {
    let number = |word: &str| {
        output
            .text
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("# ")?.strip_prefix(word)?.trim().parse::<usize>().ok())
            .unwrap_or(0)
    };
    judged(output, (number("pass "), number("fail ") + number("cancelled ")))
}

/// A command that only passes or fails.
pub(crate) fn of_one(output: &Output) -> Count {
    judged(output, (usize::from(output.success()), 0))
}

/// The lines of an output that name a failed test of cargo, of pytest or of Node.js, those of cargo
/// and of Node.js with their errors: first in what is shown, for the end of an output may be about
/// other tests.
pub(crate) fn failed_tests(text: &str) -> Vec<&str> {
    let mut in_failed = false;
    let mut after_panic = false;
    text.lines()
        .map(str::trim)
        .filter(|line| {
            let tap = line.starts_with("not ok ");
            in_failed = tap || (in_failed && !line.starts_with("ok ") && *line != "...");
            let message = std::mem::take(&mut after_panic);
            // cargo prints what a test said once it has failed.
            after_panic = line.starts_with("thread '") && line.contains(" panicked at ");
            let panic = after_panic || message;
            tap || panic
                || (in_failed && line.starts_with("error: "))
                || line.starts_with("FAILED ")
                || line.starts_with("ERROR ")
                || (line.starts_with("test ") && line.ends_with(" ... FAILED"))
        })
        .collect()
}

/// A command that fails without a failed test (it did not compile, it was killed) is a failure, and
/// so is one that ran no test.
fn judged(output: &Output, (passed, failed): (usize, usize)) -> Count {
    let failed = if failed == 0 && (!output.success() || passed == 0) { 1 } else { failed };
    Count { passed, failed, said: format!("{}\n[{}]", output.text, output.ending()), note: String::new() }
}

/// The number in front of a word: 10 in `2 failed, 10 passed`.
fn number_before(line: &str, word: &str) -> usize {
    let words: Vec<&str> = line.split([' ', ',', ';', '=']).filter(|word| !word.is_empty()).collect();
    words
        .windows(2)
        .filter(|pair| pair[1] == word || pair[1].strip_suffix('s') == Some(word))
        .find_map(|pair| pair[0].parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(text: &str, success: bool) -> Output {
        let status = if success { std::process::ExitStatus::default() } else { failure() };
        Output { status: Some(status), text: text.to_owned(), stdout: String::new(), seconds: 0.0 }
    }

    #[cfg(unix)]
    fn failure() -> std::process::ExitStatus {
        std::os::unix::process::ExitStatusExt::from_raw(256)
    }

    #[cfg(windows)]
    fn failure() -> std::process::ExitStatus {
        std::os::windows::process::ExitStatusExt::from_raw(1)
    }

    fn sums(count: &Count) -> (usize, usize) {
        (count.passed, count.failed)
    }

    #[test]
    fn cargo_results_are_summed() {
        let text = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured\nx\ntest result: FAILED. 4 passed; 2 failed; 0 ignored\n";
        assert_eq!(sums(&of_cargo(&ended(text, false))), (7, 2));
    }

    #[test]
    fn a_suite_that_does_not_compile_fails_once() {
        assert_eq!(sums(&of_cargo(&ended("error: could not compile", false))), (0, 1));
    }

    #[test]
    fn a_suite_that_was_killed_fails() {
        let killed = Output {
            status: None,
            text: "test result: ok. 3 passed; 0 failed".to_owned(),
            stdout: String::new(),
            seconds: 1.0,
        };
        assert_eq!(sums(&of_cargo(&killed)), (3, 1));
    }

    #[test]
    fn pytest_summaries_are_read() {
        assert_eq!(sums(&of_pytest(&ended("==== 2 failed, 10 passed, 1 error in 0.42s ====", false))), (10, 3));
        assert_eq!(sums(&of_pytest(&ended("12 passed in 1.00s", true))), (12, 0));
        assert_eq!(sums(&of_pytest(&ended("no tests ran in 0.01s", false))), (0, 1));
    }

    #[test]
    fn failed_tests_are_named_with_their_errors() {
        let tap = "ok 1 - a\n  ---\n  error: 'no'\n  ...\n    not ok 2 - b\n      ---\n      error: 'late'\n      ...\n# error: x\n";
        assert_eq!(failed_tests(tap), ["not ok 2 - b", "error: 'late'"]);
        assert_eq!(failed_tests("test a ... ok\ntest b ... FAILED\n"), ["test b ... FAILED"]);
        let panic = ["thread 'b' (7) panicked at core/b.rs:5:9:", "too late"];
        let cargo = format!("---- b stdout ----\n\n{}\nstack backtrace:\n   0: begin\n", panic.join("\n"));
        assert_eq!(failed_tests(&cargo), panic);
        let pytest = "E   assert 1 == 2\nFAILED tests/test_a.py::test_b - assert 1 == 2\nERROR tests/test_c.py\n";
        assert_eq!(failed_tests(pytest).len(), 2);
    }

    #[test]
    fn node_summaries_are_read() {
        assert_eq!(
            sums(&of_node(&ended("ok 1 - a\n# tests 6\n# pass 4\n# fail 1\n# cancelled 1\n# skipped 0\n", false))),
            (4, 2)
        );
    }
}
