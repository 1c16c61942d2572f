//! Mistakes in handlers: the compiler names the argument, value or bound that is wrong.

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Mistakes, one line each, and the compiler's messages about them: the first is the error, the
/// others are among its notes.
const MISTAKES: &[(&str, &[&str])] = &[
    (
        "b().tool(N, N, async |_: Params<Untyped>| N)",
        &["the trait bound `Untyped: JsonSchema` is not satisfied", "Params<Untyped>` to implement `FromContext<()>`"],
    ),
    (
        "b().tool(N, N, async |_: Context, _: Untyped| N)",
        &["`Untyped` cannot be an argument of a handler", "arguments are `Context`, `Params<T>`"],
    ),
    (
        "b().with_state(1_u8).tool(N, N, async |State(it): State<u16>| it)",
        &[
            "the state of the server is `u8`, which does not provide `u16`",
            "State<u16>` to implement `FromContext<u8>`",
        ],
    ),
    (
        "b().tool(N, N, async |State(it): State<u16>| it).with_state(1_u16)",
        &[
            "the state of the server is `()`, which does not provide `u16`",
            "`with_state` sets the state of the handlers that are added after it",
        ],
    ),
    ("b().tool(N, N, |_: Context| Untyped)", &["`Untyped` is not a future"]),
    (
        "b().tool(N, N, async |_: Context| { let it = Rc::new(1); ready(()).await; *it })",
        &["future cannot be sent between threads safely", "future is not `Send` as this value is used across an await"],
    ),
    (
        "b().prompt(N, N, async || { let it = LOCK.lock().unwrap(); ready(()).await; it.to_string() })",
        &["future cannot be sent between threads safely", "future is not `Send` as this value is used across an await"],
    ),
    ("b().resource(N, N, N)", &["this is not a handler", "a handler is an async function or closure such as"]),
    ("b().tool(N, N, async || Untyped)", &["`Untyped` cannot be returned as a `CallToolResult`"]),
    (
        "b().add_tool(Tool::new(N, N, async |_: u8| N))",
        &["`u8` cannot be an argument of a handler", "arguments are `Context`, `Params<T>`"],
    ),
];

const PROGRAM: &str = r#"
use std::{future::ready, rc::Rc, sync::Mutex};
use trunkline::prelude::*;
use trunkline::protocol::model::*;
use trunkline::{ServerBuilder, Tool};
const N: &str = "n";
static LOCK: Mutex<u8> = Mutex::new(1);
pub struct Untyped;
fn b() -> ServerBuilder { Server::builder(N, N) }
pub fn globs_agree(_: Option<(Prompt, Resource, ResourceTemplate)>, _: ToolAnnotations) {}
pub fn right() { let _ = b().tool(N, N, async || N); }
"#;

#[test]
fn each_common_mistake_has_a_text_that_names_it() {
    let lines = PROGRAM.lines().count();
    let mistakes =
        MISTAKES.iter().enumerate().map(|(index, (code, _))| format!("pub fn f{index}() {{ let _ = {code}; }}\n"));
    let folder = std::env::temp_dir().join(format!("trunkline-mistakes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mistakes.rs"), PROGRAM.to_owned() + &mistakes.collect::<String>()).unwrap();
    let errors = errors_of(&folder.join("mistakes.rs"));
    std::fs::remove_dir_all(&folder).unwrap();
    for (line, rendered) in &errors {
        assert!(*line as usize > lines, "{rendered}");
    }
    for (index, (code, texts)) in MISTAKES.iter().enumerate() {
        let of_line = errors.iter().filter(|(line, _)| *line as usize == lines + 1 + index);
        let said: Vec<_> = of_line.map(|(_, rendered)| rendered).collect();
        let fits = |rendered: &&&String| {
            rendered.lines().next().is_some_and(|error| error.ends_with(texts[0]))
                && texts[1..].iter().all(|text| rendered.contains(text))
        };
        assert!(said.iter().find(fits).is_some(), "{code}: {texts:?}, but the compiler said {said:#?}");
    }
}

/// The errors that the compiler finds in a program of this crate, each with its line.
fn errors_of(program: &Path) -> Vec<(u64, String)> {
    let test = std::env::current_exe().unwrap();
    let dependencies = test.parent().unwrap();
    // The newest, if the crate was compiled with several sets of features.
    let files = std::fs::read_dir(dependencies).unwrap().map(|file| file.unwrap());
    let crates = files.filter(|file| {
        file.file_name().to_str().is_some_and(|name| name.starts_with("libtrunkline-") && name.ends_with(".rlib"))
    });
    let crate_file = crates.max_by_key(|file| file.metadata().unwrap().modified().unwrap()).unwrap().path();
    let compiler = std::env::var_os("CARGO").map(|cargo| PathBuf::from(cargo).with_file_name("rustc"));
    let output = Command::new(compiler.filter(|path| path.exists()).unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--error-format=json", "--extern"])
        .arg(format!("trunkline={}", crate_file.display()))
        .arg(format!("-Ldependency={}", dependencies.display()))
        .arg("--out-dir")
        .arg(program.parent().unwrap())
        .arg(program)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let said = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{line}")));
    let errors = said.filter(|message| message["level"] == "error" && message["spans"][0].is_object());
    let primary = |message: &Value| {
        let mut spans = message["spans"].as_array().unwrap().iter();
        spans.find(|span| span["is_primary"] == true).and_then(|span| span["line_start"].as_u64()).unwrap()
    };
    errors.map(|message| (primary(&message), message["rendered"].as_str().unwrap().to_owned())).collect()
}
