//! `trunkline dev`, the real program, and a server that a file describes.

use crate::{
    program::{Folder, command, trunkline},
    roles::{File, PROGRAM, Role, slowness, soon, until, waited},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinHandle;
use trunkline::{
    ChildCommand, Client, ClientError, ClientEvents, Context, Revision, RevisionChoice, Server, Tool,
    client::{ElicitRequest, HandlerError},
    protocol::{
        RawJson,
        model::{ElicitParams, ElicitResult, Field, FormSchema},
    },
};

/// The description of the server.
const SOURCE: &str = "server.json";

/// Serves as the file describes it, and fails as an interpreter would if it cannot be read.
pub(crate) fn edited() {
    let source = fs::read_to_string(SOURCE).unwrap_or_default();
    let source: Value = serde_json::from_str(&source).unwrap_or_else(|error| {
        eprintln!("{SOURCE} is wrong: {error}");
        std::process::exit(3)
    });
    let version = source["version"].to_string();
    let mut server = Server::builder("notes", &*version)
        .tool("version", "The version.", move || {
            let version = version.clone();
            async move { version }
        })
        .tool("wait", "Wait.", async |ctx: Context| {
            eprintln!("waiting");
            ctx.cancelled().await;
            "never"
        })
        .tool("ask", "Ask.", async |ctx: Context| {
            let form = ElicitParams::form("Who?", FormSchema::new().required("name", Field::text()));
            let answer = ctx.elicit(form).await?.content.unwrap_or_default();
            trunkline::Ok(answer["name"].as_str().unwrap_or_default().to_owned())
        });
    for (name, schema) in source["tools"].as_object().into_iter().flatten() {
        server = server.add_tool(Tool::new(name, "A tool.", async || "").with("inputSchema", schema.clone()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { server.build().serve_stdio().await.unwrap() });
}

/// A folder with the file.
struct Project(Folder);

impl Project {
    fn new() -> Self {
        let project = Self(Folder::new());
        project.write(1, &json!({}));
        project
    }

    fn write(&self, version: usize, tools: &Value) {
        self.put(SOURCE, &json!({"version": version, "tools": tools}).to_string());
    }

    /// Writes a file as editors do: another one takes its place.
    fn put(&self, name: &str, text: &str) {
        let path = self.0.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::rename(self.0.write(".new", text), path).unwrap();
    }

    /// The words after the name of the program.
    fn words(flags: &[&str]) -> Vec<String> {
        let flags = ["dev"].iter().chain(flags).map(|word| (*word).to_owned());
        flags.chain(Role::Edited.command()).collect()
    }
}

/// A program that serves HTTP, and what it prints.
struct Serving {
    process: Child,
    url: String,
    notes: Arc<Mutex<String>>,
}

impl Serving {
    fn start(project: &Project, flags: &[&str]) -> Self {
        let flags: Vec<_> = ["--listen", "127.0.0.1:0"].iter().chain(flags).copied().collect();
        let mut program = command(&project.0.path);
        program.args(Project::words(&flags)).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = program.spawn().unwrap();
        let (notes, lines) = (Arc::<Mutex<String>>::default(), BufReader::new(process.stderr.take().unwrap()));
        let kept = Arc::clone(&notes);
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                *kept.lock().unwrap() += &(line + "\n");
            }
        });
        let mut serving = Self { process, url: String::new(), notes };
        until(|| {
            let notes = serving.notes.lock().unwrap();
            serving.url =
                notes.split_whitespace().find(|word| word.starts_with("http://")).unwrap_or_default().to_owned();
            !serving.url.is_empty()
        });
        serving
    }

    fn text(&self) -> String {
        self.notes.lock().unwrap().clone()
    }

    /// Waits until the notes have this many lines with some words.
    fn said(&self, words: &str, times: usize) {
        until(|| self.text().lines().filter(|line| line.contains(words)).count() >= times);
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

/// Counts announced changes of tools.
#[derive(Clone, Default)]
struct Changes(Arc<AtomicUsize>);

impl ClientEvents for Changes {
    fn notification(&self, method: &str, _: Option<&RawJson>) {
        if method == "notifications/tools/list_changed" {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn connect(target: impl Into<trunkline::transport::Target>, revision: Revision, changes: Changes) -> Client {
    let options = Client::builder()
        .on_elicit(async |_: ElicitRequest| {
            let content = json!({"name": "Ann"});
            Ok::<_, HandlerError>(ElicitResult::accept(content.as_object().unwrap().clone()))
        })
        .into_options()
        .with_revision(RevisionChoice::Pinned(revision))
        .with_listen(true);
    soon(Client::connect_with(target, options, changes)).await.unwrap()
}

async fn called(client: &Client, tool: &str) -> Result<String, ClientError> {
    soon(client.call_tool(tool, json!({}))).await.map(|result| result.joined_text())
}

/// Makes calls until `stop` is set, and counts the results. A restart may end a call; any other
/// failure is an error.
async fn load(client: Client, stop: Arc<AtomicBool>, served: Arc<AtomicUsize>) {
    while !stop.load(Ordering::Relaxed) {
        match called(&client, "version").await {
            Ok(_) => _ = served.fetch_add(1, Ordering::Relaxed),
            Err(ClientError::Protocol(error)) if error.data == Some(json!({"reason": "restarted"})) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r26_clients_stay_connected_while_the_server_restarts_under_load() {
    let restarts = if std::env::var_os("TRUNKLINE_LONG").is_some() { 50 } else { 5 };
    for era in ["modern", "legacy"] {
        restarts_under_load(restarts, era).await;
    }
}

async fn restarts_under_load(restarts: usize, era: &str) {
    let project = Project::new();
    let serving = Serving::start(&project, &["--era", era]);
    let (stop, mut clients, mut loads) = (Arc::new(AtomicBool::new(false)), Vec::new(), Vec::new());
    let mut served = Vec::new();
    for revision in [Revision::V2025_06_18, Revision::LATEST_LEGACY, Revision::LATEST] {
        let client = connect(&*serving.url, revision, Changes::default()).await;
        assert_eq!(called(&client, "version").await.unwrap(), "1", "{revision}");
        served.push(Arc::<AtomicUsize>::default());
        loads.push(tokio::spawn(load(client.clone(), Arc::clone(&stop), Arc::clone(&served[clients.len()]))));
        clients.push(client);
    }
    for version in 2..=restarts + 1 {
        project.write(version, &json!({}));
        serving.said("restarted in", version - 1);
        // A call that the restart did not end, for each client.
        for served in &served {
            let before = served.load(Ordering::Relaxed);
            waited(|| served.load(Ordering::Relaxed) > before || loads.iter().any(JoinHandle::is_finished)).await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    for load in loads {
        soon(load).await.unwrap();
    }
    for client in clients {
        assert_eq!(called(&client, "version").await.unwrap(), (restarts + 1).to_string());
        assert_eq!(called(&client, "ask").await.unwrap(), "Ann", "{}", client.revision());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_of_commands_stays_connected_and_learns_what_has_changed() {
    let project = Project::new();
    for revision in [Revision::LATEST_LEGACY, Revision::LATEST] {
        project.write(1, &json!({"add": {"type": "object", "properties": {"name": {"type": "string"}}}}));
        let notes = File::new();
        let words: Vec<_> = [PROGRAM.to_owned()].into_iter().chain(Project::words(&[])).collect();
        let host =
            ChildCommand::new(words).with_cwd(Some(project.0.path.clone())).with_stderr_file(Some(notes.path().into()));
        let changes = Changes::default();
        let client = connect(host, revision, changes.clone()).await;
        assert_eq!(called(&client, "version").await.unwrap(), "1");
        let waiting = client.clone();
        let waiting = tokio::spawn(async move { called(&waiting, "wait").await });
        waited(|| notes.text().contains("waiting")).await;
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
        project.write(2, &json!({"add": schema, "delete": {"type": "object"}}));
        let error = soon(waiting).await.unwrap().unwrap_err();
        assert!(error.to_string().contains("was restarted"), "{error}");
        waited(|| changes.0.load(Ordering::Relaxed) > 0).await;
        assert_eq!(called(&client, "version").await.unwrap(), "2");
        assert!(soon(client.list_tools()).await.unwrap().iter().any(|tool| tool.name == "delete"));
        waited(|| notes.text().contains("+ tool delete")).await;
        let text = notes.text();
        assert!(text.contains("server.json changed · restarted in"), "{text}");
        assert!(text.contains("1 request failed"), "{text}");
        assert!(text.contains("~ tool add: breaking, \"name\" is now required"), "{text}");
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_start_is_tried_three_times_and_again_after_a_change() {
    let project = Project::new();
    let serving = Serving::start(&project, &[]);
    let client = connect(&*serving.url, Revision::LATEST_LEGACY, Changes::default()).await;
    assert_eq!(called(&client, "version").await.unwrap(), "1");
    project.put(SOURCE, "{ nonsense");
    serving.said("not restarted", 1);
    serving.said("starts it again", 1);
    // Another thread passes on what the server prints.
    serving.said("server.json is wrong", 4);
    let starts = serving.text().matches("server.json is wrong").count();
    assert!(starts > 3, "three starts, and the error: {}", serving.text());
    let error = called(&client, "version").await.unwrap_err().to_string();
    assert!(error.contains("server.json is wrong") && error.contains("next change of a file"), "{error}");
    assert_eq!(serving.text().matches("server.json is wrong").count(), starts, "a request starts nothing");
    project.write(2, &json!({}));
    serving.said("restarted in", 1);
    assert_eq!(called(&client, "version").await.unwrap(), "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_old_server_stays_if_the_new_one_does_not_start() {
    let project = Project::new();
    let serving = Serving::start(&project, &["--keep-old"]);
    // The file is read when the server starts, which is after the program says its URL.
    serving.said("dev: started", 1);
    let client = connect(&*serving.url, Revision::LATEST, Changes::default()).await;
    project.put(SOURCE, "{ nonsense");
    serving.said("not restarted", 1);
    assert_eq!(called(&client, "version").await.unwrap(), "1");
    serving.said("the old one serves", 1);
    project.write(2, &json!({}));
    serving.said("restarted in", 1);
    assert_eq!(called(&client, "version").await.unwrap(), "2");
    assert_eq!(called(&client, "ask").await.unwrap(), "Ann");
}

/// The server's own files do not restart it, nor do those that nobody wants to watch.
#[tokio::test(flavor = "multi_thread")]
async fn only_watched_files_restart_the_server() {
    let project = Project::new();
    project.put(".gitignore", "*.log\n");
    let serving = Serving::start(&project, &["--ignore", "*.md"]);
    serving.said("started notes", 1);
    for name in ["a.log", "b.md", "node_modules/c.json", ".hidden"] {
        project.put(name, "new");
    }
    project.put("deep/er/d.txt", "new");
    serving.said("restarted in", 1);
    let text = serving.text();
    assert!(text.contains("dev: deep/er/d.txt changed"), "{text}");
    // A file in the new folder.
    project.put("deep/er/d.txt", "newer");
    serving.said("restarted in", 2);
    tokio::time::sleep(Duration::from_millis(50) * slowness()).await;
    assert_eq!(serving.text().matches("restarted in").count(), 2, "{}", serving.text());
    // Another folder takes its place, as when a branch is checked out.
    fs::remove_dir_all(project.0.path.join("deep/er")).unwrap();
    project.put("deep/er/d.txt", "other");
    serving.said("restarted in", 3);
    project.put("deep/er/e.txt", "new");
    serving.said("e.txt changed", 1);
}

#[test]
fn what_cannot_be_served_is_refused_with_what_to_write() {
    for (words, problem, hint) in [
        (&["dev"][..], "no server is given", "after `--`"),
        (&["dev", "--listen", "0.0.0.0:0", "--", "server"], "this machine only", "127.0.0.1"),
        (&["dev", "--listen", "nowhere", "--", "server"], "is no address", ":8000"),
        (&["dev", "--watch", "a[", "--", "server"], "no pattern", ""),
        (&["dev", "--cwd", "/no/such/folder", "--", "server"], "cannot be read", ""),
    ] {
        let ran = trunkline(words);
        let said = ran.failed(2);
        assert!(said.contains(problem) && said.contains(hint), "{words:?}: {said}");
    }
}
