//! The files of skills, as the library's client loads them: only what matches its entry.

use super::{
    answer::{Answered, written},
    inspector::Inspector,
    state::{Era, ListName},
};
use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use trunkline::protocol::model::SkillEntry;

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "OneSkillFile"))]
pub(super) struct Wanted {
    era: Era,
    skill: String,
    file: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "SkillFile"))]
pub(super) struct File {
    bytes: usize,
    text: Option<String>,
}

/// Reads a file of a listed skill.
pub(super) async fn file(inspector: &Inspector, Wanted { era, skill, file }: Wanted) -> Answered {
    let connection = inspector.connection(era)?;
    let items = inspector.links()[era.index()].lists[ListName::Skills.index()].items.clone();
    let listed: Vec<SkillEntry> = items.and_then(|items| items.parse().ok()).unwrap_or_default();
    let entry = listed.into_iter().find(|entry| entry.uri == skill);
    let entry = entry.ok_or_else(|| Failure::usage(format!("The server lists no skill {skill:?}")))?;
    let client = &connection.client;
    let bytes = match file == skill {
        // Compares its frontmatter too.
        true => client.load_skill(entry).await.map(|loaded| loaded.text().as_bytes().to_vec()),
        false => client.read_skill_file(&entry, &file).await,
    };
    let bytes = bytes.map_err(|error| connection.failure(error, &format!("reading {file}")))?;
    written(&File { bytes: bytes.len(), text: String::from_utf8(bytes).ok() })
}
