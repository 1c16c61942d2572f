//! The contract that the built-in stores keep, as their tests check it.

use crate::{
    contract,
    store::{Store, StoreErrorKind},
    transport::TokioRuntime,
};
use std::{sync::Arc, time::Duration};

const MINUTE: Duration = Duration::from_secs(60);
const NO_WAIT: Duration = Duration::ZERO;

/// Driver tests: the contract, plus using the key of an entry as a log and vice versa.
pub(crate) async fn check(one: Arc<dyn Store>, other: Arc<dyn Store>) {
    let runtime = TokioRuntime::current();
    let found = contract::findings(runtime, Arc::clone(&one), Arc::clone(&other)).await;
    assert!(found.is_empty(), "{found:#?}");
    kinds(&*one, &*other).await;
}

/// The built-in stores refuse to read an entry as a log.
async fn kinds(one: &dyn Store, other: &dyn Store) {
    one.put("kinds/entry", "1", MINUTE).await.unwrap();
    one.append("kinds/log", "1", 9, MINUTE).await.unwrap();
    for error in [
        other.append("kinds/entry", "1", 9, MINUTE).await.unwrap_err(),
        other.read("kinds/entry", 0, 9, NO_WAIT).await.unwrap_err(),
        other.get("kinds/log").await.unwrap_err(),
    ] {
        assert_eq!(error.kind, StoreErrorKind::Invalid, "{error}");
    }
    assert_eq!(other.get("kinds/entry").await.unwrap().as_deref(), Some("1"));
    assert_eq!(other.read("kinds/log", 0, 9, NO_WAIT).await.unwrap().len(), 1);
    // Writing an entry replaces a log.
    one.put("kinds/log", "1", MINUTE).await.unwrap();
    assert_eq!(other.get("kinds/log").await.unwrap().as_deref(), Some("1"));
    one.remove("kinds/log").await.unwrap();
    one.append("kinds/log", "2", 9, MINUTE).await.unwrap();
    assert_eq!(other.read("kinds/log", 0, 9, NO_WAIT).await.unwrap().len(), 1, "the entries of the first log are gone");
}
