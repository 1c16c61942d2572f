//! Optimized builds under `target/bench`: our servers and clients, and the implementations to
//! compare them with.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::build::c::Workshop;
use crate::build::{BUILD_TIMEOUT, jvm, launchers, node, python, step, swift, system};
use crate::generate::text::pascal;
use crate::language::{Language, go};
use crate::process::must;
use crate::stamp::{Stamp, copy_if_changed, copy_tree, files_with, write_if_changed};
use crate::workspace::Workspace;

const OUR_LIBRARIES: [&str; 4] = ["trunkline-c", "trunkline-node", "trunkline-python", "trunkline-uniffi"];
const OUR_VENV: &str = "bench-ours";

pub(crate) fn home(workspace: &Workspace) -> PathBuf {
    workspace.target.join("bench")
}

pub(crate) fn everything(workspace: &Workspace) -> Result<()> {
    step("ours in Rust, optimized", || ours_rust(workspace))?;
    step("libraries of our packages", || our_libraries(workspace))?;
    for language in Language::known().filter(|language| language.has_toolchain()) {
        step(&format!("ours in {}", language.title), || {
            for role in ["server", "client"] {
                let launcher = workspace.path(&format!("benches/{}/{role}", language.name));
                launchers::write_one(workspace, &launcher, &(language.bench)(workspace, role)?)?;
            }
            Ok(())
        })?;
    }
    step("load generator and Rust SDK", || peers_rust(workspace))?;
    step("Python SDKs", || peers_python(workspace))?;
    step("TypeScript SDKs", || peers_node(workspace))?;
    step("Java SDK", || peers_java(workspace))?;
    step("Go SDK", || go::compile(workspace, "benches/peers/go", Path::new("."), &home(workspace).join("bin/peer-go")))
}

/// The program, and the server behind the bridges.
pub(super) fn bridges(workspace: &Workspace) -> Result<()> {
    step("ours in Rust, optimized", || ours_rust(workspace).and_then(|()| our_rust(workspace, "server").map(drop)))?;
    step("the program, optimized", || {
        let mut cargo = workspace.cargo();
        cargo.args(["build", "--profile", "release-cli", "--package", "trunkline-cli"]);
        must(cargo, BUILD_TIMEOUT).map(drop)
    })?;
    step("load generator", || placed_builds(workspace, &["benches/load"], &["mcpload"]))
}

fn ours_rust(workspace: &Workspace) -> Result<()> {
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--release", "--package", "bench-rust"]);
    must(cargo, BUILD_TIMEOUT).map(drop)
}

/// Optimizes them as packages for Linux are.
fn our_libraries(workspace: &Workspace) -> Result<()> {
    let (host, flags) = (system::host()?, home(workspace).join("RUSTFLAGS"));
    let profiled = ["core", "bindings-c", "benches/c", "Cargo.lock"].map(|source| workspace.path(source));
    Stamp::new(workspace, "bench-profile").on_files(profiled)?.unless_done(&flags, || {
        let mut profile = workspace.command(system::python()?);
        profile.arg("benches/profile.py").arg(&host);
        write_if_changed(&flags, must(profile, BUILD_TIMEOUT)?.stdout.trim().as_bytes())
    })?;
    let mut cargo = workspace.cargo();
    cargo.env("RUSTFLAGS", std::fs::read_to_string(flags)?);
    cargo.env("RUSTC_WRAPPER", workspace.path("benches/stable-names.sh"));
    cargo.args(["build", "--release", "--locked", "--target", &host]);
    cargo.args(OUR_LIBRARIES.iter().flat_map(|one| ["--package", one]));
    cargo.arg("--target-dir").arg(home(workspace).join("cargo"));
    must(cargo, BUILD_TIMEOUT).map(drop)
}

/// Where cargo puts them.
fn libraries(workspace: &Workspace) -> Result<PathBuf> {
    Ok(home(workspace).join("cargo").join(system::host()?).join("release"))
}

fn library(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    Ok(libraries(workspace)?.join(workspace.library_file(name)))
}

pub(crate) fn our_rust(workspace: &Workspace, role: &str) -> Result<Vec<PathBuf>> {
    let program = workspace.target.join("release").join(format!("bench-{role}"));
    Ok(vec![placed(workspace, &program, &format!("ours-rust-{role}"))?])
}

/// Installs the package in its environment, as a wheel would be.
pub(crate) fn our_python(workspace: &Workspace, role: &str) -> Result<Vec<PathBuf>> {
    python::make_venv(workspace, OUR_VENV, None)?;
    let package = python::site_packages(workspace, OUR_VENV)?.join("trunkline");
    copy_tree(&workspace.path("bindings-python/python/trunkline"), &package)?;
    copy_if_changed(&library(workspace, "_native")?, &package.join(python::EXTENSION))?;
    let interpreter = workspace.venv_program(OUR_VENV, "python");
    // As pip does, so that it is compiled to byte code like the others.
    let mut compile = workspace.command(&interpreter);
    compile.args(["-m", "compileall", "-q"]).arg(&package);
    must(compile, BUILD_TIMEOUT)?;
    Ok(vec![interpreter, workspace.path(&format!("benches/python/{role}.py"))])
}

/// Installs the package in `node_modules`, next to copies of the two programs.
pub(crate) fn our_node(workspace: &Workspace, role: &str) -> Result<Vec<PathBuf>> {
    node::build_sources(workspace)?;
    let folder = home(workspace).join("node");
    let package = folder.join("node_modules").join("trunkline");
    let source = workspace.path("bindings-node");
    copy_tree(&source.join("dist"), &package.join("dist"))?;
    copy_if_changed(&source.join("package.json"), &package.join("package.json"))?;
    copy_if_changed(&library(workspace, "trunkline_node")?, &package.join("trunkline.node"))?;
    copy_tree(&workspace.path("benches/node"), &folder)?;
    Ok(vec!["node".into(), folder.join(format!("{role}.mjs"))])
}

