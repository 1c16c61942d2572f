use std::collections::BTreeSet;

use super::reads::Reads;
use super::*;

fn chosen(options: &[&str]) -> Result<Vec<&'static str>> {
    let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    Ok(Selection::parse(&Workspace::find()?, &options)?.steps()?.into_iter().map(|step| step.name).collect())
}

#[test]
fn words_choose_steps_and_each_must_find_one() {
    assert_eq!((chosen(&[]).unwrap().len(), chosen(&["--long"]).unwrap().len()), (47, 71));
    assert!(chosen(&["--only", "in a browser"]).is_err());
    assert_eq!(chosen(&["--only", "in a browser", "--long"]).unwrap(), ["authorization server in a browser"]);
    assert_eq!(chosen(&["--only", "matrix,methods"]).unwrap(), ["methods in bindings", "matrix"]);
    assert!(chosen(&["--only"]).is_err() && chosen(&["--what"]).is_err());
    let error = chosen(&["--only", "matrix,matirx"]).unwrap_err().to_string();
    assert!(error.starts_with("--only \"matirx\"") && error.contains("methods in bindings, "), "{error}");
}

#[test]
fn a_word_must_find_a_step_of_the_chosen_languages() {
    assert_eq!(chosen(&["--lang", "node", "--only", "node tests"]).unwrap(), ["node tests"]);
    assert!(chosen(&["--lang", "node", "--only", "python tests"]).is_err());
    assert!(chosen(&["--only", ""]).is_err(), "an empty word stands in every name");
}

fn selection(path: &str) -> Selection {
    let all = Selection::parse(&Workspace::find().unwrap(), &[]).unwrap();
    Selection::new(all.options, all.length, Some(vec![path.to_owned()]))
}

/// The steps that a change runs, without those that read all files, and their languages if
/// these are not all.
fn touched(path: &str) -> BTreeSet<String> {
    let selection = selection(path);
    let steps = selection.steps().unwrap().into_iter().filter(|step| !step.reads.contains(&reads::ALL));
    let named = |step: &'static Step| {
        let languages = selection.languages_of(step);
        let names: Vec<_> = languages.iter().map(|language| language.name).collect();
        let is_narrowed = step.each_language && names.len() < Language::available().len();
        if is_narrowed { format!("{}: {}", step.name, names.join(" ")) } else { step.name.to_owned() }
    };
    steps.map(named).collect()
}

