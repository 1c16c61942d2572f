//! The parameters of `tools/call` and `prompts/get`.

use super::{
    RawJson,
    members::{MemberValue, members},
};
use std::borrow::Cow;

/// The name of a tool or prompt, and its arguments.
#[derive(Debug)]
pub struct CallParams<'a> {
    /// `name`
    pub name: Cow<'a, str>,
    /// `arguments`, unless absent or `null`.
    pub arguments: Option<MemberValue<'a>>,
}

impl<'a> CallParams<'a> {
    /// Reads the parameters of a request.
    ///
    /// # Errors
    /// If the name is missing or not a string, or one of the members occurs twice.
    pub fn read(params: &'a RawJson) -> Result<Self, String> {
        let [name, arguments] =
            members(params.as_bytes(), ["name", "arguments"]).map_err(|problem| problem.to_string())?;
        let raw = name.ok_or("`name` is missing")?;
        let name = raw.as_str().ok_or_else(|| match raw.in_buffer(params.buffer()).read::<String>() {
            Ok(_) => "name: must be a string".to_owned(),
            Err(problem) => format!("name: {problem}"),
        })?;
        Ok(Self { name, arguments: arguments.filter(|arguments| arguments.as_bytes() != b"null") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_is_described() {
        let said = |json: &'static str| CallParams::read(&RawJson::trusted(json.into())).unwrap_err();
        assert_eq!(said("{}"), "`name` is missing");
        assert_eq!(said(r#"{"name":7}"#), "name: must be a string, not 7");
        assert_eq!(said(r#"{"name":null}"#), "name: must be a string, not null");
        assert_eq!(said(r#"{"name":"a","name":"b"}"#), "the member name is there twice");
    }

    #[test]
    fn arguments_may_be_null() {
        let params = RawJson::trusted(r#"{"arguments":null,"name":"\u0061"}"#.into());
        let read = CallParams::read(&params).unwrap();
        assert_eq!((&*read.name, read.arguments), ("a", None));
    }
}
