//! Sampling: a server queries the client's model.

use super::{AudioContent, ContentBlock, ImageContent, JsonObject, Role, TextContent, Tool};
use crate::protocol::describe::{Described, Type};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::Value;

json_object! {
    /// A request for a completion by the client's model.
    pub struct CreateMessageParams with meta since V2024_11_05 until V2025_11_25 {
        /// Conversation so far.
        list messages: SamplingMessage = "messages",
        /// Maximum number of tokens to generate.
        required max_tokens: u64 = "maxTokens",
        /// System prompt, which the client may change or omit.
        optional system_prompt: String = "systemPrompt",
        /// Preferences for the choice of the model.
        optional model_preferences: ModelPreferences = "modelPreferences",
        /// Context of servers to include; `thisServer` and `allServers` are deprecated.
        optional include_context: String = "includeContext" in ["none", "thisServer", "allServers"],
        /// Temperature: higher values make responses more varied.
        optional temperature: f64 = "temperature",
        /// Sequences of characters that end generation.
        optional stop_sequences: Vec<String> = "stopSequences",
        /// Parameters for the provider of the model.
        optional metadata: Value = "metadata",
        /// Tools that the model may use (2025-11-25 and later).
        optional tools: Vec<Tool> = "tools" since V2025_11_25,
        /// How the model may use tools (2025-11-25 and later).
        optional tool_choice: ToolChoice = "toolChoice" since V2025_11_25,
    }

    /// A message of the conversation.
    pub struct SamplingMessage with meta since V2025_11_25 {
        /// Sender of the message.
        required role: Role = "role",
        /// Content of the message.
        required content: SamplingContent = "content",
    }

    /// The model's response.
    pub struct CreateMessageResult with meta {
        /// Sender of the message.
        required role: Role = "role",
        /// Content of the message.
        required content: SamplingContent = "content",
        /// The model that responded.
        required model: String = "model",
        /// Why generation ended: `endTurn`, `stopSequence`, `maxTokens`, `toolUse` or a
        /// provider-specific reason.
        optional stop_reason: String = "stopReason",
    }

    /// Preferences for the choice of the model.
    pub struct ModelPreferences {
        /// Names of models or parts of names, best first.
        optional hints: Vec<ModelHint> = "hints",
        /// Weight of cost, from 0 to 1.
        optional cost_priority: f64 = "costPriority",
        /// Weight of speed, from 0 to 1.
        optional speed_priority: f64 = "speedPriority",
        /// Weight of intelligence, from 0 to 1.
        optional intelligence_priority: f64 = "intelligencePriority",
    }

    /// A hint about the model to choose.
    pub struct ModelHint {
        /// Part of the name of a model.
        optional name: String = "name",
    }

    /// How the model may use tools.
    pub struct ToolChoice {
        /// Mode of tool use; `auto` by default.
        optional mode: String = "mode" in ["auto", "required", "none"],
    }

    /// The model wants to call a tool.
    pub struct ToolUseContent as "tool_use" {
        /// Id of this tool use.
        required id: String = "id",
        /// Name of the tool.
        required name: String = "name",
        /// Arguments of the call.
        required input: JsonObject = "input",
        /// Metadata, by reverse-domain name; kept in later requests.
        optional meta: JsonObject = "_meta",
    }

    /// The result of a tool call, for the model.
    pub struct ToolResultContent as "tool_result" {
        /// Id of the tool use that this result belongs to.
        required tool_use_id: String = "toolUseId",
        /// Content that the tool returned.
        list content: ContentBlock = "content",
        /// Structured content, as JSON.
        any structured_content = "structuredContent",
        /// True if the tool failed.
        flag is_error = "isError",
        /// Metadata, by reverse-domain name; kept in later requests.
        optional meta: JsonObject = "_meta",
    }
}

/// The blocks of a message. In the protocol, a single block stands alone, and several are an array
/// (2025-11-25 and later).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SamplingContent(pub Vec<SamplingBlock>);

json_union! {
    /// A block of a message.
    pub enum SamplingBlock by "type", else "a content block needs a `type` that is a string" {
        /// Text.
        Text(TextContent) = "text",
        /// An image.
        Image(ImageContent) = "image",
        /// Audio.
        Audio(AudioContent) = "audio",
        /// The model wants to call a tool.
        ToolUse(ToolUseContent) = "tool_use",
        /// The result of a tool call.
        ToolResult(ToolResultContent) = "tool_result",
        ;
        /// A block of an unknown type, as received.
        Unknown,
    }
}

impl CreateMessageParams {
    /// Creates a request for a response of at most `max_tokens` tokens.
    pub fn new(messages: impl IntoIterator<Item = SamplingMessage>, max_tokens: u64) -> Self {
        Self { messages: messages.into_iter().collect(), max_tokens, ..Self::default() }
    }

