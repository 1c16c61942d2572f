//! Operations: the requests that programs make, as rows. Clients of all languages are generated
//! from these rows.
//!
//! `client_operations!` passes its rows to a macro, so that this library's own client is built from
//! the same rows that describe it for other languages ([`CLIENT`]).

use super::{
    Revision,
    describe::{Described, FieldDescription, Presence, Type},
    method::{self, Method, Sender},
    model::*,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// An operation: a request that a program makes with a function call.
#[derive(Debug)]
pub struct Operation {
    /// The name in Rust; other languages use their own case.
    pub name: &'static str,
    /// The documentation, one line per item.
    pub doc: &'static [&'static str],
    /// The side that makes the request.
    pub caller: Sender,
    /// The method in the protocol.
    pub method: &'static str,
    /// The method used instead on revisions that don't have it.
    pub instead: Option<&'static str>,
    /// The parameters.
    pub params: OperationParams,
    /// Parameters with constant values.
    pub fixed: &'static [(&'static str, &'static str)],
    /// The result; `None` if it carries no information.
    pub result: Option<Type>,
    /// The items, for a list with pages.
    pub item: Option<Type>,
    /// `true` if it is worth requesting progress.
    pub progress: bool,
}

/// The parameters of an operation.
#[derive(Debug)]
pub enum OperationParams {
    /// Individual parameters.
    Each(&'static [FieldDescription]),
    /// The members of a model.
    Of(Type),
    /// The members of a model, except those with these JSON names.
    Without(Type, &'static [&'static str]),
}

impl Operation {
    /// The first revision that has the method.
    pub fn since(&self) -> Option<Revision> {
        self.spans().map(|(since, _)| since).min()
    }

    /// Returns whether a server may respond with requests for input.
    pub fn takes_input(&self) -> bool {
        Method::may_need_input(self.method)
    }

    /// Returns whether the result may be cached for as long as the server allows.
    pub fn may_be_kept(&self) -> bool {
        Method::is_cacheable(self.method)
    }

    /// The last revision that has the method; `None` if later revisions still have it.
    pub fn until(&self) -> Option<Revision> {
        // Servers that send no requests ask for input through the result of the call.
        if method::INPUT_REQUESTS.contains(&self.method) {
            return None;
        }
        self.spans().map(|(_, until)| until).max().filter(|until| *until < Revision::LATEST)
    }

    /// The member of the result that holds a page of the list.
    pub fn list_member(&self) -> Option<&'static str> {
        Method::list_member(self.method)
    }

    fn spans(&self) -> impl Iterator<Item = (Revision, Revision)> {
        [Some(self.method), self.instead].into_iter().flatten().flat_map(|name| Method::spans(name, self.caller))
    }
}

