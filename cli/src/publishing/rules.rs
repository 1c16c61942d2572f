//! The rules of the official registry for a `server.json`, as far as they need no network.
//!
//! Sources: https://github.com/modelcontextprotocol/registry, `internal/validators`, and
//! `docs/reference/server-json/official-registry-requirements.md`.

use super::finding::{Finding, sha256};
use serde_json::Value;
use std::{fs, path::Path};
use trunkline::protocol::schema::Schema;

/// The newest schema; the registry refuses old ones.
const SCHEMA: &str = include_str!("../../schemas/server.schema.json");
const SCHEMA_URL: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
/// The only member of `_meta` that the registry keeps, and its size.
const PUBLISHER: &str = "io.modelcontextprotocol.registry/publisher-provided";
const MAX_PUBLISHER_BYTES: usize = 4096;
/// Kinds of packages, each with the address of its registry.
const REGISTRIES: [(&str, &[&str]); 6] = [
    ("npm", &["https://registry.npmjs.org"]),
    ("pypi", &["https://pypi.org"]),
    ("nuget", &["https://api.nuget.org/v3/index.json", "https://api.nuget.org"]),
    ("cargo", &["https://crates.io"]),
    ("oci", &[]),
    ("mcpb", &["https://github.com", "https://gitlab.com"]),
];

/// All that the registry would refuse. `folder` has the files of the package, for its markers.
pub(crate) fn check(server: &Value, folder: &Path) -> Vec<Finding> {
    let mut found = by_schema(server);
    found.extend(name(server));
    found.extend(version(&server["version"], "/version"));
    found.extend(repository(&server["repository"]));
    found.extend(links(server));
    found.extend(title(server));
    found.extend(meta(server));
    for (index, package) in list(&server["packages"]) {
        let place = format!("/packages/{index}");
        found.extend(version(&package["version"], &format!("{place}/version")));
        found.extend(identifier(package, &place));
        found.extend(registry(package, &place));
        found.extend(transport(package, &place));
        found.extend(arguments(package, &place));
        found.extend(file(package, &place, folder));
        found.extend(marker(server, package, &place, folder));
    }
    for (index, remote) in list(&server["remotes"]) {
        found.extend(self::remote(remote, &format!("/remotes/{index}")));
    }
    found
}

