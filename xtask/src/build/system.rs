//! Required system programs: Python, Node, a C compiler. On Debian and its derivatives, missing
//! ones are installed if run as root.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::build::BUILD_TIMEOUT;
use crate::process::{must, run};
use crate::workspace::Workspace;

const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
const MIN_PYTHON: (u32, u32) = (3, 10);
const MIN_NODE: u32 = 20;
const MIN_SWIFT: u32 = 6;

/// The result of a search that runs once.
type Found<T> = LazyLock<Result<T, String>>;

fn once<T: Clone>(found: &Found<T>) -> Result<T> {
    (**found).clone().map_err(anyhow::Error::msg)
}

fn told<T>(found: Result<T>) -> Result<T, String> {
    found.map_err(|error| format!("{error:#}"))
}

/// A Python interpreter that is new enough and can create virtual environments. `TRUNKLINE_PYTHON`
/// overrides the choice.
pub(crate) fn python() -> Result<String> {
    static FOUND: Found<String> = LazyLock::new(|| told(find_python()));
    once(&FOUND)
}

fn find_python() -> Result<String> {
    let named = std::env::var("TRUNKLINE_PYTHON").ok();
    let candidates: Vec<&str> = match &named {
        Some(name) => vec![name],
        None => vec!["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"],
    };
    let Some(python) = candidates.iter().find(|name| {
        says(name, &["-c", "import sys; print(*sys.version_info[:2])"]).is_some_and(|answer| new_enough(&answer))
    }) else {
        bail!(
            "no Python {}.{} or newer found (tried {}): install one, or name it in TRUNKLINE_PYTHON",
            MIN_PYTHON.0,
            MIN_PYTHON.1,
            candidates.join(", ")
        );
    };
    if says(python, &["-c", "import venv, ensurepip"]).is_none() {
        install(&["python3-venv"]).with_context(|| format!("{python} has no modules venv and ensurepip"))?;
    }
    // The real executable, because the name may be a launcher, which is slower than Python itself.
    let executable = says(python, &["-c", "import sys; print(sys.executable)"]);
    Ok(executable.unwrap_or_else(|| (*python).to_owned()))
}

/// The version that a name refers to now; after an upgrade, the same name is another interpreter.
pub(crate) fn python_version(python: &str) -> Result<String> {
    says(python, &["-c", "import sys; print(sys.version, sys.base_prefix)"])
        .with_context(|| format!("{python} does not tell its version"))
}

fn new_enough(answer: &str) -> bool {
    let mut numbers = answer.split_whitespace().map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= MIN_PYTHON)
}

/// The version of Node, such as `v20.19.0`.
pub(crate) fn node() -> Result<String> {
    let Some(version) = says("node", &["--version"]) else {
        bail!("no Node found: install Node {MIN_NODE} or newer, with npm");
    };
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < MIN_NODE) {
        bail!("node is {version}: install Node {MIN_NODE} or newer");
    }
    if says(if cfg!(windows) { "npm.cmd" } else { "npm" }, &["--version"]).is_none() {
        bail!("node {version} is there, but no npm: install it");
    }
    Ok(version)
}

/// The C compiler for this machine.
pub(crate) fn c_compiler() -> Result<cc::Tool> {
    static FOUND: Found<cc::Tool> = LazyLock::new(|| told(find_c_compiler()));
    once(&FOUND)
}

fn find_c_compiler() -> Result<cc::Tool> {
    let find = || {
        let host = host()?;
        let tool = cc::Build::new()
            .cargo_metadata(false)
            .target(&host)
            .host(&host)
            .opt_level(1)
            .debug(true)
            .try_get_compiler()?;
        anyhow::Ok(Some(tool).filter(|tool| tool.is_like_msvc() || says(tool.path(), &["--version"]).is_some()))
    };
    if let Some(tool) = find()? {
        return Ok(tool);
    }
    install(&["gcc", "libc6-dev"]).context("no C compiler found")?;
    find()?.context("no C compiler found, even after gcc was installed")
}

/// The machine that rustc builds for.
pub(crate) fn host() -> Result<String> {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.arg("-vV");
    let answer = must(command, COMMAND_TIMEOUT)?.stdout;
    answer
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("rustc does not name its host")
}

