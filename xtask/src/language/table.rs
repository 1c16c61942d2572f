//! The table of the languages. The files next to this one build, start and test them.

use anyhow::bail;

use super::{Entry, Snippets, c, go, jvm, node, python, ruby, rust, swift};
use crate::api;
use crate::bench::builds;
use crate::build::{self, system};
use crate::go_modules;
use crate::requirements::TestSyntax;
use crate::test::reads::Reads::{self, Core, Form, Path, Tables};
use crate::test::reads::{ALL_RUST, BENCHES, EXAMPLES, FIXTURES, LOGINS, PACKAGE, PROGRAM, SNIPPETS};
use crate::test::{
    Step, Turn, bridge_peers, circles, dependencies, features, host_readers, inspect_page, sanitized, sizes, suites,
};

/// The native crate of Kotlin, Java, Ruby and Swift.
const UNIFFI: &[&str] =
    &["bindings-uniffi/Cargo.toml", "bindings-uniffi/bindgen/", "bindings-uniffi/build.rs", "bindings-uniffi/native/"];

/// The page of `inspect`, and the program behind it.
const INSPECTED: &[Reads] = &[
    Core,
    FIXTURES,
    Path("cli/hosts/"),
    Path("cli/src/"),
    Path("cli/web/"),
    Path("tests/inspect/"),
    Path("tests/peers/node/keycloak.mjs"),
    Path("xtask/src/test/inspect_page.rs"),
];

/// The defaults of an entry.
const PLAIN: Entry = Entry {
    name: "",
    title: "",
    fences: &[],
    pages: &[],
    note: None,
    crates: &[],
    package: None,
    modules: None,
    api: None,
    tests: WHOLE_FILES,
    steps: &[],
    folders: &[],
    half: None,
    starts_slowly: false,
    toolchain: || Ok(()),
    build_sources: |_| Ok(()),
    build: |_| Ok(()),
    install_tools: |_| Ok(()),
    bench: |_, _| bail!("there are no benchmarks in this language"),
    program: |_, _, source| vec![source.to_owned()],
    start: |_, source| bail!("{} cannot be started", source.display()),
    start_pasted: |_, source| bail!("{} cannot be started", source.display()),
    snippets: Snippets::Alone(|_, source| bail!("{} cannot be started", source.display())),
    snippet_ending: "",
    example_endings: &[],
    // Of a compiled program.
    container_command: &["server"],
};

/// Tests are whole files.
const WHOLE_FILES: TestSyntax =
    TestSyntax { is_file: |_, _| false, is_whole: |_| true, above: &["//"], functions: &[], test: |_, _| None };

