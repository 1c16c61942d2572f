//! Static access tokens: given to callers by hand, and kept as hashes in a list or a file.

use super::{AuthOptionError, Authorization, AuthorizationOptions, Identity, Refusal, TokenVerifier, Verification};
use crate::{protocol::scope::is_scope, random, sync::Mutex, util::regular_file};
use aws_lc_rs::digest;
use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, UNIX_EPOCH},
};

/// Time after which the file is read again, by the next request.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);
/// Larger files are refused.
const MAX_FILE: u64 = 4 << 20;
/// The random bytes of a new token.
const TOKEN_BYTES: usize = 32;
/// The word in a line instead of an expiry.
const NO_EXPIRY: &str = "-";

trunkline_proto::options! {
    /// Static tokens accepted as access tokens, such as API keys: no authorization server issues
    /// them, so an endpoint with static tokens needs none. Each is a line of words: the name of the
    /// caller; the SHA-256 of the token in hexadecimal digits; the date of its expiry, such as
    /// `2027-01-31` or `2027-01-31T12:00:00Z`, or `-`; its scopes.
    ///
    /// ```
    /// use trunkline::auth::{Authorization, AuthorizationOptions, StaticTokenOptions};
    ///
    /// // The hash of `token-of-ada`: printf %s token-of-ada | sha256sum
    /// let ada = "ada db399cbb0859754964173adbc8acda8fc539c5c6dcf8ecb1680a04ff94749fac 2099-12-31 read write";
    /// let tokens = StaticTokenOptions::default().with_tokens([ada]);
    /// let authorization = Authorization::static_tokens(AuthorizationOptions::new("https://mcp.example/mcp"), tokens)?;
    /// # Ok::<(), trunkline::auth::AuthOptionError>(())
    /// ```
    #[derive(Debug, Clone)]
    pub struct StaticTokenOptions {
        /// Static tokens, such as API keys, for callers that cannot log in. Each is a line `NAME
        /// SHA256 EXPIRY SCOPES`: the caller, the SHA-256 of the token in hexadecimal digits, and,
        /// if wanted, a date such as `2027-01-31` (or `-`) and scopes. They replace JWTs. Without
        /// authorization servers, the endpoint publishes no metadata.
        @each(String) tokens: Vec<String> => "tokens" = Vec::new(),
        /// A file with such lines, and comments after `#`. Changes take effect within a second; a
        /// file with an error changes nothing, and is logged.
        @some(PathBuf) tokens_file: Option<PathBuf> => "tokensFile" = None,
    }
}

/// A new static token. The token itself is shown to its caller once, and not kept.
#[derive(Clone)]
#[non_exhaustive]
pub struct NewStaticToken {
    /// The token.
    pub token: String,
    /// The line for the list of tokens.
    pub line: String,
}

impl NewStaticToken {
    /// Makes a token with this name, which expires at this date if one is given.
    ///
    /// # Errors
    /// If the name has spaces, the date is invalid, or the system has no random bytes.
    pub fn generate(name: &str, expiry: Option<&str>) -> Result<Self, AuthOptionError> {
        let wrong = |problem: String| AuthOptionError::new("tokens", problem);
        let token = random::text::<TOKEN_BYTES>()
            .ok_or_else(|| wrong("needs random bytes, but the system returned none".to_owned()))?;
        let mut line = format!("{name} {}", hash(&token));
        if let Some(expiry) = expiry {
            line = format!("{line} {expiry}");
        }
        // Exactly one caller, whatever the name contains.
        if name.split_whitespace().count() != 1 || name.starts_with('#') {
            return Err(wrong(format!("has no name that is one word: {name:?}")));
        }
        entry(&line).map_err(|problem| wrong(format!("cannot have this line: {problem}")))?;
        Ok(Self { token, line })
    }
}

impl Authorization {
    /// Static tokens, such as API keys, with no authorization server. Reads the file of tokens, if
    /// there is one.
    ///
    /// # Errors
    /// If an option is invalid, or the file cannot be read; the message names it.
    pub fn static_tokens(options: AuthorizationOptions, tokens: StaticTokenOptions) -> Result<Self, AuthOptionError> {
        options.resource_url()?;
        Self::new(options, Arc::new(StaticTokens::new(tokens)?))
    }
}

/// The verifier of static tokens.
struct StaticTokens {
    inner: Arc<Lists>,
}

struct Lists {
    listed: TokenList,
    file: Option<TokenFile>,
}

/// The tokens of a file, as last read.
struct TokenFile {
    path: PathBuf,
    state: Mutex<FileState>,
}

struct FileState {
    text: String,
    tokens: Arc<TokenList>,
    /// When the file was last read.
    read: Option<Instant>,
}

/// Callers by the hash of their token. Finding a hash takes a time that tells nothing about a
/// token, because whoever asks does not choose the hash.
type TokenList = HashMap<String, Identity>;