/// The flags to compile and link with a system library, by its pkg-config name.
pub(crate) fn library_flags(name: &str) -> Result<Vec<String>> {
    const PACKAGES: [(&str, &str); 2] = [("glib-2.0", "libglib2.0-dev"), ("libuv", "libuv1-dev")];
    let find = || says("pkg-config", &["--cflags", "--libs", name]);
    let flags = match find() {
        Some(flags) => flags,
        None => {
            let package = PACKAGES.iter().find(|(known, _)| *known == name).map(|(_, package)| *package);
            let package = package.with_context(|| format!("no Debian package is known for the library {name}"))?;
            install(&["pkg-config", package]).with_context(|| format!("the library {name} was not found"))?;
            find().with_context(|| format!("the library {name} was not found, even after {package} was installed"))?
        }
    };
    Ok(flags.split_whitespace().map(str::to_owned).collect())
}

/// A program from Debian, installed if it is missing.
fn program(name: &'static str, version: &str, packages: &[&str]) -> Result<&'static str> {
    if says(name, &[version]).is_none() {
        install(packages).with_context(|| format!("no {name} found"))?;
    }
    Ok(name)
}

/// Valgrind, which finds memory leaks.
pub(crate) fn valgrind() -> Result<&'static str> {
    program("valgrind", "--version", &["valgrind"])
}

/// LuaJIT, and pkg-config, with which its program finds the library.
pub(crate) fn luajit() -> Result<&'static str> {
    program("pkg-config", "--version", &["pkg-config"])?;
    program("luajit", "-v", &["luajit"])
}

/// A C compiler and the standard library of Rust for static programs.
pub(crate) fn musl(target: &str) -> Result<()> {
    program("musl-gcc", "--version", &["musl-tools"])?;
    let mut rustup = Command::new("rustup");
    rustup.args(["--quiet", "target", "add", target]);
    must(rustup, BUILD_TIMEOUT).map(drop)
}

/// The minor version that the Go package needs.
const MIN_GO: u32 = 25;
/// The toolchain that is fetched if the system's is too old, as Debian's is.
const GO_TOOLCHAIN: &str = "golang.org/toolchain@v0.0.1-go1.25.0.linux";

/// A Go that is new enough.
pub(crate) fn go() -> Result<PathBuf> {
    static FOUND: Found<PathBuf> = LazyLock::new(|| {
        let names = ["go", "/usr/local/go/bin/go"];
        let is_new = |name: &&str| says(name, &["version"]).is_some_and(|answer| new_go(&answer));
        told(names.into_iter().find(is_new).map_or_else(fetch_go, |name| Ok(name.into())))
    });
    once(&FOUND)
}

fn new_go(answer: &str) -> bool {
    let minor = answer.split_once(" go1.").and_then(|(_, version)| version.split(['.', ' ']).next()?.parse().ok());
    minor.is_some_and(|minor: u32| minor >= MIN_GO)
}

/// Fetches Go as a module, which even an old Go can do.
fn fetch_go() -> Result<PathBuf> {
    let advice = || format!("no Go found: install Go 1.{MIN_GO} or newer");
    let old = program("go", "version", &["golang-go"]).with_context(advice)?;
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let mut download = Command::new(old);
    download.args(["mod", "download", "-json", &format!("{GO_TOOLCHAIN}-{machine}")]).env("GOTOOLCHAIN", "local");
    let answer: serde_json::Value = serde_json::from_str(&must(download, BUILD_TIMEOUT).with_context(advice)?.stdout)?;
    let folder = PathBuf::from(answer["Dir"].as_str().with_context(advice)?);
    // Modules have no executable files.
    let mut executable = Command::new("chmod");
    executable.args(["-R", "a+x"]).args([folder.join("bin"), folder.join("pkg/tool")]);
    must(executable, COMMAND_TIMEOUT)?;
    Ok(folder.join("bin/go"))
}

/// The formatter that comes with Go.
pub(crate) fn gofmt() -> Result<PathBuf> {
    let root = says(go()?, &["env", "GOROOT"]).context("go does not tell where it is")?;
    Ok(PathBuf::from(root).join(format!("bin/gofmt{}", std::env::consts::EXE_SUFFIX)))
}

/// Ruby with the libraries of the gem and its tests, which `RubyGems` has, too.
pub(crate) fn ruby() -> Result<()> {
    let loads =
        || says("ruby", &["-e", "require 'ffi'; require 'rack'; require 'puma'; require 'minitest'; puts 1"]).is_some();
    if !loads() {
        install(&["ruby", "ruby-ffi", "ruby-rack", "puma", "ruby-minitest"])
            .context("no Ruby with ffi, rack, puma and minitest found")?;
    }
    Ok(())
}

pub(crate) fn rubocop() -> Result<&'static str> {
    program("rubocop", "--version", &["rubocop"])
}

