//! `trunkline pack`: a folder as a bundle, the same bytes on each machine.

use crate::{
    exit::Exit,
    failure::Failure,
    output::Output,
    publishing::{Finding, Packed, bundle, check_manifest, files_of, sha256},
};
use clap::Args;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};
use trunkline::protocol::RawJson;

const MANIFEST: &str = "manifest.json";

/// Pack a folder with a `manifest.json` as a bundle (.mcpb).
///
/// The same files give the same bytes on each machine. `.mcpbignore` leaves out more files.
#[derive(Args)]
#[command(after_help = "\
Examples:
  trunkline pack weather
  trunkline pack weather -o weather.mcpb")]
pub(crate) struct Pack {
    /// The folder.
    folder: PathBuf,
    /// The bundle; NAME-VERSION.mcpb by default.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Pack {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let files = files_of(&self.folder)
            .map_err(|(path, problem)| Failure::usage(format!("{} cannot be packed: {problem}", path.display())))?;
        let manifest = manifest(&self.folder, &files)?;
        let packed = bundle(&files).map_err(|error| Failure::usage(format!("the files cannot be packed: {error}")))?;
        let path = self.output.unwrap_or_else(|| {
            let plain = |member: &str| manifest[member].as_str().unwrap_or_default().replace(['/', '\\', ' '], "-");
            format!("{}-{}.mcpb", plain("name"), plain("version")).into()
        });
        write(&path, &packed)
            .map_err(|error| Failure::usage(format!("{} cannot be written: {error}", path.display())))?;
        let hash = sha256(&packed);
        if output.json {
            let report = json!({"file": path, "bytes": packed.len(), "files": files.len(), "fileSha256": hash});
            output.raw(&RawJson::from_value(&report).unwrap_or_else(|_| RawJson::empty_object()));
        } else {
            output.line(&format!("{} · {} files · {} bytes", path.display(), files.len(), packed.len()));
            output.line(&format!("fileSha256 {hash}"));
        }
        Ok(Exit::Done)
    }
}

/// The manifest, which must be one that hosts take.
fn manifest(folder: &Path, files: &[Packed]) -> Result<Value, Failure> {
    let file = files.iter().find(|file| file.path == MANIFEST);
    let file = file.ok_or_else(|| {
        Failure::usage(format!("{} has no {MANIFEST}", folder.display())).hint("name the folder with the manifest")
    })?;
    let failed = |problem: &str| Failure::usage(format!("{MANIFEST}: {problem}"));
    // Hosts read no comments there.
    let manifest = serde_json::from_slice(&file.bytes).map_err(|error| failed(&error.to_string()))?;
    let found = check_manifest(&manifest, files);
    let line = |Finding { place, problem, .. }: &Finding| format!("\n{place}: {problem}");
    match found.is_empty() {
        true => Ok(manifest),
        false => Err(failed(&format!("hosts would refuse it{}", found.iter().map(line).collect::<String>()))
            .tried("nothing was written")),
    }
}

/// Writes a file at once or not at all.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension(format!("trunkline-{}", std::process::id()));
    let written = fs::write(&new, bytes).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}
