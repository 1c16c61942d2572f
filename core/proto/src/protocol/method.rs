//! The method table: who may send what in which revision. Each method is defined only by its row
//! here.

use super::extension::{self, Extension};
use super::revision::Revision;
use ResultUris::*;
use Revision::*;
use Target::*;

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sender {
    /// The side that connects.
    Client,
    /// The side that is connected to.
    Server,
}

/// The feature that a request refers to, named by a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource, registered or from a template.
    Resource,
    /// A resource to which the caller has subscribed.
    Subscription,
    /// A prompt or resource template, with the argument to complete.
    Completion,
    /// A task.
    Task,
}

impl Target {
    /// The parameter that names it.
    pub const fn parameter(self) -> &'static str {
        match self {
            Self::Tool | Self::Prompt => "name",
            Self::Resource | Self::Subscription => "uri",
            Self::Completion => "ref",
            Self::Task => "taskId",
        }
    }
}

/// Where a result contains URIs of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultUris {
    /// In the blocks of `content`.
    Content,
    /// In the block of each of the `messages`.
    Messages,
    /// In each item of the list with this name.
    Items(&'static str),
    /// In a `skill` and its files.
    Skill,
}

/// A row of the method table.
#[derive(Debug, PartialEq, Eq)]
pub struct Method {
    /// The name in the protocol.
    pub name: &'static str,
    /// Request or notification.
    pub kind: MessageKind,
    /// The roles that may send it.
    pub senders: &'static [Sender],
    /// The first and last revision that has it.
    pub span: (Revision, Revision),
    /// The feature that it refers to; `None` for lists, and for methods that affect the whole
    /// connection.
    pub target: Option<Target>,
    /// The parameter that HTTP mirrors in `Mcp-Name`.
    pub name_parameter: Option<&'static str>,
    /// The extension that adds it; `None` for methods of the specification itself.
    pub extension: Option<&'static Extension>,
    /// `true` if its result has `ttlMs` and `cacheScope` from 2026-07-28 on.
    pub cacheable: bool,
    /// `true` if the response may be a request for input.
    pub takes_input: bool,
    /// The member of its result that holds a page of a list; `None` if it has no pages.
    pub list_member: Option<&'static str>,
    /// The member that identifies the items of that list.
    pub item_key: Option<&'static str>,
    /// Where its result contains URIs of resources.
    pub result_uris: Option<ResultUris>,
}

/// Request or notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// Has an id and gets a response.
    Request,
    /// Never gets a response.
    Notification,
}

impl Method {
    /// Finds the row of a method that `sender` may send under `revision`.
    ///
    /// A row with an [`Method::extension`] only applies if that extension was negotiated; the
    /// caller must check this.
    pub fn find(name: &str, kind: MessageKind, sender: Sender, revision: Revision) -> Option<&'static Method> {
        METHODS.iter().find(|method| {
            method.name == name
                && method.kind == kind
                && method.senders.contains(&sender)
                && method.span.0 <= revision
                && revision <= method.span.1
        })
    }

    /// Returns whether the protocol has a method with this name, in any revision and for either
    /// side. Other names belong to extensions and vendors.
    pub fn is_standard(name: &str) -> bool {
        Self::known_name(name).is_some()
    }

    /// The name of a protocol method, from the table.
    pub(super) fn known_name(name: &str) -> Option<&'static str> {
        Self::rows(name).next().map(|method| method.name)
    }

    /// Returns whether protocol methods begin with this and a slash, or have exactly this name.
    pub(super) fn has_prefix(prefix: &str) -> bool {
        METHODS.iter().any(|method| method.name.split('/').next() == Some(prefix))
    }

    /// Creates the row of a client request that is in no table, for a server that handles it.
    #[doc(hidden)]
    pub fn of_vendor(name: &'static str) -> Self {
        request(name, CLIENT, ALL)
    }

    fn rows(name: &str) -> impl Iterator<Item = &'static Self> {
        METHODS.iter().filter(move |method| method.name == name)
    }

    /// The feature that a request with this method refers to.
    pub fn target(name: &str) -> Option<Target> {
        Self::rows(name).find_map(|method| method.target)
    }

    /// The member that identifies the items of this method's list.
    pub fn item_key(name: &str) -> Option<&'static str> {
        Self::rows(name).find_map(|method| method.item_key)
    }

    /// Where the result of this method contains URIs of resources.
    pub fn result_uris(name: &str) -> Option<ResultUris> {
        Self::rows(name).find_map(|method| method.result_uris)
    }

    /// The requests that clients send, in any revision; tests iterate over them.
    #[doc(hidden)]
    pub fn of_clients() -> impl Iterator<Item = &'static Method> {
        let is_request = |method: &&Method| method.kind == MessageKind::Request;
        METHODS.iter().filter(is_request).filter(|method| method.senders.contains(&Sender::Client))
    }

    /// The parameter that `Mcp-Name` mirrors for a method, if any. Only revisions with that header
    /// have such methods.
    pub fn name_parameter(name: &str) -> Option<&'static str> {
        Self::rows(name).find_map(|method| method.name_parameter)
    }

    /// The revisions that have a request which `sender` may send: the first and last of each row.
    pub fn spans(name: &str, sender: Sender) -> impl Iterator<Item = (Revision, Revision)> {
        Self::rows(name)
            .filter(move |method| method.senders.contains(&sender))
            .filter(|method| method.kind == MessageKind::Request)
            .map(|method| method.span)
    }

    /// Returns whether the response to this method may be a request for input.
    pub fn may_need_input(name: &str) -> bool {
        Self::rows(name).any(|method| method.takes_input)
    }

    /// Returns whether the result of this method may be cached.
    pub fn is_cacheable(name: &str) -> bool {
        Self::rows(name).any(|method| method.cacheable)
    }

    /// The member that holds a page of this method's list, if it returns one.
    pub fn list_member(name: &str) -> Option<&'static str> {
        Self::rows(name).find_map(|method| method.list_member)
    }
}

