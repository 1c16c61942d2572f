//! The listing of the crates, by cargo-public-api's library from the JSON of rustdoc. That format
//! is unstable, so the toolchain is fixed with the version of the library.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use public_api::Builder;

use super::TIMEOUT;
use crate::build::launchers;
use crate::process::must;
use crate::test::rust_docs::{CRATES, arguments};
use crate::workspace::Workspace;

/// Writes the format that the library reads.
const TOOLCHAIN: &str = "1.95.0";
/// The variable with which stable toolchains have unstable options. Only rustdoc gets it: the build
/// scripts of some crates read it, so cargo would compile these crates again.
const UNSTABLE: &str = "RUSTC_BOOTSTRAP=1";

pub(super) fn list(workspace: &Workspace) -> Result<String> {
    let rustdoc = workspace.target.join("api/rustdoc");
    std::fs::create_dir_all(workspace.target.join("api"))?;
    launchers::write_one(workspace, &rustdoc, &["env", UNSTABLE, "rustdoc"].map(PathBuf::from))?;
    let mut cargo = workspace.command("rustup");
    cargo.args(["run", TOOLCHAIN, "cargo"]).args(arguments());
    // Set by the toolchain that started this program.
    for name in ["CARGO", "RUSTC", "RUSTC_WORKSPACE_WRAPPER", "RUSTUP_TOOLCHAIN"] {
        cargo.env_remove(name);
    }
    cargo.env("RUSTDOC", rustdoc).env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json");
    must(cargo, TIMEOUT).with_context(|| format!("this needs `rustup toolchain install {TOOLCHAIN}`"))?;
    let mut listed = String::new();
    for name in CRATES {
        let file = workspace.target.join("doc").join(format!("{name}.json"));
        let api = Builder::from_rustdoc_json(&file)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()
            .with_context(|| format!("{} of {TOOLCHAIN}", file.display()))?;
        writeln!(listed, "// {name}\n")?;
        for item in api.items() {
            writeln!(listed, "{item}")?;
        }
        listed.push('\n');
    }
    Ok(listed)
}
