//! Adding skills to servers, and reading those of servers.

use super::LOAD;
use crate::{
    error::BridgeError,
    message::{self, RegisterSkill, Request},
    requests::replies::answer_by_task,
    state::PortState,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use trunkline::{
    bridge_support::skill_file_uri,
    client::Client,
    protocol::{RawJson, model::SkillEntry},
    server::{RegisterError, Server, SkillDefinition, SkillFile},
};

/// Adds a skill to a server. Gives the id of its registration.
pub(crate) fn addition(
    given: RegisterSkill,
) -> Result<impl FnOnce(&Server) -> Result<u64, RegisterError>, BridgeError> {
    let entry = definition(given)?;
    Ok(move |server: &Server| server.add_skill(entry).map(|added| added.id()))
}

fn file(given: message::SkillFile) -> Result<SkillFile, BridgeError> {
    let wrong = |problem: &str| BridgeError::invalid(format!("skill: {}: {problem}", given.path));
    let bytes = match (given.text, given.blob) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(blob)) => STANDARD.decode(blob).map_err(|_| wrong("blob must be Base64"))?,
        _ => return Err(wrong("needs either text or blob")),
    };
    let file = SkillFile::new(given.path, bytes);
    Ok(match given.mime_type {
        Some(mime_type) => file.mime_type(mime_type),
        None => file,
    })
}

fn definition(given: RegisterSkill) -> Result<SkillDefinition, BridgeError> {
    let entry = match &given.folder {
        Some(folder) if given.files.is_empty() => {
            SkillDefinition::from_folder(folder).map_err(|error| BridgeError::invalid(format!("skill: {error}")))?
        }
        Some(_) => return Err(BridgeError::invalid("skill: needs either folder or files")),
        None => SkillDefinition::new(given.files.into_iter().map(file).collect::<Result<Vec<_>, _>>()?),
    };
    Ok(entry.options(given.options))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadSkill {
    skill: SkillEntry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadSkillFile {
    skill: SkillEntry,
    file: String,
}

/// Answers a request about a skill.
pub(crate) fn ask(state: &Arc<PortState>, client: &Client, ticket: u64, given: &Request) -> Result<(), BridgeError> {
    let action = SkillAction::read(given)?;
    let client = client.clone();
    answer_by_task(state, ticket, given, async move { action.run(&client).await })
}

enum SkillAction {
    Load(SkillEntry),
    ReadFile(SkillEntry, String),
}

impl SkillAction {
    fn read(given: &Request) -> Result<Self, BridgeError> {
        let params = given.params.clone().unwrap_or_else(RawJson::empty_object);
        let action = match given.method.as_str() {
            LOAD => params.read().map(|LoadSkill { skill }| Self::Load(skill)),
            _ => params.read().map(|ReadSkillFile { skill, file }| Self::ReadFile(skill, file)),
        };
        action.map_err(|problem| BridgeError::invalid(format!("{}: {problem}", given.method)))
    }

    async fn run(self, client: &Client) -> Result<RawJson, BridgeError> {
        let contents = match self {
            Self::Load(entry) => {
                let uri = entry.uri.clone();
                json!({"uri": uri, "mimeType": "text/markdown", "text": client.load_skill(entry).await?.text()})
            }
            Self::ReadFile(entry, file) => {
                let bytes = client.read_skill_file(&entry, &file).await?;
                json!({"uri": skill_file_uri(&entry, &file), "blob": STANDARD.encode(bytes)})
            }
        };
        RawJson::from_value(&contents).map_err(|error| BridgeError::invalid(error.to_string()))
    }
}