/// A Swift with the language mode of the package. Debian has it from 13 on.
pub(crate) fn swift() -> Result<&'static str> {
    let is_new = || {
        let answer = says("swift", &["--version"])?;
        let major = answer.split_once("Swift version ")?.1.split('.').next()?.parse::<u32>().ok()?;
        Some(major >= MIN_SWIFT)
    };
    if is_new() != Some(true) {
        install(&["swiftlang"]).with_context(|| format!("no Swift {MIN_SWIFT} or newer found"))?;
        if is_new() != Some(true) {
            bail!("the Swift of this system is older than {MIN_SWIFT}: install a newer one from swift.org");
        }
    }
    Ok("swift")
}

/// The path of the interpreter.
pub(crate) fn ruby_program() -> Result<PathBuf> {
    let path = says("ruby", &["-e", "require 'rbconfig'; puts RbConfig.ruby"]);
    path.map(PathBuf::from).context("ruby does not tell its path")
}

/// The Redis server, which tests start by this name.
pub(crate) fn redis_server() -> Result<()> {
    if cfg!(target_os = "linux") {
        program("redis-server", "--version", &["redis-server"])?;
    }
    Ok(())
}

/// A keychain, and a bus for it, which tests start by their names.
pub(crate) fn keyring() -> Result<()> {
    program("dbus-daemon", "--version", &["dbus-daemon", "dbus-bin"])?;
    program("gnome-keyring-daemon", "--version", &["gnome-keyring"]).map(drop)
}

/// Maven, with a compiler for the JVM.
pub(crate) fn maven() -> Result<&'static str> {
    program("javac", "--version", &["openjdk-17-jdk-headless"])?;
    program("mvn", "--version", &["maven"])
}

/// The directory of Keycloak, an authorization server. Maven downloads it once.
pub(crate) fn keycloak(workspace: &Workspace) -> Result<PathBuf> {
    const VERSION: &str = "26.4.0";
    const UNPACK: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack";
    program("java", "--version", &["openjdk-17-jre-headless"])?;
    program("mvn", "--version", &["maven"])?;
    let folder = workspace.target.join("keycloak");
    let home = folder.join(format!("keycloak-{VERSION}"));
    if !home.join("lib/quarkus-run.jar").is_file() {
        // Maven leaves a directory of markers where it runs.
        std::fs::create_dir_all(&folder)?;
        let mut maven = workspace.command("mvn");
        maven.current_dir(&folder).args(["-q", "-B", UNPACK]);
        maven.arg(format!("-Dartifact=org.keycloak:keycloak-quarkus-dist:{VERSION}:zip"));
        maven.arg(format!("-DoutputDirectory={}", folder.display()));
        must(maven, BUILD_TIMEOUT)?;
    }
    Ok(home)
}

/// The browser used in tests.
pub(crate) fn chromium() -> Result<PathBuf> {
    const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
    let find = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let files = std::env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
        files.into_iter().find(|file| says(file, &["--version"]).is_some())
    };
    if let Some(file) = find() {
        return Ok(file);
    }
    install(&["chromium"]).context("no Chromium found")?;
    find().context("no Chromium found, even after it was installed")
}

/// Installs Debian packages, if this is Debian and permissions allow. Otherwise the error says what
/// to install.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    // apt-get fails while another one is running, and steps run in parallel.
    static RUNNING: Mutex<()> = Mutex::new(());
    let names = packages.join(" ");
    let advice = format!("install {names} (on Debian and Ubuntu: apt-get install {names})");
    if !says("apt-get", &["--version"]).is_some_and(|_| cfg!(target_os = "linux")) {
        bail!("{advice}");
    }
    let prefix: &[&str] = if says("id", &["-u"]).is_some_and(|id| id == "0") {
        &[]
    } else if says("sudo", &["-n", "true"]).is_some() {
        &["sudo", "-n"]
    } else {
        bail!("{advice}");
    };
    let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    eprintln!("installing with apt-get what is missing on this system: {names}");
    let apt = |arguments: &[&str]| {
        let words: Vec<&str> = prefix
            .iter()
            .chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"])
            .chain(arguments)
            .copied()
            .collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        must(command, BUILD_TIMEOUT)
    };
    apt(&["update"]).with_context(|| advice.clone())?;
    apt(&[&["install", "-y", "--no-install-recommends"], packages].concat()).with_context(|| advice.clone())?;
    Ok(())
}

/// The output of a program, if it exists and succeeds.
fn says(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments);
    run(command, COMMAND_TIMEOUT).ok().filter(|output| output.success()).map(|output| output.stdout.trim().to_owned())
}