pub(super) static RUST: Entry = Entry {
    name: "rust",
    title: "Rust",
    fences: &["rust", "rs"],
    pages: &["tutorial-rust.md", "migrate-rmcp.md"],
    crates: &[
        "core/proto/src",
        "core/spine/src",
        "core/gateway/src",
        "core/testing/src",
        "core/src",
        "core/bridge/src",
        "cli/src",
    ],
    api: Some(api::RUST),
    tests: TestSyntax {
        is_file: |name, _| name.ends_with(".rs"),
        // Other files have a test module at the end.
        is_whole: |file| {
            file.contains("/tests/") || file.ends_with("/tests.rs") || file.starts_with("tests/vectors/runner/")
        },
        above: &["//", "#["],
        functions: &["fn ", "async fn ", "pub ", "impl ", "struct ", "mod "],
        test: |line, marked| line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ").filter(|_| marked),
    },
    steps: &[
        Step::new(Turn::Early, "rust format", &[ALL_RUST, Path("rustfmt.toml")], rust::format),
        Step::new(
            Turn::Cargo,
            "rust clippy",
            &[ALL_RUST, Form("", "/Cargo.toml"), Form("", "clippy.toml"), Core],
            rust::clippy,
        ),
        Step::new(Turn::Early, "import circles", &[ALL_RUST, Path("xtask/src/test/circles/")], circles::check),
        Step::new(
            Turn::Early,
            "dependencies",
            &[Path("docs/dependencies.md"), Path("LICENSE"), Core, Path("xtask/src/test/dependencies.rs")],
            dependencies::check,
        ),
        Step::new(
            Turn::Cargo,
            rust::TESTS,
            &[
                Path("cli/"),
                Path("core/"),
                PACKAGE,
                FIXTURES,
                Tables,
                Path("docs/dev-program.md"),
                Path("docs/extensions.md"),
                Path("docs/program.md"),
                Path("docs/schema.md"),
                Path("tests/vectors/"),
                Path("tests/wire/"),
            ],
            rust::tests,
        ),
        Step::new(
            Turn::Cargo,
            "xtask tests",
            &[
                PACKAGE,
                Form("xtask/", ""),
                Path("docs/snippets/tools."),
                Path("tests/matrix/"),
                Path("tests/requirements/"),
                Path("xtask/src/bench/"),
            ],
            rust::xtask_tests,
        ),
        Step::new(Turn::Cargo, "rust doc", &[Path("core/"), Path("xtask/src/test/rust_docs.rs")], rust::doc).long(),
        Step::new(
            Turn::Cargo,
            "public API of the crates",
            &[Path("core/"), Path("api/"), Path("xtask/src/api/")],
            api::check_long,
        )
        .long(),
        Step::new(
            Turn::Cargo,
            "cargo features",
            &[
                Path("core/"),
                Path("bindings-c/"),
                Path("bindings-uniffi/native/"),
                Path("bindings-uniffi/Cargo.toml"),
                Path("clippy.toml"),
                Path("xtask/src/test/features.rs"),
            ],
            features::check,
        )
        .long(),
        Step::new(
            Turn::Cargo,
            "size of the program",
            &[
                Core,
                PROGRAM,
                Path("cli/web/"),
                Path("docs/performance.md"),
                Path("xtask/src/build/system.rs"),
                Path("xtask/src/test/sizes.rs"),
            ],
            sizes::of_the_program,
        )
        .long(),
        Step::new(Turn::Cargo, "keychain of the system", &[Core, PROGRAM, Path("cli/tests/")], rust::keychain).long(),
        Step::new(Turn::Last, "models of the waist", &[Path("core/bridge/")], suites::models_of_the_waist).long(),
        Step::new(
            Turn::Beside,
            "bridge between programs of others",
            &[Core, FIXTURES, PROGRAM, Path("tests/bridges/"), Path("xtask/src/test/bridge_peers.rs")],
            bridge_peers::check,
        )
        .long(),
        Step::new(
            Turn::Beside,
            "hosts read what install wrote",
            &[Core, FIXTURES, PROGRAM, Path("tests/hosts/"), Path("xtask/src/test/host_readers.rs")],
            host_readers::check,
        )
        .long(),
        // Alone, because one of the scenarios measures time.
        Step::new(
            Turn::Last,
            "conformance through the bridge",
            &[Core, FIXTURES, PROGRAM, Path("tests/conformance/"), Path("xtask/src/conformance/")],
            crate::conformance::through_the_bridge,
        )
        .long(),
        Step::new(
            Turn::Early,
            "inspect page",
            &[Path("cli/web/"), Path("xtask/src/test/inspect_page.rs"), Path("xtask/src/build/web.rs")],
            inspect_page::check,
        ),
        Step::new(Turn::Beside, "inspect states", INSPECTED, inspect_page::browse),
        Step::new(Turn::Beside, "inspect states at all widths", INSPECTED, inspect_page::browse_all).long(),
        Step::new(Turn::Beside, "inspect at keycloak", INSPECTED, inspect_page::at_keycloak).long(),
    ],
    bench: builds::our_rust,
    program: |workspace, name, _| vec![workspace.built(name)],
    start: rust::start,
    start_pasted: rust::start_pasted,
    snippets: Snippets::Alone(rust::start_snippet),
    snippet_ending: "rs",
    example_endings: &["rs"],
    ..PLAIN
};

