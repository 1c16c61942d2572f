//! The state of a page, in the form in which the page gets it: `web/src/protocol.ts` has the same
//! types.

use crate::failure::Problem;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::SystemTime;
use trunkline::{
    client::ServerDescription,
    protocol::{
        self, RawJson, extension, method,
        model::{Root, ServerCapabilities},
    },
};

/// Longer JSON crosses in parts.
pub(super) const MAX_PART: usize = 100_000;

/// The revisions with a session, or those without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Era {
    Legacy,
    Modern,
}

impl Era {
    pub(super) const ALL: [Self; 2] = [Self::Legacy, Self::Modern];

    pub(super) fn of(era: protocol::Era) -> Self {
        match era {
            protocol::Era::Legacy => Self::Legacy,
            protocol::Era::Modern => Self::Modern,
        }
    }

    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// A list of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ListName {
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
    Skills,
}

impl ListName {
    pub(super) const ALL: [Self; 5] =
        [Self::Tools, Self::Resources, Self::ResourceTemplates, Self::Prompts, Self::Skills];

    pub(super) fn index(self) -> usize {
        self as usize
    }

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Tools => method::TOOLS_LIST,
            Self::Resources => method::RESOURCES_LIST,
            Self::ResourceTemplates => method::RESOURCES_TEMPLATES_LIST,
            Self::Prompts => method::PROMPTS_LIST,
            Self::Skills => method::SKILLS_LIST,
        }
    }

    /// Returns whether the server declares to have it in an era.
    pub(super) fn is_declared(self, era: Era, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::Tools => capabilities.tools.is_some(),
            Self::Resources | Self::ResourceTemplates => capabilities.resources.is_some(),
            Self::Prompts => capabilities.prompts.is_some(),
            Self::Skills => {
                let settings = capabilities.extensions.as_ref().and_then(|all| all.get(extension::SKILLS.id));
                era == Era::Modern && settings.is_some_and(Value::is_object)
            }
        }
    }
}

/// The connection of one era.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Connection {
    pub(super) era: Era,
    pub(super) state: ConnectionState,
    pub(super) revision: Option<&'static str>,
    pub(super) server_info: Option<RawJson>,
    pub(super) capabilities: Option<RawJson>,
    pub(super) instructions: Option<String>,
    pub(super) instructions_bytes: usize,
    pub(super) pid: Option<u32>,
    pub(super) opened_at: Option<f64>,
    pub(super) took_ms: Option<f64>,
    pub(super) openings: u32,
    pub(super) problem: Option<Problem>,
    pub(super) lists: Lists,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ConnectionState {
    Idle,
    Connecting,
    Open,
    Unsupported,
    Failed,
    Closed,
}

impl Connection {
    pub(super) fn new(era: Era) -> Self {
        Self {
            era,
            state: ConnectionState::Idle,
            revision: None,
            server_info: None,
            capabilities: None,
            instructions: None,
            instructions_bytes: 0,
            pid: None,
            opened_at: None,
            took_ms: None,
            openings: 0,
            problem: None,
            lists: Lists::default(),
        }
    }

