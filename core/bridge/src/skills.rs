//! Skills of servers: operations that take several requests, and check what comes.

use super::{error::BridgeError, message::Request, replies::answer_by_task, state::PortState};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use trunkline::{
    bridge_support::skill_file_uri,
    client::Client,
    protocol::{
        RawJson,
        describe::{Described, FieldDescription, Presence, Type},
        method::Sender,
        model::{ResourceContents, SkillEntry},
        operation::{Operation, OperationParams},
    },
};

const LOAD: &str = "load_skill";
const READ_FILE: &str = "read_skill_file";

const SKILL: FieldDescription = FieldDescription {
    name: "skill",
    json: "skill",
    doc: &[" The entry of the skill, as the server listed it."],
    presence: Presence::Required,
    ty: SkillEntry::TYPE,
    unit: None,
    default: None,
};

/// The operations, for the declaration of the surface.
pub(crate) static OPERATIONS: &[Operation] = &[
    Operation {
        name: LOAD,
        doc: &[
            " Loads a skill: reads its `SKILL.md`, and checks size, digest and frontmatter against the entry. A skill is",
            " instructions of a stranger: let the user approve it before the model gets its text.",
        ],
        params: OperationParams::Each(&[SKILL]),
        result: Some(ResourceContents::TYPE),
        ..several_requests(LOAD)
    },
    Operation {
        name: READ_FILE,
        doc: &[" Reads a file that a skill lists, and checks size and digest against the entry."],
        params: OperationParams::Each(&[
            SKILL,
            FieldDescription {
                name: "file",
                json: "file",
                doc: &[" Its URI, or its path relative to the `SKILL.md`."],
                presence: Presence::Required,
                ty: Type::String,
                unit: None,
                default: None,
            },
        ]),
        result: Some(ResourceContents::TYPE),
        ..several_requests(READ_FILE)
    },
];

const fn several_requests(method: &'static str) -> Operation {
    Operation {
        name: method,
        doc: &[],
        caller: Sender::Client,
        method,
        instead: None,
        params: OperationParams::Each(&[]),
        fixed: &[],
        result: None,
        item: None,
        progress: false,
    }
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

/// Returns whether a method is one of these operations.
pub(super) fn is_operation(method: &str) -> bool {
    matches!(method, LOAD | READ_FILE)
}

/// Answers a request about a skill.
pub(super) fn ask(state: &Arc<PortState>, client: &Client, ticket: u64, given: &Request) -> Result<(), BridgeError> {
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
