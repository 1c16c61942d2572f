//! Building a server.

use super::{
    AsyncHandler, CompletionEntry, MiddlewareEntry, PromptEntry, ProviderEntry, RegisterError, ResourceEntry,
    ResourceTemplateEntry, Server, ServerOptions, SkillEntry, ToolEntry,
};
use crate::protocol::model::Implementation;

/// Builds a [`Server`].
pub struct ServerBuilder {
    info: Implementation,
    instructions: Option<String>,
    options: ServerOptions,
    additions: Vec<Addition>,
}

type Addition = Box<dyn FnOnce(&Server) -> Result<(), RegisterError>>;

impl ServerBuilder {
    pub(super) fn new(info: Implementation) -> Self {
        Self { info, instructions: None, options: ServerOptions::default(), additions: Vec::new() }
    }

    /// What clients should know to use the server well; often given to the model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// More about the server than its name and version.
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// Limits and habits.
    pub fn options(mut self, options: ServerOptions) -> Self {
        self.options = options;
        self
    }

    /// Offers a tool whose arguments type gives the input schema. See [`AsyncHandler`] for the forms that a handler may have.
    ///
    /// # Panics
    /// Never here: a bad name or schema is reported by [`ServerBuilder::try_build`], and by a panic of [`ServerBuilder::build`].
    pub fn tool<M>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl AsyncHandler<M>,
    ) -> Self {
        self.entry(ToolEntry::typed(name, description, handler))
    }

    /// Offers a tool with everything that can be said about it.
    pub fn entry(self, entry: ToolEntry) -> Self {
        self.adding(|server| server.add_tool(entry))
    }

    /// Offers a resource: `handler` gives its contents, as [`AsyncHandler`] says.
    pub fn resource<M>(self, uri: impl Into<String>, name: impl Into<String>, handler: impl AsyncHandler<M>) -> Self {
        self.resource_entry(ResourceEntry::typed(uri, name, handler))
    }

    /// Offers a resource with everything that can be said about it.
    pub fn resource_entry(self, entry: ResourceEntry) -> Self {
        self.adding(|server| server.add_resource(entry))
    }

    /// Offers the resources of a URI template (RFC 6570): the handler's [`super::Params`] are the template's variables.
    pub fn resource_template<M>(
        self,
        uri_template: impl Into<String>,
        name: impl Into<String>,
        handler: impl AsyncHandler<M>,
    ) -> Self {
        self.resource_template_entry(ResourceTemplateEntry::typed(uri_template, name, handler))
    }

    /// Offers a resource template with everything that can be said about it.
    pub fn resource_template_entry(self, entry: ResourceTemplateEntry) -> Self {
        self.adding(|server| server.add_resource_template(entry))
    }

    /// Offers a prompt whose arguments type gives its arguments; they are strings.
    pub fn prompt<M>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl AsyncHandler<M>,
    ) -> Self {
        self.prompt_entry(PromptEntry::typed(name, description, handler))
    }

    /// Offers a prompt with everything that can be said about it.
    pub fn prompt_entry(self, entry: PromptEntry) -> Self {
        self.adding(|server| server.add_prompt(entry))
    }

    /// Completes an argument of a prompt, or a variable of a resource template.
    pub fn completion(self, entry: CompletionEntry) -> Self {
        self.adding(|server| server.add_completion(entry))
    }

    /// Asks a provider for what is not registered.
    pub fn provider(self, entry: ProviderEntry) -> Self {
        self.adding(|server| server.add_provider(entry).map(drop))
    }

    /// Wraps requests, inside the middleware that was given before.
    pub fn middleware(self, entry: MiddlewareEntry) -> Self {
        self.adding(|server| server.add_middleware(entry).map(drop))
    }

    /// Offers an agent skill.
    pub fn skill(self, entry: SkillEntry) -> Self {
        self.adding(|server| server.add_skill(entry).map(drop))
    }

    fn adding(mut self, addition: impl FnOnce(&Server) -> Result<(), RegisterError> + 'static) -> Self {
        self.additions.push(Box::new(addition));
        self
    }

    /// The server.
    ///
    /// # Panics
    /// If something is registered wrongly, which is a mistake in the program: the message names it.
    pub fn build(self) -> Server {
        match self.try_build() {
            Ok(server) => server,
            Err(error) => panic!("{error}"),
        }
    }

    /// The server.
    ///
    /// # Errors
    /// If a name is taken or malformed, a schema does not compile, or an extension is declared that cannot be.
    pub fn try_build(self) -> Result<Server, RegisterError> {
        self.options.check()?;
        let info = serde_json::to_value(&self.info).unwrap_or_default();
        let server = Server::new(info, self.instructions, self.options);
        for addition in self.additions {
            addition(&server)?;
        }
        Ok(server)
    }
}
