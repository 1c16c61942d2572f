//! What access rules leave of the resources of a `subscriptions/listen`.

use super::open_requests::ServedRequest;
use crate::runtime::BoxedTask;
use std::{collections::BTreeSet, sync::Arc};

/// The resources that a client may subscribe to.
pub(in crate::server) enum AllowedResources {
    Known(BTreeSet<String>),
    /// Hooks of the server decide about some of them, as part of the request.
    Undecided(Arc<dyn ServedRequest>, BoxedTask<BTreeSet<String>>),
}
