//! The declaration of the surface as the program `surface` prints it.
//! These are the parts that Rust reads; templates get the whole.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Surface {
    pub(crate) errors: Vec<ErrorKind>,
    pub(crate) error_codes: Vec<ProtocolErrorCode>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) options: Vec<Record>,
    pub(crate) messages: Vec<Record>,
    /// Behind the models that they need themselves.
    pub(crate) models: Vec<Model>,
    pub(crate) operations: Vec<Operation>,
    /// The requests of servers that a host answers.
    pub(crate) host: Vec<HostOperation>,
    /// The functions of a store of the host's own.
    pub(crate) store: Vec<ChannelFunction>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorKind {
    /// The code on the waist, such as `timeout`.
    pub(crate) kind: String,
    /// The name of the class, such as `TimeoutError`.
    pub(crate) class: String,
    /// The name in Rust, if clients in Rust have the kind.
    pub(crate) rust: Option<String>,
    pub(crate) c_code: u8,
    pub(crate) doc: String,
    /// Advice to the program that gets the error.
    pub(crate) remedy: String,
    /// The members of its `data` that the library puts there.
    pub(crate) facts: Vec<Field>,
    /// `true` if users see it as an error.
    pub(crate) public: bool,
}

/// A JSON-RPC code of the protocol.
#[derive(Debug, Deserialize)]
pub(crate) struct ProtocolErrorCode {
    /// The name of the constant in Rust.
    pub(crate) name: String,
    pub(crate) number: i64,
    pub(crate) doc: String,
    pub(crate) remedy: String,
}

/// A way from the bytes of an answer to a result.
#[derive(Debug, Deserialize)]
pub(crate) struct Shape {
    pub(crate) name: String,
    pub(crate) number: u8,
    pub(crate) doc: String,
}

/// An object of options, or a message of the waist.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) fields: Vec<Field>,
    /// Of a message: `toCore`, `toHost` (an event), `body` (of a call), `answer` (to a call) or
    /// `reply` (of the core).
    pub(crate) direction: Option<String>,
    /// Of an event.
    pub(crate) number: Option<u8>,
    /// Of options: their structs in Rust, where those have other names.
    pub(crate) in_rust: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Model {
    Object(ObjectModel),
    Values(ValuesModel),
    Union(UnionModel),
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct ObjectModel {
    pub(crate) name: String,
    pub(crate) doc: String,
    /// The constant member `type`.
    #[serde(rename = "type")]
    pub(crate) tag: Option<String>,
    pub(crate) fields: Vec<Field>,
}

impl ObjectModel {
    /// Its only member beside metadata, if that is a list: its name and the model of its items.
    pub(crate) fn only_list(&self) -> Option<(&str, &str)> {
        let mut members = self.fields.iter().filter(|field| field.name != "meta" && field.name != "result_type");
        match (members.next(), members.next()) {
            (Some(Field { name, ty: Type::List(item), .. }), None) => match &**item {
                Type::Model(item) => Some((name, item)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Surface {
    /// The object of that name.
    pub(crate) fn object(&self, name: &str) -> Option<&ObjectModel> {
        self.models.iter().find_map(|model| match model {
            Model::Object(object) if object.name == name => Some(object),
            _ => None,
        })
    }
}

/// One of a few strings.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ValuesModel {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) values: Vec<String>,
    pub(crate) value_docs: Map<String, Value>,
    /// `true` if other strings may come.
    pub(crate) open: bool,
}

/// One of several objects.
#[derive(Debug, Deserialize)]
pub(crate) struct UnionModel {
    pub(crate) name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Operation {
    /// In snake case, such as `list_resources`.
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) caller: Caller,
    pub(crate) method: String,
    pub(crate) params: Vec<Field>,
    /// Members of the parameters that never differ.
    pub(crate) fixed: Map<String, Value>,
    /// The model of the result; `None`: it says nothing.
    pub(crate) result: Option<String>,
}

/// A request of a server that the host of a client answers, or a function of the host for the
/// authorization of the client.
#[derive(Debug, Deserialize)]
pub(crate) struct HostOperation {
    /// The model of the parameters.
    pub(crate) params: String,
}

/// A function of a transport or a store of the host's own.
#[derive(Debug, Deserialize)]
pub(crate) struct ChannelFunction {
    pub(crate) params: Vec<Field>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Caller {
    /// A client, of its server.
    Client,
    /// A handler, of the client of its call.
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
    /// The value where none is given; a duration in milliseconds.
    pub(crate) default: Option<Value>,
    pub(crate) doc: String,
    /// The first revision that has it, if not all have.
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
    /// An array that is empty where it is absent.
    List,
    /// A boolean that is false where it is absent.
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
    /// The name of the model, if it is one.
    pub(crate) fn model(&self) -> Option<&str> {
        match self {
            Self::Model(name) => Some(name),
            _ => None,
        }
    }
}

impl Model {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Object(model) => &model.name,
            Self::Values(model) => &model.name,
            Self::Union(model) => &model.name,
        }
    }
}
