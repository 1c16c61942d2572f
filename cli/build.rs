//! Puts the built page of `inspect` into the program, and packs the relocations of programs for
//! musl.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// The files that `cargo xtask build` writes, each compressed. A checkout may have none.
const PAGE: &str = "web/dist";
/// The minor version of Rust whose musl applies packed relocations. A glibc does so since 2.36,
/// which no program should require.
const PACKED_SINCE: u32 = 93;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join(PAGE);
    // Cargo would run this each time if there were no folder.
    fs::create_dir_all(&folder)?;
    println!("cargo:rerun-if-changed={PAGE}");
    println!("cargo:rerun-if-changed=build.rs");
    let mut files = Vec::new();
    find(&folder, &mut files)?;
    // Two builds are equal.
    files.sort();
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut table = "&[".to_owned();
    for (number, file) in files.iter().enumerate() {
        let name = file.strip_prefix(&folder)?.to_str().ok_or("a name is not UTF-8")?.replace('\\', "/");
        // The page may be built again while the program is.
        let copy = out.join(format!("page-{number}"));
        fs::copy(file, &copy)?;
        write!(table, "({name:?}, include_bytes!({copy:?})),")?;
    }
    fs::write(out.join("page.rs"), table + "]")?;
    pack_relocations()
}

/// A position-independent program has 30,000 relocations of 24 bytes. Packed, they take 9 KB.
fn pack_relocations() -> Result<(), Box<dyn Error>> {
    if env::var("CARGO_CFG_TARGET_ENV")? == "musl" {
        let version = Command::new(env::var("RUSTC")?).arg("--version").output()?.stdout;
        let minor = String::from_utf8(version)?.split('.').nth(1).and_then(|minor| minor.parse().ok());
        if minor.is_some_and(|minor: u32| minor >= PACKED_SINCE) {
            println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        }
    }
    Ok(())
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { find(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
