//! Loading agent skills: what does not match its entry is not used.

use super::*;
use trunkline::{
    protocol::model::SkillEntry,
    server::{Server, SkillDefinition, SkillFile},
};

const MANIFEST: &str = "---\nname: pdf\ndescription: Reads PDFs\nmetadata:\n  version: 1\n---\n# Read\n";

/// An entry of this library's own server.
async fn served() -> (Client, SkillEntry) {
    let server = Server::builder("skills", "1.0.0").build();
    let files = [SkillFile::new("SKILL.md", MANIFEST), SkillFile::new("scripts/read.py", "print()")];
    server.add_skill(SkillDefinition::new(files)).unwrap();
    let client = Client::connect(&server).await.unwrap();
    let entry = client.list_skills().await.unwrap().remove(0);
    (client, entry)
}

fn problem<T: std::fmt::Debug>(outcome: Result<T, ClientError>) -> String {
    match outcome.unwrap_err() {
        ClientError::InvalidResponse(text) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn skl_42_skl_49_skl_53_a_skill_is_loaded_by_its_uri_and_its_files_one_by_one() {
    let (client, entry) = served().await;
    assert_eq!(client.get_skill("skill://pdf/SKILL.md").await.unwrap().skill, entry);
    let skill = client.load_skill(entry).await.unwrap();
    assert_eq!((skill.text(), skill.entry().frontmatter["name"].as_str()), (MANIFEST, Some("pdf")));
    for file in ["scripts/read.py", "./scripts/../scripts/read.py", "skill://pdf/scripts/read.py"] {
        assert_eq!(skill.read(file).await.unwrap(), b"print()", "{file}");
    }
    // SKL-64: whatever a directory may list.
    assert!(problem(skill.read("scripts/other.py").await).contains("does not list it"));
    for outside in ["../other/SKILL.md", "skill://pdf-2/SKILL.md", "file:///etc/passwd", "a//b", ""] {
        assert!(matches!(skill.read(outside).await, Err(ClientError::Invalid(_))), "{outside}");
    }
}

#[tokio::test]
async fn skl_50_skl_51_skl_55_what_differs_from_its_entry_is_not_used() {
    let (client, entry) = served().await;
    let changed = |change: &dyn Fn(&mut SkillEntry)| {
        let mut entry = entry.clone();
        change(&mut entry);
        entry
    };
    let file = |entry: &mut SkillEntry, member: &str, value: Value| {
        let files = entry.resources.as_mut().unwrap().as_array_mut().unwrap();
        let listed = files.iter_mut().find(|file| file["uri"] == "skill://pdf/SKILL.md").unwrap();
        listed[member] = value;
    };
    let cases: [(SkillEntry, &str); 7] = [
        (changed(&|entry| file(entry, "size", json!(5))), "bytes"),
        (changed(&|entry| file(entry, "digest", json!("sha256:00"))), "digest"),
        (changed(&|entry| drop(entry.frontmatter.insert("license".into(), json!("MIT")))), "\"license\""),
        (changed(&|entry| drop(entry.frontmatter.insert("metadata".into(), json!({"version": 2})))), "\"metadata\""),
        (changed(&|entry| drop(entry.frontmatter.shift_remove("description"))), "\"description\""),
        (changed(&|entry| entry.resources = Some(json!([]))), "does not list it"),
        (changed(&|entry| file(entry, "size", json!("many"))), "its list of files is invalid"),
    ];
    for (entry, named) in cases {
        let text = problem(client.load_skill(entry).await);
        assert!(text.contains(named), "{named}: {text}");
    }
    let same = changed(&|entry| drop(entry.frontmatter.insert("metadata".into(), json!({"version": 1.0}))));
    assert!(client.load_skill(same).await.is_ok(), "the same number");
}

#[tokio::test]
async fn skl_26_skl_34_skl_36_skl_54_entries_that_cannot_be_loaded_are_declined_before_a_read() {
    let (client, entry) = served().await;
    let with = |resources: Option<Value>| SkillEntry { resources, ..entry.clone() };
    let listed = |count: usize, size: u64| {
        let files = (0..count).map(|n| json!({"uri": format!("skill://pdf/{n}"), "size": size, "digest": "sha256:00"}));
        with(Some(files.collect()))
    };
    for (entry, named) in [
        (with(None), "no list of files"),
        (with(Some(json!("static"))), "no list of files"),
        (listed(513, 1), "513 files"),
        (listed(2, 9 << 20), "16777216 bytes"),
        // As large as it may be, but without its SKILL.md.
        (listed(512, 32 << 10), "does not list it"),
    ] {
        let text = problem(client.load_skill(entry).await);
        assert!(text.contains(named), "{named}: {text}");
    }
    // Without digests the frontmatter is compared all the same.
    let mut dynamic = with(Some(json!("dynamic")));
    assert_eq!(client.load_skill(dynamic.clone()).await.unwrap().text(), MANIFEST);
    dynamic.frontmatter.insert("name".into(), json!("other"));
    assert!(problem(client.load_skill(dynamic).await).contains("\"name\""));
}
