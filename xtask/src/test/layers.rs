//! Proves the layers: imports of the core only run downwards, its pure modules do no input or output, read no clock and spawn nothing, and the
//! native parts of bindings know no method of the protocol.

use std::path::Path;

use anyhow::{Context, Result};

use crate::house::House;
use crate::stamp::files_under;
use crate::test::{Choice, Count};

struct Module {
    crate_folder: &'static str,
    name: &'static str,
    /// The modules below it.
    may_use: &'static [&'static str],
    /// Words that must not stand in its code.
    without: &'static [&'static str],
}

const NO_DRIVER: &[&str] = &[
    "tokio",
    "TcpListener",
    "TcpStream",
    "UdpSocket",
    "ToSocketAddrs",
    "std::fs",
    "std::process",
    "std::thread",
    "std::env",
    "Instant::now",
    "SystemTime::now",
    "hyper",
    "hyper_util",
    "reqwest",
    "rustix",
    "process_wrap",
];
const NO_TOKIO: &[&str] = &[
    "tokio",
    "TcpListener",
    "TcpStream",
    "UdpSocket",
    "ToSocketAddrs",
    "std::process",
    "std::thread::spawn",
    "hyper",
    "hyper_util",
    "reqwest",
    "rustix",
    "process_wrap",
];

const PROTO: &str = "core/proto/src";
const SDK: &str = "core/src";

const MODULES: [Module; 7] = [
    Module { crate_folder: PROTO, name: "protocol", may_use: &[], without: NO_DRIVER },
    Module { crate_folder: PROTO, name: "engine", may_use: &["protocol"], without: NO_DRIVER },
    Module { crate_folder: PROTO, name: "http", may_use: &["protocol", "engine"], without: NO_DRIVER },
    Module { crate_folder: SDK, name: "server", may_use: &["protocol", "engine", "http"], without: NO_TOKIO },
    Module { crate_folder: SDK, name: "client", may_use: &["protocol", "engine", "http", "auth"], without: NO_TOKIO },
    Module { crate_folder: SDK, name: "auth", may_use: &["protocol", "engine", "http"], without: NO_TOKIO },
    Module {
        crate_folder: SDK,
        name: "transport",
        may_use: &["protocol", "engine", "http", "server", "client", "auth"],
        without: &[],
    },
];

/// Modules beside the layers: all may use them.
const BESIDE: [Module; 4] = [
    Module { crate_folder: SDK, name: "runtime", may_use: &[], without: NO_TOKIO },
    Module { crate_folder: SDK, name: "sync", may_use: &[], without: NO_TOKIO },
    Module { crate_folder: SDK, name: "wire_log", may_use: &["protocol"], without: NO_TOKIO },
    Module {
        crate_folder: SDK,
        name: "bridge_support",
        may_use: &["server", "client", "transport"],
        without: NO_TOKIO,
    },
];

pub(crate) fn check(house: &House, _: &Choice) -> Result<Count> {
    let mut present = Vec::new();
    for source in [PROTO, SDK].map(|folder| house.path(folder)) {
        for entry in std::fs::read_dir(&source).with_context(|| format!("cannot read {}", source.display()))? {
            present.push(entry?.file_name().to_string_lossy().into_owned());
        }
    }
    let drift = drift(&present);
    let mut count = Count { passed: 0, failed: drift.len(), said: drift.concat(), note: String::new() };
    for module in MODULES.iter().chain(&BESIDE) {
        let source = house.path(module.crate_folder);
        let mut files = files_under(&source.join(module.name))?;
        files.extend(files_under(&source.join(format!("{}.rs", module.name)))?);
        for file in files.iter().filter(|file| is_code(file)) {
            let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            let place = file.strip_prefix(&source)?;
            let faults = faults(module, depth(place), &text);
            if faults.is_empty() {
                count.passed += 1;
            } else {
                count.failed += 1;
            }
            for (line, fault) in faults {
                count.said.push_str(&format!("{}/{}:{line}: {fault}\n", module.crate_folder, place.display()));
            }
        }
    }
    check_natives(house, &mut count)?;
    Ok(count)
}