/// Passes the rows of a client's operations to a macro.
///
/// A row is `list name … = METHOD() -> Result of member: Item;` for a list with pages, `call name …
/// = METHOD(parameters) -> Result;` for a request with a result, and `liveness name =
/// METHOD(parameters) or METHOD;` for one whose result carries no information. After the name come
/// the variants that only Rust needs: with options, and, for a list, its page without and with
/// options. A parameter is `required` or `optional`, and has its Rust name, its JSON name and its
/// type. `with progress` means that it is worth requesting progress.
#[macro_export]
#[doc(hidden)]
macro_rules! client_operations {
    ($with:ident) => {
        $with! {
            /// Lists the tools that the server offers.
            list list_tools list_tools_with list_tools_page list_tools_page_with = TOOLS_LIST() -> ListToolsResult of tools: Tool;
            /// Calls a tool. If the tool itself fails, the result reports the failure.
            call call_tool call_tool_with = TOOLS_CALL(
                /// Name of the tool.
                required name "name": str,
                /// Arguments that match the tool's input schema.
                optional arguments "arguments": JsonObject,
            ) -> CallToolResult with progress;
            /// Lists the resources that the server offers.
            list list_resources list_resources_with list_resources_page list_resources_page_with = RESOURCES_LIST() -> ListResourcesResult of resources: Resource;
            /// Lists the resource templates that the server offers. A template describes all
            /// resources whose URIs match it.
            list list_resource_templates list_resource_templates_with list_resource_templates_page list_resource_templates_page_with = RESOURCES_TEMPLATES_LIST()
                -> ListResourceTemplatesResult of resource_templates: ResourceTemplate;
            /// Reads a resource.
            call read_resource read_resource_with = RESOURCES_READ(
                /// URI of the resource.
                required uri "uri": str,
            ) -> ReadResourceResult with progress;
            /// Lists the prompts that the server offers.
            list list_prompts list_prompts_with list_prompts_page list_prompts_page_with = PROMPTS_LIST() -> ListPromptsResult of prompts: Prompt;
            /// Gets a prompt, filled in with arguments.
            call get_prompt get_prompt_with = PROMPTS_GET(
                /// Name of the prompt.
                required name "name": str,
                /// Arguments by name; their values are strings.
                optional arguments "arguments": BTreeMap<String, String>,
            ) -> GetPromptResult with progress;
            /// Suggests values for an argument of a prompt or resource template.
            call complete complete_with = COMPLETION_COMPLETE(
                /// The prompt or resource template that has the argument.
                required reference "ref": CompletionReference,
                /// The argument, with the text typed so far.
                required argument "argument": CompleteArgument,
                /// Values that are already known, such as those of other arguments (2025-06-18 and
                /// later).
                optional context "context": CompleteContext,
            ) -> CompleteResult;
            /// Lists the agent skills that the server offers (the skills extension of 2026-07-28).
            /// The server may have skills that it does not list.
            list list_skills list_skills_with list_skills_page list_skills_page_with = SKILLS_LIST() -> ListSkillsResult of skills: SkillEntry;
            /// Gets the entry of an agent skill (the skills extension of 2026-07-28).
            call get_skill get_skill_with = SKILLS_GET(
                /// URI of its `SKILL.md`.
                required uri "uri": str,
            ) -> GetSkillResult;
            /// Lists the tasks that the server keeps for this client (2025-11-25).
            list list_tasks list_tasks_with list_tasks_page list_tasks_page_with = TASKS_LIST() -> ListTasksResult of tasks: Task;
            /// Gets the current state of a task (2025-11-25 and later).
            call get_task get_task_with = TASKS_GET(
                /// Id of the task.
                required task_id "taskId": str,
            ) -> Task;
            /// Cancels a task (2025-11-25 and later). If the task has ended, the server may refuse
            /// or ignore this.
            liveness cancel_task = TASKS_CANCEL(
                /// Id of the task.
                required task_id "taskId": str,
            );
            /// Checks that the server is alive.
            liveness ping = PING() or DISCOVER;
        }
    };
}

