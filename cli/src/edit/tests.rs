//! Edits of generated and of chosen files (R23): nothing outside of the entry changes.

use super::{text::spliced, *};
use serde_json::json;

const JSON: Place = Place { format: Format::Json, key: &["mcpServers"] };
const TOML: Place = Place { format: Format::Toml, key: &["mcp_servers"] };
const NAME: &str = "weather";

fn entry() -> Value {
    json!({"command": "uvx", "args": ["weather-mcp", "ä\"\\"], "env": {"KEY": "${KEY}"}})
}

/// A generator of numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64)]
    }
}

/// A JSON file as people and programs write it.
struct JsonFile {
    random: Random,
    step: &'static str,
    comments: bool,
}

impl JsonFile {
    fn write(seed: u64) -> String {
        let mut random = Random(seed);
        let step = random.one(&["  ", "    ", "\t", "   "]);
        let comments = random.below(3) > 0;
        let mut file = Self { random, step, comments };
        let mark = file.random.one(&["", "", "\u{feff}"]);
        let end = file.random.one(&["\n", "", "\n\n"]);
        let before = file.comment(0);
        let mut members = file.members(1, 3);
        match file.random.below(6) {
            0 => {}
            1 => members.push(("mcpServers".to_owned(), "{}".to_owned())),
            2 if file.comments => {
                members.push(("mcpServers".to_owned(), format!("{{\n{step}{step}// none yet\n{step}}}")))
            }
            _ => {
                let count = 1 + file.random.below(3);
                let servers: Vec<_> = (0..count).map(|index| (format!("server{index}"), file.object(3, 2))).collect();
                let servers = file.braces(servers, 1);
                let at = file.random.below(members.len() as u64 + 1);
                members.insert(at, ("mcpServers".to_owned(), servers));
            }
        }
        let text = format!("{mark}{before}{}{end}", file.braces(members, 0));
        match file.random.below(3) {
            0 => text.replace('\n', "\r\n"),
            _ => text,
        }
    }

    fn comment(&mut self, depth: usize) -> String {
        if !self.comments || self.random.below(3) > 0 {
            return String::new();
        }
        let comment =
            self.random.one(&["// a {brace\": \n", "/* block, */\n", "/* two\nlines */\n", "\n", "// ünïcode → \n"]);
        format!("{}{comment}", self.step.repeat(depth))
    }

    fn members(&mut self, depth: usize, most: u64) -> Vec<(String, String)> {
        let count = self.random.below(most + 1);
        (0..count).map(|index| (format!("k{depth}{index}"), self.value(depth))).collect()
    }

    fn value(&mut self, depth: usize) -> String {
        match self.random.below(7) {
            0 if depth < 4 => self.object(depth + 1, 3),
            1 => "[1, \"two, }\", [ ] ]".to_owned(),
            2 => "-1.50e+3".to_owned(),
            3 => "\"// no comment \\\" \\u00e9\"".to_owned(),
            4 => "\"日本 🎉\"".to_owned(),
            5 => "null".to_owned(),
            _ => "true".to_owned(),
        }
    }

    fn object(&mut self, depth: usize, most: u64) -> String {
        let members = self.members(depth, most);
        self.braces(members, depth - 1)
    }

    fn braces(&mut self, members: Vec<(String, String)>, depth: usize) -> String {
        if members.is_empty() {
            return self.random.one(&["{}", "{ }"]).to_owned();
        }
        let last = members.len() - 1;
        let is_one_line =
            depth > 1 && self.random.below(4) == 0 && members.iter().all(|(_, value)| !value.contains('\n'));
        let trailing = self.comments && self.random.below(2) == 0;
        let mut text = "{".to_owned();
        for (index, (name, value)) in members.iter().enumerate() {
            let comma = if index < last || trailing { "," } else { "" };
            if is_one_line {
                text += &format!(" \"{name}\":{value}{comma}");
                continue;
            }
            let end = match self.random.below(5) {
                0 if self.comments => " // behind",
                1 if self.comments => " /* behind */",
                2 => "  ",
                _ => "",
            };
            let separator = self.random.one(&[": ", ":", " : "]);
            let before = if index == 0 { "\n".to_owned() } else { format!("\n{}", self.comment(depth + 1)) };
            text += &format!("{before}{}\"{name}\"{separator}{value}{comma}{end}", self.step.repeat(depth + 1));
        }
        match is_one_line {
            true => text + " }",
            false => text + "\n" + &self.step.repeat(depth) + "}",
        }
    }
}