/// The programs, which find the library next to them.
fn our_library(workspace: &Workspace) -> Result<Workshop> {
    let workshop = Workshop { programs: home(workspace).join("bin"), library: libraries(workspace)?, optimise: true };
    workshop.place_library(workspace)?;
    Ok(workshop)
}

pub(crate) fn our_c(workspace: &Workspace, role: &str) -> Result<Vec<PathBuf>> {
    let (workshop, name) = (our_library(workspace)?, format!("ours-c-{role}"));
    workshop.compile(workspace, &name, &workspace.path(&format!("benches/c/{role}.c")))?;
    Ok(vec![workshop.program(&name)])
}

pub(crate) fn our_go(workspace: &Workspace, role: &str) -> Result<Vec<PathBuf>> {
    let program = our_library(workspace)?.program(&format!("ours-go-{role}"));
    go::compile(workspace, "benches/go", Path::new(&format!("{role}.go")), &program)?;
    Ok(vec![program])
}

/// The gem as it would be installed.
pub(crate) fn our_ruby(workspace: &Workspace, role: &str) -> Result<Vec<PathBuf>> {
    let folder = home(workspace).join("ruby");
    copy_tree(&workspace.path("bindings-uniffi/ruby/lib"), &folder)?;
    let library = library(workspace, "trunkline_uniffi")?;
    copy_if_changed(&library, &folder.join(library.file_name().unwrap_or_default()))?;
    Ok(vec!["ruby".into(), "-I".into(), folder, workspace.path(&format!("benches/ruby/{role}.rb"))])
}

pub(crate) fn our_kotlin(workspace: &Workspace, role: &str) -> Result<Vec<PathBuf>> {
    on_the_jvm(workspace, &format!("kotlin-{role}"), &format!("bench.kotlin.{}", pascal(role)))
}

pub(crate) fn our_java(workspace: &Workspace, role: &str) -> Result<Vec<PathBuf>> {
    on_the_jvm(workspace, &format!("java-{role}"), &format!("bench.java.Bench{}", pascal(role)))
}

/// The programs are compiled with the package.
fn on_the_jvm(workspace: &Workspace, name: &str, class: &str) -> Result<Vec<PathBuf>> {
    jvm::build_sources(workspace)?;
    let options = home(workspace).join(format!("{name}.options"));
    jvm::write_bench_options(workspace, &options, class, &libraries(workspace)?)?;
    Ok(vec!["java".into(), format!("@{}", options.display()).into()])
}

pub(crate) fn our_swift(workspace: &Workspace, role: &str) -> Result<Vec<PathBuf>> {
    Ok(vec![placed(workspace, &swift::bench(workspace, role, &libraries(workspace)?)?, &format!("ours-swift-{role}"))?])
}

fn peers_rust(workspace: &Workspace) -> Result<()> {
    placed_builds(workspace, &["benches/load", "benches/peers/rmcp"], &["mcpload", "bare", "peer-rmcp"])
}

/// The packages are outside the workspace, so that their dependencies do not affect ours.
fn placed_builds(workspace: &Workspace, packages: &[&str], programs: &[&str]) -> Result<()> {
    let target = home(workspace).join("cargo");
    for package in packages {
        let mut cargo = workspace.cargo();
        cargo.args(["build", "--release", "--locked", "--target-dir"]).arg(&target);
        cargo.arg("--manifest-path").arg(workspace.path(package).join("Cargo.toml"));
        must(cargo, BUILD_TIMEOUT)?;
    }
    for program in programs {
        placed(workspace, &target.join("release").join(program), program)?;
    }
    Ok(())
}

fn peers_python(workspace: &Workspace) -> Result<()> {
    let peers = workspace.path("benches/peers");
    python::make_venv(workspace, "mcp-2", Some(&workspace.path("tests/peers/python/requirements-2.txt")))?;
    python::make_venv(workspace, "bench-mcp-uvloop", Some(&peers.join("requirements-mcp-uvloop.txt")))?;
    python::make_venv(workspace, "bench-fastmcp", Some(&peers.join("requirements-fastmcp.txt")))
}

fn peers_java(workspace: &Workspace) -> Result<()> {
    let folder = home(workspace).join("peer-java");
    let mut maven = jvm::maven(workspace, &["--quiet", "process-classes"]);
    maven.current_dir(workspace.path("benches/peers/java"));
    maven.arg(format!("-Doutput={}", folder.display()));
    must(maven, BUILD_TIMEOUT)?;
    let places = std::env::join_paths([folder.join("classes"), folder.join("dependency/*")])?;
    write_if_changed(&home(workspace).join("peer-java.options"), format!("-cp {places:?}\nPeer\n").as_bytes())
}

/// The same versions as in the tests.
fn peers_node(workspace: &Workspace) -> Result<()> {
    let folder = home(workspace).join("peers");
    for name in ["package.json", "package-lock.json"] {
        copy_if_changed(&workspace.path("tests/peers/node").join(name), &folder.join(name))?;
    }
    for file in files_with(&workspace.path("benches/peers"), "mjs")? {
        copy_if_changed(&file, &folder.join(file.file_name().unwrap_or_default()))?;
    }
    node::install(workspace, &folder.to_string_lossy())
}

/// Copies a program next to the others.
fn placed(workspace: &Workspace, program: &Path, name: &str) -> Result<PathBuf> {
    let copy = home(workspace).join("bin").join(name);
    copy_if_changed(program, &copy)?;
    launchers::make_executable(&copy)?;
    Ok(copy)
}
