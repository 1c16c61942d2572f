//! Changes that a server announces to the other processes that run it.

use super::pending::PendingNotifications;
use crate::protocol::RawJson;
use serde::{Deserialize, Serialize};

/// A change that subscribed clients of all processes are notified of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Announcement {
    /// Changes of lists or resources.
    Changed(PendingNotifications),
    /// A URL elicitation is complete.
    ElicitationComplete(String),
    /// The status of a task changed.
    TaskChanged {
        /// Its id.
        id: String,
        /// The task, projected to the newest revision.
        task: RawJson,
    },
}

/// Announces changes to the other processes. Never blocks.
pub(crate) trait Announce: Send + Sync + 'static {
    /// Announces a change.
    fn announce(&self, announcement: Announcement);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::registry::ListSet;

    #[test]
    fn announcements_round_trip_through_their_string() {
        let task = RawJson::from_text(r#"{"result":1e400}"#.into()).unwrap();
        for (announcement, text) in [
            (
                Announcement::Changed(PendingNotifications::of_resource("a://b")),
                r#"{"changed":{"lists":0,"resources":["a://b"]}}"#,
            ),
            (
                Announcement::Changed(PendingNotifications::of_lists(ListSet::TOOLS)),
                r#"{"changed":{"lists":1,"resources":[]}}"#,
            ),
            (Announcement::ElicitationComplete("e".into()), r#"{"elicitationComplete":"e"}"#),
            (
                Announcement::TaskChanged { id: "t".into(), task },
                r#"{"taskChanged":{"id":"t","task":{"result":1e400}}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&announcement).unwrap(), text);
            assert_eq!(serde_json::from_str::<Announcement>(text).unwrap(), announcement);
        }
    }
}
