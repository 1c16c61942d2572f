//! The name, version and description of a peer.

json_object! {
    /// The name and version of a client or server.
    pub struct Implementation {
        /// Name, for programs.
        required name: String = "name",
        /// Display name.
        optional title: String = "title" since V2025_06_18,
        /// Version, in the implementation's own format.
        required version: String = "version",
        /// Human-readable description of the implementation.
        optional description: String = "description" since V2025_11_25,
        /// URL of a page about the implementation.
        optional website_url: String = "websiteUrl" since V2025_11_25,
        /// Icons for a user interface.
        optional icons: Vec<Icon> = "icons" since V2025_11_25,
    }

    /// An icon for user interfaces.
    pub struct Icon {
        /// `https:` or `data:` URI of the icon.
        required src: String = "src",
        /// MIME type, if the URI does not imply it.
        optional mime_type: String = "mimeType",
        /// Sizes such as `48x48`, or `any`.
        optional sizes: Vec<String> = "sizes",
        /// Background that the icon is designed for.
        optional theme: String = "theme" in ["light", "dark"],
    }
}

impl Implementation {
    /// Creates an implementation with a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

impl Icon {
    /// Creates an icon for a URI.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::JsonObject;
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_are_kept_and_empty_ones_are_not_written() {
        let wire = json!({"name": "n", "version": "1", "icons": [{"src": "data:,", "x": 1}], "vendor": {"a": null}});
        let read: Implementation = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(read.extra, JsonObject::from_iter([("vendor".to_owned(), json!({"a": null}))]));
        assert_eq!(serde_json::to_value(&read).unwrap(), wire);
        assert_eq!(serde_json::to_value(Implementation::new("n", "1")).unwrap(), json!({"name": "n", "version": "1"}));
    }

    #[test]
    fn errors_name_the_field() {
        let missing = serde_json::from_value::<Implementation>(json!({"name": "n"})).unwrap_err();
        assert!(missing.to_string().contains("`version`"), "{missing}");
        let wrong = serde_json::from_value::<Implementation>(json!({"name": 1, "version": "1"})).unwrap_err();
        assert!(wrong.to_string().contains("`name`"), "{wrong}");
        assert!(serde_json::from_value::<Implementation>(json!([])).is_err());
    }
}
