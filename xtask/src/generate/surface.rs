//! The declaration of the surface as printed by the program `surface`. Only the parts that Rust
//! code uses are here; templates get all of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
pub(crate) struct Surface {
    pub(crate) options: Vec<Record>,
    pub(crate) messages: Vec<Record>,
    /// In dependency order.
    pub(crate) models: Vec<Model>,
    pub(crate) operations: Vec<Operation>,
    /// The server requests that a host answers.
    pub(crate) host: Vec<HostOperation>,
}

/// An object of options, or a message of the bridge.
#[derive(Debug, Deserialize)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) fields: Vec<Field>,
}

/// An object, one of a few strings, or one of several objects.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) doc: String,
    /// The constant member `type` of an object.
    #[serde(rename = "type")]
    pub(crate) tag: Option<String>,
    /// The members of an object.
    pub(crate) fields: Option<Vec<Field>>,
    /// The strings, if it is one of them.
    pub(crate) values: Option<Vec<String>>,
}

impl Model {
    pub(crate) fn fields(&self) -> &[Field] {
        self.fields.as_deref().unwrap_or_default()
    }

    /// Its only member other than metadata, if that is a list: its name and the model of its items.
    pub(crate) fn only_list(&self) -> Option<(&str, &str)> {
        let mut members = self.fields().iter().filter(|field| field.name != "meta" && field.name != "result_type");
        match (members.next(), members.next()) {
            (Some(Field { name, ty: Type::List(item), .. }), None) => Some((name, item.model()?)),
            _ => None,
        }
    }
}

impl Surface {
    /// The object with that name.
    pub(crate) fn object(&self, name: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.name == name && model.fields.is_some())
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Operation {
    /// In snake case, such as `list_resources`.
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) caller: Caller,
    pub(crate) method: String,
    pub(crate) params: Vec<Field>,
    /// Constant members of the parameters.
    pub(crate) fixed: Map<String, Value>,
    /// The model of the result; `None` if it carries no information.
    pub(crate) result: Option<String>,
}

/// A server request that a client's host answers, or a host function for the client's
/// authorization.
#[derive(Debug, Deserialize)]
pub(crate) struct HostOperation {
    /// The model of the parameters.
    pub(crate) params: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Caller {
    /// A client, to its server.
    Client,
    /// A handler, to the client of its call.
    Handler,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(crate) struct Field {
    /// In snake case.
    pub(crate) name: String,
    pub(crate) json: String,
    #[serde(rename = "type")]
    pub(crate) ty: Type,
    pub(crate) unit: Option<Unit>,
    /// The number of a limit in C.
    pub(crate) limit: Option<usize>,
    pub(crate) presence: Presence,
    /// The default; durations are in milliseconds.
    pub(crate) default: Option<Value>,
    pub(crate) doc: String,
    /// The first revision that has it, unless all do.
    pub(crate) since: Option<String>,
    pub(crate) until: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Unit {
    Ms,
    Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Presence {
    Required,
    Optional,
    /// An array; empty if absent.
    List,
    /// A boolean; false if absent.
    Flag,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Type {
    String,
    Boolean,
    Integer,
    Number,
    Json,
    Object,
    Duration,
    /// A value, or `false` for none.
    OrFalse(Box<Type>),
    /// One value, or an array of them.
    OneOrList(Box<Type>),
    List(Box<Type>),
    Map(Box<Type>),
    Model(String),
    Values(Vec<String>),
}

impl Type {
    /// The name of the model, if the type is one.
    pub(crate) fn model(&self) -> Option<&str> {
        match self {
            Self::Model(name) => Some(name),
            _ => None,
        }
    }
}