pub(super) static PYTHON: Entry = Entry {
    name: "python",
    title: "Python",
    fences: &["python", "py"],
    pages: &["tutorial-python.md", "migrate-fastmcp.md", "migrate-mcp.md"],
    crates: &["bindings-python/src"],
    package: Some("bindings-python/python/trunkline"),
    modules: Some("bindings-python/python/trunkline/_internal"),
    api: Some(api::PYTHON),
    tests: TestSyntax {
        is_file: |name, _| name.starts_with("test_") && name.ends_with(".py"),
        above: &["#", "@"],
        functions: &["def ", "async def ", "class "],
        test: |line, _| {
            let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ")?;
            name.starts_with("test_").then_some(name)
        },
        ..WHOLE_FILES
    },
    steps: &[
        Step::new(Turn::Early, "python format", python::SOURCES, python::format),
        Step::new(Turn::Early, "python lint", python::SOURCES, python::lint),
        Step::new(Turn::Beside, "python tests", &[Core, PACKAGE, FIXTURES, EXAMPLES, Tables], python::tests),
        Step::new(Turn::Early, "python types", &[PACKAGE, FIXTURES, EXAMPLES, SNIPPETS, BENCHES], python::types),
        Step::new(
            Turn::Last,
            "python under the address sanitizer",
            &[Core, PACKAGE, Path("xtask/src/test/sanitized.rs")],
            sanitized::python,
        )
        .long(),
    ],
    folders: &[&["bindings-python/"]],
    starts_slowly: true,
    build_sources: build::python::build_sources,
    build: build::python::build,
    install_tools: build::python::install_tools,
    bench: builds::our_python,
    program: |workspace, _, source| vec![python::interpreter(workspace), source.with_extension("py")],
    start: python::start,
    start_pasted: python::start,
    snippets: Snippets::Together(python::snippets),
    snippet_ending: "py",
    example_endings: &["py"],
    container_command: &["python", "server.py"],
    ..PLAIN
};

pub(super) static NODE: Entry = Entry {
    name: "node",
    title: "Node.js",
    fences: &["ts", "js", "mjs", "javascript"],
    pages: &["tutorial-node.md", "deploying-node.md", "migrate-typescript-sdk.md"],
    note: Some((
        "await using",
        "With Node.js 20 and 22, `await using` needs [a compiler option](tutorial-node.md#compile).",
    )),
    crates: &["bindings-node/native"],
    package: Some("bindings-node/src"),
    modules: Some("bindings-node/src"),
    api: Some(api::NODE),
    tests: TestSyntax {
        is_file: |name, _| node::TESTS.iter().any(|ending| name.ends_with(ending)),
        above: &["//", "/*", "*"],
        functions: &["function ", "async function ", "class "],
        test: |line, _| {
            let call = line.strip_prefix("await ").unwrap_or(line);
            ["test(", "it(", "t.test("].iter().find_map(|start| call.strip_prefix(start))
        },
        ..WHOLE_FILES
    },
    steps: &[
        Step::new(Turn::Beside, "node tests", &[Core, PACKAGE, FIXTURES, EXAMPLES, Tables], node::tests),
        Step::new(
            Turn::Early,
            "node lint and types",
            &[
                PACKAGE,
                FIXTURES,
                EXAMPLES,
                BENCHES,
                Path("cli/npm/"),
                Path("tests/api/"),
                Path("tests/inspect/"),
                Path("tests/npm/"),
            ],
            node::lint,
        ),
        // The server and the authorization server are Node programs.
        Step::each(Turn::Beside, "authorization server", LOGINS, suites::authorization),
        Step::each(Turn::Beside, "authorization server in a browser", LOGINS, suites::authorization_in_browser).long(),
        Step::each(Turn::Beside, "keycloak", LOGINS, suites::authorization_at_keycloak).long(),
        Step::each(Turn::Beside, "other authorization servers", LOGINS, suites::other_authorization_servers).long(),
        Step::new(
            Turn::Beside,
            "npm package",
            &[Core, PACKAGE, Path("tests/npm/"), Path("tests/peers/node/free_port.mjs")],
            suites::npm,
        )
        .long(),
        Step::new(
            Turn::Last,
            "node under the address sanitizer",
            &[Core, PACKAGE, Path("xtask/src/test/sanitized.rs")],
            sanitized::node,
        )
        .long(),
    ],
    folders: &[&["bindings-node/"]],
    starts_slowly: true,
    build_sources: build::node::build_sources,
    build: build::node::build,
    install_tools: |workspace| build::node::install(workspace, build::node::PACKAGE),
    bench: builds::our_node,
    program: |_, _, source| vec!["node".into(), source.with_extension("mjs")],
    start: node::start,
    start_pasted: node::start,
    snippets: Snippets::Together(node::snippets),
    snippet_ending: "ts",
    example_endings: &["mjs", "js", "cjs", "ts"],
    container_command: &["node", "server.ts"],
    ..PLAIN
};

