//! Resources and resource templates, and their registration.

use super::{
    access_options::{AccessOptions, definition_setters},
    app,
    completers::{Completers, check_completers, complete_setter},
    descriptor_members,
    list::{Descriptor, listed},
    register_error::RegisterError,
};
use crate::{
    protocol::{
        check_annotations,
        model::{Resource, ResourceTemplate},
        project,
        schema::{TextMember, TextReader},
        uri,
        uri_template::{UriTemplate, UriVariables},
    },
    server::{
        handlers::Handler,
        result::{CacheHints, CacheScope},
    },
};
use serde_json::{Value, json};
use std::sync::Arc;

trunkline_proto::options! {
    /// Options of a resource, in addition to its descriptor.
    #[derive(Debug, Clone)]
    pub struct ResourceOptions {
        ;
        /// Cache hints for clients.
        cache: CacheHints,
        /// Access and time limit.
        access: AccessOptions,
    }

    /// Options of a resource template, in addition to its descriptor.
    #[derive(Debug, Clone)]
    pub struct ResourceTemplateOptions {
        /// Allow values of template variables that could lead out of a folder they are appended to.
        /// By default, a URI is treated as not found if a decoded value has a `..` segment or a
        /// NUL, or looks like an absolute path.
        unsafe_paths: bool => "unsafePaths" = false,
        ;
        /// The options shared with resources.
        resource: ResourceOptions,
    }
    setters template_setters
}

/// A resource to register: its descriptor (the Resource of the newest revision of the
/// specification) and its handler.
#[must_use = "a resource does nothing until it is added to a server"]
pub struct ResourceDefinition {
    pub(in crate::server) descriptor: Value,
    pub(in crate::server) options: ResourceOptions,
    pub(in crate::server) handler: Arc<dyn Handler>,
}

/// A resource template to register: its descriptor (the ResourceTemplate of the newest revision of
/// the specification) and its handler.
#[must_use = "a resource template does nothing until it is added to a server"]
pub struct ResourceTemplateDefinition {
    pub(in crate::server) descriptor: Value,
    pub(in crate::server) options: ResourceTemplateOptions,
    variables_schema: Option<Value>,
    completers: Completers,
    pub(in crate::server) handler: Arc<dyn Handler>,
}

impl ResourceDefinition {
    /// Creates a resource from its descriptor, a Resource object with `uri` and `name`. The handler
    /// receives `{"uri": …}`.
    pub fn new(descriptor: Value, handler: impl Handler) -> Self {
        Self { descriptor, options: ResourceOptions::default(), handler: Arc::new(handler) }
    }

    /// Sets for how long clients may cache the contents.
    pub fn cache(mut self, hints: CacheHints) -> Self {
        self.options.cache = hints;
        self
    }

    definition_setters!(self, ResourceOptions, self.options.access);

    pub(in crate::server) fn compile(self) -> Result<RegisteredResource, RegisterError> {
        let Self { descriptor, options, handler } = self;
        let uri_text = member(&descriptor, "A resource", "uri")?;
        let wrong = |problem: String| RegisterError(format!("Resource {uri_text}: {problem}"));
        uri::check(&uri_text).map_err(|problem| wrong(format!("uri: {problem}")))?;
        descriptor_members::read::<Resource, ResourceOptions>("Resource", &uri_text, &descriptor, &options.access)?;
        let mime_type = mime_type(&descriptor, &uri_text).map_err(wrong)?;
        let descriptor = Descriptor::new(descriptor, project::project_resource);
        let read = Arc::new(ReadInfo { key: uri_text, mime_type, options, handler });
        Ok(RegisteredResource { descriptor, read })
    }
}

impl ResourceTemplateDefinition {
    /// Creates a template from its descriptor, a ResourceTemplate object with `uriTemplate` (RFC
    /// 6570) and `name`. The handler receives `{"uri": …, "variables": {…}}`.
    pub fn new(descriptor: Value, handler: impl Handler) -> Self {
        let (options, completers) = (ResourceTemplateOptions::default(), Completers::default());
        Self { descriptor, options, variables_schema: None, completers, handler: Arc::new(handler) }
    }

    /// Sets the JSON Schema of the variables. They are strings, or lists of strings for `{name*}`;
    /// the handler receives numbers and booleans where the schema has them. Variables that do not
    /// match are refused with -32602. Registering the template fails if the schema has a type that
    /// no string can be parsed into, such as an object.
    pub fn variables_schema(mut self, schema: Value) -> Self {
        self.variables_schema = Some(schema);
        self
    }

    /// Sets for how long clients may cache the contents.
    pub fn cache(mut self, hints: CacheHints) -> Self {
        self.options.resource.cache = hints;
        self
    }

    template_setters!(self, self.options);
    definition_setters!(self, ResourceTemplateOptions, self.options.resource.access);
    complete_setter!();

