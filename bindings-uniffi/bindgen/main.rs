//! Writes the functions of the native library in Kotlin and Swift: `trunkline-bindgen LIBRARY
//! FOLDER`. The library describes itself; a stripped one no longer does. `cargo xtask generate`
//! runs this.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use uniffi_bindgen::bindings::{GenerateOptions, TargetLanguage, generate};

/// Settings of the languages; the path is that of the tree that this was built in.
const SETTINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/settings.toml");
/// In the folder.
const KOTLIN: &str = "dev/trunkline/internal/trunkline.kt";
const SWIFT: [&str; 2] = ["TrunklineNative.swift", "TrunklineFFI.h"];

/// How strings are encoded in Kotlin: an unpaired surrogate is an error, and must become U+FFFD.
const ENCODING: &str = "onMalformedInput(CodingErrorAction.REPORT)";
const LENIENT_ENCODING: &str = r#"onMalformedInput(CodingErrorAction.REPLACE).replaceWith("\uFFFD".toByteArray())"#;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, folder] = &arguments[..] else { bail!("usage: trunkline-bindgen LIBRARY FOLDER") };
    generate(GenerateOptions {
        languages: vec![TargetLanguage::Kotlin, TargetLanguage::Swift],
        source: library.into(),
        out_dir: folder.into(),
        config_override: Some(SETTINGS.into()),
        ..GenerateOptions::default()
    })?;
    hide(&Path::new(folder).join(KOTLIN))?;
    SWIFT.iter().try_for_each(|file| strip(&Path::new(folder).join(file)))
}

/// Removes the comment at the start of a file, which is not about this file.
fn strip(file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file)?;
    let lines = text.lines().skip_while(|line| line.starts_with("//") || line.is_empty());
    // Some lines end with spaces.
    let stripped: String = lines.map(|line| format!("{}\n", line.trim_end())).collect();
    Ok(std::fs::write(file, format!("\n{}\n", stripped.trim_end()))?)
}

/// Makes all declarations of a Kotlin file internal: they are not for users of the package, whose
/// compiler refuses public ones that don't say so. Changes the encoding of strings, too.
fn hide(file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file)?;
    // Without the comment above the first annotation.
    let lines = text.lines().skip_while(|line| !line.starts_with('@')).map(|line| {
        let line = line.strip_prefix("public ").unwrap_or(line);
        // Functions follow the comment of their documentation.
        let (comment, rest) = line.split_at(line.find("*/ fun ").map_or(0, |end| end + "*/ ".len()));
        if declares(rest) { format!("{comment}internal {rest}\n") } else { format!("{line}\n") }
    });
    let hidden: String = lines.collect();
    let hidden = hidden.replacen("\"NAME_SHADOWING\"", "\"warnings\"", 1);
    ensure!(hidden.contains(ENCODING), "{} encodes strings in another way", file.display());
    Ok(std::fs::write(file, hidden.replace(ENCODING, LENIENT_ENCODING))?)
}

/// Returns whether a line is a top-level declaration without visibility.
fn declares(line: &str) -> bool {
    const MODIFIERS: [&str; 7] = ["abstract", "data", "enum", "inline", "open", "sealed", "value"];
    const KEYWORDS: [&str; 7] = ["class", "const", "fun", "interface", "object", "typealias", "val"];
    let mut words = line.split(' ').skip_while(|word| MODIFIERS.contains(word));
    words.next().is_some_and(|word| KEYWORDS.contains(&word))
}