pub(super) static C: Entry = Entry {
    name: "c",
    title: "C",
    fences: &["c", "cpp"],
    pages: &["tutorial-c.md", "c-functions.md", "own-bindings.md"],
    crates: &["bindings-c/src"],
    modules: Some("bindings-c/src"),
    tests: TestSyntax {
        is_file: |name, file| name.ends_with(".c") && file.contains("/tests/"),
        above: &["//", "/*", "*"],
        functions: &["static ", "int ", "void "],
        test: |line, _| line.strip_prefix("static void ").filter(|rest| rest.ends_with("(void) {")),
        ..WHOLE_FILES
    },
    steps: &[
        Step::new(
            Turn::Cargo,
            rust::TESTS,
            &[Core, PACKAGE, EXAMPLES, Tables, Path("docs/c-functions.md")],
            rust::tests,
        ),
        Step::new(Turn::Last, "c under valgrind", &[Core, PACKAGE, EXAMPLES], c::under_valgrind).long(),
        Step::new(
            Turn::Last,
            "c under the address sanitizer",
            &[Core, PACKAGE, Path("xtask/src/test/sanitized.rs")],
            sanitized::c,
        )
        .long(),
        Step::new(
            Turn::Cargo,
            "sizes of the C library",
            &[Core, PACKAGE, Path("docs/performance.md"), Path("xtask/src/test/sizes.rs")],
            sizes::of_the_library,
        )
        .long(),
    ],
    folders: &[&["bindings-c/"]],
    build: build::c::build,
    bench: builds::our_c,
    program: |workspace, name, _| vec![build::c::program(workspace, name)],
    start: c::start,
    start_pasted: c::start,
    snippets: Snippets::Alone(c::start),
    snippet_ending: "c",
    example_endings: &["c", "lua", "go"],
    ..PLAIN
};