    pub(in crate::server) fn compile(self) -> Result<RegisteredTemplate, RegisterError> {
        let Self { descriptor, options, variables_schema, completers, handler } = self;
        let ResourceTemplateOptions { unsafe_paths, resource: options } = options;
        let text = member(&descriptor, "A resource template", "uriTemplate")?;
        let wrong = |problem: String| RegisterError(format!("Resource template {text}: {problem}"));
        let template = UriTemplate::parse(&text).map_err(|error| wrong(format!("uriTemplate: {error}")))?;
        descriptor_members::read::<ResourceTemplate, ResourceTemplateOptions>(
            "Resource template",
            &text,
            &descriptor,
            &options.access,
        )?;
        let mime_type = mime_type(&descriptor, &text).map_err(wrong)?;
        let names = template.variables();
        check_completers(&format!("Resource template {text}"), &completers, &names)?;
        let given: Vec<_> = names.iter().map(|name| TextMember { name, is_list: template.is_list(name) }).collect();
        let reader = variables_schema.map(|schema| TextReader::compile(schema, &given)).transpose().map_err(wrong)?;
        let descriptor = Descriptor::new(descriptor, project::project_resource_template);
        let read = Arc::new(ReadInfo { key: text, mime_type, options, handler });
        Ok(RegisteredTemplate { descriptor, template, unsafe_paths, reader, completers, read })
    }
}

/// Checks the annotations (RES-16) and the media type of a resource or template, and returns the
/// media type.
fn mime_type(descriptor: &Value, uri: &str) -> Result<Option<String>, String> {
    let annotations = descriptor.get("annotations").map_or(Ok(()), check_annotations);
    annotations.map_err(|error| format!("annotations: {error}"))?;
    let mime_type = descriptor.get("mimeType").and_then(Value::as_str);
    app::check_resource(uri, mime_type).map(|()| mime_type.map(str::to_owned))
}

fn member(descriptor: &Value, what: &str, name: &str) -> Result<String, RegisterError> {
    let text = descriptor.get(name).and_then(Value::as_str).map(str::to_owned);
    text.ok_or_else(|| RegisterError(format!("{what} needs the string member {name}")))
}

/// The part of a resource or template that is needed to read it.
pub(in crate::server) struct ReadInfo {
    /// The URI or URI template.
    pub(in crate::server) key: String,
    pub(in crate::server) mime_type: Option<String>,
    pub(in crate::server) options: ResourceOptions,
    pub(in crate::server) handler: Arc<dyn Handler>,
}

impl ReadInfo {
    /// A number that no other registered feature has at the same time.
    pub(in crate::server) fn identity(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }

    /// CCH-13: if not every caller may read the contents, caches must not share them.
    pub(in crate::server) fn hints(&self) -> CacheHints {
        let ResourceOptions { cache, access } = &self.options;
        if access.is_personal() { cache.with_scope(CacheScope::Private) } else { *cache }
    }
}

/// A registered resource.
pub(crate) struct RegisteredResource {
    descriptor: Descriptor,
    pub(in crate::server) read: Arc<ReadInfo>,
}

impl RegisteredResource {
    pub(in crate::server) fn definition(&self) -> ResourceDefinition {
        let (options, handler) = (self.read.options.clone(), Arc::clone(&self.read.handler));
        ResourceDefinition { descriptor: self.descriptor.value().clone(), options, handler }
    }
}

listed!(RegisteredResource, "A resource", read.key, read.options.access);

/// A registered resource template.
pub(crate) struct RegisteredTemplate {
    descriptor: Descriptor,
    pub(in crate::server) template: UriTemplate,
    unsafe_paths: bool,
    /// Parses the variables for the handler.
    reader: Option<TextReader>,
    pub(super) completers: Completers,
    pub(in crate::server) read: Arc<ReadInfo>,
}

impl RegisteredTemplate {
    pub(in crate::server) fn definition(&self) -> ResourceTemplateDefinition {
        let (unsafe_paths, resource) = (self.unsafe_paths, self.read.options.clone());
        ResourceTemplateDefinition {
            descriptor: self.descriptor.value().clone(),
            options: ResourceTemplateOptions { unsafe_paths, resource },
            variables_schema: self.reader.as_ref().map(|reader| reader.schema().clone()),
            completers: self.completers.clone(),
            handler: Arc::clone(&self.read.handler),
        }
    }

    /// Returns the input of the handler for a URI with these variables, or why they are invalid.
    pub(in crate::server) fn input(&self, uri: &str, variables: &UriVariables) -> Result<Value, String> {
        let given = json!(variables);
        let variables = match (&self.reader, given) {
            (Some(reader), Value::Object(given)) => reader.read(given).map_err(|problem| problem.to_string())?,
            (_, given) => given,
        };
        Ok(json!({"uri": uri, "variables": variables}))
    }

    /// Returns the variables if the template matches the URI.
    pub(in crate::server) fn matches(&self, uri: &str) -> Option<UriVariables> {
        let values = self.template.matches(uri)?;
        (self.unsafe_paths || !self.template.has_unsafe_path(&values)).then_some(values)
    }
}

listed!(RegisteredTemplate, "A resource template", read.key, read.options.access);
