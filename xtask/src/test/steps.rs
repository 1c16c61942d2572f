//! The steps of `cargo xtask test` that belong to no language, or to all; those of one language are
//! in its entry.

use anyhow::Result;

use super::reads::Reads::{self, Core, Path, Tables};
use super::reads::{ALL, EXAMPLES, FIXTURES, PACKAGE, SNIPPETS};
use super::{
    Count, Selection, binding_modules, checkout, coverage, deployment, examples, fixed_bounds, methods, printed_calls,
    programs, promises, prose, snippets, suites, wire, workflows,
};
use crate::pages;
use crate::workspace::Workspace;

pub(crate) struct Step {
    pub(super) name: &'static str,
    pub(super) turn: Turn,
    /// The files whose change can break it.
    pub(super) reads: &'static [Reads],
    /// True if it runs with each of the selected languages, and with fewer if `--lang` names them.
    pub(super) each_language: bool,
    pub(super) long: bool,
    pub(super) work: Work,
}

type Work = fn(&Workspace, &Selection) -> Result<Count>;

/// When a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Needs no build, so it runs concurrently with it.
    Early,
    /// Uses cargo, which locks its build directory: one after the other.
    Cargo,
    /// After the build, concurrently with cargo and others.
    Beside,
    /// Measures time, or reads what other steps wrote, so it runs alone.
    Last,
}

impl Step {
    pub(crate) const fn new(turn: Turn, name: &'static str, reads: &'static [Reads], work: Work) -> Self {
        Self { name, turn, reads, each_language: false, long: false, work }
    }

    /// Only with `--long`. CI runs those that use cargo for each push in a separate job, because
    /// they compile all crates again in different configurations.
    pub(crate) const fn long(mut self) -> Self {
        self.long = true;
        self
    }

    pub(crate) const fn each(turn: Turn, name: &'static str, reads: &'static [Reads], work: Work) -> Self {
        Self { each_language: true, ..Self::new(turn, name, reads, work) }
    }
}

pub(super) const WIRE: &str = "wire purity";

const SCARS: &[Reads] = &[Core, PACKAGE, FIXTURES, Path("tests/scars/"), Tables, Path("xtask/src/scars.rs")];
const CONFORMANCE: &[Reads] = &[Core, PACKAGE, FIXTURES, Path("tests/conformance/"), Path("xtask/src/conformance/")];

