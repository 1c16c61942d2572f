//! Machine-readable reports in `target/reports/`.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::workspace::Workspace;

/// Writes `target/reports/<name>.json`: the given fields, plus the time and the machine.
pub(crate) fn write(workspace: &Workspace, name: &str, fields: Value) -> Result<()> {
    let mut report = json!({
        "report": name,
        "unixTime": std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        "machine": {
            "os": std::env::consts::OS,
            "architecture": std::env::consts::ARCH,
            "cpus": std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        },
    });
    if let (Some(report), Value::Object(fields)) = (report.as_object_mut(), fields) {
        report.extend(fields);
    }
    let file = workspace.report(&format!("{name}.json"))?;
    std::fs::write(&file, format!("{report:#}\n")).with_context(|| format!("cannot write {}", file.display()))
}