impl StaticTokens {
    fn new(options: StaticTokenOptions) -> Result<Self, AuthOptionError> {
        let StaticTokenOptions { tokens, tokens_file } = options;
        if tokens.is_empty() && tokens_file.is_none() {
            return Err(AuthOptionError::new("tokens", "names no token, and there is no `tokensFile`"));
        }
        let wrong = |problem: String| AuthOptionError::new("tokens", problem);
        let listed = read(tokens.iter().map(String::as_str)).map_err(wrong)?;
        let file = tokens_file.map(TokenFile::open).transpose()?;
        Ok(Self { inner: Arc::new(Lists { listed, file }) })
    }
}

impl TokenVerifier for StaticTokens {
    fn verify(&self, verification: Verification) {
        let now = verification.runtime().now();
        if !self.inner.file.as_ref().is_some_and(|file| file.is_due(now)) {
            let outcome = self.inner.find(verification.token());
            verification.complete(outcome);
            return;
        }
        // Reading may block, for instance on a network drive.
        let (lists, runtime) = (Arc::clone(&self.inner), Arc::clone(verification.runtime()));
        runtime.run_blocking(Box::new(move || {
            if let Some(file) = &lists.file {
                file.reload();
            }
            let outcome = lists.find(verification.token());
            verification.complete(outcome);
        }));
    }
}

impl Lists {
    fn find(&self, token: &str) -> Result<Identity, Refusal> {
        let hash = hash(token);
        let of_file = self.file.as_ref().map(|file| Arc::clone(&file.state.lock().tokens));
        let found = self.listed.get(&hash).or_else(|| of_file.as_deref()?.get(&hash));
        found.cloned().ok_or_else(|| Refusal::InvalidToken("The access token is unknown".into()))
    }
}

impl TokenFile {
    fn open(path: PathBuf) -> Result<Self, AuthOptionError> {
        let wrong = |problem: String| AuthOptionError::new("tokensFile", format!("{} {problem}", path.display()));
        let text = read_file(&path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let tokens = Arc::new(read(text.lines()).map_err(wrong)?);
        let state = Mutex::new(FileState { text, tokens, read: None });
        Ok(Self { path, state })
    }

    /// Returns whether it is time to read the file again. Only one of several requests is told so.
    fn is_due(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        let is_due = state.read.is_none_or(|read| now.saturating_duration_since(read) >= RELOAD_INTERVAL);
        if is_due {
            state.read = Some(now);
        }
        is_due
    }

    fn reload(&self) {
        let path = self.path.display();
        let text = match read_file(&self.path) {
            Ok(text) => text,
            Err(error) => {
                tracing::warn!(target: "trunkline::auth::tokens", %path, %error, "could not read the file of tokens: the earlier tokens stay");
                return;
            }
        };
        let mut state = self.state.lock();
        if state.text == text {
            return;
        }
        match read(text.lines()) {
            Ok(tokens) => state.tokens = Arc::new(tokens),
            Err(error) => {
                tracing::warn!(target: "trunkline::auth::tokens", %path, error, "the file of tokens has an error: the earlier tokens stay");
            }
        }
        state.text = text;
    }
}

fn read_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    regular_file::open(path)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::other(format!("it has more than {MAX_FILE} bytes")));
    }
    // Editors of Windows begin a file with a byte order mark.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Reads the lines of a list.
fn read<'a>(lines: impl Iterator<Item = &'a str>) -> Result<TokenList, String> {
    let mut list = TokenList::new();
    for (index, line) in lines.enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = |problem: &str| format!("line {}: {problem}", index + 1);
        let (hash, identity) = entry(line).map_err(|problem| at(&problem))?;
        if list.insert(hash, identity).is_some() {
            return Err(at("an earlier line has the same token"));
        }
    }
    Ok(list)
}

/// Reads a line: the hash of the token, and whose it is. The errors do not repeat the line, where
/// somebody may have put the token itself.
fn entry(line: &str) -> Result<(String, Identity), String> {
    let mut words = line.split_whitespace();
    let (name, hash) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let hash = hash.strip_prefix("sha256:").unwrap_or(hash).to_ascii_lowercase();
    if hash.len() != 2 * digest::SHA256_OUTPUT_LEN || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("the second word must be the SHA-256 of the token, 64 hexadecimal digits".to_owned());
    }
    let mut identity = Identity::default().with_subject(name);
    if let Some(expiry) = words.next().filter(|word| *word != NO_EXPIRY) {
        identity = identity.with_expires_at(seconds(expiry).ok_or_else(|| {
            format!("the third word must be a date such as 2027-01-31 or 2027-01-31T12:00:00Z, or {NO_EXPIRY}")
        })?);
    }
    let scopes: Vec<String> = words.map(str::to_owned).collect();
    if !scopes.iter().all(|scope| is_scope(scope)) {
        return Err("a word after the date is not a scope (RFC 6749 section 3.3)".to_owned());
    }
    Ok((hash, identity.with_scopes(scopes)))
}

