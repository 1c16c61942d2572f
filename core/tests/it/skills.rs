//! Agent skills over the wire: the extension of 2026-07-28, and plain resources everywhere.

use crate::{
    process::File,
    wire::{Wire, modern},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use trunkline::server::{Server, ServerBuilder, ServerOptions, SkillDefinition, SkillFile, Tool};

/// The servers of these tests, as roles of this binary: with skills, and one whose only skill goes
/// away.
pub(crate) const ROLES: [&str; 2] = ["skills server", "skills server that loses its skill"];

const EXTENSION: &str = "io.modelcontextprotocol/skills";

pub(crate) fn serve(role: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { server(role).serve_stdio().await.unwrap() });
    runtime.shutdown_timeout(Duration::from_millis(100));
}

fn manifest(name: &str, more: &str) -> SkillFile {
    SkillFile::new("SKILL.md", format!("---\nname: {name}\ndescription: About {name}\n{more}---\n# {name}\n"))
}

/// A skill with folders and bytes.
fn pdf_tools() -> SkillDefinition {
    let more = "license: MIT\nmetadata:\n  io.modelcontextprotocol/unknown: kept\n  versions: [1, 2]\n";
    SkillDefinition::new([
        manifest("pdf-tools", more),
        SkillFile::new("references/forms.md", "# Forms"),
        SkillFile::new("references/deep/more notes.txt", "notes"),
        SkillFile::new("logo.png", *b"\x89PNG\x00"),
        SkillFile::new("inner/SKILL.md", inner_manifest()),
    ])
}

fn inner_manifest() -> &'static str {
    "---\nname: inner\ndescription: A skill inside a skill\n---\n"
}

fn builder() -> ServerBuilder {
    let inner = SkillDefinition::new([SkillFile::new("SKILL.md", inner_manifest())]).root("skill://pdf-tools/inner");
    Server::builder("skills", "1.0.0")
        .options(ServerOptions::default().with_page_size(2))
        .add_skill(pdf_tools())
        .add_skill(inner)
        .add_skill(SkillDefinition::new([manifest("refunds", "")]).root("skill://acme/billing/refunds"))
        .add_skill(SkillDefinition::new([manifest("review", "")]).root("github://owner/repo/skills/review"))
        .add_skill(SkillDefinition::new([manifest("last", "")]))
}

fn server(role: &str) -> Server {
    if role == ROLES[0] {
        return builder().build();
    }
    let server = Server::builder("skills", "1.0.0").build();
    let only = server.add_skill(SkillDefinition::new([manifest("only", "")])).unwrap();
    assert!(only.remove() && !only.remove());
    server
}

fn start() -> Wire {
    Wire::start(ROLES[0], &File::new())
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

/// All pages of a list; none is longer than the server's page.
fn pages(wire: &mut Wire, method: &str, member: &str, mut params: Value) -> (Vec<Value>, usize) {
    let (mut items, mut count) = (Vec::new(), 0);
    loop {
        let page = wire.ask("page", method, modern(params.clone()))["result"].take();
        count += 1;
        assert!(page[member].as_array().unwrap().len() <= 2, "{page}");
        items.extend(page[member].as_array().unwrap().clone());
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return (items, count),
        }
    }
}

fn entries(wire: &mut Wire) -> Vec<Value> {
    pages(wire, "skills/list", "skills", json!({})).0
}

fn directory(wire: &mut Wire, uri: &str) -> Vec<Value> {
    pages(wire, "resources/directory/read", "resources", json!({"uri": uri})).0
}

fn uris(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["uri"].as_str().unwrap()).collect()
}