    /// Takes over what the server says about itself.
    pub(super) fn describe(&mut self, server: &ServerDescription) {
        let is_small = |json: &RawJson| json.as_bytes().len() <= MAX_PART;
        self.revision = Some(server.revision.as_str());
        self.server_info = server.info.clone().filter(is_small);
        self.capabilities = Some(server.capabilities.clone()).filter(is_small);
        self.instructions_bytes = server.instructions.as_ref().map_or(0, String::len);
        self.instructions = server.instructions.as_deref().map(|text| beginning(text, MAX_PART).to_owned());
    }
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lists {
    tools: ListState,
    resources: ListState,
    resource_templates: ListState,
    prompts: ListState,
    skills: ListState,
}

impl Lists {
    pub(super) fn of(&mut self, list: ListName) -> &mut ListState {
        match list {
            ListName::Tools => &mut self.tools,
            ListName::Resources => &mut self.resources,
            ListName::ResourceTemplates => &mut self.resource_templates,
            ListName::Prompts => &mut self.prompts,
            ListName::Skills => &mut self.skills,
        }
    }
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListState {
    pub(super) state: ListProgress,
    pub(super) count: usize,
    pub(super) version: u64,
    pub(super) ttl_ms: Option<u64>,
    pub(super) cache_scope: Option<String>,
    pub(super) problem: Option<Problem>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ListProgress {
    #[default]
    Absent,
    Loading,
    Ready,
    Failed,
}

/// A request of the page.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Call {
    pub(super) id: u64,
    pub(super) era: Era,
    pub(super) method: String,
    pub(super) about: Option<String>,
    pub(super) params: Option<RawJson>,
    pub(super) at: f64,
    pub(super) state: CallState,
    pub(super) progress: Option<Progress>,
    pub(super) result: Option<Content>,
    pub(super) problem: Option<Problem>,
    pub(super) ms: Option<f64>,
    pub(super) task: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CallState {
    Running,
    Done,
    Failed,
    Cancelled,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Progress {
    pub(super) progress: f64,
    pub(super) total: Option<f64>,
    pub(super) message: Option<String>,
    pub(super) at: f64,
}

/// JSON of any size.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Content {
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) json: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
}

impl Content {
    pub(super) fn of(json: &RawJson) -> Self {
        let bytes = json.as_bytes().len();
        match bytes <= MAX_PART {
            true => Self { bytes, json: Some(json.clone()), part: None },
            false => Self { bytes, json: None, part: Some(beginning(json.as_str(), MAX_PART).to_owned()) },
        }
    }
}

/// A question of the server.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Round {
    pub(super) id: u64,
    pub(super) era: Era,
    pub(super) call: Option<u64>,
    pub(super) at: f64,
    pub(super) kind: RoundKind,
    pub(super) message: String,
    pub(super) params: RawJson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RoundKind {
    Form,
    Url,
    Sampling,
    Login,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct LogMessage {
    pub(super) at: f64,
    pub(super) era: Era,
    pub(super) level: &'static str,
    pub(super) logger: Option<String>,
    pub(super) text: String,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceSubscription {
    pub(super) era: Era,
    pub(super) uri: String,
    pub(super) updates: u64,
    pub(super) updated_at: Option<f64>,
}

/// One rung of the login ladder.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Exchange {
    pub(super) id: u64,
    pub(super) at: f64,
    pub(super) method: String,
    pub(super) url: String,
    pub(super) status: Option<u16>,
    pub(super) members: Vec<String>,
    pub(super) clause: &'static str,
    pub(super) pass: bool,
}

/// The server, as the person named it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Target {
    pub(super) label: String,
    pub(super) transport: &'static str,
    pub(super) command: String,
}

/// A form of a call as code.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CodeForm {
    pub(super) form: String,
    pub(super) label: &'static str,
}

/// A message, or an HTTP exchange.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) id: u64,
    pub(super) at: f64,
    pub(super) era: Option<Era>,
    pub(super) direction: &'static str,
    pub(super) kind: &'static str,
    pub(super) method: Option<String>,
    pub(super) rpc_id: Option<RawJson>,
    pub(super) about: Option<String>,
    pub(super) answers: Option<u64>,
    pub(super) ms: Option<f64>,
    pub(super) bytes: usize,
    pub(super) text: String,
    pub(super) cut: bool,
    pub(super) http: Option<HttpPart>,
}

/// The part of a row that only HTTP exchanges have.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HttpPart {
    pub(super) status: Option<u16>,
    pub(super) request_headers: Vec<(String, String)>,
    pub(super) response_headers: Vec<(String, String)>,
    pub(super) error: Option<String>,
}

/// A change after a snapshot.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub(super) enum Increment<'a> {
    Connection {
        connection: &'a Connection,
    },
    List {
        era: Era,
        list: ListName,
        state: &'a ListState,
    },
    Wire {
        row: &'a Row,
    },
    Call {
        call: &'a Call,
    },
    Progress {
        call: u64,
        progress: &'a Progress,
    },
    Round {
        round: &'a Round,
    },
    /// Answered, or withdrawn.
    RoundEnded {
        round: u64,
        by: &'static str,
    },
    Log {
        log: &'a LogMessage,
    },
    Subscription {
        subscription: &'a ResourceSubscription,
        open: bool,
    },
    Roots {
        roots: &'a [Root],
    },
    Exchange {
        exchange: &'a Exchange,
    },
    Ladder,
    End {
        command: &'a str,
    },
}

/// Milliseconds since the Unix epoch.
pub(super) fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1000.0
}

/// The beginning of a text, at most so many bytes.
pub(super) fn beginning(text: &str, max: usize) -> &str {
    let is_end = |end: &usize| text.is_char_boundary(*end);
    &text[..(0..=max.min(text.len())).rev().find(is_end).unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(beginning("aéé", 2), "a");
        assert_eq!(beginning("aéé", 3), "aé");
        assert_eq!(beginning("aéé", 9), "aéé");
    }

    #[test]
    fn json_crosses_whole_or_as_its_beginning() {
        let small = RawJson::from_value(&[1, 2]).unwrap();
        assert_eq!(serde_json::to_string(&Content::of(&small)).unwrap(), r#"{"bytes":5,"json":[1,2]}"#);
        let large = RawJson::from_value(&"é".repeat(MAX_PART)).unwrap();
        let content = Content::of(&large);
        assert_eq!((content.bytes, content.json.is_some()), (2 * MAX_PART + 2, false));
        assert!(content.part.is_some_and(|part| part.len() <= MAX_PART && part.ends_with('é')));
    }
}
