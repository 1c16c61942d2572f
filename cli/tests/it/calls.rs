//! `call`, `read`, `prompt` and `complete`.

use crate::{
    program::{Folder, Ran, command, ran, trunkline},
    servers::{OverHttp, fixture, serve},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use trunkline::{Client, Context, Json, Params, RequestOptions, Server, Tool, protocol::RawJson};

fn call(words: &[&str]) -> Ran {
    trunkline(&[&["call", "-q"], words, &["--", &fixture()]].concat())
}

/// A server with a tool that gives its arguments back, and one whose result is a table. Counts the
/// calls.
fn mirror() -> (String, Arc<AtomicU32>) {
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Row {
        city: String,
        days: u32,
    }
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where"},
            "days": {"type": "integer", "maximum": 7},
            "tags": {"type": "array", "items": {"type": "string"}},
            "place": {"type": "object", "properties": {"lat": {"type": "number"}}},
            "free": {},
        },
        "required": ["city", "days"],
    });
    let mirror = Tool::new("mirror", "Gives its arguments back", move |Params(given): Params<Value>| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move { given.to_string() }
    });
    let server = Server::builder("mirror", "1.0.0")
        .add_tool(mirror.input_schema(schema))
        .tool("rows", "A table", async || {
            Json(vec![Row { city: "Oslo".to_owned(), days: 3 }, Row { city: "Bergen".to_owned(), days: 12 }])
        })
        .tool("header", "A header of the request", async |ctx: Context| {
            let header = ctx.http().and_then(|request| request.headers().get("x-team")?.to_str().ok());
            header.unwrap_or("none").to_owned()
        })
        .build();
    (serve(server), calls)
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let server = OverHttp::start();
    for words in [
        &["call", &server.url, "test_simple_text"][..],
        &["call", "--json", &server.url, "test_simple_text"],
        &["list", &server.url],
        &["token", "new", "ada"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = command(&Folder::new().path).args(words).stdout(full).output().unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.code() == Some(2) && stderr.contains("cannot be written"), "{words:?}: {stderr}");
    }
}

#[test]
fn arguments_have_the_types_of_the_schema() {
    assert_eq!(call(&["add_numbers", "a=1", "b=2.5"]).done().stdout, "3.5\n");
    let (url, _) = mirror();
    let file = Folder::new();
    let notes = file.write("notes.txt", "from a file");
    let from_file = format!("free=@{notes}");
    for (words, expected) in [
        (&["city=12", "days=3"][..], json!({"city": "12", "days": 3})),
        (&["city=a", "days=1", "tags=x", "tags=y"], json!({"city": "a", "days": 1, "tags": ["x", "y"]})),
        (&["city=a", "days=1", "place.lat=59.9"], json!({"city": "a", "days": 1, "place": {"lat": 59.9}})),
        (&["city=a", "days=1", "free:=[1,{}]"], json!({"city": "a", "days": 1, "free": [1, {}]})),
        (&["city=@@home", "days=1", &from_file], json!({"city": "@home", "days": 1, "free": "from a file"})),
    ] {
        let ran = trunkline(&[&["call", &url, "mirror", "--text"], words].concat()).done();
        assert_eq!(ran.json(), expected, "{words:?}");
    }
}

