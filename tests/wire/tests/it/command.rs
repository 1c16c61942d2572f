//! The command: counts, report and exit code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// A temporary folder per test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wire-check-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("deep")).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, lines: &[Value]) -> PathBuf {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn wire_check(arguments: &[&Path]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_wire-check")).args(arguments).output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

fn line(role: &str, direction: &str, revision: Option<&str>, method: &str, message: Value) -> Value {
    json!({
        "role": role, "direction": direction, "transport": "stdio", "revision": revision, "method": method,
        "message": message
    })
}

fn ping(id: u32) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    line("server", "received", Some("2025-06-18"), "ping", message)
}

fn impure(role: &str, direction: &str) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete"}});
    line(role, direction, Some("2025-06-18"), "ping", message)
}

#[test]
fn counts_pure_messages_in_files_and_folders() {
    let folder = Folder::new("pure");
    let single = folder.file("deep/one.log", &[ping(1)]);
    folder.file("two.jsonl", &[ping(2), ping(3)]);
    folder.file(
        "deep/three.jsonl",
        &[
            ping(4),
            json!({
                "role": "server", "direction": "received", "transport": "http", "revision": null, "method": null,
                "malformed": true, "message": "{"
            }),
            json!({
                "role": "client", "direction": "sent", "transport": "http", "revision": null, "method": null,
                "http": {"method": "POST", "status": 200}
            }),
        ],
    );
    let report = folder.0.join("reports/wire.json");
    let (code, output) = wire_check(&[Path::new("--report"), &report, &single, &folder.0]);
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("4 messages checked in 3 files, 0 violations"), "{output}");
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert_eq!(report["passed"], true);
    assert_eq!(report["checked"], 4);
    assert_eq!(report["malformed"], 1);
    assert_eq!(report["messages"]["2025-06-18"]["stdio"], json!({"sent": 0, "received": 4}));
}

#[test]
fn reports_violations_with_location_and_excerpt() {
    let folder = Folder::new("impure");
    let file = folder.file("a.jsonl", &[ping(1), impure("server", "sent"), impure("client", "received")]);
    let report = folder.0.join("wire.json");
    let (code, output) = wire_check(&[&file, Path::new("--report"), &report]);
    assert_eq!(code, Some(1), "{output}");
    let place =
        format!("{}:2: /result/resultType: \"resultType\" is not defined by Result in 2025-06-18", file.display());
    assert!(output.contains(&place), "{output}");
    assert!(output.contains("3 messages checked in 1 files, 2 violations, 1 of them by peers"), "{output}");
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert_eq!(report["passed"], false);
    assert_eq!(report["violations"][0]["line"], 2);
    assert_eq!(report["violations"][0]["pointer"], "/result/resultType");
    assert_eq!(report["violations"][0]["kind"], "unknown_field");
    assert_eq!(report["violations"][0]["direction"], "server_to_client");
}

#[test]
fn tolerates_what_is_known_of_others() {
    let folder = Folder::new("peers");
    let theirs = folder.file("deep/theirs.jsonl", &[impure("client", "received")]);
    let elsewhere = folder.file("theirs.jsonl", &[impure("client", "received")]);
    let ours = folder.file("deep/ours.jsonl", &[impure("server", "sent")]);
    let known = folder.0.join("known.json");
    let check = |known_fault: Value, records: &Path| {
        fs::write(&known, json!([known_fault]).to_string()).unwrap();
        wire_check(&[Path::new("--tolerate"), &known, records])
    };
    let whole = json!({"folder": "deep", "why": "it is old"});
    let (code, output) = check(whole.clone(), &theirs);
    assert_eq!(code, Some(0), "{output}");
    let told = "1 tolerated in what was received in deep: it is old\n1 messages checked in 1 files, 0 violations";
    assert!(output.contains(told), "{output}");
    assert_eq!(check(whole.clone(), &elsewhere).0, Some(1));
    assert_eq!(check(whole, &ours).0, Some(1), "what we send is never tolerated");

    let exact = |revision, place| json!({"folder": "deep", "revisions": [revision], "at": [place], "why": "it is old"});
    assert_eq!(check(exact("2025-06-18", "/result/resultType"), &theirs).0, Some(0));
    assert_eq!(check(exact("2025-11-25", "/result/resultType"), &theirs).0, Some(1));
    assert_eq!(check(exact("2025-06-18", "/result/other"), &theirs).0, Some(1));
    let (code, output) = check(json!({"folder": "deep"}), &theirs);
    assert_eq!(code, Some(2));
    assert!(output.contains("known.json: missing field `why`"), "{output}");
}

