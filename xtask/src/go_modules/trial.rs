//! The test of the modules: a program in a folder of its own gets them with `go get` from the tags
//! of a repository, without network access, and calls a tool.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};

use super::{FOLDER, MODULE, Platform, VERSION, tag, write};
use crate::build::{BUILD_TIMEOUT, system};
use crate::process::must;
use crate::stamp::copy_if_changed;
use crate::test::Count;
use crate::workspace::Workspace;

const SOURCE: &str = "tests/go-modules/main.go";
const EXPECTED_OUTPUT: &str = "Hello, Ada!";
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn check(workspace: &Workspace) -> Result<Count> {
    let Some(platform) = Platform::here() else {
        return Ok(Count::one_passed("there is no module for this platform".to_owned()));
    };
    let trial = Trial::prepare(workspace, platform)?;
    trial.get()?;
    let mut program = Command::new(trial.program.join(format!("program{}", std::env::consts::EXE_SUFFIX)));
    program.current_dir(&trial.program).env_remove("TRUNKLINE_LIBRARY");
    if cfg!(target_os = "linux") {
        // As in a container without a folder that can be written.
        program.env("TMPDIR", trial.program.join("none"));
    }
    let said = must(program, COMMAND_TIMEOUT)?.stdout;
    let mut count = Count::default();
    let fault = format!("a program with the Go modules printed {said:?} instead of {EXPECTED_OUTPUT:?}");
    count.add(Some(fault).filter(|_| said.trim() != EXPECTED_OUTPUT));
    count.add(trial.faults_of_sums(platform)?);
    Ok(count)
}

struct Trial {
    modules: PathBuf,
    repository: PathBuf,
    program: PathBuf,
    /// Go's cache of modules for the trial: an earlier trial had the same version.
    cache: PathBuf,
    /// The user's cache, which has the modules of others.
    others: PathBuf,
}

impl Trial {
    fn prepare(workspace: &Workspace, platform: &Platform) -> Result<Self> {
        let place = workspace.target.join("go-modules-trial");
        if place.exists() {
            std::fs::remove_dir_all(&place)?;
        }
        let inside = |name: &str| place.join(name);
        let library = inside("libraries").join(platform.name).join(platform.file);
        std::fs::create_dir_all(library.parent().context("it has a folder")?)?;
        std::fs::copy(workspace.built_library("trunkline"), &library)?;
        // A library with symbols is too large for a module.
        let mut strip = workspace.command("strip");
        strip.arg(if cfg!(target_os = "macos") { "-x" } else { "--strip-all" }).arg(&library);
        must(strip, COMMAND_TIMEOUT)?;
        let mut environment = workspace.command(system::go()?);
        environment.args(["env", "GOMODCACHE"]);
        let others = PathBuf::from(must(environment, COMMAND_TIMEOUT)?.stdout.trim());
        let [modules, repository, program] = ["modules", "repository", "program"].map(inside);
        // Go remembers for good what a folder of its cache has.
        let cache = inside(&format!("cache-{}", UNIX_EPOCH.elapsed()?.as_millis()));
        let trial = Self { modules, repository, program, cache, others };
        write(workspace, &inside("libraries"), &[platform], &trial.modules)?;
        let mut git = workspace.command("git");
        git.args(["init", "--quiet"]).arg(&trial.repository);
        must(git, COMMAND_TIMEOUT)?;
        tag(&trial.repository, &trial.modules)?;
        copy_if_changed(&workspace.path(SOURCE), &trial.program.join("main.go"))?;
        Ok(trial)
    }

    /// Builds the program as a user does.
    fn get(&self) -> Result<()> {
        let wanted = format!("{MODULE}@v{VERSION}");
        for words in [&["mod", "init", "program"][..], &["get", &wanted], &["build", "-o", "program"]] {
            let mut command = self.go()?;
            command.args(words);
            must(command, BUILD_TIMEOUT)?;
        }
        Ok(())
    }

    /// Git takes the repository of the trial for that of the project, and all other modules come
    /// from the user's cache.
    fn go(&self) -> Result<Command> {
        let mut go = Command::new(system::go()?);
        let project = format!("https://{}", MODULE.trim_end_matches(&format!("/{FOLDER}")));
        go.current_dir(&self.program).env("CGO_ENABLED", "0").env("GOMODCACHE", &self.cache);
        go.env("GOFLAGS", "-modcacherw -buildvcs=false").env("GOSUMDB", "off").env("GOWORK", "off");
        go.env("GOPROXY", url(&self.others.join("cache/download"))).env("GONOPROXY", MODULE_PATTERN);
        go.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_VALUE_0", project);
        go.env("GIT_CONFIG_KEY_0", format!("url.{}.insteadOf", url(&self.repository)));
        Ok(go)
    }

    /// Compares the sums that Go computed for the library with those of the main module.
    fn faults_of_sums(&self, platform: &Platform) -> Result<Vec<String>> {
        let read = |path: PathBuf| std::fs::read_to_string(&path).with_context(|| path.display().to_string());
        let (ours, found) = (read(self.modules.join(FOLDER).join("go.sum"))?, read(self.program.join("go.sum"))?);
        let module = format!("{MODULE}/library/{} ", platform.name);
        let lines: Vec<_> = found.lines().filter(|line| line.starts_with(&module)).collect();
        ensure!(lines.len() == 2, "go.sum of the program does not have the library's module: {found}");
        let differ = lines.into_iter().filter(|line| !ours.lines().any(|our| our == *line));
        Ok(differ.map(|line| format!("bindings-go/go.sum does not have {line}")).collect())
    }
}

const MODULE_PATTERN: &str = "github.com/trunkline-mcp/*";

fn url(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "/");
    format!("file://{}{path}", if path.starts_with('/') { "" } else { "/" })
}