macro_rules! described_operations {
    ($($(#[doc = $doc:literal])* $kind:ident $name:ident $($variant:ident)* = $method:ident(
        $($(#[doc = $param_doc:literal])* $presence:ident $param:ident $json:literal: $ty:ty,)*
    ) $(or $instead:ident)? $(-> $result:ident $(of $member:ident: $item:ident)? $(with $progress:ident)?)?;)*) => {
        /// The operations of a client.
        pub static CLIENT: &[Operation] = &[$(Operation {
            name: stringify!($name),
            doc: &[$($doc),*],
            caller: Sender::Client,
            method: method::$method,
            instead: described_operations!(@option $(method::$instead)?),
            params: OperationParams::Each(&[$(FieldDescription {
                name: stringify!($param),
                json: $json,
                doc: &[$($param_doc),*],
                presence: described_operations!(@$presence),
                ty: <$ty as Described>::TYPE,
                ..FieldDescription::EMPTY
            },)*]),
            fixed: &[],
            result: described_operations!(@option $(<$result as Described>::TYPE)?),
            item: described_operations!(@option $($(<$item as Described>::TYPE)?)?),
            progress: described_operations!(@flag $($($progress)?)?),
        },)*];
    };
    (@required) => { Presence::Required };
    (@optional) => { Presence::Optional };
    (@option) => { None };
    (@option $some:expr) => { Some($some) };
    (@flag) => { false };
    (@flag progress) => { true };
}

client_operations!(described_operations);

/// Deprecation notices in the documentation. Generators write them in the form of their language,
/// such as `@deprecated`.
const SAMPLING_DEPRECATED: &str =
    " Deprecated in protocol revision 2026-07-28; call the API of a model provider instead.";
const ROOTS_DEPRECATED: &str =
    " Deprecated in protocol revision 2026-07-28; use tool arguments, resource URIs or configuration instead.";
const LOGGING_DEPRECATED: &str =
    " Deprecated in protocol revision 2026-07-28; log to standard error or through OpenTelemetry instead.";

/// A notification that a client receives.
#[derive(Debug)]
pub struct ServerNotification {
    /// The name in Rust; other languages use their own case.
    pub name: &'static str,
    /// The documentation, one line per item.
    pub doc: &'static [&'static str],
    /// The method in the protocol.
    pub method: &'static str,
    /// The parameters, if it has any.
    pub params: Option<Type>,
}

macro_rules! notifications {
    ($($(#[doc = $doc:expr])* $name:ident = $method:ident($($params:ident)?);)*) => {
        /// The notifications that a client receives.
        pub static NOTIFICATIONS: &[ServerNotification] = &[$(ServerNotification {
            name: stringify!($name),
            doc: &[$($doc),*],
            method: method::$method,
            params: described_operations!(@option $(<$params as Described>::TYPE)?),
        },)*];
    };
}

notifications! {
    /// The progress of a request.
    progress = PROGRESS(Progress);
    /// A log message from the server.
    #[doc = LOGGING_DEPRECATED]
    log = LOG_MESSAGE(LogMessage);
    /// The server's tools have changed.
    tools_changed = TOOLS_LIST_CHANGED();
    /// The server's resources or resource templates have changed.
    resources_changed = RESOURCES_LIST_CHANGED();
    /// The server's prompts have changed.
    prompts_changed = PROMPTS_LIST_CHANGED();
    /// A subscribed resource has changed.
    resource_updated = RESOURCES_UPDATED(ResourceUpdated);
    /// A URL elicitation is complete (2025-11-25).
    elicitation_complete = ELICITATION_COMPLETE(ElicitationComplete);
    /// A task has changed that the client follows, or that the server reports on its own.
    task_status = TASKS_STATUS(Task);
}

/// Requests to a client. A row with a name for its request and the path of a capability is a
/// [`HostOperation`].
macro_rules! client_requests {
    ($(
        $(#[doc = $doc:expr])* $name:ident = $method:ident($params:ident $of:tt $(with $fixed:expr)?) -> $result:ident
        $(as $request:literal for $capability:expr)?;
    )*) => {
        &[$(client_requests!(@row Operation {
            name: stringify!($name),
            doc: &[$($doc),*],
            caller: Sender::Server,
            method: method::$method,
            instead: None,
            params: OperationParams::$params $of,
            fixed: &[$($fixed)?],
            result: Some(<$result as Described>::TYPE),
            item: None,
            progress: false,
        } $(, $request, $capability)?)),*]
    };
    (@row $operation:expr) => { $operation };
    (@row $operation:expr, $request:literal, $capability:expr) => {
        HostOperation { operation: $operation, request: $request, capability: $capability }
    };
}

/// The operations of a handler: requests to the client of its call.
pub static HANDLER: &[Operation] = client_requests! {
    /// Asks the client's user to fill in a form.
    elicit = ELICITATION_CREATE(Without(ElicitFormParams::TYPE, &["mode", "_meta"])) -> ElicitResult;
    /// Asks the client's user to open a page. Data entered there does not pass through the client.
    elicit_url = ELICITATION_CREATE(Without(ElicitUrlParams::TYPE, &["mode", "_meta"]) with ("mode", "url")) -> ElicitResult;
    /// Asks the client's model to continue a conversation.
    #[doc = SAMPLING_DEPRECATED]
    sample = SAMPLING_CREATE_MESSAGE(Of(CreateMessageParams::TYPE)) -> CreateMessageResult;
    /// Lists the directories and files that the client lets the server work in.
    #[doc = ROOTS_DEPRECATED]
    list_roots = ROOTS_LIST(Each(&[])) -> ListRootsResult;
};

/// A host operation: a request that a server makes of its client, answered by a handler of the
/// program.
#[derive(Debug)]
pub struct HostOperation {
    /// The request, with its parameters and its result.
    pub operation: Operation,
    /// The name of the request as a handler gets it, with its parameters and the name of the
    /// server.
    pub request: &'static str,
    /// The capability that a handler for it declares, as a path in the client's capabilities.
    pub capability: &'static [&'static str],
}

/// The host operations: what servers request from a client, and what its handlers return.
pub static HOST: &[HostOperation] = client_requests! {
    /// Handles a server's request that the user fill in a form.
    elicit = ELICITATION_CREATE(Of(ElicitFormParams::TYPE)) -> ElicitResult
        as "ElicitRequest" for &["elicitation", "form"];
    /// Handles a server's request that the user open a page. Never open it without the user's
    /// consent.
    elicit_url = ELICITATION_CREATE(Of(ElicitUrlParams::TYPE)) -> ElicitResult
        as "ElicitUrlRequest" for &["elicitation", "url"];
    /// Handles a server's request that the model continue a conversation.
    #[doc = SAMPLING_DEPRECATED]
    sample = SAMPLING_CREATE_MESSAGE(Of(CreateMessageParams::TYPE)) -> CreateMessageResult
        as "SampleRequest" for &["sampling"];
    /// Handles a server's request that the model continue a conversation in which it may use tools.
    #[doc = SAMPLING_DEPRECATED]
    sample_with_tools = SAMPLING_CREATE_MESSAGE(Of(CreateMessageParams::TYPE)) -> CreateMessageResult
        as "SampleRequest" for &["sampling", "tools"];
};

impl HostOperation {
    /// The operation with that name in Rust.
    pub fn named(name: &str) -> Option<&'static Self> {
        HOST.iter().find(|host| host.operation.name == name)
    }

    /// The names of the operations that can answer a request, best first.
    pub fn answering(method: &str, params: &Value) -> &'static [&'static str] {
        let has = |member: &str| params.get(member).is_some();
        match method {
            method::ELICITATION_CREATE if params.get("mode").is_some_and(|mode| mode == "url") => &["elicit_url"],
            method::ELICITATION_CREATE => &["elicit"],
            method::SAMPLING_CREATE_MESSAGE if has("tools") || has("toolChoice") => &["sample_with_tools"],
            method::SAMPLING_CREATE_MESSAGE => &["sample", "sample_with_tools"],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::method::MessageKind;
    use Revision::*;

    fn operation(name: &str) -> &'static Operation {
        CLIENT.iter().chain(HANDLER).find(|operation| operation.name == name).unwrap()
    }

    #[test]
    fn revisions_and_lists_match_the_method_table() {
        assert_eq!((operation("list_prompts").since(), operation("list_prompts").until()), (Some(V2024_11_05), None));
        assert_eq!((operation("elicit").since(), operation("elicit").until()), (Some(V2025_06_18), None));
        assert_eq!(operation("ping").until(), None, "discovery takes its place");
        assert_eq!(operation("list_resource_templates").list_member(), Some("resourceTemplates"));
    }

    #[test]
    fn every_notification_is_one_that_servers_send() {
        for notification in NOTIFICATIONS {
            let sent =
                |revision| Method::find(notification.method, MessageKind::Notification, Sender::Server, revision);
            assert!(Revision::ALL.into_iter().any(|revision| sent(revision).is_some()), "{}", notification.name);
        }
    }

    #[test]
    fn every_operation_is_a_request_of_its_side() {
        for operation in CLIENT.iter().chain(HANDLER) {
            assert!(operation.since().is_some(), "{}", operation.name);
            assert_eq!(operation.item.is_some(), operation.list_member().is_some(), "{}", operation.name);
            assert!(!operation.doc.is_empty(), "{}", operation.name);
        }
    }

    #[test]
    fn every_request_for_input_has_the_operation_of_its_capability() {
        for host in HOST {
            assert!(method::INPUT_REQUESTS.contains(&host.operation.method), "{}", host.operation.name);
            let params = match host.capability {
                [_, "url"] => serde_json::json!({"mode": "url"}),
                [_, "tools"] => serde_json::json!({"tools": []}),
                _ => Value::Null,
            };
            let answering = HostOperation::answering(host.operation.method, &params);
            assert_eq!(answering.first(), Some(&host.operation.name));
            assert_eq!(HostOperation::named(answering[0]).unwrap().capability, host.capability);
        }
    }

    #[test]
    fn the_items_of_a_list_are_the_member_of_its_result() {
        for operation in CLIENT.iter().filter(|operation| operation.item.is_some()) {
            let (Some(Type::Model(result)), Some(Type::Model(item))) = (operation.result, operation.item) else {
                panic!("{} is a list of objects", operation.name)
            };
            let list = result.fields.iter().find(|field| Some(field.json) == operation.list_member()).unwrap();
            assert!(matches!(list.ty, Type::List(Type::Model(found)) if found.name == item.name), "{}", operation.name);
        }
    }
}
