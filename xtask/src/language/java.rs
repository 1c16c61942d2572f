//! Java: the API of the package on the JVM for Java, with google-java-format and JUnit.

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
    name: "java",
    title: "Java",
    fences: &["java"],
    crates: &[],
    package: Some("bindings-uniffi/java/src/main/java"),
    modules: None,
    tests: TestSyntax {
        is_file: |name, _| name.ends_with("Test.java"),
        is_whole: |_| true,
        above: &["//", "/**", "*", "@Test"],
        functions: &["void ", "class ", "final class "],
        test: |line, _| line.strip_prefix("void ").and_then(|rest| rest.split('(').next()),
    },
    steps: &[
        Step::new(
            Turn::Beside,
            "java lint",
            &["bindings-uniffi/java/", "tests/fixtures/java/", "tests/peers/java/"],
            lint,
        ),
        Step::new(Turn::Beside, "java tests", &["core/", "bindings-uniffi/", "tests/fixtures/java/"], tests),
    ],
    toolchain: || system::maven().map(drop),
    meets_all: false,
    build: jvm::build,
    install_tools: |_| Ok(()),
    build_bench: builds::our_java,
    bench_crate: "trunkline-uniffi",
    program: |workspace, name, _| jvm::program(workspace, "java", name),
    start: jvm::start,
    snippets: Snippets::Together(|workspace| Ok(jvm::snippets(workspace, "java"))),
    snippet_ending: "java",
    example_endings: &["java"],
    login: None,
    container_command: &["java", "-jar", "server.jar"],
};

fn lint(workspace: &Workspace, _: &Selection) -> Result<Count> {
    one(jvm::maven(workspace, &["com.spotify.fmt:fmt-maven-plugin:check"]))
}

/// Runs the tests that the build has compiled.
fn tests(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let maven = jvm::maven(workspace, &["surefire:test", "-Dsurefire.includes=**/dev/trunkline/java/**/*Test"]);
    Ok(of_maven(&run(maven, suites::DEADLINE)?))
}
