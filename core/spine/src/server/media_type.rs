//! Contents of files and their media types.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// Guesses the media type of a file from its name.
pub(super) fn media_type(path: &str, is_text: bool) -> &'static str {
    let end = path.rsplit(['.', '/']).next().unwrap_or_default().to_ascii_lowercase();
    match end.as_str() {
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "xml" => "application/xml",
        "py" => "text/x-python",
        "sh" => "application/x-sh",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        _ if is_text => "text/plain",
        _ => "application/octet-stream",
    }
}

/// The ResourceContents object of a file: UTF-8 without NUL as text, anything else as a blob. The
/// media type is guessed from the path unless it is given.
pub(super) fn file_contents(uri: &str, path: &str, bytes: &[u8], given: Option<&str>) -> Value {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let mime_type = given.unwrap_or_else(|| media_type(path, text.is_some()));
    let mut contents = json!({"uri": uri, "mimeType": mime_type});
    // `json!` would copy the encoded file once more.
    match text {
        Some(text) => contents["text"] = text.into(),
        None => contents["blob"] = STANDARD.encode(bytes).into(),
    }
    contents
}
