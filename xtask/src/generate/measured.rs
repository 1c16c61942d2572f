//! Generates the parts of the docs that show published measurements and the matrix: pictures,
//! tables and figures. `benches/published.json` is a copy of `target/reports/bench.json`, and
//! `benches/published-bridges.json` one of `target/reports/bridges.json`. The templates next to
//! this file contain their text.

use anyhow::{Context, Result};
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, context};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::docs::with_part;
use super::text::grouped;
use super::{File, templates};
use crate::workspace::Workspace;

const RUN_FILE: &str = "benches/published.json";
const BRIDGES_FILE: &str = "benches/published-bridges.json";

/// The pages with a generated part.
const PARTS: [(&str, &str); 4] = [
    ("docs/performance.md", "results"),
    ("docs/bridge-program.md", "bridges"),
    ("docs/index.md", "why"),
    ("README.md", "why"),
];

/// The bars of a picture: the name of each server, and the measured programs. If there are several,
/// the fastest counts.
const SERVERS: [(&str, &[&str]); 8] = [
    ("Trunkline, Rust", &["ours-rust"]),
    ("Trunkline, C", &["ours-c"]),
    ("Trunkline, Node.js", &["ours-node"]),
    ("Trunkline, Python", &["ours-python"]),
    ("Rust SDK (rmcp)", &["rmcp", "rmcp-nodelay"]),
    ("TypeScript SDK", &["ts-v2"]),
    ("Python SDK", &["py-mcp"]),
    ("FastMCP", &["fastmcp"]),
];

pub(super) fn render(workspace: &Workspace) -> Result<Vec<File>> {
    let run: Json = workspace.json(RUN_FILE)?;
    let matrix = workspace.text("docs/matrix.md")?;
    let cells = matrix.split_once(" cells: ").and_then(|(before, _)| before.rsplit_once(' ')).map(|(_, count)| count);
    let cells: f64 = cells.and_then(|count| count.parse().ok()).context("docs/matrix.md counts no cells")?;
    let environment = environment(workspace, run["medians"].clone())?;
    let bridges: Json = workspace.json(BRIDGES_FILE)?;
    let context = context! { cells, bridges => templates::value(bridges), tables => templates::value(tables(&matrix)), ..templates::value(run) };
    let mut files = templates::render(&environment, "docs/images", &context)?;
    for (page, part) in PARTS {
        let made = environment.get_template(&format!("{part}.j2"))?.render(&context)?;
        let made = if page.starts_with("docs/") { made } else { made.replace("](", "](docs/") };
        files.push((page.to_owned(), with_part(&workspace.text(page)?, part, &made).context(page)?));
    }
    Ok(files)
}

fn environment(workspace: &Workspace, medians: Json) -> Result<Environment<'static>> {
    let mut environment = templates::environment(&workspace.path("xtask/src/generate/measured"))?;
    environment.add_filter("number", number);
    environment.add_filter("short", |value: f64| value.to_string());
    environment.add_filter("extent", |Serde(ratios): Serde<Vec<f64>>| {
        extent(&ratios).ok_or_else(|| Error::new(ErrorKind::InvalidOperation, format!("{RUN_FILE} lacks measurements")))
    });
    let measured = medians.clone();
    environment.add_filter("bars", move |Serde(panel): Serde<Panel>| templates::value(bars(&measured, &panel)));
    environment.add_function("best", move |work: String, Serde(servers): Serde<Vec<String>>, key: String| {
        best(&medians, &work, servers.iter().map(String::as_str), &key)
    });
    Ok(environment)
}

#[derive(Deserialize)]
struct Panel {
    work: String,
    key: String,
    unit: f64,
}

fn bars(medians: &Json, panel: &Panel) -> Vec<Json> {
    let bars = SERVERS.iter().filter_map(|(name, servers)| {
        let value = best(medians, &panel.work, servers.iter().copied(), &panel.key)? / panel.unit;
        Some(json!({ "name": name, "ours": servers[0].starts_with("ours"), "value": value }))
    });
    bars.collect()
}

/// The largest value of some servers.
fn best<'a>(medians: &Json, work: &str, servers: impl Iterator<Item = &'a str>, key: &str) -> Option<f64> {
    let of = |server| medians.as_array()?.iter().find(|row| row["workload"] == work && row["server"] == server);
    servers.filter_map(|server| of(server)?[key].as_f64()).reduce(f64::max)
}

/// The tables of `docs/matrix.md`.
fn tables(page: &str) -> Vec<Json> {
    let tables = page.split("\n## ").skip(1).filter_map(|section| {
        let (title, table) = section.split_once('\n')?;
        let rows: Vec<_> = table.lines().filter_map(cells).collect();
        let (heads, features) = (rows.first()?, rows.get(2..)?);
        Some(json!({ "title": title, "heads": heads, "features": features }))
    });
    tables.collect()
}

/// The cells of a row.
fn cells(line: &str) -> Option<Vec<&str>> {
    Some(line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect())
}

/// The minimum and maximum of some ratios: "4.5 to 95".
fn extent(ratios: &[f64]) -> Option<String> {
    let (least, most) = (ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?);
    let short = |ratio: f64| if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") };
    Some(format!("{} to {}", short(least), short(most)))
}

/// Formats a number with at least three digits: 0.59, 18.3, 19,814.
fn number(value: f64) -> String {
    if value < 100.0 {
        return if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") };
    }
    grouped(&format!("{value:.0}"))
}

#[cfg(test)]
mod tests {
    use minijinja::Value;

    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.594, 18.34, 19_814.4, 1_470_880.0].map(number), ["0.59", "18.3", "19,814", "1,470,880"]);
        assert_eq!(extent(&[95.25, 4.52, 11.0]).as_deref(), Some("4.5 to 95"));
        assert_eq!(extent(&[]), None);
    }

    fn drawn(picture: &str, medians: Json, context: &Value) -> String {
        let environment = environment(&Workspace::find().unwrap(), medians).unwrap();
        environment.get_template(picture).unwrap().render(context).unwrap()
    }

    #[test]
    fn cells_have_the_color_of_their_verdict() {
        let page = "# M\n\n## Ours\n\n| feature | 2024 | 2025 |\n| --- | --- | --- |\n| ping | ✓ (1) | (2) |\n| tasks |  | ✗ |\n";
        let drawn = drawn("matrix.svg.j2", Json::Null, &context! { tables => templates::value(tables(page)) });
        let count = |class: &str| drawn.matches(&format!("<rect class=\"{class}\"")).count() - 1;
        assert_eq!(["g", "p", "u", "f"].map(count), [1, 1, 1, 1]);
    }

    #[test]
    fn the_longest_bar_is_the_largest_value() {
        let row = |server, value: f64| json!({"workload": "a", "server": server, "calls_s": value});
        let medians = json!([row("ours-rust", 50.0), row("rmcp", 100.0), row("rmcp-nodelay", 200.0)]);
        let mut drawn = drawn("calls.svg.j2", medians, &context! {});
        drawn.truncate(drawn.find("64 calls").unwrap());
        assert!(drawn.contains("width=\"53.8\"") && drawn.contains("width=\"215.0\""), "{drawn}");
    }
}