/// The native parts of bindings, which pass methods through and name none (the charter in `docs/bridge.md`).
const NATIVES: [&str; 3] = ["bindings-python/src", "bindings-node/native", "bindings-c/src"];
/// Where the methods stand.
const METHODS: &str = "core/proto/src/protocol/method.rs";

fn check_natives(house: &House, count: &mut Count) -> Result<()> {
    let table = house.path(METHODS);
    let table = std::fs::read_to_string(&table).with_context(|| format!("cannot read {}", table.display()))?;
    let methods = methods_in(&table);
    if methods.is_empty() {
        count.failed += 1;
        count.said.push_str(&format!("{METHODS} names no method that xtask/src/test/layers.rs could find\n"));
    }
    for folder in NATIVES {
        // Generated operations follow from the rows of the core.
        let generated = house.path(folder).join("generated");
        for file in
            files_under(&house.path(folder))?.iter().filter(|file| is_code(file) && !file.starts_with(&generated))
        {
            let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            let words = protocol_words(&methods, &text);
            match words.is_empty() {
                true => count.passed += 1,
                false => count.failed += 1,
            }
            let place = file.strip_prefix(house.path(""))?;
            for (line, word) in words {
                let fault =
                    format!("{}:{line}: `{word}` is a word of the protocol, for the core to know\n", place.display());
                count.said.push_str(&fault);
            }
        }
    }
    Ok(())
}

/// The methods whose names are of the wire alone: with a slash.
fn methods_in(table: &str) -> Vec<&str> {
    let rows = table.lines().filter_map(|line| line.trim().strip_suffix("\",")?.split_once(" = \""));
    rows.map(|(_, name)| name).filter(|name| name.contains('/') && !name.contains(' ')).collect()
}

/// The methods that stand in the code of a file; every notification counts, known or put together.
fn protocol_words(methods: &[&str], text: &str) -> Vec<(usize, String)> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default()).enumerate();
    let words = methods.iter().copied().chain(["notifications/"]);
    lines
        .flat_map(|(index, line)| {
            let found: Vec<_> = words.clone().filter(|word| line.contains(word)).collect();
            found.into_iter().take(1).map(move |word| (index + 1, word.to_owned()))
        })
        .collect()
}

/// Where the modules that are there and those known here differ: a module that moved would silently be checked no more.
fn drift(present: &[String]) -> Vec<String> {
    let known: Vec<&str> = MODULES.iter().chain(&BESIDE).map(|module| module.name).chain(["lib"]).collect();
    let names: Vec<&str> = present.iter().map(|entry| entry.strip_suffix(".rs").unwrap_or(entry)).collect();
    let strangers = names.iter().filter(|name| !known.contains(name));
    let missing = known.iter().filter(|name| !names.contains(name));
    strangers
        .map(|name| format!("{name} belongs to no layer: say in xtask/src/test/layers.rs what it may use\n"))
        .chain(missing.map(|name| format!("{name} is gone, but xtask/src/test/layers.rs still lists it\n")))
        .collect()
}

/// Rust, but not the tests of a module in a file of their own.
fn is_code(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs") && !file.ends_with("tests.rs")
}

/// How many modules deep a file is: 1 for `engine/mod.rs`, 2 for `engine/legacy.rs`.
fn depth(place: &Path) -> usize {
    let is_root = place.file_name().is_some_and(|name| name == "mod.rs");
    place.components().count() - usize::from(is_root)
}

/// Lines with what is wrong in them. Tests at the end of a file may use what they like.
fn faults(module: &Module, depth: usize, text: &str) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines: Vec<&str> = code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    for (index, line) in lines.iter().enumerate() {
        for word in module.without.iter().filter(|word| has_word(line, word)) {
            faults.push((index + 1, format!("`{word}` has no place in `{}`", module.name)));
        }
    }
    for (line, used) in used_modules(&lines, depth) {
        let known = MODULES.iter().any(|known| known.name == used);
        if known && used != module.name && !module.may_use.contains(&used.as_str()) {
            faults.push((line, format!("`{}` must not use `{used}`: imports only run downwards", module.name)));
        }
    }
    faults
}