/// The requests that a server makes of a client: JSON-RPC requests in the legacy era, entries of
/// `inputRequests` on 2026-07-28.
pub const INPUT_REQUESTS: [&str; 3] = [ELICITATION_CREATE, SAMPLING_CREATE_MESSAGE, ROOTS_LIST];

macro_rules! names {
    ($($constant:ident = $name:literal,)*) => {
        $(#[doc = concat!("`", $name, "`")] pub const $constant: &str = $name;)*
    };
}

names! {
    INITIALIZE = "initialize",
    INITIALIZED = "notifications/initialized",
    DISCOVER = "server/discover",
    PING = "ping",
    CANCELLED = "notifications/cancelled",
    PROGRESS = "notifications/progress",
    TOOLS_LIST = "tools/list",
    TOOLS_CALL = "tools/call",
    TOOLS_LIST_CHANGED = "notifications/tools/list_changed",
    RESOURCES_LIST = "resources/list",
    RESOURCES_TEMPLATES_LIST = "resources/templates/list",
    RESOURCES_READ = "resources/read",
    RESOURCES_SUBSCRIBE = "resources/subscribe",
    RESOURCES_UNSUBSCRIBE = "resources/unsubscribe",
    RESOURCES_UPDATED = "notifications/resources/updated",
    RESOURCES_LIST_CHANGED = "notifications/resources/list_changed",
    PROMPTS_LIST = "prompts/list",
    PROMPTS_GET = "prompts/get",
    PROMPTS_LIST_CHANGED = "notifications/prompts/list_changed",
    COMPLETION_COMPLETE = "completion/complete",
    LOGGING_SET_LEVEL = "logging/setLevel",
    LOG_MESSAGE = "notifications/message",
    SUBSCRIPTIONS_LISTEN = "subscriptions/listen",
    SUBSCRIPTIONS_ACKNOWLEDGED = "notifications/subscriptions/acknowledged",
    ROOTS_LIST = "roots/list",
    ROOTS_LIST_CHANGED = "notifications/roots/list_changed",
    SAMPLING_CREATE_MESSAGE = "sampling/createMessage",
    ELICITATION_CREATE = "elicitation/create",
    ELICITATION_COMPLETE = "notifications/elicitation/complete",
    TASKS_GET = "tasks/get",
    TASKS_RESULT = "tasks/result",
    TASKS_CANCEL = "tasks/cancel",
    TASKS_LIST = "tasks/list",
    TASKS_UPDATE = "tasks/update",
    TASKS_STATUS = "notifications/tasks/status",
    TASKS_CHANGED = "notifications/tasks",
    SKILLS_LIST = "skills/list",
    SKILLS_GET = "skills/get",
    RESOURCES_DIRECTORY_READ = "resources/directory/read",
}

const CLIENT: &[Sender] = &[Sender::Client];
const SERVER: &[Sender] = &[Sender::Server];
const BOTH: &[Sender] = &[Sender::Client, Sender::Server];
const LEGACY: (Revision, Revision) = (V2024_11_05, Revision::LATEST_LEGACY);
const ALL: (Revision, Revision) = (V2024_11_05, Revision::LATEST);
const MODERN: (Revision, Revision) = (V2026_07_28, Revision::LATEST);
const CORE_TASKS: (Revision, Revision) = (V2025_11_25, V2025_11_25);

const fn row(name: &'static str, kind: MessageKind, senders: &'static [Sender], span: (Revision, Revision)) -> Method {
    Method {
        name,
        kind,
        senders,
        span,
        target: None,
        name_parameter: None,
        extension: None,
        cacheable: false,
        takes_input: false,
        list_member: None,
        item_key: None,
        result_uris: None,
    }
}
const fn request(name: &'static str, senders: &'static [Sender], span: (Revision, Revision)) -> Method {
    row(name, MessageKind::Request, senders, span)
}
const fn notification(name: &'static str, senders: &'static [Sender], span: (Revision, Revision)) -> Method {
    row(name, MessageKind::Notification, senders, span)
}

impl Method {
    const fn about(self, target: Target) -> Self {
        Self { target: Some(target), ..self }
    }
    /// Refers to a feature whose name HTTP mirrors.
    const fn named(self, target: Target) -> Self {
        Self { name_parameter: Some(target.parameter()), ..self.about(target) }
    }
    const fn cacheable(self) -> Self {
        Self { cacheable: true, ..self }
    }
    const fn listing(self, member: &'static str, item_key: &'static str) -> Self {
        Self { list_member: Some(member), item_key: Some(item_key), ..self }
    }
    const fn with_uris(self, uris: ResultUris) -> Self {
        Self { result_uris: Some(uris), ..self }
    }
    const fn taking_input(self) -> Self {
        Self { takes_input: true, ..self }
    }
    const fn of(self, extension: &'static Extension) -> Self {
        Self { extension: Some(extension), ..self }
    }
}

static METHODS: &[Method] = &[
    request(TOOLS_CALL, CLIENT, ALL).named(Tool).taking_input().with_uris(Content),
    request(TOOLS_LIST, CLIENT, ALL).cacheable().listing("tools", "name"),
    notification(PROGRESS, BOTH, LEGACY),
    notification(PROGRESS, SERVER, MODERN),
    notification(CANCELLED, BOTH, ALL),
    request(PING, BOTH, LEGACY),
    request(DISCOVER, CLIENT, MODERN).cacheable(),
    request(INITIALIZE, CLIENT, LEGACY),
    notification(INITIALIZED, CLIENT, LEGACY),
    request(SUBSCRIPTIONS_LISTEN, CLIENT, MODERN),
    notification(SUBSCRIPTIONS_ACKNOWLEDGED, SERVER, MODERN),
    notification(TOOLS_LIST_CHANGED, SERVER, ALL),
    request(RESOURCES_LIST, CLIENT, ALL).cacheable().listing("resources", "uri"),
    request(RESOURCES_TEMPLATES_LIST, CLIENT, ALL).cacheable().listing("resourceTemplates", "uriTemplate"),
    request(RESOURCES_READ, CLIENT, ALL).named(Resource).cacheable().taking_input().with_uris(Items("contents")),
    request(RESOURCES_SUBSCRIBE, CLIENT, LEGACY).about(Resource),
    request(RESOURCES_UNSUBSCRIBE, CLIENT, LEGACY).about(Subscription),
    notification(RESOURCES_UPDATED, SERVER, ALL),
    notification(RESOURCES_LIST_CHANGED, SERVER, ALL),
    request(PROMPTS_LIST, CLIENT, ALL).cacheable().listing("prompts", "name"),
    request(PROMPTS_GET, CLIENT, ALL).named(Prompt).taking_input().with_uris(Messages),
    notification(PROMPTS_LIST_CHANGED, SERVER, ALL),
    request(COMPLETION_COMPLETE, CLIENT, ALL).about(Completion),
    request(LOGGING_SET_LEVEL, CLIENT, LEGACY),
    notification(LOG_MESSAGE, SERVER, ALL),
    request(ROOTS_LIST, SERVER, LEGACY),
    notification(ROOTS_LIST_CHANGED, CLIENT, LEGACY),
    request(SAMPLING_CREATE_MESSAGE, SERVER, LEGACY),
    request(ELICITATION_CREATE, SERVER, (V2025_06_18, Revision::LATEST_LEGACY)),
    notification(ELICITATION_COMPLETE, SERVER, (V2025_11_25, V2025_11_25)),
    request(TASKS_GET, BOTH, CORE_TASKS).about(Task),
    request(TASKS_RESULT, BOTH, CORE_TASKS).about(Task),
    request(TASKS_CANCEL, BOTH, CORE_TASKS).about(Task),
    request(TASKS_LIST, BOTH, CORE_TASKS).listing("tasks", "taskId"),
    notification(TASKS_STATUS, BOTH, CORE_TASKS),
    request(TASKS_GET, CLIENT, MODERN).named(Task).of(&extension::TASKS),
    request(TASKS_UPDATE, CLIENT, MODERN).named(Task).of(&extension::TASKS),
    request(TASKS_CANCEL, CLIENT, MODERN).named(Task).of(&extension::TASKS),
    notification(TASKS_CHANGED, SERVER, MODERN).of(&extension::TASKS),
    request(SKILLS_LIST, CLIENT, MODERN).cacheable().of(&extension::SKILLS).listing("skills", "uri").with_uris(Skill),
    request(SKILLS_GET, CLIENT, MODERN).cacheable().of(&extension::SKILLS).with_uris(Skill),
    request(RESOURCES_DIRECTORY_READ, CLIENT, MODERN)
        .of(&extension::SKILLS)
        .listing("resources", "uri")
        .with_uris(Items("resources")),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: &str, revision: Revision) -> Option<&'static Method> {
        Method::find(name, MessageKind::Request, Sender::Client, revision)
    }

    #[test]
    fn ping_04_ping_ends_with_the_legacy_era() {
        assert!(client(PING, V2025_11_25).is_some());
        assert!(client(PING, V2026_07_28).is_none());
    }

    #[test]
    fn rpc_31_root_08_smp_20_eli_32_modern_servers_have_no_requests() {
        assert!(!METHODS.iter().any(|method| method.kind == MessageKind::Request
            && method.senders.contains(&Sender::Server)
            && method.span.1 == Revision::LATEST));
        for method in INPUT_REQUESTS {
            assert!(Method::find(method, MessageKind::Request, Sender::Server, V2025_11_25).is_some());
        }
    }

    #[test]
    fn eli_33_there_is_no_completion_notice_on_2026_07_28() {
        let complete =
            |revision| Method::find(ELICITATION_COMPLETE, MessageKind::Notification, Sender::Server, revision);
        assert!(complete(V2025_11_25).is_some());
        assert!(complete(V2025_06_18).is_none());
        assert!(complete(V2026_07_28).is_none());
    }

    #[test]
    fn tkx_46_tasks_of_2025_11_25_are_core_and_those_of_2026_07_28_an_extension() {
        for name in [TASKS_GET, TASKS_RESULT, TASKS_CANCEL, TASKS_LIST] {
            for sender in [Sender::Client, Sender::Server] {
                let core = Method::find(name, MessageKind::Request, sender, V2025_11_25).unwrap();
                assert_eq!((core.extension, core.name_parameter), (None, None));
            }
            assert!(client(name, V2025_06_18).is_none());
        }
        for name in [TASKS_RESULT, TASKS_LIST] {
            assert!(client(name, V2026_07_28).is_none());
        }
        assert!(client(TASKS_UPDATE, V2025_11_25).is_none());
    }

    #[test]
    fn mcp_name_of_a_task_request_is_the_task() {
        for name in [TASKS_GET, TASKS_UPDATE, TASKS_CANCEL] {
            let method = client(name, V2026_07_28).unwrap();
            assert_eq!(method.extension, Some(&extension::TASKS));
            assert_eq!(Method::name_parameter(name), Some("taskId"));
        }
        assert_eq!(Method::name_parameter(RESOURCES_READ), Some("uri"));
        assert_eq!(Method::name_parameter(SKILLS_GET), None);
    }

    #[test]
    fn each_request_of_clients_is_about_something_or_about_the_whole() {
        let whole = [PING, DISCOVER, INITIALIZE, SUBSCRIPTIONS_LISTEN, LOGGING_SET_LEVEL, TASKS_LIST, SKILLS_GET];
        for method in Method::of_clients() {
            let known = [method.target.is_some(), method.list_member.is_some(), whole.contains(&method.name)];
            assert!(known.contains(&true), "{} needs `about` or `listing`", method.name);
            assert!(!method.takes_input || method.target.is_some(), "{}", method.name);
        }
    }

    #[test]
    fn mrtr_01_only_three_methods_are_answered_by_requests_for_input() {
        let taking: Vec<_> = METHODS.iter().filter(|method| method.takes_input).map(|method| method.name).collect();
        assert_eq!(taking, [TOOLS_CALL, RESOURCES_READ, PROMPTS_GET]);
    }

    #[test]
    fn no_two_rows_are_about_the_same_message() {
        for (index, a) in METHODS.iter().enumerate() {
            for b in &METHODS[index + 1..] {
                let apart = a.name != b.name
                    || a.kind != b.kind
                    || a.span.1 < b.span.0
                    || b.span.1 < a.span.0
                    || !a.senders.iter().any(|sender| b.senders.contains(sender));
                assert!(apart, "{} has two rows", a.name);
            }
        }
    }
}
