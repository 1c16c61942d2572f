//! Adding skills to servers, and reading those of servers.

use super::{LOAD, LoadSkill, ReadSkillFile};
use crate::{
    BridgeError, PortState,
    message::{self, RegisterSkill, Request},
    requests::replies::{answer_by_task, written},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;
use std::sync::Arc;
use trunkline::{
    bridge_support::skill_file_uri,
    client::Client,
    server::{Server, SkillDefinition, SkillFile},
};

/// Adds a skill to a server. Returns the id of its registration.
pub(crate) fn add(server: &Server, given: RegisterSkill) -> Result<u64, BridgeError> {
    Ok(server.add_skill(definition(given)?)?.id())
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

/// Answers a request about a skill.
pub(crate) fn ask(state: &Arc<PortState>, client: &Client, ticket: u64, given: &Request) -> Result<(), BridgeError> {
    let client = client.clone();
    if given.method == LOAD {
        let LoadSkill { skill } = given.read_params()?;
        return answer_by_task(state, ticket, given, async move {
            let uri = skill.uri.clone();
            let loaded = client.load_skill(skill).await?;
            written(&json!({"uri": uri, "mimeType": "text/markdown", "text": loaded.text()}))
        });
    }
    let ReadSkillFile { skill, file } = given.read_params()?;
    answer_by_task(state, ticket, given, async move {
        let bytes = client.read_skill_file(&skill, &file).await?;
        written(&json!({"uri": skill_file_uri(&skill, &file), "blob": STANDARD.encode(bytes)}))
    })
}
