//! Members of results that no revision defines, usually typos.

use crate::{
    protocol::{
        describe::{Described, Type},
        known_names::nearest,
    },
    sync::Mutex,
};
use serde_json::Value;
use std::collections::BTreeSet;

/// Maximum warnings, because names come from handlers and could be anything.
const MAX_WARNINGS: usize = 64;

/// Members of every result, whatever its type.
const COMMON_MEMBERS: [&str; 4] = ["resultType", "ttlMs", "cacheScope", "_meta"];

/// The members that have been warned about.
#[derive(Default)]
pub(super) struct UnknownMembers(Mutex<BTreeSet<(String, String)>>);

impl UnknownMembers {
    /// Checks a full result from a handler. It is sent unchanged, because a newer revision or an
    /// extension may define the member.
    pub(super) fn note<T: Described>(&self, name: &str, result: &Value) {
        let (Type::Model(model), Some(members)) = (T::TYPE, result.as_object()) else { return };
        let known = || model.fields.iter().map(|field| field.json);
        for member in members.keys().filter(|member| !COMMON_MEMBERS.contains(&member.as_str())) {
            if known().any(|field| field == member) {
                continue;
            }
            let mut warned = self.0.lock();
            if warned.len() < MAX_WARNINGS && warned.insert((name.to_owned(), member.clone())) {
                tracing::warn!(
                    target: "trunkline::server::handlers",
                    feature = name,
                    member,
                    meant = nearest(member, known()),
                    "a result has an unknown member"
                );
            }
        }
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::{protocol::model::CallToolResult, tests::kept_log::KeptLog};
    use serde_json::json;

    #[test]
    fn an_unknown_member_is_warned_of_once() {
        let log = KeptLog::default();
        let members = UnknownMembers::default();
        tracing::subscriber::with_default(log.clone(), || {
            for result in
                [json!({"contnt": 1}), json!({"contnt": 2, "x-vendor": {}}), json!({"content": [], "_meta": {}})]
            {
                members.note::<CallToolResult>("greet", &result);
            }
        });
        let [first, second] = &log.take()[..] else { panic!("two members are unknown") };
        assert_eq!(first, "a result has an unknown member (feature=greet, member=contnt, meant=content)");
        assert!(second.contains("member=x-vendor)"), "{second}");
    }
}
