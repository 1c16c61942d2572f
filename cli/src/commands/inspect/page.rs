//! The files of the page, which the build has put into the program.

use bytes::Bytes;
use flate2::read::GzDecoder;
use std::io::Read;

/// The files of the build by their paths, compressed with gzip. None in a checkout where the page
/// was not built.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// In the place of the page, where it was not built.
const NOT_BUILT: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>trunkline inspect</title>\n\
    <h1>The page is not part of this build</h1>\n\
    <p>In a checkout, <code>cargo xtask build</code> builds the page and then this program.</p>\n\
    <p><code>trunkline inspect --once</code> prints what the page would show.</p>\n</html>\n";

/// A file.
pub(super) struct File {
    pub(super) kind: &'static str,
    /// Its name has a hash of its content.
    pub(super) is_for_ever: bool,
    pub(super) content: Content,
}

pub(super) enum Content {
    Packed(&'static [u8]),
    Plain(&'static str),
}

impl Content {
    /// The bytes, and whether they are compressed.
    pub(super) fn for_client(&self, accepts_gzip: bool) -> (Bytes, bool) {
        match self {
            Self::Plain(text) => (Bytes::from_static(text.as_bytes()), false),
            Self::Packed(packed) if accepts_gzip => (Bytes::from_static(packed), true),
            Self::Packed(packed) => {
                let mut plain = Vec::new();
                // The build has compressed it.
                let _ = GzDecoder::new(*packed).read_to_end(&mut plain);
                (plain.into(), false)
            }
        }
    }
}

/// The file of a path.
pub(super) fn file(path: &str) -> Option<File> {
    let name = match path.strip_prefix('/')? {
        "" => "index.html",
        name => name,
    };
    let built = FILES.iter().find(|(built, _)| *built == name);
    let content = match built {
        Some((_, packed)) => Content::Packed(packed),
        None if FILES.is_empty() && name == "index.html" => Content::Plain(NOT_BUILT),
        None => return None,
    };
    Some(File { kind: kind(name), is_for_ever: name.starts_with("assets/"), content })
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json" | "webmanifest") => "application/json",
        Some("png") => "image/png",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