#[test]
fn arguments_may_be_an_object_from_a_file_or_from_standard_input() {
    let (url, _) = mirror();
    let folder = Folder::new();
    let arguments = json!({"city": "Oslo", "days": 2});
    let file = folder.write("arguments.json", &arguments.to_string());
    assert_eq!(trunkline(&["call", &url, "mirror", "--text", "--input", &file]).done().json(), arguments);
    let mut program = command(&folder.path);
    program.args(["call", &url, "mirror", "--text", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = program.spawn().unwrap();
    child.stdin.take().unwrap().write_all(arguments.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), arguments);
}

#[test]
fn nothing_is_sent_if_the_arguments_are_wrong() {
    let (url, calls) = mirror();
    for (words, problem) in [
        (&["city=Oslo", "days=x"][..], r#"mirror: days must be an integer, got "x""#),
        (&[], "mirror: city (string) is missing: Where; days (integer) is missing"),
        (&["city=Oslo", "days=8"], "mirror: days: 8 is greater than the maximum of 7"),
        (&["citty=Oslo", "days=1"], "citty is unknown: did you mean city?"),
        (&["city=Oslo", "days:={"], "days is not JSON: EOF while parsing an object at line 1 column 1"),
        (&["city"], "\"city\" is no argument"),
        (&["city=@/none/such"], "/none/such cannot be read"),
    ] {
        let ran = trunkline(&[&["call", &url, "mirror"], words].concat());
        let text = ran.failed(2);
        assert!(text.contains(problem), "{words:?}: {text}");
        assert_eq!(ran.stdout, "");
    }
    let usage = trunkline(&["call", &url, "mirror"]).stderr;
    assert!(usage.contains("  do:    call it as mirror(city: string, days: integer, tags?: string[]"), "{usage}");
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    let forced = trunkline(&["call", &url, "mirror", "city=Oslo", "days=x", "--no-validate"]);
    assert_eq!((forced.code, forced.stdout.contains("days")), (Some(5), true), "{forced:?}");
}

#[test]
fn a_dry_run_prints_the_request_of_the_era() {
    let (url, calls) = mirror();
    let request = |era: &str| {
        trunkline(&["call", &url, "mirror", "city=Oslo", "days=1", "--dry-run", "--era", era]).done().json()
    };
    for era in ["legacy", "modern"] {
        let request = request(era);
        assert_eq!(request["method"], "tools/call");
        assert_eq!(request["params"]["arguments"], json!({"city": "Oslo", "days": 1}));
        assert_eq!(request["params"].get("_meta").is_some(), era == "modern", "{request}");
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[test]
fn results_are_shown_by_their_content() {
    for (tool, shown) in [
        ("test_simple_text", "This is a simple text response for testing.\n"),
        ("test_image_content", "[image: image/png, 70 bytes; --save FOLDER writes it]\n"),
        ("test_embedded_resource", "This is an embedded resource content.\n"),
        ("test_resource_link", "static-text test://static-text\n"),
    ] {
        assert_eq!(call(&[tool]).done().stdout, shown, "{tool}");
    }
    let folder = Folder::new();
    let saved = folder.path.join("saved");
    call(&["test_image_content", "--save", saved.to_str().unwrap()]).done();
    assert!(std::fs::read(saved.join("image-1.png")).unwrap().starts_with(b"\x89PNG"));
    let structured = call(&["structured", "city=Oslo"]).done();
    assert_eq!(structured.json(), json!({"city": "Oslo", "temperature": 21.5}));
    assert!(structured.stdout.contains("{\n  \"city\""), "{structured:?}");
    let (url, _) = mirror();
    let table = trunkline(&["call", &url, "rows"]).done().stdout;
    assert_eq!(table, "city    days\nOslo    3\nBergen  12\n");
    assert_eq!(call(&["echo", "message=x", "--structured"]).code, Some(5));
}

#[test]
fn the_error_of_a_tool_is_its_result() {
    let failed = call(&["test_error_handling"]);
    assert_eq!(failed.code, Some(5));
    assert_eq!(failed.stdout, "This tool intentionally returns an error for testing\n");
    assert_eq!(failed.stderr, "");
}

#[test]
fn an_unknown_tool_is_named_with_those_that_are_like_it() {
    let ran = call(&["ecko", "message=x"]);
    let text = ran.failed(5);
    assert!(text.starts_with("error: the server has no tool \"ecko\"\n  tried: listing tools at "), "{text}");
    assert!(text.contains("  do:    did you mean echo?"), "{text}");
}

#[tokio::test]
async fn json_is_the_whole_result_of_the_protocol() {
    let server = OverHttp::start();
    for revision in ["2025-11-25", "2026-07-28"] {
        let options =
            trunkline::ClientOptions::default().with_revision(trunkline::RevisionChoice::parse(revision).unwrap());
        let client = Client::connect_with(&*server.url, options, ()).await.unwrap();
        for (words, method, params) in [
            (vec!["call", "test_multiple_content_types"], "tools/call", json!({"name": "test_multiple_content_types"})),
            (
                vec!["call", "structured", "city=Oslo"],
                "tools/call",
                json!({"name": "structured", "arguments": {"city": "Oslo"}}),
            ),
            (vec!["call", "test_error_handling"], "tools/call", json!({"name": "test_error_handling"})),
            (vec!["read", "test://static-binary"], "resources/read", json!({"uri": "test://static-binary"})),
            (vec!["prompt", "test_prompt_with_image"], "prompts/get", json!({"name": "test_prompt_with_image"})),
        ] {
            let params = RawJson::from_value(&params).unwrap();
            let expected = client.request(method, Some(&params), &RequestOptions::default()).await.unwrap();
            let (command, rest) = words.split_first().unwrap();
            let words = [&[*command, "--json", "--revision", revision, &server.url], rest].concat();
            let ran = trunkline(&words);
            assert_eq!(ran.json(), expected.parse::<Value>().unwrap(), "{words:?}");
        }
        client.close().await;
    }
}

#[test]
fn resources_are_read_byte_for_byte() {
    let read = |words: &[&str]| trunkline(&[&["read"], words, &["--", &fixture()]].concat());
    assert_eq!(read(&["test://static-text"]).done().stdout, "This is the content of the static text resource.");
    assert!(read(&["test://static-binary"]).done().stdout.contains("PNG"));
    let both = read(&["test://static-text", "test://static-binary"]).done().stdout;
    assert_eq!(both.lines().count(), 2);
    let ran = read(&["test://static-txt"]);
    assert!(ran.failed(5).contains("did you mean test://static-text"), "{ran:?}");
}

#[test]
fn prompts_are_filled_in_and_their_arguments_completed() {
    let server = fixture();
    let prompt = |words: &[&str]| trunkline(&[&["prompt"], words, &["--", &server]].concat());
    let text = prompt(&["test_prompt_with_arguments", "arg1=a", "arg2=b"]).done().stdout;
    assert_eq!(text, "user:\nPrompt with arguments: arg1='a', arg2='b'\n");
    let ran = prompt(&["test_prompt_with_arguments", "arg3=a"]);
    let text = ran.failed(2);
    assert!(
        text.contains("arg1 is missing: The first argument; arg2 is missing: The second argument; arg3 is unknown"),
        "{text}"
    );
    assert!(prompt(&["test_simple_promt"]).failed(5).contains("did you mean test_simple_prompt"));
    let completed = trunkline(&["complete", "test_prompt_with_arguments", "arg1=p", "--", &server]).done();
    assert!(
        completed.stdout.lines().all(|line| line.starts_with('p')) && !completed.stdout.is_empty(),
        "{completed:?}"
    );
}

#[test]
fn a_question_of_the_server_is_answered_from_a_file_or_needs_a_person() {
    let folder = Folder::new();
    let answers = folder.write("answers.json", r#"{"username": "ada", "email": "ada@example.com"}"#);
    for era in ["legacy", "modern"] {
        let answered = call(&["test_elicitation", "message=Who?", "--era", era, "--answer", &answers]).done();
        assert!(answered.stdout.contains("ada@example.com"), "{answered:?}");
        let ran = call(&["test_elicitation", "message=Who?", "--era", era]);
        let text = ran.failed(7);
        assert!(text.contains("the server asks: Who?") && text.contains("--answer FILE"), "{text}");
    }
}

/// `script` runs the program in a terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_person_at_the_terminal_is_asked() {
    let home = Folder::new();
    let call = format!(
        "timeout --foreground 50 '{}' call -q test_elicitation message=Who -- '{}'",
        env!("CARGO_BIN_EXE_trunkline"),
        fixture()
    );
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &call, "/dev/null"]).env("HOME", &home.path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut shown = String::new();
    for (prompt, answer) in [
        ("username (The user's name): ", "ada\n"),
        ("address): ", "a@b.example\n"),
        ("cancel: ", "yes\n"),
        ("action: accept", ""),
    ] {
        let mut byte = [0];
        while !shown.ends_with(prompt) {
            assert_eq!(output.read(&mut byte).unwrap(), 1, "{shown}");
            shown.push(byte[0].into());
        }
        input.write_all(answer.as_bytes()).unwrap();
    }
    assert_eq!(child.wait().unwrap().code(), Some(0), "{shown}");
}

#[test]
fn headers_come_from_flags_files_and_variables() {
    let (url, _) = mirror();
    let folder = Folder::new();
    let file = folder.write("headers", "# of the team\nX-Team: from a file\n");
    assert_eq!(trunkline(&["call", &url, "header", "--header-file", &file]).done().stdout, "from a file\n");
    assert_eq!(trunkline(&["call", &url, "header", "--header", "X-Team: ${NONE:-weather}"]).done().stdout, "weather\n");
    let mut program = command(&folder.path);
    program.args(["call", &url, "header", "--header", "X-Team: ${TEAM}"]).env("TEAM", "rain");
    assert_eq!(ran(&mut program).done().stdout, "rain\n");
    let ran = trunkline(&["ping", &url, "--header", "X-Team: ${NONE}"]);
    assert!(ran.failed(2).contains("NONE, which is not set"), "{ran:?}");
    let ran = trunkline(&["ping", &url, "--header", "secret"]);
    assert!(!ran.failed(2).contains("secret"), "{ran:?}");
}

#[test]
fn messages_and_http_heads_are_recorded_without_secrets() {
    let (server, home) = (OverHttp::start(), Folder::new());
    let secret = "a-secret-that-nobody-may-see";
    let mut program = command(&home.path);
    program.args(["call", &server.url, "echo", &format!("message={secret}"), "--bearer-env", "KEY", "--wire", "wire"]);
    let ran = ran(program.env("KEY", secret).env_remove("TRUNKLINE_WIRE_LOG")).done();
    let files: Vec<_> = std::fs::read_dir(home.path.join("wire")).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?} {ran:?}") };
    let text = std::fs::read_to_string(file).unwrap();
    assert!(!text.contains(secret), "{text}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let posts: Vec<_> = lines.iter().filter(|line| line["http"]["method"] == "POST").collect();
    assert!(posts.iter().any(|line| line["http"]["status"] == 200), "{text}");
    for post in posts {
        assert_eq!(post["http"]["requestHeaders"]["authorization"][0], "Bearer (removed)", "{post}");
        assert_eq!((&post["role"], post["connection"].is_u64()), (&json!("client"), true), "{post}");
    }
    let calls = lines.iter().filter(|line| line["message"]["method"] == "tools/call").count();
    assert_eq!(calls, 1, "{text}");
    let refused = trunkline(&["list", "--wire", "/dev/null/wire", "--", "server"]);
    assert!(refused.failed(2).contains("--wire"), "{refused:?}");
}

#[test]
fn a_call_is_printed_as_a_line_for_curl_if_the_server_has_no_sessions() {
    let server = OverHttp::start();
    let header = "X-Team: ${TEAM:-x}";
    let words = ["call", "--code", "curl", "--header", header, &*server.url, "add_numbers", "a=1", "b=2"];
    let line = trunkline(&words).done().stdout;
    for part in
        ["curl http://", "-H 'mcp-name: add_numbers'", "-H \"X-Team: ${TEAM:-x}\"", r#""arguments":{"a":1,"b":2}"#]
    {
        assert!(line.contains(part), "{part} in {line}");
    }
    let legacy = trunkline(&[&words[..], &["--era", "legacy"]].concat());
    assert!(legacy.failed(2).contains("needs a session"), "{legacy:?}");
}