/// A date, or a date with a time, as seconds since the Unix epoch.
fn seconds(date: &str) -> Option<u64> {
    let with_time = if date.contains('T') { date.to_owned() } else { format!("{date}T00:00:00Z") };
    let time = humantime::parse_rfc3339(&with_time).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// SHA-256 in hexadecimal digits.
fn hash(token: &str) -> String {
    let digest = digest::digest(&digest::SHA256, token.as_bytes());
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        // Writing to a string never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash of `abc` (FIPS 180-4).
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_line_has_a_name_a_hash_an_expiry_and_scopes() {
        for (rest, expires_at, scopes) in [
            (String::new(), None, &[][..]),
            (" -".to_owned(), None, &[]),
            (" 2026-07-28".to_owned(), Some(1_785_196_800), &[]),
            (" 2026-07-28T12:00:00Z read  write".to_owned(), Some(1_785_240_000), &["read", "write"]),
            (" - read".to_owned(), None, &["read"]),
        ] {
            for hash in [ABC.to_owned(), ABC.to_uppercase(), format!("sha256:{ABC}")] {
                let (hash, identity) = entry(&format!("ada {hash}{rest}")).unwrap();
                assert_eq!((&*hash, identity.subject.as_deref()), (ABC, Some("ada")), "{rest}");
                assert_eq!(
                    (identity.expires_at, &*identity.scopes),
                    (expires_at, &scopes.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()[..]),
                    "{rest}"
                );
            }
        }
        assert_eq!(hash("abc"), ABC);
    }

    #[test]
    fn errors_name_the_line_but_not_the_token() {
        let twice = format!("ada {ABC}\n\nbob {ABC}");
        let long = format!("ada {ABC}00");
        let dates = ["soon", "2026-13-01", "2026-07-28T25:00:00Z", "read"].map(|date| format!("ada {ABC} {date}"));
        let scope = format!("ada {ABC} - \"read\"");
        for (text, line) in [("# a\nada my-secret", 2), ("ada", 1), (&*twice, 3), (&*long, 1), (&*scope, 1)]
            .into_iter()
            .chain(dates.iter().map(|line| (&**line, 1)))
        {
            let error = read(text.lines()).unwrap_err();
            assert!(error.starts_with(&format!("line {line}: ")), "{text}: {error}");
            assert!(!error.contains("my-secret") && !error.contains(ABC), "{error}");
        }
        let error = StaticTokens::new(StaticTokenOptions::default()).err().unwrap();
        assert_eq!(error.in_json(), "auth.tokens names no token, and there is no `tokensFile`");
        let missing = StaticTokenOptions::default().with_tokens_file("/none/such");
        let error = StaticTokens::new(missing).err().unwrap().in_json();
        assert!(error.starts_with("auth.tokensFile /none/such cannot be read: "), "{error}");
    }

    #[test]
    fn a_file_may_begin_with_a_byte_order_mark_and_is_no_pipe() {
        let path = std::env::temp_dir().join(format!("trunkline-tokens-{}", std::process::id()));
        std::fs::write(&path, format!("\u{feff}ada {ABC}\r\n")).unwrap();
        let options = || StaticTokenOptions::default().with_tokens_file(&path);
        let lists = StaticTokens::new(options()).unwrap().inner;
        assert_eq!(lists.find("abc").unwrap().subject.as_deref(), Some("ada"));
        std::fs::remove_file(&path).unwrap();
        if cfg!(unix) {
            assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
            // Nor does it wait once the server runs.
            if let Some(file) = &lists.file {
                file.reload();
            }
            assert!(lists.find("abc").is_ok(), "the earlier tokens stay");
            let error = StaticTokens::new(options()).err().unwrap().in_json();
            std::fs::remove_file(&path).unwrap();
            assert!(error.contains("it is not a regular file"), "{error}");
        }
    }

    #[test]
    fn a_new_token_is_found_by_its_line() {
        let new = NewStaticToken::generate("ada", Some("2099-12-31")).unwrap();
        let lists = StaticTokens::new(StaticTokenOptions::default().with_tokens([&new.line])).unwrap().inner;
        assert_eq!(lists.find(&new.token).unwrap().subject.as_deref(), Some("ada"));
        assert!(lists.find(&new.line).is_err() && !new.line.contains(&new.token));
        assert_ne!(NewStaticToken::generate("ada", None).unwrap().token, new.token);
        // One of 64 began with a dash, which programs take for a flag.
        assert!((0..2000).all(|_| !NewStaticToken::generate("ada", None).unwrap().token.starts_with('-')));
        for (name, expiry) in [("", None), ("a b", None), ("a\nb", None), ("#a", None), ("ada", Some("soon"))] {
            assert!(NewStaticToken::generate(name, expiry).is_err(), "{name:?} {expiry:?}");
        }
    }
}
