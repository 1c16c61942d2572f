//! The parameters of notifications that a client receives.

json_object! {
    /// The progress of a request.
    pub struct Progress with meta {
        /// Progress so far; increases with each notification.
        required progress: f64 = "progress",
        /// Value at the end, if known.
        optional total: f64 = "total",
        /// Description of the progress (2025-03-26 and later).
        optional message: String = "message",
    }

    /// A resource has changed.
    pub struct ResourceUpdated with meta {
        /// URI of the resource; may be below the subscribed one.
        required uri: String = "uri",
    }

    /// A URL elicitation is complete.
    pub struct ElicitationComplete with meta {
        /// Id of the elicitation, as in its request.
        required elicitation_id: String = "elicitationId",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn progress_round_trips() {
        let wire = json!({"progress": 1.5, "total": 3.0, "message": "half", "x": 1});
        let read: Progress = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!((read.progress, read.total), (1.5, Some(3.0)));
        assert_eq!(serde_json::to_value(read).unwrap(), wire);
        assert!(serde_json::from_value::<ResourceUpdated>(json!({})).is_err());
    }
}
