//! Elicitation: a server asks the client's user to fill in a form or open a URL.

use super::{FormSchema, JsonObject};

json_union! {
    /// An elicitation of the user: a form or a URL.
    ///
    /// ```
    /// # use trunkline_proto as trunkline;
    /// use trunkline::protocol::model::{ElicitParams, Field, FormSchema};
    ///
    /// let form = FormSchema::new().required("sure", Field::boolean());
    /// let params = ElicitParams::form("Delete all notes?", form);
    /// let page = ElicitParams::url("Please log in", "https://login.example/start");
    /// ```
    pub enum ElicitParams by "mode", by default Form, else "`mode` must be \"form\" or \"url\"" {
        /// A form to fill in.
        Form(ElicitFormParams) = "form" or absent,
        /// A URL to open.
        Url(ElicitUrlParams) = "url",
    }
}

json_object! {
    /// A form to fill in.
    pub struct ElicitFormParams with meta since V2024_11_05 until V2025_11_25 {
        /// `form`; may be absent.
        optional mode: String = "mode" since V2025_11_25,
        /// Message to show to the user.
        required message: String = "message",
        /// Fields of the form: a flat object of strings, numbers, booleans and choices.
        required requested_schema: FormSchema = "requestedSchema",
    }

    /// A URL to open. Data entered there does not pass through the client.
    pub struct ElicitUrlParams with meta since V2024_11_05 until V2025_11_25 {
        /// `url`
        required mode: String = "mode" since V2025_11_25,
        /// Message to show to the user.
        required message: String = "message",
        /// The page: an https URL without secrets or personal data.
        required url: String = "url",
        /// Id of this elicitation in the notification of its completion. Default: an unguessable
        /// id.
        optional elicitation_id: String = "elicitationId" since V2025_11_25 until V2025_11_25,
    }

    /// The user's response.
    pub struct ElicitResult with meta {
        /// The user's decision.
        required action: ElicitAction = "action",
        /// Values of the form, if it was accepted.
        optional content: JsonObject = "content",
    }
}

crate::json_names! {
    /// A user's decision.
    pub enum ElicitAction, by default Cancel {
        /// The user accepted: the values of the form, or opening the URL.
        Accept = "accept",
        /// The user declined.
        Decline = "decline",
        /// The user dismissed the form or page without a decision.
        Cancel = "cancel",
    }
}

impl ElicitParams {
    /// Creates a form elicitation.
    pub fn form(message: impl Into<String>, form: FormSchema) -> Self {
        Self::Form(ElicitFormParams { message: message.into(), requested_schema: form, ..ElicitFormParams::default() })
    }

    /// Creates a URL elicitation.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(ElicitUrlParams {
            mode: "url".to_owned(),
            message: message.into(),
            url: url.into(),
            ..ElicitUrlParams::default()
        })
    }
}

impl ElicitResult {
    /// Accepts, with the values of the form.
    pub fn accept(content: JsonObject) -> Self {
        Self { action: ElicitAction::Accept, content: Some(content), ..Self::default() }
    }

    /// Declines.
    pub fn decline() -> Self {
        Self { action: ElicitAction::Decline, ..Self::default() }
    }

    /// Dismisses the request without a decision.
    pub fn cancel() -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Field;
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn without_a_mode_it_is_a_form() {
        let form = json!({"message": "m", "requestedSchema": {"type": "object", "properties": {}}, "x": 1});
        let params: ElicitParams = serde_json::from_value(form.clone()).unwrap();
        assert!(matches!(params, ElicitParams::Form(_)));
        assert_eq!(serde_json::to_value(params).unwrap(), form);
        assert!(serde_json::from_value::<ElicitParams>(json!({"mode": "voice", "message": "m"})).is_err());
    }

    #[test]
    fn eli_07_forms_carry_a_schema_and_urls_a_mode() {
        let url = serde_json::to_value(ElicitParams::url("m", "https://a.b/")).unwrap();
        assert_eq!(url, json!({"mode": "url", "message": "m", "url": "https://a.b/"}));
        let form = ElicitParams::form("m", FormSchema::new().required("name", Field::text()));
        assert_eq!(
            serde_json::to_value(form).unwrap()["requestedSchema"],
            json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
        );
        let error = serde_json::from_value::<ElicitParams>(json!({"mode": "url", "message": "m"})).unwrap_err();
        assert!(error.to_string().contains("`url`"), "{error}");
    }

    #[test]
    fn eli_12_the_three_actions_are_distinct() {
        let read = |wire: Value| serde_json::from_value::<ElicitResult>(wire).map(|result| result.action).ok();
        assert_eq!(read(json!({"action": "accept", "content": {"a": 1}})), Some(ElicitAction::Accept));
        assert_eq!(read(json!({"action": "decline"})), Some(ElicitAction::Decline));
        assert_eq!(read(json!({"action": "cancel"})), Some(ElicitAction::Cancel));
        assert_eq!(read(json!({"action": "maybe"})), None);
        assert_eq!(serde_json::to_value(ElicitResult::decline()).unwrap(), json!({"action": "decline"}));
    }
}
