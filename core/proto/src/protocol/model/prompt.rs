//! Prompts: messages that a user picks.

use super::{ContentBlock, Icon, JsonObject, Role};

json_object! {
    /// A prompt that a user can pick.
    pub struct Prompt {
        /// The name for programs.
        required name: String = "name",
        /// The name for people.
        optional title: String = "title",
        /// The purpose of the prompt, for people.
        optional description: String = "description",
        /// The arguments that fill it in.
        optional arguments: Vec<PromptArgument> = "arguments",
        /// Icons for a user interface.
        optional icons: Vec<Icon> = "icons",
        /// Metadata, by reverse-domain name.
        optional meta: JsonObject = "_meta",
    }
}

json_object! {
    /// An argument of a prompt. Its value is a string.
    pub struct PromptArgument {
        /// The name for programs.
        required name: String = "name",
        /// The name for people.
        optional title: String = "title",
        /// The meaning of the argument, for people.
        optional description: String = "description",
        /// `true` if the prompt needs the argument.
        flag required = "required",
    }
}

json_object! {
    /// A prompt, filled in.
    pub struct GetPromptResult {
        /// The purpose of the prompt, for people.
        optional description: String = "description",
        /// The messages.
        list messages: PromptMessage = "messages",
        /// `complete` on 2026-07-28; absent before.
        optional result_type: String = "resultType",
        /// Metadata, by reverse-domain name.
        optional meta: JsonObject = "_meta",
    }
}

json_object! {
    /// A message of a prompt.
    pub struct PromptMessage {
        /// The sender of the message.
        required role: Role = "role",
        /// The content of the message.
        required content: ContentBlock = "content",
    }
}

json_object! {
    /// One page of the prompts that a server offers.
    pub struct ListPromptsResult {
        /// The prompts.
        list prompts: Prompt = "prompts",
        /// The cursor of the next page; absent after the last one.
        optional next_cursor: String = "nextCursor",
        /// The time for which the page may be cached, in milliseconds (2026-07-28).
        optional ttl_ms: u64 = "ttlMs",
        /// `private` or `public`: the callers that may share a cached page (2026-07-28).
        optional cache_scope: String = "cacheScope",
        /// `complete` on 2026-07-28; absent before.
        optional result_type: String = "resultType",
        /// Metadata, by reverse-domain name.
        optional meta: JsonObject = "_meta",
    }
}

impl Prompt {
    /// A prompt with a name and a description.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: Some(description.into()), ..Self::default() }
    }

    /// The same prompt with one more argument.
    pub fn with_argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.get_or_insert_default().push(argument);
        self
    }
}

impl PromptArgument {
    /// An argument that may be left out.
    pub fn optional(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: Some(description.into()), ..Self::default() }
    }

    /// An argument that the prompt needs.
    pub fn required(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { required: true, ..Self::optional(name, description) }
    }
}

impl PromptMessage {
    /// A message of the user.
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self { role: Role::User, content: content.into(), ..Self::default() }
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self { role: Role::Assistant, content: content.into(), ..Self::default() }
    }
}

impl GetPromptResult {
    /// A result with its messages.
    pub fn new(messages: impl IntoIterator<Item = PromptMessage>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// The same result with a description.
    pub fn with_description(self, description: impl Into<String>) -> Self {
        Self { description: Some(description.into()), ..self }
    }
}

impl FromIterator<PromptMessage> for GetPromptResult {
    fn from_iter<I: IntoIterator<Item = PromptMessage>>(messages: I) -> Self {
        Self::new(messages)
    }
}

impl From<PromptMessage> for GetPromptResult {
    fn from(message: PromptMessage) -> Self {
        Self::from_iter([message])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn prompts_round_trip_with_unknown_fields() {
        let wire = json!({"prompts": [{"name": "n", "title": "T", "arguments": [{"name": "a", "required": true, "x": 1}], "y": 2}]});
        let read: ListPromptsResult = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), wire);
        let wire = json!({"messages": [{"role": "assistant", "content": {"type": "text", "text": "t"}, "z": 1}]});
        let read: GetPromptResult = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), wire);
    }

    #[test]
    fn prompts_are_built_from_arguments_and_messages() {
        let prompt = Prompt::new("greet", "Greet.").with_argument(PromptArgument::required("who", "Whom to greet."));
        assert_eq!(
            serde_json::to_value(prompt).unwrap()["arguments"],
            json!([{"name": "who", "description": "Whom to greet.", "required": true}])
        );
        let result = GetPromptResult::new([PromptMessage::user("hi"), PromptMessage::assistant("ho")]);
        assert_eq!(serde_json::to_value(result).unwrap()["messages"][1]["role"], "assistant");
    }
}
