//! The state of a page, in the form in which the page gets it. The tests write these types to
//! `web/src/generated/protocol.ts` (`commands/protocol.rs`).

use crate::failure::Problem;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::SystemTime;
use trunkline::{
    auth::AuthRepeat,
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
#[cfg_attr(test, derive(ts_rs::TS))]
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
#[cfg_attr(test, derive(ts_rs::TS))]
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
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub(super) struct Connection {
    pub(super) era: Era,
    pub(super) state: ConnectionState,
    /// The other members are those of the last opening; absent before the first.
    pub(super) revision: Option<&'static str>,
    /// `Implementation`: name, version, title, …
    #[cfg_attr(test, ts(type = "JsonObject | null"))]
    pub(super) server_info: Option<RawJson>,
    #[cfg_attr(test, ts(type = "JsonObject | null"))]
    pub(super) capabilities: Option<RawJson>,
    /// At most 100 KB; `instructionsBytes` is the whole size.
    pub(super) instructions: Option<String>,
    pub(super) instructions_bytes: usize,
    /// The process of the server, if the program started it.
    pub(super) pid: Option<u32>,
    pub(super) opened_at: Option<f64>,
    /// How long opening took, in milliseconds.
    pub(super) took_ms: Option<f64>,
    /// How often it was opened: 2 or more means that the server was restarted or reconnected.
    pub(super) openings: u32,
    /// The reason for `unsupported`, `failed`, `closed`.
    pub(super) problem: Option<Problem>,
    pub(super) lists: Lists,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub(super) enum ConnectionState {
    /// Not tried yet, or excluded by the flags.
    Idle,
    Connecting,
    Open,
    /// The server does not speak this era; `problem` says how it refused.
    Unsupported,
    /// Could not be opened.
    Failed,
    /// Was open, and has ended; everything that was learned stays.
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
#[cfg_attr(test, derive(ts_rs::TS))]
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
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub(super) struct ListState {
    pub(super) state: ListProgress,
    pub(super) count: usize,
    /// Grows with each change; fetch the items again with `list`.
    pub(super) version: u64,
    /// 2026-07-28: how long the list may be cached.
    pub(super) ttl_ms: Option<u64>,
    pub(super) cache_scope: Option<String>,
    pub(super) problem: Option<Problem>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub(super) enum ListProgress {
    /// The server does not declare the capability.
    #[default]
    Absent,
    Loading,
    Ready,
    Failed,
}

/// A request of the page.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Call {
    pub(super) id: u64,
    pub(super) era: Era,
    pub(super) method: String,
    /// The name of the tool or prompt, the URI of the resource.
    pub(super) about: Option<String>,
    /// The parameters; at most 100 KB, otherwise `null`.
    #[cfg_attr(test, ts(type = "Json"))]
    pub(super) params: Option<RawJson>,
    pub(super) at: f64,
    pub(super) state: CallState,
    pub(super) progress: Option<Progress>,
    /// The whole result of the protocol, unchanged, if `done`. A tool's own error is in it
    /// (`isError`).
    pub(super) result: Option<Content>,
    pub(super) problem: Option<Problem>,
    /// How long it took, if it has ended.
    pub(super) ms: Option<f64>,
    /// The task that the server made of the call.
    pub(super) task: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub(super) enum CallState {
    Running,
    Done,
    Failed,
    Cancelled,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Progress {
    pub(super) progress: f64,
    pub(super) total: Option<f64>,
    /// At most 1 KB.
    pub(super) message: Option<String>,
    pub(super) at: f64,
}

/// JSON of any size.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Content {
    /// The size of the JSON text.
    bytes: usize,
    /// The value, if it has at most 100 KB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional, type = "Json"))]
    pub(super) json: Option<RawJson>,
    /// Otherwise the first 100 KB of the JSON text; `body` with the number of the call has all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
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

/// A question of the server: it belongs into the call that it is part of.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Round {
    pub(super) id: u64,
    pub(super) era: Era,
    /// The call that it belongs to; `null` if that cannot be known, or if there is none.
    pub(super) call: Option<u64>,
    pub(super) at: f64,
    pub(super) kind: RoundKind,
    /// The text for the person.
    pub(super) message: String,
    #[cfg_attr(test, ts(type = "JsonObject"))]
    pub(super) params: RawJson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub(super) enum RoundKind {
    /// Fill in `params.requestedSchema`.
    Form,
    /// Open `params.url`, after asking.
    Url,
    /// `params` are those of `sampling/createMessage`.
    Sampling,
    /// Log in at `params.url`, entering `params.userCode` if it is there. Answered by itself.
    Login,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct LogMessage {
    pub(super) at: f64,
    pub(super) era: Era,
    pub(super) level: &'static str,
    pub(super) logger: Option<String>,
    /// At most 10 KB of text, or of JSON text if the server sent no string.
    pub(super) text: String,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceSubscription {
    pub(super) era: Era,
    pub(super) uri: String,
    /// How many updates have arrived.
    pub(super) updates: u64,
    pub(super) updated_at: Option<f64>,
}

/// One rung of the login ladder.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Exchange {
    pub(super) id: u64,
    pub(super) at: f64,
    pub(super) method: String,
    /// Without its query.
    pub(super) url: String,
    /// `null`: the person's browser made the request.
    pub(super) status: Option<u16>,
    /// The members that matter, such as `issuer = https://login.example.com`.
    pub(super) members: Vec<String>,
    /// The text that it must follow, such as `RFC 8414 section 3.2`.
    pub(super) clause: &'static str,
    #[serde(skip)]
    pub(super) repeat: AuthRepeat,
    /// The response is as the text demands: a status below 400, and no `error`. The first 401 of
    /// the server passes.
    pub(super) pass: bool,
}

/// The server, as the person named it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Target {
    /// As the person named it.
    pub(super) label: String,
    #[cfg_attr(test, ts(type = "\"stdio\" | \"http\""))]
    pub(super) transport: &'static str,
    /// The command line that opens this page again.
    pub(super) command: String,
}

/// A server of the page: one of several has a menu in the header.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct ServerChoice {
    /// Its name in links (`#/@ID/tools`) and in requests (`?server=ID`).
    pub(super) id: String,
    pub(super) label: String,
}

/// A form of a call as code.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct CodeForm {
    pub(super) form: String,
    pub(super) label: &'static str,
}

/// A message, or an HTTP exchange.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "WireRow"))]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) id: u64,
    pub(super) at: f64,
    /// `null`: of no connection, such as an exchange with an authorization server.
    pub(super) era: Option<Era>,
    /// `fromApp` and `toApp`: between an app and the page, its host.
    #[cfg_attr(test, ts(type = "\"sent\" | \"received\" | \"fromApp\" | \"toApp\""))]
    pub(super) direction: &'static str,
    /// `http`: an exchange; its messages are rows of their own.
    #[cfg_attr(test, ts(type = "\"request\" | \"result\" | \"error\" | \"notification\" | \"http\""))]
    pub(super) kind: &'static str,
    /// The method of the message, or of the request that a response belongs to; for `http`, the
    /// HTTP method.
    pub(super) method: Option<String>,
    /// The JSON-RPC id.
    #[cfg_attr(test, ts(type = "string | number | null"))]
    pub(super) rpc_id: Option<RawJson>,
    /// The first 240 bytes of the parameters, the result or the error, without `_meta`.
    pub(super) preview: String,
    /// The name of the tool, the URI of the resource, the URL of an exchange.
    pub(super) about: Option<String>,
    /// The row of the request that this response answers, if it is kept.
    pub(super) answers: Option<u64>,
    /// Milliseconds since that request, or the time to the head of an HTTP response.
    pub(super) ms: Option<f64>,
    /// The size of the whole message.
    pub(super) bytes: usize,
    /// The first 2 KB of the message. For `http`: a line such as `POST http://… 200`.
    pub(super) text: String,
    /// `text` is not the whole message: `body` has it.
    pub(super) cut: bool,
    pub(super) http: Option<HttpPart>,
}

/// The part of a row that only HTTP exchanges have.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub(super) struct HttpPart {
    pub(super) status: Option<u16>,
    /// Secrets are removed.
    pub(super) request_headers: Vec<(String, String)>,
    pub(super) response_headers: Vec<(String, String)>,
    pub(super) error: Option<String>,
}

/// A change after a snapshot.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "event", rename_all = "camelCase")]
pub(super) enum Increment<'a> {
    /// The whole state of one era; lists too.
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
    /// A call has begun, has become a task, or has ended: replaces the one of this id.
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
    /// A question is no longer open: answered in any tab, or withdrawn by the server or by the end
    /// of its call.
    RoundEnded {
        round: u64,
        #[cfg_attr(test, ts(type = "\"answer\" | \"withdrawal\""))]
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
        #[cfg_attr(test, ts(type = "Root[]"))]
        roots: &'a [Root],
    },
    Exchange {
        exchange: &'a Exchange,
    },
    /// A new login begins: the ladder is empty.
    Ladder,
    /// The program ends; nothing follows.
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
