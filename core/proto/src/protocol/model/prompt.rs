//! Prompts: messages that a user selects.

use super::{ContentBlock, Icon, Role};

json_object! {
    /// A prompt that a user can select.
    pub struct Prompt with meta since V2025_06_18 {
        /// Name, for programs.
        required name: String = "name",
        /// Display name.
        optional title: String = "title" since V2025_06_18,
        /// Human-readable description of the prompt.
        optional description: String = "description",
        /// Arguments of the prompt.
        optional arguments: Vec<PromptArgument> = "arguments",
        /// Icons for a user interface.
        optional icons: Vec<Icon> = "icons" since V2025_11_25,
    }

    /// An argument of a prompt. Its value is a string.
    pub struct PromptArgument {
        /// Name, for programs.
        required name: String = "name",
        /// Display name.
        optional title: String = "title" since V2025_06_18,
        /// Human-readable description of the argument.
        optional description: String = "description",
        /// `true` if the prompt requires the argument.
        flag required = "required",
    }

    /// A filled-in prompt.
    pub struct GetPromptResult with result {
        /// Human-readable description of the prompt.
        optional description: String = "description",
        /// The messages.
        list messages: PromptMessage = "messages",
    }

    /// A message of a prompt.
    pub struct PromptMessage {
        /// Sender of the message.
        required role: Role = "role",
        /// Content of the message.
        required content: ContentBlock = "content",
    }

    /// A page of the prompts that a server offers.
    pub struct ListPromptsResult with page {
        /// The prompts.
        list prompts: Prompt = "prompts",
    }
}

impl Prompt {
    /// Creates a prompt with a name and a description.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: Some(description.into()), ..Self::default() }
    }

    /// Adds an argument.
    pub fn with_argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.get_or_insert_default().push(argument);
        self
    }
}

impl PromptArgument {
    /// Creates an optional argument.
    pub fn optional(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: Some(description.into()), ..Self::default() }
    }

    /// Creates a required argument.
    pub fn required(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { required: true, ..Self::optional(name, description) }
    }
}

impl PromptMessage {
    /// Creates a user message.
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self { role: Role::User, content: content.into(), ..Self::default() }
    }

    /// Creates an assistant message.
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self { role: Role::Assistant, content: content.into(), ..Self::default() }
    }
}

impl GetPromptResult {
    /// Creates a result with messages.
    pub fn new(messages: impl IntoIterator<Item = PromptMessage>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// Sets the description.
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
