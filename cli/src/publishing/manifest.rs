//! The rules for the `manifest.json` of a bundle.
//!
//! Source: https://github.com/modelcontextprotocol/mcpb, `MANIFEST.md` and `src/schemas`.

use super::{files::Packed, finding::Finding};
use serde_json::Value;

/// Versions of the manifest, and whether `uv` starts servers in them.
const VERSIONS: [(&str, bool); 4] = [("0.1", false), ("0.2", false), ("0.3", false), ("0.4", true)];
const TYPES: [&str; 4] = ["node", "python", "binary", "uv"];
const PLATFORMS: [&str; 3] = ["darwin", "win32", "linux"];
/// All members of any version; a host refuses others.
const MEMBERS: [&str; 28] = [
    "$schema",
    "_meta",
    "author",
    "compatibility",
    "description",
    "display_name",
    "documentation",
    "dxt_version",
    "homepage",
    "icon",
    "icons",
    "keywords",
    "license",
    "localization",
    "long_description",
    "manifest_version",
    "name",
    "privacy_policies",
    "prompts",
    "prompts_generated",
    "repository",
    "screenshots",
    "server",
    "support",
    "tools",
    "tools_generated",
    "user_config",
    "version",
];
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// All that a host would refuse.
pub(crate) fn check(manifest: &Value, files: &[Packed]) -> Vec<Finding> {
    let Some(members) = manifest.as_object() else {
        return vec![Finding::new("manifest", "", "must be an object")];
    };
    let mut found = Vec::new();
    let unknown = members.keys().filter(|name| !MEMBERS.contains(&name.as_str()));
    found.extend(unknown.map(|name| Finding::new("member", format!("/{name}"), "is unknown, and hosts refuse it")));
    for (place, pointer) in ["/name", "/version", "/description", "/author/name"].map(|place| (place, place)) {
        let is_given = manifest.pointer(pointer).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
        if !is_given {
            found.push(Finding::new("text", place, "must be a string that is not empty"));
        }
    }
    found.extend(server(manifest, files));
    found.extend(icons(manifest, files));
    found.extend(settings(manifest));
    let platforms = manifest["compatibility"]["platforms"].as_array().into_iter().flatten();
    for platform in platforms.filter(|platform| !platform.as_str().is_some_and(|name| PLATFORMS.contains(&name))) {
        let problem = format!("has {platform}, which is not one of {}", PLATFORMS.join(", "));
        found.push(Finding::new("platform", "/compatibility/platforms", problem));
    }
    found
}

fn has(files: &[Packed], path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    files.iter().any(|file| file.path == path)
}

/// The version of the manifest, and how the server starts.
fn server(manifest: &Value, files: &[Packed]) -> Vec<Finding> {
    let mut found = Vec::new();
    let version = manifest["manifest_version"].as_str().or(manifest["dxt_version"].as_str()).unwrap_or_default();
    let known = VERSIONS.iter().find(|(known, _)| *known == version);
    if known.is_none() {
        let all: Vec<_> = VERSIONS.iter().map(|(known, _)| *known).collect();
        found.push(Finding::new("manifest-version", "/manifest_version", format!("must be one of {}", all.join(", "))));
    }
    let server = &manifest["server"];
    let kind = server["type"].as_str().unwrap_or_default();
    if !TYPES.contains(&kind) || (kind == "uv" && known.is_some_and(|(_, has_uv)| !has_uv)) {
        found.push(Finding::new(
            "server-type",
            "/server/type",
            format!("must be one of {}; uv needs 0.4", TYPES.join(", ")),
        ));
    }
    match server["entry_point"].as_str() {
        Some(path) if has(files, path) => {}
        Some(path) => {
            found.push(Finding::new("entry-point", "/server/entry_point", format!("{path:?} is not in the bundle")))
        }
        None => {
            found.push(Finding::new("entry-point", "/server/entry_point", "must be the path of a file in the bundle"))
        }
    }
    let config = &server["mcp_config"];
    if config["command"].as_str().is_none_or(str::is_empty) {
        found.push(Finding::new("command", "/server/mcp_config/command", "must be the program to start"));
    }
    let arguments = config["args"].as_array().into_iter().flatten();
    let inside = arguments.filter_map(Value::as_str).filter_map(|word| word.strip_prefix("${__dirname}/"));
    let missing = inside.filter(|path| path.contains('.') && !path.contains("${") && !has(files, path));
    found.extend(
        missing
            .map(|path| Finding::new("argument", "/server/mcp_config/args", format!("{path:?} is not in the bundle"))),
    );
    found
}