/// A TOML file as people write it.
fn toml_file(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = random.one(&["", "\u{feff}", "# a comment\n\n"]).to_owned();
    for index in 0..random.below(4) {
        text += &format!(
            "k{index} = {}\n",
            random.one(&["1", "\"ä # no comment\"", "[1, 2] # behind", "{ a = 1 }", "'''\ntwo\nlines'''"])
        );
    }
    for index in 0..random.below(5) {
        text += random.one(&["", "\n", "\n# above\n", "\n\n"]);
        text += &match random.below(5) {
            0 => format!(
                "[mcp_servers.s{index}]\ncommand = \"s{index}\" # behind\n\n  [mcp_servers.s{index}.env]\n  A = \"ä\"\n"
            ),
            1 => format!("[mcp_servers.\"q {index}\"]\nurl='https://x.example/'\n"),
            2 => format!("[t{index}]\na.b = 1\n\ta.c = [\n  1, # one\n  2,\n]\n"),
            3 => format!("[[list]]\nn = {index}\n"),
            _ => format!("[mcp_servers.s{index}]\ncommand = \"s\"\nargs = [\"a\",\n  \"b\"]\n"),
        };
    }
    text += random.one(&["", "# at the end\n", "\n"]);
    match random.below(3) {
        0 => text.replace('\n', "\r\n"),
        _ => text,
    }
}

/// Returns whether the new text is the old one with something in between.
fn is_only_extended(old: &str, new: &str) -> bool {
    let start = old.bytes().zip(new.bytes()).take_while(|(one, other)| one == other).count();
    let end = old.bytes().rev().zip(new.bytes().rev()).take_while(|(one, other)| one == other).count();
    start + end >= old.len()
}

#[test]
fn r23_edits_of_200_json_files_change_nothing_but_the_entry() {
    for seed in 0..200 {
        let old = JsonFile::write(seed);
        let new = JSON.set(&old, NAME, &entry()).unwrap_or_else(|problem| panic!("{seed}: {problem}\n{old}"));
        // A comma and the entry: with these taken out, the text is the old one.
        let without_comma = |comma: usize| is_only_extended(&old, &spliced(&new, comma, comma + 1, ""));
        let commas = new.match_indices(',').map(|(at, _)| at);
        assert!(is_only_extended(&old, &new) || commas.into_iter().any(without_comma), "{seed}:\n{old}\n--\n{new}");
        assert_eq!(
            old.contains("\r\n"),
            new.contains("\r\n") && !new.replace("\r\n", "").contains('\n'),
            "{seed}: {new}"
        );
        let value = read(Format::Json, &new).unwrap();
        assert_eq!(JSON.servers(&value).unwrap()[NAME], entry());
        let back = JSON.remove(&new, NAME).unwrap_or_else(|problem| panic!("{seed}: {problem}\n{new}"));
        let had_servers =
            read(Format::Json, &old).unwrap().get("mcpServers").is_some_and(|servers| servers != &json!({}));
        assert!(!had_servers || back == old, "{seed}:\n{old}\n--\n{new}\n--\n{back}");
    }
}

#[test]
fn r23_edits_of_200_toml_files_change_nothing_but_the_entry() {
    for seed in 0..200 {
        let old = toml_file(seed);
        let new = TOML.set(&old, NAME, &entry()).unwrap_or_else(|problem| panic!("{seed}: {problem}\n{old}"));
        assert!(new.starts_with(&old), "{seed}:\n{old}\n--\n{new}");
        let value = read(Format::Toml, &new).unwrap();
        assert_eq!(TOML.servers(&value).unwrap()[NAME], entry());
        let back = TOML.remove(&new, NAME).unwrap_or_else(|problem| panic!("{seed}: {problem}\n{new}"));
        assert_eq!(back, old, "{seed}");
        for name in TOML.servers(&value).unwrap().keys() {
            let rest = TOML.remove(&new, name).unwrap_or_else(|problem| panic!("{seed}: {problem}\n{new}"));
            assert!(rest.len() < new.len(), "{seed}");
        }
    }
}

#[test]
fn each_server_of_200_json_files_can_be_replaced_and_removed() {
    for seed in 0..200 {
        let old = JsonFile::write(seed);
        let value = read(Format::Json, &old).unwrap();
        for name in JSON.servers(&value).into_iter().flat_map(Map::keys) {
            let removed = JSON.remove(&old, name).unwrap_or_else(|problem| panic!("{seed}: {problem}\n{old}"));
            assert!(removed.len() < old.len(), "{seed}");
            JSON.set(&old, name, &entry()).unwrap_or_else(|problem| panic!("{seed}: {problem}\n{old}"));
        }
    }
}

