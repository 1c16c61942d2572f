//! The header is fresh, installs, compiles as C99 and C++17 without a warning, and C programs work
//! with the library.
//!
//! `TRUNKLINE_UPDATE_HEADER=1` writes the header. `TRUNKLINE_PREBUILT=1` uses the libraries in the
//! target folder instead of building them. `TRUNKLINE_SANITIZE=address` (or another sanitizer)
//! compiles the C programs with it. `CC` and `CXX` choose the compilers.

#[cfg(target_os = "linux")]
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

#[path = "c/client_requests.rs"]
mod client_requests;
#[path = "c/credentials.rs"]
mod credentials;
#[cfg(unix)]
#[path = "c/forked.rs"]
mod forked;
mod header;

const CRATE_DIR: &str = env!("CARGO_MANIFEST_DIR");
const TMP: &str = env!("CARGO_TARGET_TMPDIR");
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn header_is_fresh() {
    let mut config =
        cbindgen::Config::from_file(Path::new(CRATE_DIR).join("cbindgen.toml")).expect("cbindgen.toml is readable");
    let methods = include_str!("../src/generated/methods.h").replace("\r\n", "\n");
    let methods = methods.split_once("\n\n").expect("the first line says that it is generated").1;
    config.after_includes.get_or_insert_default().push_str(&format!("\n{}", methods.trim_end()));
    let bindings = cbindgen::generate_with_config(CRATE_DIR, config).expect("cbindgen understands the sources");
    let mut generated = Vec::new();
    bindings.write(&mut generated);
    // Some compilers for Windows read headers in the code page of the system.
    let generated = String::from_utf8(generated).expect("the header is UTF-8").replace('\u{2026}', "...");
    let foreign = generated.lines().find(|line| !line.is_ascii());
    assert!(foreign.is_none(), "the header has characters beyond ASCII: {foreign:?}");
    assert_eq!(header::faults(&generated), [] as [String; 0], "tests/header/chapters.rs");
    let arranged = header::arranged(&generated);
    for text in [&arranged, include_str!("../include/trunkline.hpp")] {
        let long: Vec<_> = text.lines().filter(|line| line.len() > 100).collect();
        assert_eq!(long, [] as [&str; 0], "lines of more than 100 columns");
    }
    for (path, text) in [("include/trunkline.h", &arranged), ("../docs/c-functions.md", &header::page(&generated))] {
        let path = Path::new(CRATE_DIR).join(path);
        if env::var_os("TRUNKLINE_UPDATE_HEADER").is_some() {
            fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        let checked_in = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        assert!(
            checked_in == *text,
            "{} is not what src/ and tests/header make; run TRUNKLINE_UPDATE_HEADER=1 cargo test -p trunkline-c header",
            path.display()
        );
    }
}

/// Each scenario of `c/suite.c` is a test.
macro_rules! scenarios {
    ($($name:ident)*) => {
        const SCENARIOS: &[&str] = &[$(stringify!($name)),*];

        mod c99 {
            $(#[test] fn $name() { super::run(&super::SUITE_C99, stringify!($name)); })*
        }

        mod cxx17 {
            $(#[test] fn $name() { super::run(&super::SUITE_CXX17, stringify!($name)); })*
        }
    };
}

scenarios! {
    names_and_version json_helpers null_arguments wrong_arguments values_of_a_call client_beyond_server client_opened_in_background memory_call shapes_and_failures
    answered_later dropped_call destructors blocking_is_refused progress cancellation timeouts
    closing closing_in_a_loop requests_to_the_client resources_prompts_and_completion changed_features removed_and_told provider middleware
    request_handlers completers
    freed_while_requesting skill access_tokens unix_socket stdio http mounted probes rate_limit many_threads options event_loop notifications waking no_descriptors forked unread_stderr closed_leaves_nothing
    signals_stop_all_servers stop_ends_all_runs stop_in_signal_handler stop_leaves_errno freed_inside_callbacks one_at_a_time turns_and_ends_of_other_threads dispatching_and_blocking outputs_come_first listeners_close_together
    client_operations host_requests channel hostile_answers subscriptions client_tasks manual_input tasks_by_hand group composition proxied_tasks telemetry
    world_of_a_call values_of_a_batch data_of_a_mounted_server data_of_a_task tokens_of_a_mounted_server lifespan own_descriptors json_writer stores own_stores plain_strings stood_by mounts
}

#[test]
fn every_scenario_of_the_suite_is_a_test() {
    let listed = command(&*SUITE_C99).arg("--list").output().expect("the suite runs");
    assert_eq!(String::from_utf8_lossy(&listed.stdout).split_whitespace().collect::<Vec<_>>(), SCENARIOS);
}

#[test]
fn examples_talk_to_each_other() {
    let examples = Path::new(CRATE_DIR).join("../examples/c");
    let server = compile(Language::C99, &examples.join("weather_server.c"), "weather_server", Library::Shared);
    let client = compile(Language::C99, &examples.join("client.c"), "client", Library::Shared);
    let output = finish(command(&client).arg(&server));
    assert!(output.status.success(), "{}", told(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Oslo"), "{}", told(&output));
}

/// A closed descriptor does not become one of the library's own.
#[cfg(unix)]
#[test]
fn a_server_whose_standard_streams_are_closed_ends() {
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let script = format!(r#"exec "$0" --serve-stdio {closed}"#);
        let output = finish(command("sh").args(["-c", &script]).arg(&*SUITE_C99));
        assert!(output.status.success(), "{closed}: {}", told(&output));
    }
}

#[test]
fn the_program_in_cpp_of_the_readme_runs() {
    let readme = fs::read_to_string(Path::new(CRATE_DIR).join("README.md")).expect("the README is readable");
    let program = readme.split_once("```cpp\n").and_then(|(_, rest)| rest.split("```").next());
    let source = Path::new(TMP).join("readme.cpp");
    fs::write(&source, program.expect("the README has a program in C++")).expect("the program can be written");
    let output = finish(&mut command(compile(Language::Cxx17, &source, "readme_cpp", Library::Shared)));
    assert!(output.status.success(), "{}", told(&output));
}

#[test]
fn the_header_for_cpp_works() {
    let program =
        compile(Language::Cxx17, &Path::new(CRATE_DIR).join("tests/c/wrapper.cpp"), "wrapper", Library::Shared);
    let output = finish(&mut command(program));
    assert!(output.status.success(), "{}", told(&output));
    // The records of a port without a callback for them: each on a line, with one prefix.
    let errors = String::from_utf8_lossy(&output.stderr);
    let of_tool = "[trunkline::server::handlers] error: a tool failed (tool=broken): secret";
    assert_eq!(errors.lines().filter(|line| line.contains("secret")).collect::<Vec<_>>(), [of_tool], "{errors}");
}

#[test]
fn readme_compiles() {
    let readme = fs::read_to_string(Path::new(CRATE_DIR).join("README.md")).expect("the README is readable");
    let blocks: Vec<&str> = readme.split("```c\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 2, "the README shows how to use the library");
    let source = Path::new(TMP).join("readme.c");
    fs::write(&source, format!("#include <trunkline.h>\n\n{}", blocks.join("\n"))).expect("the program can be written");
    for language in [Language::C99, Language::Cxx17] {
        succeed(compiler(language).arg("-fsyntax-only").arg("-I").arg(PREFIX.join("include")).arg(&source));
    }
}

/// `requires` is a keyword since C++20, and programs turn on more warnings than the suite.
#[test]
fn the_headers_compile_without_a_warning_in_every_standard() {
    let warnings = ["-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wundef"];
    let since = |first: usize| &["c++11", "c++14", "c++17", "c++20", "c++2b"][first..];
    for (language, header, warning, standards) in [
        (Language::C99, "trunkline.h", "-Wc++-compat", &["c99", "c11", "c17", "c2x"][..]),
        (Language::Cxx17, "trunkline.h", "-Wold-style-cast", since(0)),
        (Language::Cxx17, "trunkline.hpp", "-Wold-style-cast", since(2)),
    ] {
        let source = Path::new(TMP).join(header).with_extension("standards.c");
        let program = format!("#include <{header}>\nint main(void) {{ return 0; }}\n");
        fs::write(&source, program).expect("the program can be written");
        for standard in standards {
            // If two standards are given, the last one applies.
            let mut compiler = compiler(language);
            compiler.arg(format!("-std={standard}")).args(warnings).arg(warning).arg("-fsyntax-only");
            succeed(compiler.arg("-I").arg(PREFIX.join("include")).arg(&source));
        }
    }
}

/// The shared library exports the functions of the header, and nothing else that a program could
/// start to use.
#[cfg(target_os = "linux")]
#[test]
fn the_library_exports_the_functions_of_the_header() {
    let listed = Command::new("nm").args(["-D", "--defined-only"]).arg(PREFIX.join("lib/libtrunkline.so")).output();
    let listed = listed.expect("nm is there, as part of the compiler's tools");
    assert!(listed.status.success(), "{}", told(&listed));
    let listed = String::from_utf8(listed.stdout).expect("symbols are text");
    let exported: BTreeSet<&str> = listed.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    let header = fs::read_to_string(PREFIX.join("include/trunkline.h")).expect("the header is installed");
    let functions = header::functions(&header);
    assert_eq!(exported, functions.iter().map(|function| &*function.name).collect());
}

/// Other programs use the libraries meanwhile, such as those of concurrent tests.
#[cfg(unix)]
#[test]
fn installing_again_leaves_the_libraries_of_running_programs_alone() {
    use std::os::unix::fs::MetadataExt;
    let library = fs::canonicalize(PREFIX.join("lib").join(if cfg!(target_vendor = "apple") {
        "libtrunkline.dylib"
    } else {
        "libtrunkline.so"
    }));
    let library = library.expect("the library is installed");
    let mapped = fs::File::open(&library).expect("the library is readable");
    install();
    let (before, after) = (mapped.metadata().expect("it is open"), fs::metadata(&library).expect("it is there"));
    assert_ne!(before.ino(), after.ino(), "the library was written over in place");
    assert_eq!(before.len(), after.len());
    for folder in ["lib", "include"] {
        for file in fs::read_dir(PREFIX.join(folder)).expect("the folder is there").flatten() {
            assert!(!file.file_name().to_string_lossy().ends_with(".new"), "{file:?} was left behind");
        }
    }
}

#[cfg(unix)]
#[test]
fn the_static_library_links() {
    let suite = Path::new(CRATE_DIR).join("tests/c/suite.c");
    let program = compile(Language::C99, &suite, "suite_static", Library::Static);
    run(&program, "memory_call");
}

/// `gcc -static`, as packagers of small images build: everything that pkg-config names has to be
/// there as a static library.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_program_without_shared_libraries_links() {
    let description = fs::read_to_string(PREFIX.join("lib/pkgconfig/trunkline.pc")).expect("the description is there");
    let private = description.lines().find_map(|line| line.strip_prefix("Libs.private: "));
    let program = Path::new(TMP).join("without_shared");
    let mut compiler = compiler(Language::C99);
    compiler.arg("-I").arg(PREFIX.join("include")).arg("-o").arg(&program).arg(version_program());
    compiler.arg("-L").arg(PREFIX.join("lib")).args(["-static", "-ltrunkline"]);
    succeed(compiler.args(private.expect("there are private libraries").split_whitespace()));
    assert_eq!(String::from_utf8_lossy(&finish(&mut command(&program)).stdout).trim(), env!("CARGO_PKG_VERSION"));
}

#[cfg(unix)]
#[test]
fn pkg_config_finds_the_library() {
    let description = fs::read_to_string(PREFIX.join("lib/pkgconfig/trunkline.pc")).expect("the description is there");
    assert!(!description.contains('@'), "a placeholder was left in {description}");
    let flags = match Command::new("pkg-config")
        .args(["--cflags", "--libs", "trunkline"])
        .env("PKG_CONFIG_PATH", PREFIX.join("lib/pkgconfig"))
        .output()
    {
        Ok(output) => {
            assert!(output.status.success(), "{}", told(&output));
            String::from_utf8(output.stdout).expect("flags are text")
        }
        // Where there is no pkg-config, its part is simple enough to do here.
        Err(_) => {
            let value =
                |key: &str| description.lines().find_map(|line| line.strip_prefix(key)).expect("the key is there");
            let libs = format!("{} {}", value("Cflags: "), value("Libs: "));
            let prefix = value("prefix=");
            libs.replace("${includedir}", "${prefix}/include")
                .replace("${libdir}", "${prefix}/lib")
                .replace("${prefix}", prefix)
        }
    };
    let program = Path::new(TMP).join("with_pkg_config");
    let mut compiler = compiler(Language::C99);
    compiler.arg("-o").arg(&program).arg(version_program()).args(flags.split_whitespace());
    compiler.arg(format!("-Wl,-rpath,{}", PREFIX.join("lib").display()));
    succeed(&mut compiler);
    assert_eq!(String::from_utf8_lossy(&finish(&mut command(&program)).stdout).trim(), env!("CARGO_PKG_VERSION"));
}

/// A package is staged: everything is under DESTDIR, readable for all, and its files name the
/// prefix without it.
#[cfg(unix)]
#[test]
fn packages_are_staged() {
    use std::os::unix::fs::PermissionsExt;
    let _ = &*PREFIX;
    let stage = Path::new(TMP).join("stage");
    let _ = fs::remove_dir_all(&stage);
    let install = "umask 077; exec \"$0\" --prefix=/usr --libdir lib/x86_64-linux-gnu --includedir /opt/include";
    let program = env!("CARGO_BIN_EXE_trunkline-c-install");
    succeed(Command::new("sh").args(["-c", install, program]).env("DESTDIR", &stage));
    let libdir = stage.join("usr/lib/x86_64-linux-gnu");
    for (file, mode) in [
        (stage.join("opt/include/trunkline.h"), 0o644),
        (stage.join("opt/include/trunkline.hpp"), 0o644),
        (stage.join("opt/include"), 0o755),
        (libdir.join("libtrunkline.a"), 0o644),
        (libdir.join("pkgconfig"), 0o755),
        (libdir.join("cmake/trunkline/trunklineConfig.cmake"), 0o644),
        (stage.join("usr/share/licenses/trunkline/LICENSE-MIT"), 0o644),
        (stage.join("usr/share/trunkline/valgrind.supp"), 0o644),
    ] {
        let found = fs::metadata(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(found.permissions().mode() & 0o777, mode, "{}", file.display());
    }
    let description = fs::read_to_string(libdir.join("pkgconfig/trunkline.pc")).expect("the description is there");
    assert!(
        description.starts_with("prefix=/usr\nlibdir=${prefix}/lib/x86_64-linux-gnu\nincludedir=/opt/include\n"),
        "{description}"
    );
    let cmake = fs::read_to_string(libdir.join("cmake/trunkline/trunklineConfig.cmake")).expect("it is there");
    assert!(
        cmake.contains("\"${CMAKE_CURRENT_LIST_DIR}/../../../..\"") && cmake.contains("\"/opt/include\""),
        "{cmake}"
    );
    for file in [description, cmake] {
        assert!(!file.contains(&stage.display().to_string()), "{file}");
    }
}

#[test]
fn the_installer_says_how_it_is_used() {
    let installer = || Command::new(env!("CARGO_BIN_EXE_trunkline-c-install"));
    let help = finish(installer().arg("--help"));
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--libdir"), "{}", told(&help));
    for (arguments, part) in
        [(&["--prefix"][..], "needs a folder"), (&[], "--prefix is missing"), (&["--bindir", "x"], "--bindir")]
    {
        let refused = finish(installer().args(arguments));
        assert!(!refused.status.success() && told(&refused).contains(part), "{}", told(&refused));
    }
    let relative = finish(installer().arg("--prefix=here").env("DESTDIR", TMP));
    assert!(!relative.status.success() && told(&relative).contains("absolute"), "{}", told(&relative));
}

#[test]
fn the_configuration_for_cmake_is_filled_in() {
    let folder = PREFIX.join("lib/cmake/trunkline");
    for file in ["trunklineConfig.cmake", "trunklineConfigVersion.cmake"] {
        let text = fs::read_to_string(folder.join(file)).expect("the configuration is there");
        assert!(!text.contains('@') || text.contains("@rpath"), "a placeholder was left in {text}");
    }
}

#[test]
fn cmake_finds_the_library_where_it_is_installed() {
    if Command::new("cmake").arg("--version").output().is_err() {
        assert!(env::var_os("CI").is_none(), "cmake is not installed: on CI this test needs it");
        return;
    }
    let project = Path::new(TMP).join("with_cmake");
    let build = project.join("build");
    let _ = fs::remove_dir_all(&project);
    fs::create_dir_all(&project).expect("the folder can be made");
    let wrapped = project.join("wrapped.cpp");
    let text = "#include <cstdio>\n#include <trunkline.hpp>\n\
                int main() { return std::puts(trunkline::view(trunkline_version()).data()) < 0; }\n";
    fs::write(&wrapped, text).expect("the program can be written");
    let path = |path: PathBuf| path.display().to_string().replace('\\', "/");
    let cmake_lists = format!(
        "cmake_minimum_required(VERSION 3.16)\nproject(with_cmake C CXX)\n\
         # The expression keeps generators of several configurations from adding a folder of their own.\n\
         set(CMAKE_RUNTIME_OUTPUT_DIRECTORY \"$<1:${{CMAKE_BINARY_DIR}}>\")\nfind_package(trunkline {} REQUIRED CONFIG)\n\
         add_executable(shared \"{source}\")\ntarget_link_libraries(shared trunkline::trunkline)\n\
         add_executable(fixed \"{source}\")\ntarget_link_libraries(fixed trunkline::trunkline_static)\n\
         add_executable(wrapped \"{wrapped}\")\ntarget_link_libraries(wrapped trunkline::cpp)\n\
         add_executable(wrapped_fixed \"{wrapped}\")\ntarget_link_libraries(wrapped_fixed trunkline::cpp_static)\n\
         find_package(trunkline CONFIG QUIET COMPONENTS nonsense)\nif(trunkline_FOUND)\n  message(FATAL_ERROR \"nonsense was found\")\nendif()\n\
         find_package(trunkline REQUIRED CONFIG COMPONENTS cpp trunkline)\n",
        env!("CARGO_PKG_VERSION"),
        source = path(version_program()),
        wrapped = path(wrapped),
    );
    fs::write(project.join("CMakeLists.txt"), cmake_lists).expect("the project can be written");
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", PREFIX.display()).replace('\\', "/");
    succeed(Command::new("cmake").arg("-S").arg(&project).arg("-B").arg(&build).arg(prefix));
    // Rust's libraries go with the C library that a release has.
    succeed(Command::new("cmake").arg("--build").arg(&build).args(["--config", "Release"]));
    for program in ["shared", "fixed", "wrapped", "wrapped_fixed"] {
        let output = finish(&mut command(build.join(program)));
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), env!("CARGO_PKG_VERSION"), "{}", told(&output));
    }
}

/// The libraries and the header, installed.
static PREFIX: LazyLock<PathBuf> = LazyLock::new(|| {
    if env::var_os("TRUNKLINE_PREBUILT").is_none() {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--package", "trunkline-c"]).current_dir(CRATE_DIR);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        succeed(&mut cargo);
    }
    install()
});

fn install() -> PathBuf {
    let prefix = Path::new(TMP).join("prefix");
    succeed(Command::new(env!("CARGO_BIN_EXE_trunkline-c-install")).arg("--prefix").arg(&prefix));
    prefix
}

static SUITE_C99: LazyLock<PathBuf> = LazyLock::new(|| {
    compile(Language::C99, &Path::new(CRATE_DIR).join("tests/c/suite.c"), "suite_c99", Library::Shared)
});

static SUITE_CXX17: LazyLock<PathBuf> = LazyLock::new(|| {
    compile(Language::Cxx17, &Path::new(CRATE_DIR).join("tests/c/suite.c"), "suite_cxx17", Library::Shared)
});

#[derive(Clone, Copy)]
enum Language {
    C99,
    Cxx17,
}

#[derive(Clone, Copy)]
enum Library {
    Shared,
    #[cfg_attr(not(unix), expect(dead_code, reason = "linked where the compiler's command line is Unix-like"))]
    Static,
}

fn compiler(language: Language) -> Command {
    let (variable, fallback, arguments): (_, _, &[&str]) = match language {
        Language::C99 => ("CC", if cfg!(windows) { "clang" } else { "cc" }, &["-std=c99"]),
        Language::Cxx17 => ("CXX", if cfg!(windows) { "clang++" } else { "c++" }, &["-std=c++17", "-xc++"]),
    };
    let mut compiler = Command::new(env::var_os(variable).unwrap_or_else(|| fallback.into()));
    compiler.args(arguments).args(["-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
    if let Ok(sanitizer) = env::var("TRUNKLINE_SANITIZE") {
        compiler.arg(format!("-fsanitize={sanitizer}")).arg("-fno-omit-frame-pointer");
    }
    compiler
}

fn compile(language: Language, source: &Path, name: &str, library: Library) -> PathBuf {
    let program = Path::new(TMP).join(name).with_extension(env::consts::EXE_EXTENSION);
    let mut compiler = compiler(language);
    compiler.arg(format!("-DTRUNKLINE_EXPECTED_VERSION=\"{}\"", env!("CARGO_PKG_VERSION")));
    compiler.arg("-I").arg(PREFIX.join("include")).arg("-o").arg(&program).arg(source);
    // The language of the sources is not that of the libraries.
    compiler.arg("-xnone");
    match library {
        Library::Shared => {
            compiler.arg("-L").arg(PREFIX.join("lib")).arg("-ltrunkline");
            if cfg!(unix) {
                compiler.arg(format!("-Wl,-rpath,{}", PREFIX.join("lib").display())).arg("-lpthread");
            }
        }
        Library::Static => {
            compiler.arg(PREFIX.join("lib/libtrunkline.a"));
            compiler.args(if cfg!(target_vendor = "apple") {
                ["-framework", "Security", "-framework", "SystemConfiguration", "-framework", "CoreFoundation"]
                    .as_slice()
            } else {
                ["-lpthread", "-ldl", "-lm", "-lrt"].as_slice()
            });
        }
    }
    succeed(&mut compiler);
    program
}

/// A program that prints the version of the library.
fn version_program() -> PathBuf {
    let source = Path::new(TMP).join("version.c");
    let text = "#include <stdio.h>\n#include <trunkline.h>\n\
                int main(void) { return puts(trunkline_version().data) < 0; }\n";
    fs::write(&source, text).expect("the program can be written");
    source
}

/// A program that finds the library also on Windows, where there is no rpath.
fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    if cfg!(windows) {
        let path = env::var_os("PATH").unwrap_or_default();
        let paths = [PREFIX.join("bin")].into_iter().chain(env::split_paths(&path));
        command.env("PATH", env::join_paths(paths).expect("a path has no separator in it"));
    }
    command
}

/// If set, the command that starts the scenarios of the suite, such as `valgrind`.
const RUNNER_VARIABLE: &str = "TRUNKLINE_C_RUNNER";

fn run(suite: &Path, scenario: &str) {
    let output = match env::var(RUNNER_VARIABLE) {
        Ok(runner) => {
            let mut words = runner.split_whitespace();
            let mut checked = command(words.next().expect("the runner is a command"));
            finish(checked.args(words).arg(suite).arg(scenario))
        }
        Err(_) => finish(command(suite).arg(scenario)),
    };
    assert!(output.status.success(), "{}", told(&output));
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap_or_else(|reason| panic!("cannot start {command:?}: {reason}"));
    assert!(output.status.success(), "{command:?}\n{}", told(&output));
}

/// Waits with a deadline: a program that hangs fails its test.
fn finish(command: &mut Command) -> Output {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|reason| panic!("cannot start {command:?}: {reason}"));
    // A pipe without a reader would block the program.
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let begin = Instant::now();
    // Valgrind takes twenty times as long, and more where threads take turns.
    let timeout = if env::var_os(RUNNER_VARIABLE).is_some() { TEST_TIMEOUT * 20 } else { TEST_TIMEOUT };
    let mut ended = None;
    while ended.is_none() && begin.elapsed() < timeout {
        thread::sleep(Duration::from_millis(5));
        ended = child.try_wait().expect("the program can be waited for");
    }
    if ended.is_none() {
        child.kill().expect("the program can be ended");
    }
    let status = child.wait().expect("the program can be waited for");
    let [stdout, stderr] = [stdout, stderr].map(|reader| reader.join().expect("reading ends"));
    let output = Output { status, stdout, stderr };
    assert!(ended.is_some(), "{command:?} did not end within {timeout:?}\n{}", told(&output));
    output
}

/// Reads all that a program writes.
fn read(pipe: Option<impl io::Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut text = Vec::new();
        pipe.expect("the output is piped").read_to_end(&mut text).expect("the output can be read");
        text
    })
}

fn told(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    format!("{}\n--- stdout\n{out}--- stderr\n{err}", output.status)
}