pub(super) static GO: Entry = Entry {
    name: "go",
    title: "Go",
    fences: &["go"],
    pages: &["tutorial-go.md", "migrate-go-sdk.md"],
    api: Some(api::GO),
    tests: TestSyntax {
        is_file: |name, _| name.ends_with("_test.go"),
        functions: &["func ", "type "],
        test: |line, _| line.strip_prefix("func ").filter(|name| name.starts_with("Test")),
        ..WHOLE_FILES
    },
    steps: &[
        Step::new(
            Turn::Beside,
            "go lint and tests",
            &[Core, PACKAGE, FIXTURES, EXAMPLES, SNIPPETS, BENCHES, Tables, Form("", ".go"), Path("tests/go-modules/")],
            go::tests,
        ),
        Step::new(
            Turn::Beside,
            "go modules",
            &[Core, PACKAGE, Path("tests/go-modules/"), Path("LICENSE"), Path("xtask/src/go_modules/")],
            |workspace, _| go_modules::check(workspace),
        ),
    ],
    folders: &[&["bindings-go/", "bindings-c/"]],
    half: Some(0),
    toolchain: || system::go().map(drop),
    build_sources: go::build_sources,
    build: go::build,
    bench: builds::our_go,
    program: |workspace, name, _| vec![go::workshop(workspace).program(name)],
    start: go::start,
    start_pasted: go::start_pasted,
    snippets: Snippets::Alone(go::start),
    snippet_ending: "go",
    example_endings: &["go"],
    ..PLAIN
};

pub(super) static KOTLIN: Entry = Entry {
    name: "kotlin",
    title: "Kotlin",
    fences: &["kotlin"],
    pages: &["tutorial-kotlin.md", "migrate-kotlin-sdk.md"],
    api: Some(api::KOTLIN),
    tests: TestSyntax {
        is_file: |name, _| name.ends_with("Test.kt"),
        above: &["//", "/**", "*", "@Test"],
        functions: &["fun ", "class ", "private fun "],
        test: |line, _| line.strip_prefix("fun `").and_then(|rest| rest.split('`').next()),
        ..WHOLE_FILES
    },
    steps: &[
        Step::new(Turn::Beside, "kotlin lint", &[PACKAGE, Form("", ".kt")], |workspace, _| {
            jvm::lint(workspace, "ktlint:check")
        }),
        Step::new(Turn::Beside, "kotlin tests", &[Core, PACKAGE, FIXTURES, Tables], |workspace, _| {
            jvm::tests(workspace, "kotlin", "**/dev/trunkline/*Test,**/dev/trunkline/ktor/*Test")
        }),
    ],
    folders: &[UNIFFI, &["bindings-uniffi/android/", "bindings-uniffi/kotlin/", "bindings-uniffi/ktor/"]],
    half: Some(0),
    starts_slowly: true,
    toolchain: || system::maven().map(drop),
    build_sources: build::jvm::build_sources,
    build: build::jvm::build,
    bench: builds::our_kotlin,
    program: |workspace, name, _| build::jvm::program(workspace, "kotlin", name),
    start: build::jvm::start,
    start_pasted: build::jvm::start_pasted_kotlin,
    snippets: Snippets::Together(|workspace| Ok(build::jvm::snippets(workspace, "kotlin"))),
    snippet_ending: "kt",
    example_endings: &["kt"],
    container_command: &["java", "-jar", "server.jar"],
    ..PLAIN
};

pub(super) static JAVA: Entry = Entry {
    name: "java",
    title: "Java",
    fences: &["java"],
    pages: &["tutorial-java.md", "migrate-java-sdk.md"],
    api: Some(api::JAVA),
    tests: TestSyntax {
        is_file: |name, _| name.ends_with("Test.java"),
        above: &["//", "/**", "*", "@Test"],
        functions: &["void ", "class ", "final class "],
        test: |line, _| line.strip_prefix("void ").and_then(|rest| rest.split('(').next()),
        ..WHOLE_FILES
    },
    steps: &[
        Step::new(
            Turn::Beside,
            "java lint",
            &[PACKAGE, Form("", ".java"), Path("tests/jvm-boms/"), Path("tests/snippets/")],
            |workspace, _| jvm::lint(workspace, "com.spotify.fmt:fmt-maven-plugin:check"),
        ),
        Step::new(Turn::Beside, "java tests", &[Core, PACKAGE, FIXTURES, Tables], |workspace, _| {
            jvm::tests(workspace, "java", "**/dev/trunkline/java/**/*Test")
        }),
        Step::new(
            Turn::Beside,
            "java with the BOMs of frameworks",
            &[Core, PACKAGE, Path("tests/jvm-boms/")],
            jvm::boms,
        )
        .long(),
    ],
    folders: &[UNIFFI, &["bindings-uniffi/java/", "bindings-uniffi/kotlin/"]],
    half: Some(1),
    starts_slowly: true,
    toolchain: || system::maven().map(drop),
    build_sources: build::jvm::build_sources,
    build: build::jvm::build,
    bench: builds::our_java,
    program: |workspace, name, _| build::jvm::program(workspace, "java", name),
    start: build::jvm::start,
    start_pasted: build::jvm::start_pasted_java,
    snippets: Snippets::Together(|workspace| Ok(build::jvm::snippets(workspace, "java"))),
    snippet_ending: "java",
    example_endings: &["java"],
    container_command: &["java", "-jar", "server.jar"],
    ..PLAIN
};

