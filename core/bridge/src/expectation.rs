//! The structured content that a host expects of a tool.

use super::error::{BridgeError, ErrorKind};
use serde_json::Value;
use trunkline::protocol::{RawJson, schema::Schema};

/// The schema of structured content.
pub(super) struct Expectation(Schema);

impl Expectation {
    pub(super) fn new(schema: &Value) -> Result<Self, BridgeError> {
        Schema::compile(schema)
            .map(Self)
            .map_err(|error| BridgeError::invalid(format!("request: resultSchema: {error}")))
    }

    /// The result, if it has what is expected, or says that the tool failed.
    pub(super) fn check(&self, method: &str, result: RawJson) -> Result<RawJson, BridgeError> {
        let read: Value = result.parse().map_err(|error| unexpected(method, &error.to_string()))?;
        if read["isError"] == true {
            return Ok(result);
        }
        let content = read.get("structuredContent").ok_or_else(|| unexpected(method, "it has no structuredContent"))?;
        match self.0.validate(content) {
            Ok(()) => Ok(result),
            Err(invalid) => Err(unexpected(method, &format!("structuredContent: {invalid}"))),
        }
    }
}

fn unexpected(method: &str, problem: &str) -> BridgeError {
    BridgeError::new(ErrorKind::Transport, format!("The result of {method} is not the one expected: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn content_fits_or_is_refused_unless_the_tool_failed() {
        let expected = Expectation::new(&json!({"type": "object", "required": ["high"]})).unwrap();
        let check = |result: Value| expected.check("tools/call", RawJson::from_value(&result).unwrap());
        assert!(check(json!({"content": [], "structuredContent": {"high": 1}})).is_ok());
        assert!(check(json!({"content": [], "isError": true})).is_ok());
        for (result, problem) in [
            (json!({"content": [], "structuredContent": {"low": 1}}), "high"),
            (json!({"content": []}), "no structuredContent"),
        ] {
            let error = check(result).unwrap_err();
            assert!(error.kind == ErrorKind::Transport && error.message.contains(problem), "{error:?}");
        }
        let wrong = Expectation::new(&json!({"type": 5})).err().unwrap();
        assert!(wrong.message.starts_with("request: resultSchema: "), "{wrong:?}");
    }
}
