//! Validates the messages of sampling: their roles, and that each tool use has a result.

use crate::protocol::fault::Fault;
use serde_json::Value;

/// Checks the parameters of `sampling/createMessage` beyond their types: roles, blocks, and that
/// each tool use is followed immediately by its result, in a message that contains only results.
///
/// # Errors
///
/// If they are invalid; the error names the message.
pub fn check_messages(params: &Value) -> Result<(), Fault> {
    if !params.get("maxTokens").is_some_and(Value::is_u64) {
        return Err(Fault::new("/maxTokens", "must be an integer: the maximum number of tokens to generate"));
    }
    let messages = params.get("messages").and_then(Value::as_array);
    let messages = messages.ok_or_else(|| Fault::new("/messages", "must be an array of messages"))?;
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        open = check_message(message, &open).map_err(|invalid| invalid.below(&format!("/messages/{index}")))?;
    }
    match open.first() {
        Some(id) => {
            Err(Fault::new("/messages", format!("end before the tool use {id:?} is answered by a tool_result")))
        }
        None => Ok(()),
    }
}

/// Checks a message that follows one with these tool uses, and returns its own.
fn check_message<'a>(message: &'a Value, open: &[&str]) -> Result<Vec<&'a str>, Fault> {
    let role = match message.get("role").and_then(Value::as_str) {
        Some(role @ ("user" | "assistant")) => role,
        _ => return Err(Fault::new("/role", "must be \"user\" or \"assistant\"")),
    };
    let blocks = match message.get("content") {
        Some(Value::Array(blocks)) => blocks.as_slice(),
        Some(block @ Value::Object(_)) => std::slice::from_ref(block),
        _ => return Err(Fault::new("/content", "must be a content block or an array of them")),
    };
    let (mut uses, mut answered) = (Vec::new(), Vec::new());
    for block in blocks {
        let id = |key: &str| {
            let id = block.get(key).and_then(Value::as_str);
            id.ok_or_else(|| Fault::new("/content", format!("a block needs {key:?}, a string")))
        };
        match (block.get("type").and_then(Value::as_str), role) {
            (Some("tool_use"), "assistant") => uses.push(id("id")?),
            (Some("tool_result"), "user") => answered.push(id("toolUseId")?),
            (Some(kind @ "tool_use"), _) => return Err(wrong_role(kind, "assistant")),
            (Some(kind @ "tool_result"), _) => return Err(wrong_role(kind, "user")),
            (Some(kind @ ("resource" | "resource_link")), _) => {
                let problem =
                    format!("a {kind} is not allowed in a message; send its text or the resource's content instead");
                return Err(Fault::new("/content", problem));
            }
            (Some(_), _) => {}
            (None, _) => return Err(Fault::new("/content", "a block needs \"type\", a string")),
        }
    }
    if !answered.is_empty() && answered.len() != blocks.len() {
        return Err(Fault::new("/content", "tool results must be in a separate message"));
    }
    if let Some(id) = open.iter().find(|id| !answered.contains(id)) {
        let problem = format!("the tool use {id:?} of the previous message must be answered here by a tool_result");
        return Err(Fault::new("/content", problem));
    }
    if let Some(id) = answered.iter().find(|id| !open.contains(id)) {
        let problem = format!("the tool_result {id:?} answers no tool use of the previous message");
        return Err(Fault::new("/content", problem));
    }
    Ok(uses)
}

fn wrong_role(kind: &str, role: &str) -> Fault {
    Fault::new("/content", format!("a {kind} is only allowed in a message with the role {role:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(messages: Value) -> Result<(), String> {
        check_messages(&json!({"maxTokens": 1, "messages": messages})).map_err(|invalid| invalid.to_string())
    }

    fn text() -> Value {
        json!({"type": "text", "text": "t"})
    }

    fn uses(ids: &[&str]) -> Value {
        let blocks: Value =
            ids.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "n", "input": {}})).collect();
        json!({"role": "assistant", "content": blocks})
    }

    fn results(ids: &[&str]) -> Value {
        let blocks: Value =
            ids.iter().map(|id| json!({"type": "tool_result", "toolUseId": id, "content": []})).collect();
        json!({"role": "user", "content": blocks})
    }

    #[test]
    fn smp_07_every_use_of_a_tool_is_answered_at_once() {
        assert_eq!(
            check(json!([{"role": "user", "content": text()}, uses(&["1", "2"]), results(&["2", "1"])])),
            Ok(())
        );
        assert_eq!(check(json!([])), Ok(()));
        for (messages, problem) in [
            (json!([uses(&["1"])]), "/messages: end before"),
            (json!([uses(&["1", "2"]), results(&["1"])]), "/messages/1/content: the tool use \"2\""),
            (json!([uses(&["1"]), {"role": "user", "content": text()}]), "/messages/1/content: the tool use \"1\""),
            (json!([uses(&["1"]), uses(&["2"])]), "/messages/1/content: the tool use \"1\""),
            (json!([results(&["1"])]), "answers no tool use"),
        ] {
            let error = check(messages.clone()).unwrap_err();
            assert!(error.contains(problem), "{messages}: {error}");
        }
    }

    #[test]
    fn smp_06_results_of_tools_stand_on_their_own() {
        let mut mixed = results(&["1"]);
        mixed["content"].as_array_mut().unwrap().push(text());
        assert!(check(json!([uses(&["1"]), mixed])).unwrap_err().contains("separate message"));
    }

    #[test]
    fn smp_12_messages_are_of_the_user_or_the_assistant() {
        let content = text();
        assert!(check(json!([{"role": "system", "content": content}])).unwrap_err().starts_with("/messages/0/role"));
        let use_block = uses(&["1"])["content"][0].take();
        assert!(check(json!([{"role": "user", "content": use_block}])).unwrap_err().contains("\"assistant\""));
        let link = json!({"type": "resource_link", "uri": "a:b", "name": "n"});
        assert!(check(json!([{"role": "user", "content": link}])).unwrap_err().contains("resource_link"));
        assert!(check(json!([{"role": "user", "content": "text"}])).unwrap_err().contains("/content"));
        assert!(check_messages(&json!({"messages": []})).unwrap_err().path == "/maxTokens");
        assert!(check_messages(&json!({"maxTokens": 1})).unwrap_err().path == "/messages");
    }
}