pub(super) static RUBY: Entry = Entry {
    name: "ruby",
    title: "Ruby",
    fences: &["ruby", "rb"],
    pages: &["tutorial-ruby.md", "migrate-ruby-mcp.md"],
    crates: &["bindings-uniffi/native"],
    modules: Some("bindings-uniffi/ruby/lib/trunkline"),
    tests: TestSyntax {
        is_file: |name, _| name.starts_with("test_") && name.ends_with(".rb"),
        above: &["#"],
        functions: &["def ", "class "],
        test: |line, _| line.strip_prefix("def ").filter(|name| name.starts_with("test_")),
        ..WHOLE_FILES
    },
    steps: &[
        Step::new(Turn::Early, "ruby lint", &[PACKAGE, Form("", ".rb")], ruby::lint),
        Step::new(Turn::Beside, "ruby tests", &[Core, PACKAGE, Tables], ruby::tests),
    ],
    folders: &[UNIFFI, &["bindings-uniffi/ruby/"]],
    half: Some(1),
    starts_slowly: true,
    toolchain: system::ruby,
    build: ruby::build,
    bench: builds::our_ruby,
    program: |workspace, _, source| {
        vec!["ruby".into(), "-I".into(), workspace.path(ruby::LIBRARY), source.with_extension("rb")]
    },
    start: ruby::start,
    start_pasted: ruby::start,
    snippets: Snippets::Alone(ruby::start),
    snippet_ending: "rb",
    example_endings: &["rb"],
    container_command: &["ruby", "server.rb"],
    ..PLAIN
};

pub(super) static SWIFT: Entry = Entry {
    name: "swift",
    title: "Swift",
    fences: &["swift"],
    pages: &["tutorial-swift.md", "migrate-swift-sdk.md"],
    tests: TestSyntax {
        is_file: |name, _| name.ends_with("Tests.swift"),
        above: &["//", "@Test"],
        functions: &["@Test func "],
        test: |line, _| line.strip_prefix("@Test func ").and_then(|rest| rest.split('(').next()),
        ..WHOLE_FILES
    },
    steps: &[
        Step::new(Turn::Beside, "swift lint", &[PACKAGE, Form("", ".swift")], swift::lint),
        Step::new(Turn::Beside, "swift tests", &[Core, PACKAGE, FIXTURES], swift::tests),
        Step::new(
            Turn::Beside,
            "swift package",
            &[Core, PACKAGE, Path("tests/swift-package/"), Path("LICENSE")],
            |workspace, _| swift::package(workspace),
        ),
    ],
    folders: &[UNIFFI, &["bindings-uniffi/swift/"]],
    toolchain: || system::swift().map(drop),
    build: build::swift::build,
    bench: builds::our_swift,
    program: |workspace, name, _| vec![build::swift::program(workspace, name)],
    start: build::swift::start,
    start_pasted: build::swift::start_pasted,
    snippets: Snippets::Alone(build::swift::start),
    snippet_ending: "swift",
    example_endings: &["swift"],
    ..PLAIN
};