fn list(value: &Value) -> impl Iterator<Item = (usize, &Value)> {
    value.as_array().into_iter().flatten().enumerate()
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

/// The JSON Schema, and which one the file names.
fn by_schema(server: &Value) -> Vec<Finding> {
    let compiled = serde_json::from_str(SCHEMA).ok().and_then(|schema| Schema::compile(&schema).ok());
    let failures = compiled.and_then(|schema| schema.validate(server).err());
    let failures = failures.iter().flat_map(|invalid| invalid.failures());
    let mut found: Vec<Finding> =
        failures.map(|failure| Finding::new("schema", failure.path.clone(), failure.text.clone())).collect();
    if server.is_object() && server["$schema"] != SCHEMA_URL {
        found.push(Finding::new("schema-version", "/$schema", format!("must be {SCHEMA_URL}")));
    }
    found
}

/// `namespace/name`, both of which begin and end with a letter or digit.
fn name(server: &Value) -> Option<Finding> {
    let name = server["name"].as_str()?;
    let is_plain =
        |part: &str| part.len() > 1 && part.starts_with(char::is_alphanumeric) && part.ends_with(char::is_alphanumeric);
    let parts: Vec<_> = name.split('/').collect();
    let is_valid = parts.len() == 2 && parts.iter().all(|part| is_plain(part));
    let problem = "must be a reversed domain, one slash and a name, such as io.github.ada/weather; both parts begin and end with a letter or digit";
    (!is_valid).then(|| Finding::new("name", "/name", problem))
}

/// One version, no range and no `latest`.
fn version(version: &Value, place: &str) -> Option<Finding> {
    let version = version.as_str()?.trim();
    if version == "latest" {
        return Some(Finding::new("version-latest", place, "must be one version, not \"latest\""));
    }
    let has_number = version.contains(|sign: char| sign.is_ascii_digit());
    let is_compared = version.starts_with(['^', '~', '<', '>', '=']);
    let is_wild = version.split('.').any(|part| ["x", "X", "*"].contains(&part));
    let is_range = has_number && (is_compared || version.contains(" - ") || version.contains("||") || is_wild);
    (is_range || version == "*")
        .then(|| Finding::new("version-range", place, format!("must be one version, and {version:?} is a range")))
}

fn repository(repository: &Value) -> Vec<Finding> {
    let (url, source) = (text(repository, "url"), text(repository, "source"));
    let mut found = Vec::new();
    if !url.is_empty() || !source.is_empty() {
        let path = url.strip_prefix("https://").or(url.strip_prefix("http://")).unwrap_or_default();
        let path = path.strip_prefix("www.").unwrap_or(path).trim_end_matches('/');
        let parts: Vec<_> = path.split('/').collect();
        let is_valid = match (source, parts.first()) {
            ("github", Some(&"github.com")) => parts.len() == 3,
            ("gitlab", Some(&"gitlab.com")) => parts.len() >= 3,
            _ => false,
        };
        if !is_valid || parts.iter().any(|part| part.is_empty()) {
            let problem =
                "must be a repository at github.com with the source \"github\", or at gitlab.com with \"gitlab\"";
            found.push(Finding::new("repository", "/repository/url", problem));
        }
    }
    let subfolder = text(repository, "subfolder");
    let is_plain = |part: &str| {
        !["", ".", ".."].contains(&part)
            && part.chars().all(|sign| sign.is_ascii_alphanumeric() || "-_.".contains(sign))
    };
    if !subfolder.is_empty() && !subfolder.split('/').all(is_plain) {
        found.push(Finding::new("subfolder", "/repository/subfolder", "must be a relative path without . and .."));
    }
    found
}

/// The page of the server and its icons.
fn links(server: &Value) -> Vec<Finding> {
    let page = server["websiteUrl"].as_str().map(|url| ("/websiteUrl".to_owned(), url));
    let icons =
        list(&server["icons"]).filter_map(|(index, icon)| Some((format!("/icons/{index}/src"), icon["src"].as_str()?)));
    let wrong = page.into_iter().chain(icons).filter(|(_, url)| !url.starts_with("https://"));
    wrong.map(|(place, _)| Finding::new("link", place, "must begin with https://")).collect()
}

fn title(server: &Value) -> Option<Finding> {
    let title = server["title"].as_str()?;
    (!title.is_empty() && title.trim().is_empty()).then(|| Finding::new("title", "/title", "must not be only blanks"))
}

fn meta(server: &Value) -> Vec<Finding> {
    let others = server["_meta"].as_object().into_iter().flatten().filter(|(key, _)| *key != PUBLISHER);
    let dropped = |(key, _): (&String, &Value)| {
        Finding::new(
            "meta",
            format!("/_meta/{}", key.replace('~', "~0").replace('/', "~1")),
            format!("would be dropped: only {PUBLISHER:?} is kept"),
        )
    };
    let mut found: Vec<Finding> = others.map(dropped).collect();
    let bytes = server["_meta"].get(PUBLISHER).map_or(0, |kept| kept.to_string().len());
    if bytes > MAX_PUBLISHER_BYTES {
        let problem = format!("has {bytes} bytes, and the limit is {MAX_PUBLISHER_BYTES}");
        found.push(Finding::new("meta", format!("/_meta/{}", PUBLISHER.replace('/', "~1")), problem));
    }
    found
}

fn identifier(package: &Value, place: &str) -> Option<Finding> {
    let has_blank = text(package, "identifier").contains(' ');
    has_blank.then(|| Finding::new("identifier", format!("{place}/identifier"), "must not have blanks"))
}

fn registry(package: &Value, place: &str) -> Option<Finding> {
    let (kind, base) = (package["registryType"].as_str()?, text(package, "registryBaseUrl"));
    let Some((_, bases)) = REGISTRIES.iter().find(|(known, _)| *known == kind) else {
        let known: Vec<_> = REGISTRIES.iter().map(|(known, _)| *known).collect();
        return Some(Finding::new(
            "registry",
            format!("{place}/registryType"),
            format!("must be one of {}", known.join(", ")),
        ));
    };
    let is_wrong = !base.is_empty() && !bases.is_empty() && !bases.contains(&base.trim_end_matches('/'));
    is_wrong.then(|| {
        Finding::new("registry", format!("{place}/registryBaseUrl"), format!("must be {}", bases.join(" or ")))
    })
}

/// The transport of a package, and the variables in its URL.
fn transport(package: &Value, place: &str) -> Option<Finding> {
    let transport = &package["transport"];
    let (url, place) = (text(transport, "url"), format!("{place}/transport/url"));
    if transport["type"] == "stdio" {
        return (!url.is_empty()).then(|| Finding::new("transport", place, "must be left out for stdio"));
    }
    let of = |list_name: &str, member: &'static str| {
        list(&package[list_name]).filter_map(move |(_, item)| item[member].as_str()).collect::<Vec<_>>()
    };
    let known = [
        of("environmentVariables", "name"),
        of("runtimeArguments", "name"),
        of("runtimeArguments", "valueHint"),
        of("packageArguments", "name"),
        of("packageArguments", "valueHint"),
    ]
    .concat();
    undefined(url, &known).map(|name| {
        let problem = format!("has {{{name}}}, which is no variable or argument of the package");
        Finding::new("transport", place, problem)
    })
}