#[test]
fn fails_without_messages_and_with_wrong_arguments() {
    let folder = Folder::new("empty");
    let empty = folder.file("a.jsonl", &[]);
    let (code, output) = wire_check(&[&empty]);
    assert_eq!(code, Some(1));
    assert!(output.contains("No message was checked"), "{output}");
    assert_eq!(wire_check(&[]).0, Some(2));
    assert_eq!(wire_check(&[Path::new("--no-such-option"), &empty]).0, Some(2));
    let (code, output) = wire_check(&[&folder.0.join("missing")]);
    assert_eq!(code, Some(2));
    assert!(output.contains("missing"), "{output}");
}

#[test]
fn escapes_and_numbers_without_a_value_are_the_fault_of_their_sender() {
    let folder = Folder::new("without-value");
    let line = |direction: &str, id: &str| {
        format!(
            "{{\"role\":\"server\",\"direction\":\"{direction}\",\"transport\":\"stdio\",\"revision\":\"2025-06-18\",\
             \"method\":\"ping\",\"message\":{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}}}\n"
        )
    };
    let file = folder.file("a.jsonl", &[]);
    fs::write(&file, line("received", r#""\ud800""#) + &line("received", "1e999") + &line("sent", "1e999")).unwrap();
    let (code, output) = wire_check(&[&file]);
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("a.jsonl:3: (message): unreadable record"), "{output}");
    assert!(output.contains(" 1 violations") && output.contains("2 refused"), "{output}");
}

#[test]
fn unreadable_lines_are_violations_but_a_cut_off_end_is_not() {
    let folder = Folder::new("unreadable");
    let cut = folder.0.join("cut.jsonl");
    fs::write(&cut, format!("{}\n{{\"role\":\"ser", ping(1))).unwrap();
    let (code, output) = wire_check(&[&cut]);
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("1 cut off"), "{output}");
    let unknown = line("server", "sent", Some("2027-01-01"), "ping", json!({}));
    let unreadable = folder.file("b.jsonl", &[ping(1), json!({"role": "server"}), unknown]);
    let (code, output) = wire_check(&[&unreadable]);
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("b.jsonl:2: (message): unreadable record"), "{output}");
    assert!(output.contains("unknown revision \"2027-01-01\""), "{output}");
}

#[test]
fn messages_before_negotiation_are_judged_by_what_they_are() {
    let folder = Folder::new("undecided");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}
    });
    let probe = json!({"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": meta}});
    let refusal = json!({"jsonrpc": "2.0", "id": 0, "error": {"code": -32601, "message": "no"}});
    let initialize = |version: &str| {
        let params =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    };
    let mut titled = initialize("2025-03-26");
    titled["params"]["clientInfo"]["title"] = json!("C");
    let pure = folder.file(
        "pure.jsonl",
        &[
            line("client", "sent", None, "server/discover", probe),
            line("client", "received", None, "server/discover", refusal),
            line("client", "sent", None, "initialize", initialize("2024-11-05")),
            line("client", "sent", None, "initialize", initialize("2026-07-28")),
            line("client", "sent", None, "initialize", initialize("1999-01-01")),
        ],
    );
    let (code, output) = wire_check(&[&pure]);
    assert_eq!(code, Some(0), "{output}");
    let impure = folder.file("impure.jsonl", &[line("client", "sent", None, "initialize", titled)]);
    let (code, output) = wire_check(&[&impure]);
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("\"title\" is not defined by Implementation in 2025-03-26"), "{output}");
}

#[test]
fn a_late_answer_to_a_probe_is_read_as_one() {
    let folder = Folder::new("late-probe");
    let result = json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"
    });
    let mut late = line("client", "received", None, "", json!({"jsonrpc": "2.0", "id": 1, "result": result}));
    late["method"] = Value::Null;
    let (code, said) = wire_check(&[&folder.file("late.jsonl", &[late])]);
    assert_eq!(code, Some(0), "{said}");
}
