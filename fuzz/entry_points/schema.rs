//! JSON Schemas of a peer: a schema is refused or compiled and validates a value; neither hangs.

use serde_json::Value;
use trunkline_proto::protocol::schema::Schema;

pub fn seeds() -> Vec<Vec<u8>> {
    super::corpus("schema")
}

pub fn judge(data: &[u8]) {
    let mut documents = serde_json::Deserializer::from_slice(data).into_iter::<Value>();
    let (Some(Ok(schema)), Some(Ok(value))) = (documents.next(), documents.next()) else { return };
    if let Ok(schema) = Schema::compile_of_peer(&schema) {
        let _ = schema.validate(&value);
    }
}
