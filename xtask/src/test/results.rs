//! Counts passed and failed tests: from the JUnit files of pytest and Node.js, and from cargo's
//! output, whose other formats need nightly.

use std::path::Path;

use crate::process::Output;
use crate::test::Count;

/// The sums of `test result: ok. 3 passed; 0 failed; …` lines.
pub(crate) fn of_cargo(output: &Output) -> Count {
    let mut sums = (0, 0);
    for line in output.text.lines().filter_map(|line| line.trim().strip_prefix("test result: ")) {
        let words: Vec<&str> = line.split([' ', ';']).collect();
        let number = |word: &str| words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok());
        sums.0 += number("passed").unwrap_or(0);
        sums.1 += number("failed").unwrap_or(0);
    }
    judged(output, sums)
}

/// The test cases in a JUnit file; failed ones come first in the output.
pub(crate) fn of_junit(output: &Output, report: &Path) -> Count {
    let text = std::fs::read_to_string(report).unwrap_or_default();
    let document = roxmltree::Document::parse(&text);
    let cases =
        document.iter().flat_map(|document| document.descendants()).filter(|node| node.has_tag_name("testcase"));
    let (mut all, mut failed) = (0, Vec::new());
    for case in cases.filter(|case| !case.children().any(|child| child.has_tag_name("skipped"))) {
        all += 1;
        let word = |name: &str| case.attribute(name).unwrap_or_default();
        let fault = case.children().find(|child| child.has_tag_name("failure") || child.has_tag_name("error"));
        let message =
            fault.map(|fault| fault.attribute("message").unwrap_or_default().lines().next().unwrap_or_default());
        failed.extend(message.map(|message| format!("FAILED {} {}: {message}\n", word("classname"), word("name"))));
    }
    let count = judged(output, (all - failed.len(), failed.len()));
    Count { said: failed.concat() + &count.said, ..count }
}

/// The line `9 runs, 101 assertions, 0 failures, 0 errors, 0 skips` of minitest.
pub(crate) fn of_minitest(output: &Output) -> Count {
    let sums = output.text.lines().rfind(|line| line.contains(" assertions, ")).unwrap_or_default();
    let numbers: Vec<usize> = sums.split(", ").filter_map(|part| part.split(' ').next()?.parse().ok()).collect();
    let (runs, failed) = match numbers[..] {
        [runs, _, failures, errors, skips] => (runs - skips, failures + errors),
        _ => (0, 0),
    };
    judged(output, (runs.saturating_sub(failed), failed))
}

/// The last sums of Maven: `Tests run: 4, Failures: 1, Errors: 0, Skipped: 1`.
pub(crate) fn of_maven(output: &Output) -> Count {
    let sums = output.text.lines().rev().find_map(|line| line.split_once("Tests run: ")).map_or("", |(_, sums)| sums);
    let numbers: Vec<usize> =
        sums.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).take(4).collect();
    let [run, failures, errors, skipped] = numbers[..] else { return judged(output, (0, 0)) };
    let failed = failures + errors;
    judged(output, (run.saturating_sub(failed + skipped), failed))
}

/// The last line of Swift Testing: `Test run with 9 tests passed after 1.2 seconds.`, or `failed`
/// with the number of issues; and the lines of failed tests.
pub(crate) fn of_swift(output: &Output) -> Count {
    let run = output.text.lines().rev().find_map(|line| line.split_once("Test run with ")).map_or("", |(_, run)| run);
    let all = run.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    let is_failed =
        |line: &&str| line.contains(" Test ") && line.contains(" failed after ") && !line.contains(" Test run with ");
    let failed = output.text.lines().filter(is_failed).count();
    judged(output, (usize::saturating_sub(all, failed), failed))
}

/// The result of a command that only passes or fails.
pub(crate) fn of_one(output: &Output) -> Count {
    judged(output, (usize::from(output.success()), 0))
}

/// The lines of an output that name a failed test, with the error that follows. They are shown
/// first, because the end of an output may be about other tests, or about the build tool.
pub(crate) fn failed_tests(text: &str) -> Vec<&str> {
    let mut lines_of_error = 0;
    let is_of_failure = |line: &&str| match lines_after(line) {
        Some(lines) => {
            lines_of_error = lines;
            true
        }
        None if lines_of_error > 0 => {
            lines_of_error -= 1;
            true
        }
        None => false,
    };
    text.lines().map(str::trim).filter(is_of_failure).collect()
}

/// If this line names a failed test, the number of lines after it that are its error.
fn lines_after(line: &str) -> Option<usize> {
    let is_panic = line.starts_with("thread '") && line.contains(" panicked at ");
    let is_result_of_cargo = line.starts_with("test ") && line.ends_with(" ... FAILED");
    let is_result_of_maven = line.starts_with("[ERROR] ") && line.contains(" <<< ") && line.ends_with('!');
    let is_issue_of_swift = line.contains(" Test ") && line.contains(" recorded an issue at ");
    if line.starts_with("FAILED ") || is_result_of_cargo || is_issue_of_swift {
        Some(0)
    } else if is_panic || is_result_of_maven || line.starts_with("--- FAIL: ") {
        Some(1)
    } else if line.ends_with(") Failure:") || line.ends_with(") Error:") {
        // Of minitest: the name and the place, then the message.
        Some(3)
    } else {
        None
    }
}

