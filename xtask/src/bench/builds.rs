//! Optimised builds under `target/bench`: our servers and clients, and the implementations beside them.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::build::c::Workshop;
use crate::build::{DEADLINE, launchers, node, python, step};
use crate::console::Console;
use crate::house::House;
use crate::process::must;
use crate::stamp::{Stamp, copy_if_changed, files_under};

const OUR_VENV: &str = "bench-ours";

pub(crate) fn home(house: &House) -> PathBuf {
    house.target.join("bench")
}

pub(crate) fn everything(house: &House) -> Result<()> {
    let console = Console::new();
    step(&console, "ours, optimised", || {
        let mut cargo = house.cargo();
        cargo.args(["build", "--release", "--package", "bench-rust", "--package", "trunkline-python"]);
        cargo.args(["--package", "trunkline-node", "--package", "trunkline-c"]);
        must(cargo, DEADLINE).map(drop)
    })?;
    step(&console, "our Rust", || our_rust(house))?;
    step(&console, "our Python", || our_python(house))?;
    step(&console, "our Node", || our_node(house))?;
    step(&console, "our C", || our_c(house))?;
    step(&console, "load generator and Rust SDK", || peers_rust(house))?;
    step(&console, "Python SDKs", || peers_python(house))?;
    step(&console, "TypeScript SDKs", || peers_node(house))
}

fn our_rust(house: &House) -> Result<()> {
    for role in ["server", "client"] {
        let program = bin(house, &format!("ours-rust-{role}"));
        copy_if_changed(&released(house, &format!("bench-{role}{}", std::env::consts::EXE_SUFFIX)), &program)?;
        make_executable(&program)?;
        launcher(house, "rust", role, &[program])?;
    }
    Ok(())
}

/// The package lies in its environment as an installed wheel would.
fn our_python(house: &House) -> Result<()> {
    python::make_venv(house, OUR_VENV, None)?;
    let package = python::site_packages(house, OUR_VENV)?.join("trunkline");
    copy_tree(&house.path("bindings-python/python/trunkline"), &package)?;
    copy_if_changed(&released(house, &house.library_file("_native")), &package.join(python::EXTENSION))?;
    let interpreter = house.venv_program(OUR_VENV, "python");
    for role in ["server", "client"] {
        launcher(house, "python", role, &[interpreter.clone(), house.path(&format!("benches/python/{role}.py"))])?;
    }
    Ok(())
}

/// The package lies in `node_modules` as an installed one would, beside copies of the two programs.
fn our_node(house: &House) -> Result<()> {
    node::install_and_compile(house)?;
    let folder = home(house).join("node");
    let package = folder.join("node_modules").join("trunkline");
    let source = house.path("bindings-node");
    copy_tree(&source.join("dist"), &package.join("dist"))?;
    copy_if_changed(&source.join("package.json"), &package.join("package.json"))?;
    copy_if_changed(&released(house, &house.library_file("trunkline_node")), &package.join("trunkline.node"))?;
    copy_tree(&house.path("benches/node"), &folder)?;
    for role in ["server", "client"] {
        launcher(house, "node", role, &["node".into(), folder.join(format!("{role}.mjs"))])?;
    }
    Ok(())
}

fn our_c(house: &House) -> Result<()> {
    let workshop =
        Workshop { programs: home(house).join("bin"), library: house.target.join("release"), optimise: true };
    workshop.place_library(house)?;
    for role in ["server", "client"] {
        let name = format!("ours-c-{role}");
        workshop.compile(house, &name, &house.path(&format!("benches/c/{role}.c")))?;
        launcher(house, "c", role, &[workshop.program(&name)])?;
    }
    Ok(())
}

/// Both are packages of their own, outside the workspace, so that their dependencies do not touch ours.
fn peers_rust(house: &House) -> Result<()> {
    let target = home(house).join("cargo");
    for package in ["benches/load", "benches/peers/rmcp"] {
        let mut cargo = house.cargo();
        cargo.args(["build", "--release", "--locked", "--manifest-path"]).arg(house.path(package).join("Cargo.toml"));
        cargo.arg("--target-dir").arg(&target);
        must(cargo, DEADLINE)?;
    }
    for program in ["mcpload", "bare", "peer-rmcp"] {
        let copy = bin(house, program);
        copy_if_changed(&target.join("release").join(program), &copy)?;
        make_executable(&copy)?;
    }
    Ok(())
}

fn peers_python(house: &House) -> Result<()> {
    let peers = house.path("benches/peers");
    python::make_venv(house, "mcp-2", Some(&house.path("tests/peers/python/requirements-2.txt")))?;
    python::make_venv(house, "bench-mcp-uvloop", Some(&peers.join("requirements-mcp-uvloop.txt")))?;
    python::make_venv(house, "bench-fastmcp", Some(&peers.join("requirements-fastmcp.txt")))
}

/// The same versions as in the tests.
fn peers_node(house: &House) -> Result<()> {
    let folder = home(house).join("peers");
    for name in ["package.json", "package-lock.json"] {
        copy_if_changed(&house.path("tests/peers/node").join(name), &folder.join(name))?;
    }
    for file in files_under(&house.path("benches/peers"))? {
        if file.extension().is_some_and(|extension| extension == "mjs") {
            copy_if_changed(&file, &folder.join(file.file_name().unwrap_or_default()))?;
        }
    }
    Stamp::new(house, "bench-npm").on_files(&folder.join("package-lock.json"))?.unless_done(
        &folder.join("node_modules"),
        || {
            let mut npm = house.npm("benches");
            npm.current_dir(&folder).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
            must(npm, DEADLINE).map(drop)
        },
    )
}

fn bin(house: &House, name: &str) -> PathBuf {
    home(house).join("bin").join(name)
}

fn released(house: &House, file: &str) -> PathBuf {
    house.target.join("release").join(file)
}

/// The command `benches/<language>/<role>`.
fn launcher(house: &House, language: &str, role: &str, program: &[PathBuf]) -> Result<()> {
    launchers::write_one(house, &house.root.join("benches").join(language).join(role), program)
}

/// Copies sources; what cargo and others left beside them (extensions for the tests, caches) stays behind.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for file in files_under(from)? {
        let built = file
            .extension()
            .is_some_and(|extension| ["so", "pyd", "node", "map"].iter().any(|built| extension == *built));
        if !built {
            copy_if_changed(&file, &to.join(file.strip_prefix(from)?))?;
        }
    }
    Ok(())
}

fn make_executable(program: &Path) -> Result<()> {
    launchers::make_executable(program)
}