    /// Sets the system prompt.
    pub fn with_system_prompt(self, prompt: impl Into<String>) -> Self {
        Self { system_prompt: Some(prompt.into()), ..self }
    }

    /// Sets the tools that the model may use.
    pub fn with_tools(self, tools: impl IntoIterator<Item = Tool>) -> Self {
        Self { tools: Some(tools.into_iter().collect()), ..self }
    }

    /// Sets the tool choice: `auto`, `required` or `none`.
    pub fn with_tool_choice(self, mode: impl Into<String>) -> Self {
        Self { tool_choice: Some(ToolChoice { mode: Some(mode.into()), ..ToolChoice::default() }), ..self }
    }
}

impl SamplingMessage {
    /// Creates a user message.
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self { role: Role::User, content: content.into(), ..Self::default() }
    }

    /// Creates an assistant message.
    pub fn assistant(content: impl Into<SamplingContent>) -> Self {
        Self { role: Role::Assistant, content: content.into(), ..Self::default() }
    }
}

impl CreateMessageResult {
    /// Returns the text of all text blocks, joined by newlines.
    pub fn joined_text(&self) -> String {
        self.content.0.iter().filter_map(SamplingBlock::as_text).collect::<Vec<_>>().join("\n")
    }

    /// Returns the tool calls that the model wants to make.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUseContent> {
        self.content.0.iter().filter_map(|block| match block {
            SamplingBlock::ToolUse(tool_use) => Some(tool_use),
            _ => None,
        })
    }
}

impl SamplingBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent { text: text.into(), ..TextContent::default() })
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            _ => None,
        }
    }
}

impl From<&str> for SamplingContent {
    fn from(text: &str) -> Self {
        Self(vec![SamplingBlock::text(text)])
    }
}

impl From<String> for SamplingContent {
    fn from(text: String) -> Self {
        Self(vec![SamplingBlock::text(text)])
    }
}

impl From<SamplingBlock> for SamplingContent {
    fn from(block: SamplingBlock) -> Self {
        Self(vec![block])
    }
}

impl From<Vec<SamplingBlock>> for SamplingContent {
    fn from(blocks: Vec<SamplingBlock>) -> Self {
        Self(blocks)
    }
}

impl Described for SamplingContent {
    const TYPE: Type = Type::OneOrList(&SamplingBlock::TYPE);
}

impl Serialize for SamplingContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let blocks = match Value::deserialize(deserializer)? {
            Value::Array(blocks) => blocks,
            one => vec![one],
        };
        let read = |block| SamplingBlock::deserialize(block).map_err(D::Error::custom);
        blocks.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_round_trip_with_everything_in_them() {
        let wire = json!({
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "t"}, "x": 1},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "1", "name": "n", "input": {"a": 1}, "_meta": {"k": 1}},
                    {"type": "hologram", "depth": 1},
                ]},
                {"role": "user", "content": {"type": "tool_result", "toolUseId": "1", "content": [{"type": "text", "text": "r"}],
                    "structuredContent": null, "isError": true, "_meta": {"k": 2}}},
            ],
            "maxTokens": 10, "tools": [{"name": "n", "inputSchema": {"type": "object"}}], "toolChoice": {"mode": "auto"},
            "modelPreferences": {"hints": [{"name": "m"}], "costPriority": 0.5}, "metadata": {"p": 1}, "later": [],
        });
        let params: CreateMessageParams = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&params).unwrap(), wire);
    }

    #[test]
    fn one_block_stands_alone_and_several_are_an_array() {
        let one = json!({"role": "assistant", "content": [{"type": "text", "text": "a"}], "model": "m"});
        let result: CreateMessageResult = serde_json::from_value(one).unwrap();
        assert_eq!(serde_json::to_value(&result).unwrap()["content"], json!({"type": "text", "text": "a"}));
        let two = SamplingMessage::user(vec![SamplingBlock::text("a"), SamplingBlock::text("b")]);
        assert_eq!(serde_json::to_value(two).unwrap()["content"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn what_the_model_said_and_wants() {
        let result: CreateMessageResult = serde_json::from_value(json!({"role": "assistant", "model": "m", "content": [
            {"type": "text", "text": "a"}, {"type": "tool_use", "id": "1", "name": "n", "input": {}}, {"type": "text", "text": "b"}]}))
        .unwrap();
        assert_eq!(result.joined_text(), "a\nb");
        assert_eq!(result.tool_uses().map(|tool_use| tool_use.name.as_str()).collect::<Vec<_>>(), ["n"]);
    }
}