#[test]
fn skl_01_to_03_skl_07_ext_03_the_extension_is_declared_with_resources_on_the_revision_that_has_it() {
    let mut wire = start();
    let declared = wire.ask(1, "server/discover", modern(json!({})))["result"]["capabilities"].take();
    assert_eq!(declared["extensions"], json!({EXTENSION: {"directoryRead": true}}));
    assert!(declared["resources"].is_object(), "SKL-03: {declared}");
    // SKL-07: the client has declared nothing, and both methods answer (SKL-02).
    assert_eq!(entries(&mut wire).len(), 5);
    assert!(wire.ask(2, "skills/get", modern(json!({"uri": "skill://last/SKILL.md"})))["result"].is_object());

    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut wire = start();
        let info = json!({"name": "raw", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": info});
        let declared = wire.ask(1, "initialize", params)["result"]["capabilities"].take();
        wire.tell("notifications/initialized", json!({}));
        assert_eq!(declared.get("extensions"), None, "{revision}");
        for method in ["skills/list", "skills/get", "resources/directory/read"] {
            assert_eq!(code(&wire.ask(2, method, json!({"uri": "skill://last/SKILL.md"}))), -32601, "{revision}");
        }
        // The files are resources like any other.
        let read = wire.ask(3, "resources/read", json!({"uri": "skill://pdf-tools/references/forms.md"}));
        assert_eq!(read["result"]["contents"][0]["text"], "# Forms", "{revision}");
    }
}

/// EXT-05: without skills there is nothing of the extension.
#[test]
fn skl_63_without_the_declaration_its_methods_are_unknown() {
    let mut wire = Wire::start("server", &File::new());
    for method in ["skills/list", "skills/get", "resources/directory/read"] {
        assert_eq!(code(&wire.ask(method, method, modern(json!({"uri": "skill://x"})))), -32601);
    }
}

#[test]
fn skl_19_to_24_skl_38_skl_39_entries_name_every_file_with_its_digest() {
    let mut wire = start();
    let (listed, count) = pages(&mut wire, "skills/list", "skills", json!({}));
    assert_eq!(count, 3, "SKL-39");
    assert_eq!(
        uris(&listed),
        [
            "skill://pdf-tools/SKILL.md",
            "skill://pdf-tools/inner/SKILL.md",
            "skill://acme/billing/refunds/SKILL.md",
            "github://owner/repo/skills/review/SKILL.md",
            "skill://last/SKILL.md",
        ],
        "SKL-09 to SKL-12: skills of every scheme, each under its name"
    );
    // SKL-20, SKL-21: everything that its author wrote, including unknown members.
    let frontmatter = json!({
        "name": "pdf-tools", "description": "About pdf-tools", "license": "MIT",
        "metadata": {"io.modelcontextprotocol/unknown": "kept", "versions": [1, 2]}
    });
    assert_eq!(listed[0]["frontmatter"], frontmatter);
    // SKL-22: complete, the files of the skill inside included.
    let files = listed[0]["resources"].as_array().unwrap();
    assert_eq!(
        uris(files),
        [
            "skill://pdf-tools/SKILL.md",
            "skill://pdf-tools/inner/SKILL.md",
            "skill://pdf-tools/logo.png",
            "skill://pdf-tools/references/deep/more%20notes.txt",
            "skill://pdf-tools/references/forms.md",
        ]
    );
    for entry in &listed {
        let root = entry["uri"].as_str().unwrap().strip_suffix("SKILL.md").unwrap();
        let files = entry["resources"].as_array().unwrap();
        assert!(uris(files).iter().all(|uri| uri.starts_with(root)), "SKL-23: {entry}");
        assert!(uris(files).contains(&entry["uri"].as_str().unwrap()), "SKL-22: {entry}");
        for file in files {
            assert!(file["digest"].as_str().unwrap().starts_with("sha256:") && file["size"].is_u64(), "SKL-24: {file}");
        }
    }
    let names: BTreeSet<_> = listed.iter().map(|entry| entry["frontmatter"]["name"].to_string()).collect();
    assert_eq!((names.len(), listed.len()), (5, 5), "SKL-30");
    for wrong in [json!("nonsense"), json!(""), json!(5)] {
        assert_eq!(code(&wire.ask(1, "skills/list", modern(json!({"cursor": wrong})))), -32602, "{wrong}");
    }
}

#[test]
fn skl_44_to_46_every_skill_is_given_as_the_list_has_it_and_nothing_else_is_one() {
    let mut wire = start();
    for entry in entries(&mut wire) {
        let given = wire.ask("get", "skills/get", modern(json!({"uri": entry["uri"]})))["result"].take();
        assert_eq!(given["skill"], entry, "SKL-19, SKL-46");
        assert!(given["ttlMs"].is_u64() && given["cacheScope"].is_string(), "SKL-44: {given}");
        assert_eq!(given.get("nextCursor"), None);
    }
    for other in [
        "skill://nobody/SKILL.md",
        "skill://pdf-tools",
        "skill://pdf-tools/references/forms.md",
        "skill://pdf-tools/SKILL.md/",
        "",
    ] {
        assert_eq!(code(&wire.ask("get", "skills/get", modern(json!({"uri": other})))), -32602, "SKL-45: {other}");
    }
    for malformed in [json!({}), json!({"uri": 5}), json!({"uri": null})] {
        assert_eq!(code(&wire.ask("get", "skills/get", modern(malformed))), -32602);
    }
}

#[test]
fn skl_15_skl_16_skl_47_files_are_read_as_resources() {
    let mut wire = start();
    let (listed, _) = pages(&mut wire, "resources/list", "resources", json!({}));
    let manifest = listed.iter().find(|resource| resource["uri"] == "skill://pdf-tools/SKILL.md").unwrap();
    let expected = json!({
        "uri": "skill://pdf-tools/SKILL.md", "name": "pdf-tools", "description": "About pdf-tools", "mimeType": "text/markdown"
    });
    assert_eq!(*manifest, expected, "SKL-15, SKL-16: no metadata of ours");
    for entry in entries(&mut wire) {
        for file in entry["resources"].as_array().unwrap() {
            let read = wire.ask("read", "resources/read", modern(json!({"uri": file["uri"]})))["result"].take();
            let contents = &read["contents"][0];
            assert_eq!(contents["uri"], file["uri"]);
            if let Some(text) = contents["text"].as_str() {
                assert_eq!(file["size"], text.len(), "SKL-24: over the bytes that are read");
            } else {
                assert_eq!(contents["blob"], "iVBORwA=", "{contents}");
            }
        }
    }
    for missing in ["skill://pdf-tools/nothing.md", "skill://pdf-tools", "skill://pdf-tools/references"] {
        assert_eq!(code(&wire.ask("read", "resources/read", modern(json!({"uri": missing})))), -32602, "{missing}");
    }
}

#[test]
fn skl_04_skl_59_to_62_folders_show_what_lies_directly_in_them() {
    let mut wire = start();
    let shown = directory(&mut wire, "skill://pdf-tools");
    assert_eq!(
        uris(&shown),
        [
            "skill://pdf-tools/SKILL.md",
            "skill://pdf-tools/inner",
            "skill://pdf-tools/logo.png",
            "skill://pdf-tools/references",
        ]
    );
    let types: Vec<_> = shown.iter().map(|item| item["mimeType"].as_str().unwrap()).collect();
    assert_eq!(types, ["text/markdown", "inode/directory", "image/png", "inode/directory"]);
    assert_eq!(uris(&directory(&mut wire, "skill://pdf-tools/references/deep")).len(), 1);
    // SKL-04: every folder of the name space, above skills too, whether or not a list shows it
    // (SKL-62).
    for (folder, child) in [
        ("skill://acme", "skill://acme/billing"),
        ("skill://acme/billing", "skill://acme/billing/refunds"),
        ("skill://acme/billing/refunds", "skill://acme/billing/refunds/SKILL.md"),
        ("github://owner/repo/skills", "github://owner/repo/skills/review"),
    ] {
        assert_eq!(uris(&directory(&mut wire, folder)), [child]);
    }
    for other in [
        "skill://nobody",
        "skill://pdf-tools/",
        "skill://pdf-tools/SKILL.md",
        "skill://pdf",
        "skill:/",
        "skill:",
        "",
        "test://x",
    ] {
        let refused = wire.ask("dir", "resources/directory/read", modern(json!({"uri": other})));
        assert_eq!(code(&refused), -32602, "SKL-59: {other}");
    }
    let page = wire.ask("dir", "resources/directory/read", modern(json!({"uri": "skill://pdf-tools"})));
    assert_eq!((page["result"].get("ttlMs"), page["result"].get("cacheScope")), (None, None), "SKL-61");
    let wrong = modern(json!({"uri": "skill://pdf-tools", "cursor": "nonsense"}));
    assert_eq!(code(&wire.ask("dir", "resources/directory/read", wrong)), -32602);
}

#[test]
fn skl_40_a_list_may_be_empty() {
    let mut wire = Wire::start(ROLES[1], &File::new());
    assert_eq!(entries(&mut wire), [] as [Value; 0]);
    assert_eq!(code(&wire.ask(1, "skills/get", modern(json!({"uri": "skill://only/SKILL.md"})))), -32602);
    assert_eq!(code(&wire.ask(2, "resources/read", modern(json!({"uri": "skill://only/SKILL.md"})))), -32602);
}

/// Why a skill cannot be registered with the others.
fn refused(entry: SkillDefinition) -> String {
    builder().add_skill(entry).try_build().err().expect("it must be refused").to_string()
}

#[test]
fn skl_08_skl_11_skl_12_skl_35_what_is_no_skill_is_refused() {
    let own = |root: &str| SkillDefinition::new([manifest("own", "")]).root(root);
    for (entry, why) in [
        (SkillDefinition::new([SkillFile::new("README.md", "x")]), "SKILL.md"),
        (SkillDefinition::new([SkillFile::new("SKILL.md", [0xff])]), "UTF-8"),
        (SkillDefinition::new([SkillFile::new("SKILL.md", "# no frontmatter")]), "frontmatter"),
        (own("skill://other"), "must end with its name"),
        (own("own"), "scheme"),
        (own("skill://ac me/own"), "percent-encoded"),
        (SkillDefinition::new([manifest("last", "")]), "skill://last/SKILL.md"),
        (SkillDefinition::new([manifest("own", ""), manifest("own", "")]), "twice"),
        (SkillDefinition::new([manifest("own", ""), SkillFile::new("../x", "")]), "inside the skill"),
    ] {
        let said = refused(entry);
        assert!(said.contains(why), "{said}");
    }
    let many = (0..512).map(|number| SkillFile::new(format!("{number}.md"), ""));
    assert!(refused(SkillDefinition::new(many.chain([manifest("own", "")]))).contains("512"));
    let large = SkillFile::new("large", vec![b'x'; 16 * 1024 * 1024]);
    assert!(refused(SkillDefinition::new([manifest("own", ""), large])).contains("16777216"));
}

/// SKL-22, SKL-23: a skill inside another is part of it.
#[test]
fn skills_inside_skills_hold_the_same_files() {
    let inside = |name: &str, text: &str| {
        let files = [SkillFile::new("SKILL.md", text.to_owned())];
        SkillDefinition::new(files).root(format!("skill://pdf-tools/{name}"))
    };
    let own = "---\nname: own\ndescription: Own\n---\n";
    assert!(refused(inside("own", own)).contains("is inside the skill skill://pdf-tools"));
    let around = SkillDefinition::new([manifest("billing", "")]).root("skill://acme/billing");
    assert!(refused(around).contains("skill://acme/billing/refunds is inside"));
    let server = Server::builder("s", "1").build();
    server.add_tool(Tool::new("t", "t", || async { 1 })).unwrap();
    server.add_skill(SkillDefinition::new([manifest("a", "")])).unwrap();
    server.add_skill(SkillDefinition::new([manifest("ab", "")])).expect("a name that begins alike is another");
}
