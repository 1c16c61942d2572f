//! Generates the parts of the docs that show published measurements and the matrix: pictures,
//! tables and figures. `benches/published.json` is a copy of `target/reports/bench.json`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::File;
use super::docs::with_part;
use super::picture::{self, Bar, Panel};
use crate::pages::text;
use crate::workspace::Workspace;

const RUN: &str = "benches/published.json";

#[derive(Deserialize)]
struct Run {
    targets: Vec<Target>,
    imports: Vec<Import>,
    medians: Vec<Median>,
    environment: BTreeMap<String, String>,
    date: String,
}

#[derive(Deserialize)]
struct Target {
    what: String,
    sign: String,
    target: f64,
    measured: f64,
    met: bool,
}

#[derive(Deserialize)]
struct Import {
    import: String,
    cpu_ms_median: f64,
    cpu_ms_best: f64,
    rss_mib_median: f64,
}

#[derive(Deserialize)]
struct Median {
    workload: String,
    title: String,
    server: String,
    rounds: usize,
    #[serde(flatten)]
    values: BTreeMap<String, serde_json::Value>,
}

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

const COLD: &str = "e-cold-stdio";

const COLUMNS: [(&str, &str); 7] = [
    ("cpu_us_call", "CPU us/call"),
    ("calls_s", "calls/s"),
    ("p50_us", "p50 us"),
    ("p99_us", "p99 us"),
    ("server_cpu_us_call", "server CPU us/call"),
    ("times_base", "x bare"),
    ("errors", "errors"),
];
/// The columns of the workloads that measure something other than calls.
const OTHER_COLUMNS: [(&str, &[(&str, &str)]); 3] =
    [("e-cold", &COLD_COLUMNS), ("e-sessions", &SESSION_COLUMNS), ("j-resource", &RESOURCE_COLUMNS)];
const COLD_COLUMNS: [(&str, &str); 5] = [
    ("cold_ms", "wall ms"),
    ("cold_cpu_ms", "CPU ms"),
    ("rss_init_kb", "RSS KB"),
    ("times_base", "x bare"),
    ("errors", "errors"),
];

const SESSION_COLUMNS: [(&str, &str); 4] = [
    ("rss_base_kb", "RSS KB"),
    ("kb_per_session", "KB per session"),
    ("kb_per_stream", "KB more per GET stream"),
    ("errors", "errors"),
];
const RESOURCE_COLUMNS: [(&str, &str); 3] =
    [("cpu_us_call", "CPU us/read"), ("peak_kb", "peak KB"), ("errors", "errors")];

pub(super) fn render(workspace: &Workspace) -> Result<Vec<File>> {
    let run: Run = serde_json::from_str(&text(workspace, RUN)?).context(RUN)?;
    let matrix = text(workspace, "docs/matrix.md")?;
    let calls = [
        ("a", "stdio, one call at a time"),
        ("b", "stdio, 64 calls in flight"),
        ("c-session", "HTTP with sessions (2025-11-25)"),
        ("c-2026", "HTTP without sessions (2026-07-28)"),
    ];
    let calls = calls.map(|(work, title)| run.panel(work, title, "calls_s", 1.0));
    let cold = [("rss_init_kb", "Memory after start, MiB", 1024.0), ("cold_ms", "Start to first response, ms", 1.0)];
    let cold = cold.map(|(key, title, unit)| run.panel(COLD, title, key, unit));
    let part = |page: &str, part: &str, made: &str| -> Result<File> {
        Ok((page.to_owned(), with_part(&text(workspace, page)?, part, made).with_context(|| page.to_owned())?))
    };
    let why = run.why(&matrix)?;
    Ok(vec![
        ("docs/images/calls.svg".to_owned(), picture::bars("Calls per second, more is better", &calls)),
        ("docs/images/memory.svg".to_owned(), picture::bars("Memory and start, less is better", &cold)),
        ("docs/images/matrix.svg".to_owned(), picture::matrix(&matrix)),
        part("docs/performance.md", "results", &run.tables())?,
        part("docs/index.md", "why", &why)?,
        part("README.md", "why", &why.replace("](", "](docs/"))?,
    ])
}

impl Run {
    fn value(&self, work: &str, server: &str, key: &str) -> Option<f64> {
        let row = self.medians.iter().find(|row| row.workload == work && row.server == server)?;
        row.values.get(key)?.as_f64()
    }

    fn panel(&self, work: &str, title: &'static str, key: &str, unit: f64) -> Panel {
        let bars = SERVERS.iter().filter_map(|(name, servers)| {
            let value = servers.iter().filter_map(|server| self.value(work, server, key)).reduce(f64::max)?;
            Some(Bar { name, is_ours: servers[0].starts_with("ours"), value: value / unit })
        });
        Panel { title, bars: bars.collect() }
    }