/// A variable of a URL that is not known.
fn undefined<'a>(url: &'a str, known: &[&str]) -> Option<&'a str> {
    let names = url.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    names.into_iter().find(|name| !known.contains(name))
}

fn arguments(package: &Value, place: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for member in ["runtimeArguments", "packageArguments"] {
        for (index, argument) in list(&package[member]).filter(|(_, argument)| argument["type"] == "named") {
            let (name, place) = (text(argument, "name"), format!("{place}/{member}/{index}"));
            if name.contains(['<', '>', ' ', '$']) {
                found.push(Finding::new("argument", format!("{place}/name"), "must be only the flag, such as --port"));
            }
            for value in ["value", "default"] {
                if !name.is_empty() && text(argument, value).starts_with(name) {
                    found.push(Finding::new("argument", format!("{place}/{value}"), format!("must not repeat {name}")));
                }
            }
        }
    }
    found
}

/// A bundle: its address, and its hash.
fn file(package: &Value, place: &str, folder: &Path) -> Vec<Finding> {
    if package["registryType"] != "mcpb" {
        return Vec::new();
    }
    let address = text(package, "identifier");
    let mut found = Vec::new();
    let is_release = ["https://github.com/", "https://gitlab.com/"].iter().any(|start| address.starts_with(start));
    if !is_release || !address.to_lowercase().contains("mcp") {
        let problem =
            "must be a release file at https://github.com/ or https://gitlab.com/, with \"mcp\" in its address";
        found.push(Finding::new("bundle", format!("{place}/identifier"), problem));
    }
    let place = format!("{place}/fileSha256");
    let bytes = address.rsplit('/').next().and_then(|name| fs::read(folder.join(name)).ok());
    match (package["fileSha256"].as_str(), bytes.map(|bytes| sha256(&bytes))) {
        (None, Some(hash)) => {
            found.push(Finding::new("hash", place, format!("is missing; that of the file is {hash}")))
        }
        (None, None) => found.push(Finding::new("hash", place, "is missing; `trunkline pack` prints it")),
        (Some(given), Some(hash)) if given != hash => {
            found.push(Finding::new("hash", place, format!("is not that of the file, which is {hash}")));
        }
        _ => {}
    }
    found
}

/// The name of the server in the files of a package, by which the registry knows its owner.
fn marker(server: &Value, package: &Value, place: &str, folder: &Path) -> Option<Finding> {
    let name = server["name"].as_str()?;
    let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
    match text(package, "registryType") {
        "npm" => {
            let manifest: Value = serde_json::from_str(&read("package.json")?).ok()?;
            let is_it = manifest["name"] == package["identifier"];
            let problem = format!("package.json needs \"mcpName\": {name:?}");
            (is_it && manifest["mcpName"] != name).then(|| Finding::new("marker", place, problem))
        }
        "pypi" | "nuget" | "cargo" => {
            let readme = ["README.md", "README.rst", "README", "readme.md"].iter().find_map(|file| read(file))?;
            let problem = format!("the README needs the line `mcp-name: {name}`");
            (!readme.contains(&format!("mcp-name: {name}"))).then(|| Finding::new("marker", place, problem))
        }
        _ => None,
    }
}

