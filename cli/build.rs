//! Puts the built page of `inspect` into the program.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

/// The files that `cargo xtask build` writes, each compressed. A checkout may have none.
const PAGE: &str = "web/dist";

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
    Ok(())
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { find(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