    /// The reasons to use the library, for the front pages.
    fn why(&self, matrix: &str) -> Result<String> {
        let range = |pair: &str| {
            let found: Vec<f64> =
                self.targets.iter().filter(|row| row.what.starts_with(pair)).map(|row| row.measured).collect();
            range(&found).with_context(|| format!("{RUN} has no {pair}"))
        };
        let (python, typescript) = (range("ours-python / py-mcp")?, range("ours-node / ts-v2")?);
        let of_rmcp = |work: &str| {
            let theirs = ["rmcp", "rmcp-nodelay"].iter().filter_map(|server| self.value(work, server, "calls_s"));
            Some(self.value(work, "ours-rust", "calls_s")? / theirs.reduce(f64::max)?)
        };
        let works: Vec<f64> = self.medians.iter().filter_map(|row| of_rmcp(&row.workload)).collect();
        let rust = self::range(&works).with_context(|| format!("{RUN} has no rmcp"))?;
        let import = |name: &str| {
            let row = self.imports.iter().find(|row| row.import == name);
            row.map(|row| row.cpu_ms_median).with_context(|| format!("{RUN} has no import of {name}"))
        };
        let memory = |server: &str| {
            let value = self.value(COLD, server, "rss_init_kb").with_context(|| format!("{RUN} has no {server}"))?;
            anyhow::Ok(value / 1024.0)
        };
        let cells =
            matrix.split_once(" cells: ").and_then(|(before, _)| before.rsplit_once(' ')).map(|(_, count)| count);
        let cells: f64 = cells.and_then(|count| count.parse().ok()).context("docs/matrix.md counts no cells")?;
        Ok(format!(
            "\
- **Fast**: {python} times the calls per second of the official Python SDK, {typescript} times those of
  the TypeScript SDK and {rust} times those of the Rust SDK, depending on the workload
  ([measured](performance.md)).
- **Light**: `import trunkline` takes {:.0} ms of CPU time, `import mcp` {:.0} ms; a Python server uses
  {:.0} MiB of memory after its start instead of {:.0} MiB.
- **Every revision**: one server speaks all five, 2024-11-05 to 2026-07-28, at the same time.
- **Every peer**: {} combinations of client, server, transport, revision and feature pass, with
  the official SDKs on either side ([matrix](matrix.md)).
- **One core**: eight languages share one implementation, so they behave the same.
- **No dependencies**: the Python and npm packages require no others.
",
            import("trunkline")?,
            import("mcp")?,
            memory("ours-python")?,
            memory("py-mcp")?,
            number(cells),
        ))
    }

    fn tables(&self) -> String {
        let machine: Vec<&str> = ["cpu", "memory", "system", "python", "node", "rust"]
            .iter()
            .filter_map(|key| self.environment.get(*key).map(String::as_str))
            .collect();
        let mut text = format!("{}; {}.\n\n#### Targets\n\n", self.date, machine.join(", "));
        text += "| what | target | measured | |\n| --- | --- | ---: | --- |\n";
        for Target { what, sign, target, measured, met } in &self.targets {
            let verdict = if *met { "met" } else { "**missed**" };
            text += &format!("| {what} | {sign} {target} | {measured} | {verdict} |\n");
        }
        text += "\n#### Import, fresh processes\n\n| import | CPU ms, median | CPU ms, best | memory MiB |\n| --- | ---: | ---: | ---: |\n";
        for Import { import, cpu_ms_median, cpu_ms_best, rss_mib_median } in &self.imports {
            text += &format!("| {import} | {cpu_ms_median} | {cpu_ms_best} | {rss_mib_median} |\n");
        }
        let mut works: Vec<&Median> = Vec::new();
        for row in &self.medians {
            if works.iter().all(|known| known.workload != row.workload) {
                works.push(row);
            }
        }
        works.iter().fold(text, |text, work| text + &self.table(work))
    }

    fn table(&self, work: &Median) -> String {
        let rows: Vec<&Median> = self.medians.iter().filter(|row| row.workload == work.workload).collect();
        let other = OTHER_COLUMNS.iter().find(|(prefix, _)| work.workload.starts_with(prefix));
        let columns = other.map_or(&COLUMNS[..], |(_, columns)| columns);
        let has = |key: &str| rows.iter().any(|row| row.values.contains_key(key));
        let columns: Vec<_> = columns.iter().filter(|(key, _)| has(key)).collect();
        let mut text = format!("\n#### {}: {}\n\n{} rounds\n\n| server |", work.workload, work.title, work.rounds);
        text.extend(columns.iter().map(|(_, head)| format!(" {head} |")));
        text += &format!("\n| --- |{}\n", " ---: |".repeat(columns.len()));
        for row in rows {
            text += &format!("| {} |", row.server);
            text.extend(columns.iter().map(|(key, _)| {
                let value = row.values.get(*key).and_then(serde_json::Value::as_f64);
                format!(
                    " {} |",
                    if *key == "errors" { value.map(|count| count.to_string()) } else { value.map(number) }
                        .unwrap_or_else(|| "-".to_owned())
                )
            }));
            text.push('\n');
        }
        text
    }
}

/// The minimum and maximum of some ratios: "4.5 to 95".
fn range(ratios: &[f64]) -> Option<String> {
    let (least, most) = (ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?);
    let short = |ratio: f64| if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") };
    Some(format!("{} to {}", short(least), short(most)))
}

/// Formats a number with at least three digits: 0.59, 18.3, 19,814.
pub(super) fn number(value: f64) -> String {
    if value < 100.0 {
        return if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") };
    }
    let digits = format!("{value:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.594, 18.34, 19_814.4, 1_470_880.0].map(number), ["0.59", "18.3", "19,814", "1,470,880"]);
        assert_eq!(range(&[95.25, 4.52, 11.0]).as_deref(), Some("4.5 to 95"));
        assert_eq!(range(&[]), None);
    }
}