/// Of the steps that wait for the build, the longest come first, so that none is left alone at the
/// end.
pub(super) static SHARED: [Step; 27] = {
    use Turn::{Beside, Cargo, Early, Last};
    [
        Step::new(
            Early,
            "methods in bindings",
            &[Path("core/proto/src/protocol/method.rs"), PACKAGE, Path("xtask/src/test/methods.rs")],
            methods::check,
        ),
        Step::new(
            Early,
            "requirements",
            &[ALL, Path("tests/requirements/"), Path("xtask/src/requirements/")],
            |workspace, _| crate::requirements::check(workspace),
        ),
        Step::new(
            Early,
            "prose",
            &[ALL, Path("xtask/src/test/prose.rs"), Path("xtask/src/test/beginnings.rs")],
            prose::check,
        ),
        Step::new(
            Early,
            "fixed bounds",
            &[
                Path("core/"),
                Path("docs/"),
                Path("README.md"),
                Path("SECURITY.md"),
                Path("xtask/src/test/fixed_bounds.rs"),
                Path("xtask/src/test/option_figures.rs"),
                Path("xtask/src/test/figure.rs"),
            ],
            fixed_bounds::check,
        ),
        Step::new(
            Early,
            "promises",
            &[ALL, Path("tests/promises.json"), Path("xtask/src/test/promises.rs")],
            promises::check,
        ),
        Step::new(
            Early,
            "modules of the bindings",
            &[PACKAGE, Path("docs/bindings.md"), Path("xtask/src/test/binding_modules.rs")],
            binding_modules::check,
        ),
        Step::new(Early, "workflow lint", &[Path(".github/"), Path("xtask/src/test/workflows.rs")], workflows::check),
        Step::new(
            Early,
            "snippets",
            &[
                Path("docs/"),
                Path("README.md"),
                Path("examples/"),
                Path("xtask/src/pages/"),
                Path("xtask/src/test/snippets.rs"),
            ],
            snippets::check,
        ),
        Step::new(
            Early,
            "feature by language",
            &[Path("docs/coverage.md"), SNIPPETS, EXAMPLES, Path("xtask/src/test/coverage.rs")],
            coverage::check,
        ),
        Step::new(Early, "documentation site", &[ALL, Path("docs/"), Path("xtask/src/pages/")], |workspace, _| {
            pages::build(workspace).map(|_| Count::one_passed(String::new()))
        }),
        Step::new(
            Cargo,
            "generated files",
            &[
                Core,
                PACKAGE,
                Path("benches/published.json"),
                Path("README.md"),
                Path("docs/bridge.md"),
                Path("docs/errors.md"),
                Path("docs/images/"),
                Path("docs/index.md"),
                Path("docs/matrix.md"),
                Path("docs/options.md"),
                Path("docs/performance.md"),
                Path("tests/deprecations.json"),
                Path("xtask/src/generate/"),
            ],
            |workspace, _| crate::generate::check(workspace),
        ),
        Step::each(
            Cargo,
            "examples",
            &[Core, PACKAGE, EXAMPLES, Path("xtask/src/test/examples.rs")],
            examples::run_all,
        ),
        Step::each(Beside, "vectors", &[Core, PACKAGE, FIXTURES, Path("tests/vectors/")], suites::vectors),
        Step::each(
            Beside,
            "matrix",
            &[
                Core,
                PACKAGE,
                FIXTURES,
                Path("docs/matrix.md"),
                Path("tests/matrix/"),
                Path("tests/peers/"),
                Path("xtask/src/matrix/"),
            ],
            crate::matrix::check,
        ),
        Step::each(Beside, "conformance of clients", CONFORMANCE, |workspace, selection| {
            crate::conformance::passed_clients(workspace, selection, false)
        }),
        Step::each(Beside, "scars", SCARS, |workspace, selection| crate::scars::check(workspace, selection, false)),
        Step::each(Beside, "conformance", CONFORMANCE, |workspace, selection| {
            let subjects = crate::conformance::Subject::alone(&selection.languages);
            crate::conformance::servers(workspace, &subjects, &[])
        }),
        Step::each(
            Beside,
            "public API",
            &[Core, PACKAGE, Path("api/"), Path("tests/api/"), Path("xtask/src/api/")],
            crate::api::check,
        ),
        Step::each(
            Beside,
            "programs of snippets",
            &[Core, PACKAGE, SNIPPETS, Path("tests/snippets/"), Path("xtask/src/test/programs.rs")],
            programs::run_all,
        ),
        Step::each(
            Beside,
            "deployment",
            &[Core, PACKAGE, SNIPPETS, Path("examples/deployment/"), Path("xtask/src/test/deployment.rs")],
            deployment::check,
        ),
        Step::each(
            Beside,
            "installing from a checkout",
            &[Core, PACKAGE, SNIPPETS, Path("README.md"), Path("xtask/src/test/checkout.rs")],
            checkout::check,
        )
        .long(),
        Step::each(
            Cargo,
            "printed calls",
            &[Core, PACKAGE, Path("cli/src/"), Path("tests/kotlin-calls/"), Path("xtask/src/test/printed_calls.rs")],
            printed_calls::check,
        )
        .long(),
        Step::each(
            Cargo,
            "packages",
            &[
                Core,
                PACKAGE,
                EXAMPLES,
                Path("LICENSE"),
                Path("tests/npm/"),
                Path("tests/packages/"),
                Path("xtask/src/release.rs"),
            ],
            crate::release::check,
        )
        .long(),
        Step::new(
            Beside,
            "instructions",
            &[Core, Path("benches/instructions"), Path("tests/fixtures/rust/")],
            suites::instructions,
        ),
        Step::each(Last, "conformance of clients that wait", CONFORMANCE, |workspace, selection| {
            crate::conformance::passed_clients(workspace, selection, true)
        }),
        Step::each(Last, "scars alone", SCARS, |workspace, selection| crate::scars::check(workspace, selection, true)),
        Step::each(
            Last,
            WIRE,
            &[Core, PACKAGE, FIXTURES, Path("tests/peers/"), Path("tests/wire/"), Path("xtask/src/test/wire.rs")],
            wire::check,
        ),
    ]
};