fn remote(remote: &Value, place: &str) -> Option<Finding> {
    let url = remote["url"].as_str()?;
    let place = format!("{place}/url");
    let known: Vec<&str> =
        remote["variables"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    if let Some(name) = undefined(url, &known) {
        return Some(Finding::new("remote", place, format!("has {{{name}}}, which is not in \"variables\"")));
    }
    let host = url.split("://").nth(1).unwrap_or_default().split(['/', ':', '?']).next().unwrap_or_default();
    let is_local = ["localhost", "127.0.0.1", "[", ""].contains(&host) || host.ends_with(".localhost");
    let is_valid = (url.starts_with("https://") || url.starts_with('{')) && !is_local;
    (!is_valid).then(|| Finding::new("remote", place, "must begin with https:// and lead to a public host"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn valid() -> Value {
        json!({
            "$schema": SCHEMA_URL,
            "name": "io.github.ada/weather",
            "title": "Weather",
            "description": "Forecasts of the weather",
            "version": "1.4.0",
            "websiteUrl": "https://weather.example.com",
            "repository": {"url": "https://github.com/ada/weather", "source": "github", "subfolder": "packages/mcp"},
            "icons": [{"src": "https://weather.example.com/icon.png", "sizes": ["48x48"]}],
            "packages": [{
                "registryType": "npm",
                "identifier": "@ada/weather",
                "version": "1.4.0",
                "transport": {"type": "streamable-http", "url": "http://localhost:{PORT}/mcp"},
                "environmentVariables": [{"name": "PORT", "isRequired": true}],
                "packageArguments": [{"type": "named", "name": "--level", "value": "debug"}, {"type": "positional", "value": "serve"}],
            }],
            "remotes": [{"type": "streamable-http", "url": "https://{region}.example.com/mcp", "variables": {"region": {"default": "eu"}}}],
            "_meta": {PUBLISHER: {"tool": "ci"}},
        })
    }

    fn rules(server: &Value) -> Vec<String> {
        let found = check(server, Path::new("no-such-folder"));
        found.into_iter().map(|finding| format!("{} {}", finding.rule, finding.place)).collect()
    }

    #[test]
    fn r28_each_known_refusal_is_found_offline() {
        assert_eq!(rules(&valid()), [""; 0]);
        for (place, value, expected) in [
            ("/description", json!("x".repeat(101)), "schema /description"),
            ("/packages/0/registryType", json!(5), "schema /packages/0/registryType"),
            (
                "/$schema",
                json!("https://static.modelcontextprotocol.io/schemas/2025-07-09/server.schema.json"),
                "schema-version /$schema",
            ),
            ("/name", json!("io.github.ada/-weather"), "name /name"),
            ("/name", json!("a.b/c/d"), "name /name"),
            ("/version", json!("latest"), "version-latest /version"),
            ("/version", json!("^1.2.3"), "version-range /version"),
            ("/version", json!("1.x"), "version-range /version"),
            ("/packages/0/version", json!("1.0 - 2.0"), "version-range /packages/0/version"),
            ("/repository/url", json!("https://github.com/ada"), "repository /repository/url"),
            ("/repository/source", json!("gitlab"), "repository /repository/url"),
            ("/repository/subfolder", json!("../other"), "subfolder /repository/subfolder"),
            ("/websiteUrl", json!("http://weather.example.com"), "link /websiteUrl"),
            ("/icons/0/src", json!("http://weather.example.com/i.png"), "link /icons/0/src"),
            ("/title", json!("  "), "title /title"),
            ("/packages/0/identifier", json!("@ada/the weather"), "identifier /packages/0/identifier"),
            ("/packages/0/registryBaseUrl", json!("https://npm.example.com"), "registry /packages/0/registryBaseUrl"),
            ("/packages/0/registryType", json!("gem"), "registry /packages/0/registryType"),
            (
                "/packages/0/transport",
                json!({"type": "stdio", "url": "http://x.example/"}),
                "transport /packages/0/transport/url",
            ),
            ("/packages/0/transport/url", json!("http://localhost:{PORTS}/"), "transport /packages/0/transport/url"),
            (
                "/packages/0/packageArguments/0/name",
                json!("--level <n>"),
                "argument /packages/0/packageArguments/0/name",
            ),
            (
                "/packages/0/packageArguments/0/value",
                json!("--level=debug"),
                "argument /packages/0/packageArguments/0/value",
            ),
            ("/remotes/0/url", json!("http://x.example/mcp"), "remote /remotes/0/url"),
            ("/remotes/0/url", json!("https://localhost/mcp"), "remote /remotes/0/url"),
            ("/remotes/0/url", json!("https://{zone}.example/mcp"), "remote /remotes/0/url"),
            ("/_meta", json!({"other": 1}), "meta /_meta/other"),
            (
                "/_meta",
                json!({PUBLISHER: {"a": "x".repeat(5000)}}),
                "meta /_meta/io.modelcontextprotocol.registry~1publisher-provided",
            ),
        ] {
            let mut server = valid();
            if server.pointer(place).is_none() {
                let (parent, member) = place.rsplit_once('/').unwrap();
                server.pointer_mut(parent).unwrap()[member] = json!(null);
            }
            *server.pointer_mut(place).unwrap() = value.clone();
            let found = rules(&server);
            assert!(found.contains(&expected.to_owned()), "{place} {value}: {found:?}");
        }
    }

    #[test]
    fn r28_a_bundle_needs_a_file_and_its_hash() {
        let package = "/packages/0";
        let mut bundle = valid();
        bundle["packages"][0]["registryType"] = "mcpb".into();
        assert_eq!(rules(&bundle), [format!("bundle {package}/identifier"), format!("hash {package}/fileSha256")]);
    }
}
