//! Parameters of requests.

use crate::{
    protocol::{RawJson, RpcError, members::members},
    server::request::ActiveRequest,
};
use std::borrow::Cow;

/// Reads a string parameter.
pub(super) fn text(context: &ActiveRequest, params: Option<&RawJson>, name: &str) -> Result<String, RpcError> {
    string_in(params, name)
        .ok_or_else(|| RpcError::invalid_params(format!("{} needs the string parameter {name}", context.method)))
}

/// `None` also for a duplicate member: which one counts would depend on the reader.
fn string_in(params: Option<&RawJson>, name: &str) -> Option<String> {
    let [value] = members(params?.as_bytes(), [name]).ok()?;
    value?.as_str().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_parameter_is_refused() {
        let read = |json: &'static str| string_in(Some(&RawJson::trusted(json.into())), "uri");
        assert_eq!(read(r#"{"name":"b","uri":"\u0061"}"#).as_deref(), Some("a"));
        for bad in [r#"{"uri":"a","u\u0072i":"b"}"#, r#"{"uri":7}"#, "{}", "[]"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
