//! Kotlin: the package on the JVM, with ktlint and JUnit. Maven builds it together with its tests
//! and fixtures, and with those of Java.

use anyhow::Result;

use super::{Entry, Snippets};
use crate::bench::builds;
use crate::build::{jvm, system};
use crate::process::run;
use crate::requirements::TestSyntax;
use crate::test::lint::one;
use crate::test::results::of_maven;
use crate::test::{Count, Selection, Step, Turn, suites};
use crate::workspace::Workspace;

pub(super) static ENTRY: Entry = Entry {
    name: "kotlin",
    title: "Kotlin",
    fences: &["kotlin"],
    crates: &["bindings-uniffi/native"],
    package: Some("bindings-uniffi/kotlin/src/main/kotlin"),
    modules: None,
    tests: TestSyntax {
        is_file: |name, _| name.ends_with("Test.kt"),
        is_whole: |_| true,
        above: &["//", "/**", "*", "@Test"],
        functions: &["fun ", "class ", "private fun "],
        test: |line, _| line.strip_prefix("fun `").and_then(|rest| rest.split('`').next()),
    },
    steps: &[
        Step::new(
            Turn::Beside,
            "kotlin lint",
            &["bindings-uniffi/kotlin/", "bindings-uniffi/ktor/", "tests/fixtures/kotlin/", "tests/peers/kotlin/"],
            lint,
        ),
        Step::new(Turn::Beside, "kotlin tests", &["core/", "bindings-uniffi/", "tests/fixtures/kotlin/"], tests),
    ],
    toolchain: || system::maven().map(drop),
    meets_all: false,
    build: jvm::build,
    install_tools: |_| Ok(()),
    build_bench: builds::our_kotlin,
    bench_crate: "trunkline-uniffi",
    program: |workspace, name, _| jvm::program(workspace, "kotlin", name),
    start: jvm::start,
    snippets: Snippets::Together(|workspace| Ok(jvm::snippets(workspace, "kotlin"))),
    snippet_ending: "kt",
    example_endings: &["kt"],
    login: None,
    container_command: &["java", "-jar", "server.jar"],
};

fn lint(workspace: &Workspace, _: &Selection) -> Result<Count> {
    one(jvm::maven(workspace, &["ktlint:check"]))
}

/// Runs the tests that the build has compiled.
fn tests(workspace: &Workspace, _: &Selection) -> Result<Count> {
    Ok(of_maven(&run(
        jvm::maven(
            workspace,
            &["surefire:test", "-Dsurefire.includes=**/dev/trunkline/*Test,**/dev/trunkline/ktor/*Test"],
        ),
        suites::DEADLINE,
    )?))
}