enum Runs {
    Everything,
    /// These, besides the steps that read all files.
    Steps(&'static [&'static str]),
    /// The steps for all languages with these, and further ones.
    With(&'static str, &'static [&'static str]),
}

use Runs::{Everything, Steps, With};

const FORMAT: [&str; 3] = ["import circles", "rust clippy", "rust format"];
const SOURCES: [&str; 3] = ["generated files", "methods in bindings", "modules of the bindings"];
const EACH: [&str; 13] = [
    "authorization server",
    "conformance",
    "conformance of clients",
    "conformance of clients that wait",
    "deployment",
    "examples",
    "matrix",
    "programs of snippets",
    "public API",
    "scars",
    "scars alone",
    "vectors",
    "wire purity",
];

/// At least one path of each folder of the repository.
const TABLE: &[(&str, Runs)] = &[
    (".cargo/config.toml", Everything),
    (".ci/run", Steps(&[])),
    (".editorconfig", Steps(&[])),
    (".gitattributes", Steps(&[])),
    (".github/workflows/ci.yml", Steps(&["workflow lint"])),
    (".gitignore", Steps(&[])),
    ("CHANGELOG.md", Steps(&[])),
    ("CONTRIBUTING.md", Steps(&[])),
    ("Cargo.lock", Everything),
    ("Cargo.toml", Everything),
    ("LICENSE", Steps(&["dependencies", "go modules"])),
    ("LICENSE-APACHE", Steps(&["dependencies", "go modules"])),
    ("LICENSE-MIT", Steps(&["dependencies", "go modules"])),
    ("README.md", Steps(&["fixed bounds", "generated files", "snippets"])),
    ("ROADMAP.md", Steps(&[])),
    ("SECURITY.md", Steps(&["fixed bounds"])),
    ("VERSIONING.md", Steps(&[])),
    ("api/python.pyi", Steps(&["public API"])),
    ("benches/NOTES.md", Steps(&[])),
    ("benches/run.py", Steps(&["python format", "python lint"])),
    ("benches/instructions.json", Steps(&["instructions"])),
    ("benches/published.json", Steps(&["generated files"])),
    ("benches/rust/server.rs", Steps(&FORMAT)),
    ("benches/go/server.go", Steps(&["go lint and tests"])),
    (
        "bindings-c/src/lib.rs",
        With(
            "c go",
            &["go lint and tests", "go modules", "import circles", "rust and c tests", "rust clippy", "rust format"],
        ),
    ),
    ("bindings-go/client.go", With("go", &["go lint and tests", "go modules"])),
    ("bindings-node/src/client.ts", With("node", &["node lint and types", "node tests"])),
    (
        "bindings-node/native/lib.rs",
        With("node", &["import circles", "node lint and types", "node tests", "rust clippy", "rust format"]),
    ),
    (
        "bindings-python/python/trunkline/__init__.py",
        With("python", &["python format", "python lint", "python tests", "python types"]),
    ),
    (
        "bindings-uniffi/native/lib.rs",
        With(
            "kotlin java ruby",
            &[
                "import circles",
                "java lint",
                "java tests",
                "kotlin lint",
                "kotlin tests",
                "ruby lint",
                "ruby tests",
                "rust clippy",
                "rust format",
            ],
        ),
    ),
    ("bindings-uniffi/android/pom.xml", With("kotlin", &["kotlin lint", "kotlin tests"])),
    (
        "bindings-uniffi/bindgen/settings.toml",
        With(
            "kotlin java ruby",
            &["java lint", "java tests", "kotlin lint", "kotlin tests", "ruby lint", "ruby tests"],
        ),
    ),
    ("bindings-uniffi/java/README.md", With("java", &["java lint", "java tests"])),
    (
        "bindings-uniffi/kotlin/pom.xml",
        With("kotlin java", &["java lint", "java tests", "kotlin lint", "kotlin tests"]),
    ),
    ("bindings-uniffi/ktor/pom.xml", With("kotlin", &["kotlin lint", "kotlin tests"])),
    ("bindings-uniffi/ruby/README.md", With("ruby", &["ruby lint", "ruby tests"])),
    // The default machine has no toolchain of Swift.
    ("bindings-uniffi/swift/Package.swift", Steps(&SOURCES)),
    ("cli/hosts/cursor.json", Steps(&["inspect states", "rust and c tests"])),
    ("cli/npm/trunkline.cjs", Steps(&["node lint and types", "rust and c tests"])),
    ("cli/src/main.rs", Steps(&["import circles", "inspect states", "rust and c tests", "rust clippy", "rust format"])),
    ("cli/web/index.html", Steps(&["inspect page", "inspect states", "rust and c tests"])),
    ("clippy.toml", Steps(&["rust clippy"])),
    (
        "core/spine/src/lib.rs",
        Steps(&[
            "authorization server",
            "conformance",
            "conformance of clients",
            "conformance of clients that wait",
            "dependencies",
            "deployment",
            "examples",
            "fixed bounds",
            "generated files",
            "go lint and tests",
            "go modules",
            "import circles",
            "inspect states",
            "instructions",
            "java tests",
            "kotlin tests",
            "matrix",
            "node tests",
            "programs of snippets",
            "public API",
            "python tests",
            "ruby tests",
            "rust and c tests",
            "rust clippy",
            "rust format",
            "scars",
            "scars alone",
            "vectors",
            "wire purity",
        ]),
    ),
    (
        "core/tests/it/main.rs",
        Steps(&["fixed bounds", "import circles", "rust and c tests", "rust clippy", "rust format"]),
    ),
    ("deny.toml", Steps(&[])),
    ("docs/tools.md", Steps(&["fixed bounds", "snippets"])),
    ("docs/errors.md", Steps(&["fixed bounds", "generated files", "snippets"])),
    ("docs/coverage.md", Steps(&["feature by language", "fixed bounds", "snippets"])),
    ("docs/dependencies.md", Steps(&["dependencies", "fixed bounds", "snippets"])),
    ("docs/c-functions.md", Steps(&["fixed bounds", "rust and c tests", "snippets"])),
    (
        "docs/snippets/tasks.rb",
        Steps(&[
            "deployment: ruby",
            "feature by language",
            "fixed bounds",
            "programs of snippets: ruby",
            "ruby lint",
            "snippets",
        ]),
    ),
    (
        "examples/python/server.py",
        Steps(&[
            "authorization server: python",
            "examples: python",
            "feature by language",
            "python format",
            "python lint",
            "python tests",
            "python types",
            "snippets",
        ]),
    ),
    (
        "examples/c/loops/tick.h",
        Steps(&["authorization server: c", "examples: c", "feature by language", "rust and c tests", "snippets"]),
    ),
    ("examples/deployment/compose.yaml", Steps(&["deployment", "snippets"])),
    ("fuzz/Cargo.lock", Steps(&[])),
    ("rust-toolchain.toml", Everything),
    ("rustfmt.toml", Steps(&["rust format"])),
    ("tests/README.md", Steps(&[])),
    ("tests/api/python.py", Steps(&["node lint and types", "public API", "python format", "python lint"])),
    ("tests/authorization-servers.json", Steps(&["authorization server"])),
    ("tests/bridges/peers.json", Steps(&[])),
    ("tests/hosts/hosts.json", Steps(&[])),
    (
        "tests/conformance/scenarios.mjs",
        Steps(&["conformance", "conformance of clients", "conformance of clients that wait"]),
    ),
    ("tests/deprecations.json", Steps(&["generated files"])),
    (
        "tests/fixtures/ruby/server.rb",
        Steps(&[
            "authorization server: ruby",
            "conformance of clients that wait: ruby",
            "conformance of clients: ruby",
            "conformance: ruby",
            "matrix: ruby",
            "ruby lint",
            "scars: ruby",
            "scars alone: ruby",
            "vectors: ruby",
            "wire purity: ruby",
        ]),
    ),
    ("tests/go-modules/main.go", Steps(&["go lint and tests", "go modules"])),
    ("tests/inspect/run.mjs", Steps(&["inspect states", "node lint and types"])),
    ("tests/jvm-boms/pom.xml", Steps(&["java lint"])),
    ("tests/kotlin-calls/pom.xml", Steps(&[])),
    ("tests/matrix/features.json", Steps(&["matrix", "xtask tests"])),
    (
        "tests/mounts.json",
        Steps(&[
            "go lint and tests",
            "java tests",
            "kotlin tests",
            "node tests",
            "python tests",
            "ruby tests",
            "rust and c tests",
            "scars",
            "scars alone",
        ]),
    ),
    ("tests/npm/try.mjs", Steps(&["node lint and types"])),
    ("tests/packages/release.py", Steps(&["python format", "python lint"])),
    (
        "tests/peers/python/host.py",
        Steps(&["authorization server", "matrix", "python format", "python lint", "wire purity"]),
    ),
    ("tests/promises.json", Steps(&[])),
    ("tests/requirements/sides.json", Steps(&["xtask tests"])),
    ("tests/scars/crowd.py", Steps(&["python format", "python lint", "scars", "scars alone"])),
    ("tests/snippets/run.py", Steps(&["java lint", "programs of snippets", "python format", "python lint"])),
    ("tests/swift-package/main.swift", Steps(&[])),
    ("tests/vectors/README.md", Steps(&[])),
    ("tests/vectors/pings.json", Steps(&["rust and c tests", "vectors"])),
    (
        "tests/wire/src/lib.rs",
        Steps(&["import circles", "rust and c tests", "rust clippy", "rust format", "wire purity"]),
    ),
    ("xtask/src/main.rs", Everything),
    (
        "xtask/src/generate/c.rs",
        Steps(&["generated files", "import circles", "rust clippy", "rust format", "xtask tests"]),
    ),
    ("xtask/src/bench/mod.rs", Steps(&["import circles", "rust clippy", "rust format", "xtask tests"])),
    ("a-new-folder/file", Everything),
    ("tests/new-table.json", Everything),
    ("tests/new-suite/run.py", Everything),
];

fn expected(runs: &Runs) -> BTreeSet<String> {
    let with = |languages: &str| EACH.map(|step| format!("{step}: {languages}"));
    match runs {
        Everything => {
            let all = Selection::parse(&Workspace::find().unwrap(), &[]).unwrap().steps().unwrap();
            all.iter().filter(|step| !step.reads.contains(&reads::ALL)).map(|step| step.name.to_owned()).collect()
        }
        Steps(steps) => steps.iter().map(|&step| step.to_owned()).collect(),
        With(languages, steps) => {
            with(languages).into_iter().chain(SOURCES.iter().chain(*steps).map(|&step| step.to_owned())).collect()
        }
    }
}

#[test]
fn a_change_runs_the_steps_that_it_can_break() {
    let differ = TABLE.iter().filter_map(|(path, runs)| {
        let (touched, expected) = (touched(path), expected(runs));
        let (more, less) = (&touched - &expected, &expected - &touched);
        (touched != expected).then(|| format!("{path}: also {more:?}, not {less:?}"))
    });
    assert_eq!(differ.collect::<Vec<_>>(), [""; 0]);
}

/// The folder of a path that needs a row: two levels of those whose parts have little in
/// common.
fn place(path: &str) -> String {
    let depth = if path.starts_with("tests/") || path.starts_with("bindings-uniffi/") { 2 } else { 1 };
    path.split('/').take(depth).collect::<Vec<_>>().join("/")
}

#[test]
fn the_table_has_a_row_for_each_folder() {
    let rows: BTreeSet<String> = TABLE.iter().map(|(path, _)| place(path)).collect();
    let files = Workspace::find().unwrap().files(&[]).unwrap();
    let is_whole_table = |path: &String| path.starts_with("tests/") && path.ends_with(".json");
    let is_of_native = |path: &String| path.starts_with("bindings-uniffi/") && path.matches('/').count() == 1;
    let places: BTreeSet<String> =
        files.iter().filter(|path| !is_whole_table(path) && !is_of_native(path)).map(|path| place(path)).collect();
    assert_eq!(&places - &rows, BTreeSet::new(), "folders without a row: which steps do they concern?");
}

#[test]
fn what_steps_declare_exists() {
    let files = Workspace::find().unwrap().files(&[]).unwrap();
    let exists = |start: &str, end: &str| files.iter().any(|file| file.starts_with(start) && file.ends_with(end));
    for (_, step) in declared() {
        for reads in step.reads {
            let (start, end) = match reads {
                Reads::Path(start) => (*start, ""),
                Reads::Form(start, end) => (*start, *end),
                _ => continue,
            };
            assert!(exists(start, end), "{}: no file is like {start}…{end}", step.name);
        }
    }
    for language in Language::known() {
        for folder in language.folders.iter().copied().flatten() {
            assert!(exists(folder, ""), "{}: there is no {folder}", language.name);
        }
    }
    assert!(reads::declared().all(|start| exists(start, "")), "{:?}", reads::declared().collect::<Vec<_>>());
}

#[test]
fn only_the_tests_in_c_run_for_a_change_in_c() {
    let languages = |path: &str| {
        let steps = selection(path).steps().unwrap();
        let step = steps.into_iter().find(|step| step.name == "rust and c tests").expect("the step");
        selection(path).of(step).languages.iter().map(|language| language.name).collect::<Vec<_>>()
    };
    assert_eq!(languages("bindings-c/src/lib.rs"), ["c"]);
    assert_eq!(languages("core/spine/src/lib.rs"), ["rust", "c"]);
}

#[test]
fn only_a_change_of_packages_leaves_the_core_to_other_runs() {
    let is_of_packages = |path: &str| selection(path).is_of_packages();
    assert!(is_of_packages("bindings-python/src/lib.rs") && is_of_packages("bindings-uniffi/native/lib.rs"));
    assert!(!is_of_packages("core/spine/src/lib.rs") && !is_of_packages("tests/vectors/pings.json"));
    assert!(!Selection::parse(&Workspace::find().unwrap(), &[]).unwrap().is_of_packages());
    let node = Language::parse_list("node").unwrap()[0];
    assert_eq!(["bindings-node/src/client.ts", "Cargo.lock"].map(|path| selection(path).half(node)), [Some(0), None]);
}

#[test]
fn only_the_languages_of_a_change_are_built() {
    let built = |path: &str| {
        let selection = selection(path);
        let built = selection.built_languages(&selection.steps().unwrap());
        built.iter().map(|language| language.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(built("docs/tools.md"), "");
    assert_eq!(built("docs/errors.md"), "");
    // The authorization server needs the package of Node.js.
    assert_eq!(built("bindings-go/client.go"), "node go");
    assert_eq!(built("docs/snippets/tasks.rb"), "ruby");
    assert_eq!(built("core/spine/src/lib.rs").split(' ').count(), Language::available().len());
}
