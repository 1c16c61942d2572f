//! Removes the members of objects that a revision does not have.

use crate::protocol::{
    Revision,
    describe::{Described, Type},
};
use serde_json::{Map, Value};

/// As [`remove_fields`], if the value is an object.
pub(super) fn project_fields<T: Described>(value: Option<&mut Value>, revision: Revision) {
    if let Some(Value::Object(object)) = value {
        remove_fields::<T>(object, revision);
    }
}

/// Removes the members of a type of the model that are defined in some revision, but not in this
/// one.
pub(super) fn remove_fields<T: Described>(object: &mut Map<String, Value>, revision: Revision) {
    let Type::Model(model) = T::TYPE else { return };
    for field in model.fields {
        if field.span.is_some_and(|(since, until)| revision < since || until < revision) {
            object.shift_remove(field.json);
        }
    }
}
