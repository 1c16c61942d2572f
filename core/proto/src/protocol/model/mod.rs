//! The protocol's values as one superset model: the form of the newest revision, with unknown
//! fields kept.
//!
//! [`crate::protocol::project`] converts values for an older revision; they are always built in
//! this form.

#[macro_use]
mod object;
mod capabilities;
mod completion;
mod content;
mod elicitation;
mod error_details;
mod form;
mod notification;
mod prompt;
mod resource;
mod root;
mod sampling;
mod skill;
mod subscription;
mod task;
mod tool;

pub use capabilities::{
    ClientCapabilities, ElicitationCapability, Icon, Implementation, ListChangedCapability, ResourcesCapability,
    SamplingCapability, ServerCapabilities,
};
pub use completion::{
    CompleteArgument, CompleteContext, CompleteParams, CompleteResult, Completion, CompletionReference,
    PromptReference, ResourceTemplateReference,
};
pub use content::{
    Annotations, AudioContent, BlobResourceContents, ContentBlock, EmbeddedResource, ImageContent, ResourceContents,
    ResourceLink, Role, TextContent, TextResourceContents,
};
pub use elicitation::{ElicitAction, ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams};
pub use error_details::{AuthorizationDemand, ConnectionFailure, FailureReason, RequiredInput};
pub use form::{Choice, Choices, Field, FormFields, FormSchema};
pub use notification::{ElicitationComplete, LogMessage, LoggingLevel, Progress, ResourceUpdated};
pub use prompt::{GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage};
pub use resource::{ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceTemplate};
pub use root::{ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, ModelHint, ModelPreferences, SamplingBlock, SamplingContent,
    SamplingMessage, ToolChoice, ToolResultContent, ToolUseContent,
};
pub use skill::{GetSkillResult, ListSkillsResult, SkillEntry};
pub use subscription::{Change, ChangeKind, SubscriptionFilter};
pub use task::{ListTasksResult, Task, TaskStatus};
pub use tool::{
    CallToolResult, FailedToolCall, ListToolsResult, TaskSupport, Tool, ToolAnnotations, ToolExecution,
    write_text_result,
};

/// A JSON object.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
