//! Media types of files.

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