/// A command that fails without a failed test (it did not compile, or was killed) counts as a
/// failure, and so does one that ran no tests.
fn judged(output: &Output, (passed, failed): (usize, usize)) -> Count {
    let failed = if failed == 0 && (!output.success() || passed == 0) { 1 } else { failed };
    Count { passed, failed, said: format!("{}\n[{}]", output.text, output.ending()), ..Count::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `None` if it was killed.
    fn ended(text: &str, success: Option<bool>) -> Output {
        #[cfg(unix)]
        let failure: std::process::ExitStatus = std::os::unix::process::ExitStatusExt::from_raw(256);
        #[cfg(windows)]
        let failure: std::process::ExitStatus = std::os::windows::process::ExitStatusExt::from_raw(1);
        let status = success.map(|success| if success { std::process::ExitStatus::default() } else { failure });
        Output { status, text: text.to_owned(), stdout: String::new(), seconds: 0.0 }
    }

    fn sums(count: &Count) -> (usize, usize) {
        (count.passed, count.failed)
    }

    #[test]
    fn cargo_results_are_summed() {
        let text = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured\nx\ntest result: FAILED. 4 passed; 2 failed; 0 ignored\n";
        assert_eq!(sums(&of_cargo(&ended(text, Some(false)))), (7, 2));
    }

    #[test]
    fn a_suite_that_does_not_compile_or_is_killed_fails() {
        assert_eq!(sums(&of_cargo(&ended("error: could not compile", Some(false)))), (0, 1));
        assert_eq!(sums(&of_cargo(&ended("test result: ok. 3 passed; 0 failed", None))), (3, 1));
        assert_eq!(sums(&of_junit(&ended("", Some(true)), Path::new("there-is-none.xml"))), (0, 1));
    }

    #[test]
    fn cases_of_junit_are_counted_and_failures_named() {
        let file = std::env::temp_dir().join(format!("trunkline-junit-{}.xml", std::process::id()));
        let report = "<testsuites><testsuite name='a'><testcase name='one' classname='t'/>\
            <testcase name='two' classname='t'><failure message='no&#10;more'>text</failure></testcase></testsuite>\
            <testcase name='three' classname='t'><error message='late'/></testcase>\
            <testcase name='four'><skipped/></testcase></testsuites>";
        std::fs::write(&file, report).unwrap();
        let count = of_junit(&ended("text", Some(false)), &file);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(sums(&count), (1, 2));
        assert_eq!(failed_tests(&count.said), ["FAILED t two: no", "FAILED t three: late"]);
    }

    #[test]
    fn skipped_tests_of_maven_have_not_passed() {
        let text = "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0 -- in a.B\n\
                    [WARNING] Tests run: 9, Failures: 1, Errors: 1, Skipped: 3";
        assert_eq!(sums(&of_maven(&ended(text, Some(false)))), (4, 2));
        assert_eq!(sums(&of_maven(&ended("[INFO] BUILD FAILURE", Some(false)))), (0, 1));
    }

    #[test]
    fn failed_tests_are_named_with_their_errors() {
        assert_eq!(failed_tests("test a ... ok\ntest b ... FAILED\n"), ["test b ... FAILED"]);
        let panic = ["thread 'b' (7) panicked at core/b.rs:5:9:", "too late"];
        let cargo = format!("---- b stdout ----\n\n{}\nstack backtrace:\n   0: begin\n", panic.join("\n"));
        assert_eq!(failed_tests(&cargo), panic);
    }

    #[test]
    fn failed_tests_of_each_language_are_named_with_their_errors() {
        let outputs = [
            (
                "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0 <<< FAILURE! -- in a.B\n\
                 [ERROR] a.B.c -- Time elapsed: 0.1 s <<< FAILURE!\n\
                 org.opentest4j.AssertionFailedError: expected: <1> but was: <0>\n\tat a.B.c(B.kt:9)\n",
                vec![
                    "[ERROR] a.B.c -- Time elapsed: 0.1 s <<< FAILURE!",
                    "org.opentest4j.AssertionFailedError: expected: <1> but was: <0>",
                ],
            ),
            (
                "FF.\n\n  1) Failure:\nTestB#test_c [test/test_b.rb:9]:\nExpected: 1\n  Actual: 0\n\n3 runs\n",
                vec!["1) Failure:", "TestB#test_c [test/test_b.rb:9]:", "Expected: 1", "Actual: 0"],
            ),
            (
                "=== RUN\n--- FAIL: TestC (0.10s)\n    b_test.go:9: got 0, want 1\nFAIL\n",
                vec!["--- FAIL: TestC (0.10s)", "b_test.go:9: got 0, want 1"],
            ),
            (
                "✘ Test c() recorded an issue at B.swift:9:5: Expectation failed: 0 == 1\n↳ more\n",
                vec!["✘ Test c() recorded an issue at B.swift:9:5: Expectation failed: 0 == 1"],
            ),
        ];
        for (output, expected) in outputs {
            assert_eq!(failed_tests(output), expected);
        }
    }

    #[test]
    fn tests_in_swift_are_counted_without_their_suites() {
        let passed = "✔ Test a() passed after 0.1 seconds.\n✔ Test run with 2 tests passed after 0.2 seconds.";
        assert_eq!(sums(&of_swift(&ended(passed, Some(true)))), (2, 0));
        let failed = "✘ Suite S failed after 2 seconds with 1 issue.\n✘ Test b() failed after 1 seconds with 1 issue.\n\
                      ✘ Test run with 3 tests failed after 2 seconds with 1 issue.";
        assert_eq!(sums(&of_swift(&ended(failed, Some(false)))), (2, 1));
        assert_eq!(sums(&of_swift(&ended("error: fatalError", Some(false)))), (0, 1));
    }
}
