//! The logins that mcp-remote has kept, one folder for each of its older versions.

use crate::flags::ConnectionFlags;
use md5::{Digest, Md5};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// The start of the names of its folders, before a version.
const FOLDER: &str = "mcp-remote-";
const CLIENT: &str = "client_info.json";
const TOKENS: &str = "tokens.json";

/// Where they are.
pub(crate) fn folder() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || variable("HOME").or_else(|| variable("USERPROFILE"));
    variable("MCP_REMOTE_CONFIG_DIR").or_else(|| Some(home()?.join(".mcp-auth")))
}

/// The login at a server with these flags: the newest one, as the library takes it over.
pub(crate) fn login(url: &str, flags: &ConnectionFlags) -> Option<Map<String, Value>> {
    let name = file_name(url, flags);
    let folders = fs::read_dir(folder()?).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let ours = folders.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER)));
    let tokens = ours.map(|folder| folder.join(format!("{name}_{TOKENS}")));
    let (written, newest) = tokens.filter_map(|path| Some((written(&path)?, path))).max()?;
    let mut login = object(&newest.with_file_name(format!("{name}_{CLIENT}"))).unwrap_or_default();
    let client_id = flags.login.client_id.as_ref().or(flags.login.client_metadata_url.as_ref());
    if let Some(id) = client_id {
        login.insert("client_id".to_owned(), id.clone().into());
    }
    login.extend(object(&newest)?);
    // In milliseconds; older versions did not keep the time.
    let kept = login.get("expires_at").and_then(Value::as_u64).map(|end| end / 1_000);
    let end = kept.or_else(|| Some(written.saturating_add(login.get("expires_in")?.as_u64()?)));
    match end {
        Some(end) => login.insert("expires_at".to_owned(), end.into()),
        None => login.shift_remove("expires_at"),
    };
    Some(login)
}

/// When a file was written: a Unix timestamp in seconds.
fn written(path: &Path) -> Option<u64> {
    let modified: SystemTime = path.metadata().ok()?.modified().ok()?;
    Some(modified.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

fn object(path: &Path) -> Option<Map<String, Value>> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// The start of the names of its files: a hash of what tells logins apart.
fn file_name(url: &str, flags: &ConnectionFlags) -> String {
    let mut parts = vec![url.to_owned()];
    parts.extend(flags.login.resource.clone().filter(|resource| !resource.is_empty() && resource != "none"));
    let pairs = |pairs: Vec<(String, String)>| {
        let sorted: BTreeMap<_, _> = pairs.into_iter().collect();
        (!sorted.is_empty()).then(|| serde_json::to_string(&sorted).unwrap_or_default())
    };
    parts.extend(pairs(flags.login.parameters().unwrap_or_default().into_iter().collect()));
    parts.extend(pairs(flags.all_headers().unwrap_or_default()));
    parts.extend(flags.login.client_metadata_url.clone());
    parts.extend(flags.login.token_endpoint.clone());
    Md5::digest(parts.join("|")).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::login_flags::LoginFlags;

    #[test]
    fn files_are_named_as_mcp_remote_names_them() {
        // Computed with getServerUrlHash of mcp-remote 0.15.1.
        let url = "https://mcp.example.com/mcp";
        let plain = ConnectionFlags::default();
        let with_more = ConnectionFlags {
            headers: vec!["X-Team: weather".to_owned(), "A:${TOKEN}".to_owned()],
            login: LoginFlags {
                resource: Some("https://mcp.example.com/".to_owned()),
                authorize_params: vec!["prompt=consent".to_owned(), "a=b=c".to_owned()],
                ..LoginFlags::default()
            },
            ..ConnectionFlags::default()
        };
        assert_eq!(file_name(url, &plain), "94baabe3c3fadb285b26c035e4e86046");
        assert_eq!(file_name(url, &with_more), "3a2086ac7771879b383d266422df4d31");
    }
}
