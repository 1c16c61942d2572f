//! Starts the program `trunkline` next to this one, for `uvx trunkline-cli` and the like, which run
//! the command that has the name of the package.

#![forbid(unsafe_code)]

use std::{
    env::{self, consts::EXE_SUFFIX},
    io::{self, Write as _},
    path::PathBuf,
    process::{Command, ExitCode},
};

fn main() -> ExitCode {
    let program = match program() {
        Ok(program) => program,
        Err(error) => return failed("this program", &error),
    };
    match run(Command::new(&program).args(env::args_os().skip(1))) {
        Ok(code) => code,
        Err(error) => failed(&program.display().to_string(), &error),
    }
}

/// The program in the folder of this one, which may have been started by a link to it.
fn program() -> io::Result<PathBuf> {
    Ok(env::current_exe()?.canonicalize()?.with_file_name(format!("trunkline{EXE_SUFFIX}")))
}

/// Takes the place of this process.
#[cfg(unix)]
fn run(command: &mut Command) -> io::Result<ExitCode> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn run(command: &mut Command) -> io::Result<ExitCode> {
    let code = command.status()?.code();
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1).into())
}

fn failed(tried: &str, error: &io::Error) -> ExitCode {
    let lines =
        format!("error: cannot start trunkline: {error}\n  tried: {tried}\n  do:    install trunkline-cli again");
    let _ = writeln!(io::stderr().lock(), "{lines}");
    ExitCode::FAILURE
}
