//! Client calls for prompts and completion.

use super::tool_calls::{call_params, invalid};
use crate::{
    client::{Client, ClientError, RequestOptions, reading::read_result::read},
    protocol::{
        method,
        model::{CompleteArgument, Completion, CompletionReference, GetPromptResult},
    },
};
use serde::Serialize;
use serde_json::{Map, Value};

impl Client {
    /// Gets a prompt, filled in with its arguments: a JSON object (a struct, a map, `json!({…})`),
    /// or `()` for none. The protocol only has strings: numbers and booleans are sent as strings,
    /// and `null`, such as an empty `Option`, is omitted.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn get_prompt(&self, name: &str, arguments: impl Serialize) -> Result<GetPromptResult, ClientError> {
        self.get_prompt_with(name, arguments, &RequestOptions::default()).await
    }

    /// Gets a prompt, with request options.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn get_prompt_with(
        &self,
        name: &str,
        arguments: impl Serialize,
        options: &RequestOptions,
    ) -> Result<GetPromptResult, ClientError> {
        let params = call_params(name, &strings(name, &arguments)?)?;
        read(&self.request(method::PROMPTS_GET, Some(&params), options).await?)
    }

    /// Suggests values for a prompt argument, given what the user has typed so far. To pass the
    /// other arguments, use [`Self::complete`].
    ///
    /// ```
    /// # async fn run(client: trunkline::Client) -> Result<(), trunkline::ClientError> {
    /// for city in client.complete_prompt("packing", "city", "Os").await?.values {
    ///     println!("{city}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn complete_prompt(&self, name: &str, argument: &str, value: &str) -> Result<Completion, ClientError> {
        self.completed(&CompletionReference::prompt(name), argument, value).await
    }

    /// Suggests values for a variable of a resource template; see [`Self::complete_prompt`].
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn complete_resource(
        &self,
        uri_template: &str,
        variable: &str,
        value: &str,
    ) -> Result<Completion, ClientError> {
        self.completed(&CompletionReference::resource(uri_template), variable, value).await
    }

    async fn completed(
        &self,
        reference: &CompletionReference,
        argument: &str,
        value: &str,
    ) -> Result<Completion, ClientError> {
        let argument =
            CompleteArgument { name: argument.to_owned(), value: value.to_owned(), ..CompleteArgument::default() };
        self.complete(reference, &argument, None).await.map(|result| result.completion)
    }
}

/// The arguments of a prompt as strings.
fn strings(prompt: &str, arguments: &impl Serialize) -> Result<Option<Map<String, Value>>, ClientError> {
    let mut members = match serde_json::to_value(arguments).map_err(invalid)? {
        Value::Null => return Ok(None),
        Value::Object(members) => members,
        _ => return Err(ClientError::Invalid(format!("The arguments of the prompt {prompt} must be an object"))),
    };
    members.retain(|_, value| !value.is_null());
    for (name, value) in &mut members {
        match value {
            Value::String(_) => {}
            Value::Bool(_) | Value::Number(_) => *value = value.to_string().into(),
            _ => {
                let problem = format!("The argument {name} of the prompt {prompt} cannot be sent as a string");
                return Err(ClientError::Invalid(problem));
            }
        }
    }
    Ok(Some(members))
}