#[test]
fn an_entry_looks_like_its_neighbours() {
    let entry = json!({"command": "uvx", "args": ["weather-mcp"]});
    let written = r#""weather": {
      "command": "uvx",
      "args": ["weather-mcp"]
    }"#;
    for (old, new) in [
        ("", format!("{{\n  \"mcpServers\": {{\n    {written}\n  }}\n}}\n")),
        ("{}\n", format!("{{\n  \"mcpServers\": {{\n    {written}\n  }}\n}}\n")),
        ("// mine\n", format!("// mine\n{{\n  \"mcpServers\": {{\n    {written}\n  }}\n}}\n")),
        (
            "{\n  \"mcpServers\": {\n    \"a\": {} // a\n  }, // all\n  \"b\": 1\n}\n",
            format!("{{\n  \"mcpServers\": {{\n    \"a\": {{}}, // a\n    {written}\n  }}, // all\n  \"b\": 1\n}}\n"),
        ),
        (
            "{\n  \"mcpServers\": {\n    \"a\": {}, // a\n  },\n}\n",
            format!("{{\n  \"mcpServers\": {{\n    \"a\": {{}}, // a\n    {written},\n  }},\n}}\n"),
        ),
        (
            "{\"mcpServers\":{\"a\":{}}}",
            "{\"mcpServers\":{\"a\":{}, \"weather\": {\"command\": \"uvx\", \"args\": [\"weather-mcp\"]}}}".to_owned(),
        ),
    ] {
        let edited = JSON.set(old, "weather", &entry).unwrap();
        assert_eq!(edited, new, "{old}");
        let changed = JSON.set(&new, "weather", &json!({"command": "other"})).unwrap();
        assert!(changed.contains("other") && !changed.contains("uvx"), "{changed}");
    }
    assert_eq!(
        TOML.set("model = \"x\" # mine", "weather", &entry).unwrap(),
        "model = \"x\" # mine\n\n[mcp_servers.weather]\ncommand = \"uvx\"\nargs = [\"weather-mcp\"]\n"
    );
}

#[test]
fn comments_stay_when_an_entry_goes() {
    for (old, new) in [
        ("{\"mcpServers\": {\n  // above\n  \"weather\": 1 }}", "{\"mcpServers\": {\n  // above\n }}"),
        (
            "{\"mcpServers\": {\n  \"a\": 1, // a\n  \"weather\": 2 // its own\n}}",
            "{\"mcpServers\": {\n  \"a\": 1 // a\n}}",
        ),
        (
            "{\"mcpServers\": {\n  \"weather\": 2, // its own\n  // b\n  \"b\": 1\n}}",
            "{\"mcpServers\": {\n  // b\n  \"b\": 1\n}}",
        ),
        ("{\"mcpServers\": {\"weather\": 2, \"b\": 1}}", "{\"mcpServers\": { \"b\": 1}}"),
        ("{\"mcpServers\": {\n  \"weather\": 2,\n}}", "{\"mcpServers\": {}}"),
    ] {
        assert_eq!(JSON.remove(old, "weather").unwrap(), new);
    }
    let old = "# top\n[mcp_servers]\nweather = { command = \"a\" } # its own\n# b\nb = { command = \"b\" }\n";
    assert_eq!(TOML.remove(old, "weather").unwrap(), "# top\n[mcp_servers]\n# b\nb = { command = \"b\" }\n");
}

#[test]
fn files_that_cannot_be_edited_are_refused_with_their_place() {
    for (place, text, problem) in [
        (JSON, "{\n  \"a\": 1,\n  b\n}", "line 3, column 3: "),
        (JSON, "{\"mcpServers\": {}", "line 1, column "),
        (JSON, "[1]", "line 1, column 1: the file is no JSON object"),
        (JSON, "{\n\"mcpServers\": 5}", "line 2, column 15: \"mcpServers\" is no object"),
        (JSON, "{\"mcpServers\": {}, \"mcpServers\": {}}", "line 1, column 20: \"mcpServers\" is there twice"),
        (JSON, "{\"mcpServers\": {\"weather\": 1,\n\"weather\": 2}}", "line 2, column 1: \"weather\" is there twice"),
        (TOML, "a = 1\nb = = 2\n", "line 2, column 5: "),
        (TOML, "mcp_servers = { a = { command = \"a\" } }\n", "mcp_servers is no table"),
        (TOML, "mcp_servers.weather.command = \"a\"\n", "dotted keys"),
        (Place { format: Format::Yaml, key: &["extensions"] }, "a: 1\n", "YAML is not edited"),
    ] {
        let refused = place.set(text, NAME, &entry()).unwrap_err().to_string();
        assert!(refused.contains(problem), "{text}: {refused}");
    }
    assert!(JSON.remove("{}", NAME).unwrap_err().to_string().contains("there is no \"weather\""));
}