fn icons(manifest: &Value, files: &[Packed]) -> Vec<Finding> {
    let one = manifest["icon"].as_str().map(|path| ("/icon".to_owned(), path));
    let several = manifest["icons"].as_array().into_iter().flatten().enumerate();
    let several = several.filter_map(|(index, icon)| Some((format!("/icons/{index}/src"), icon["src"].as_str()?)));
    let local = one.into_iter().chain(several).filter(|(_, path)| !path.starts_with("https://"));
    let wrong = local.filter_map(|(place, path)| {
        let path = path.strip_prefix("./").unwrap_or(path);
        match files.iter().find(|file| file.path == path) {
            None => Some(Finding::new("icon", place, format!("{path:?} is not in the bundle"))),
            Some(file) if !file.bytes.starts_with(PNG) => Some(Finding::new("icon", place, "must be a PNG file")),
            Some(_) => None,
        }
    });
    wrong.collect()
}

/// Settings of the user that the command needs, and that are not declared.
fn settings(manifest: &Value) -> Vec<Finding> {
    let text = manifest["server"]["mcp_config"].to_string();
    let named = text.split("${user_config.").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    let missing = named.filter(|name| manifest["user_config"].get(name).is_none());
    let finding = |name| Finding::new("setting", "/user_config", format!("has no {name:?}, which the command needs"));
    missing.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_fault_of_a_manifest_is_found() {
        let file = |path: &str, bytes: &[u8]| Packed { path: path.to_owned(), bytes: bytes.to_owned() };
        let files = [file("server/index.js", b""), file("icon.png", PNG), file("other.png", b"GIF")];
        let valid = json!({
            "manifest_version": "0.3",
            "name": "weather",
            "version": "1.4.0",
            "description": "Forecasts",
            "author": {"name": "Ada"},
            "icon": "icon.png",
            "server": {
                "type": "node",
                "entry_point": "server/index.js",
                "mcp_config": {"command": "node", "args": ["${__dirname}/server/index.js"], "env": {"KEY": "${user_config.key}"}},
            },
            "user_config": {"key": {"type": "string", "title": "Key", "description": "Key"}},
            "compatibility": {"platforms": ["linux"]},
        });
        assert_eq!(check(&valid, &files), []);
        for (place, value, rule) in [
            ("/manifest_version", json!("9"), "manifest-version"),
            ("/name", json!(" "), "text"),
            ("/version", json!(1), "text"),
            ("/author", json!({}), "text"),
            ("/server/type", json!("ruby"), "server-type"),
            ("/server/type", json!("uv"), "server-type"),
            ("/server/entry_point", json!("index.js"), "entry-point"),
            ("/server/mcp_config/command", json!(""), "command"),
            ("/server/mcp_config/args", json!(["${__dirname}/no.js"]), "argument"),
            ("/icon", json!("no.png"), "icon"),
            ("/icon", json!("other.png"), "icon"),
            ("/user_config", json!({}), "setting"),
            ("/compatibility/platforms", json!(["mac"]), "platform"),
            ("/user_config", json!({}), "setting"),
        ] {
            let mut manifest = valid.clone();
            *manifest.pointer_mut(place).unwrap() = value.clone();
            let found = check(&manifest, &files);
            assert!(found.iter().any(|finding| finding.rule == rule), "{place} {value}: {found:?}");
        }
        let mut manifest = valid;
        manifest["autor"] = json!(1);
        assert_eq!(check(&manifest, &files)[0].place, "/autor");
    }
}