fn has_word(line: &str, word: &str) -> bool {
    let part_of_name =
        |character: Option<char>| character.is_some_and(|character| character.is_alphanumeric() || character == '_');
    line.match_indices(word).any(|(at, _)| {
        !part_of_name(line[..at].chars().next_back()) && !part_of_name(line[at + word.len()..].chars().next())
    })
}

/// The names that follow `crate::` (or enough `super::`), also in `crate::{a, b::c}`.
fn used_modules(lines: &[&str], depth: usize) -> Vec<(usize, String)> {
    let text = lines.join("\n");
    let up = "super::".repeat(depth);
    let mut used = Vec::new();
    for prefix in ["crate::", up.as_str()] {
        for (at, _) in text.match_indices(prefix) {
            let line = text[..at].matches('\n').count() + 1;
            used.extend(first_names(&text[at + prefix.len()..]).into_iter().map(|name| (line, name)));
        }
    }
    used
}

/// `a` of `a::b`; `a` and `c` of `{a::b, c::{d, e}}`.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| {
        text.trim_start()
            .chars()
            .take_while(|character| character.is_alphanumeric() || *character == '_')
            .collect::<String>()
    };
    let Some(group) = path.strip_prefix('{') else {
        return vec![name(path)];
    };
    let (mut level, mut names, mut start) = (0_usize, Vec::new(), 0);
    for (at, character) in group.char_indices() {
        match character {
            '{' => level += 1,
            '}' if level == 0 => {
                names.push(name(&group[start..at]));
                break;
            }
            '}' => level -= 1,
            ',' if level == 0 => {
                names.push(name(&group[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, text: &str) -> Vec<String> {
        let module = MODULES.iter().find(|module| module.name == name).expect("a module");
        faults(module, 2, text).into_iter().map(|(line, fault)| format!("{line} {fault}")).collect()
    }

    #[test]
    fn a_module_that_was_added_or_renamed_is_found() {
        let mut present: Vec<String> = ["lib.rs", "runtime.rs", "sync.rs", "wire_log.rs", "bridge_support.rs"]
            .into_iter()
            .map(str::to_owned)
            .collect();
        present.extend(MODULES.iter().map(|module| module.name.to_owned()));
        assert_eq!(drift(&present), Vec::<String>::new());
        for entry in present.iter_mut().filter(|entry| *entry == "engine") {
            *entry = "motor".to_owned();
        }
        let said = drift(&present);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("motor belongs to no layer"), "{said:?}");
        assert!(said[1].starts_with("engine is gone"), "{said:?}");
    }

    #[test]
    fn downward_imports_are_fine() {
        assert!(said("engine", "use crate::protocol::Id;\nuse crate::engine::x;\nuse super::y;").is_empty());
    }

    #[test]
    fn upward_imports_are_found_in_every_form() {
        for text in [
            "use crate::transport::Pipe;",
            "use crate::{protocol::Id, transport::{Pipe, Line}};",
            "let x = crate::transport::f();",
            "use super::super::transport::X;",
        ] {
            assert_eq!(
                said("engine", text),
                ["1 `engine` must not use `transport`: imports only run downwards"],
                "{text}"
            );
        }
    }

    #[test]
    fn methods_of_the_protocol_are_found_in_native_code() {
        let table = "names! {\n    PING = \"ping\",\n    TOOLS_LIST = \"tools/list\",\n}\n";
        assert_eq!(methods_in(table), ["tools/list"]);
        let text = "// tools/list\nask(\"tools/list\");\nformat!(\"notifications/{}\", x);\nask(\"ping\");";
        let words: Vec<_> = protocol_words(&methods_in(table), text).into_iter().map(|(line, _)| line).collect();
        assert_eq!(words, [2, 3]);
    }

    #[test]
    fn clocks_and_drivers_are_found_in_code_but_not_in_comments_names_and_tests() {
        assert_eq!(said("engine", "let now =\n Instant::now();"), ["2 `Instant::now` has no place in `engine`"]);
        assert!(
            said("engine", "// no tokio here\nlet tokio_like = 1;\n#[cfg(test)]\nmod tests { use tokio::x; }")
                .is_empty()
        );
        assert_eq!(said("server", "use tokio::sync::Mutex;").len(), 1);
        assert!(said("transport", "use tokio::sync::Mutex;").is_empty());
    }
}
