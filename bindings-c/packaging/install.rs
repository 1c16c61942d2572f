//! `trunkline-c-install --prefix DIR`: puts the libraries that lie beside this program, the header,
//! the pkg-config file and the CMake configuration under a prefix.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const USAGE: &str = "usage: trunkline-c-install --prefix DIR\n\
    First build the libraries: cargo build --release -p trunkline-c (or without --release).";
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [flag, prefix] = arguments.as_slice() else { fail(USAGE) };
    if flag != "--prefix" {
        fail(USAGE)
    }
    if let Err(reason) = install(Path::new(prefix)) {
        fail(&format!("trunkline-c-install: {reason}"))
    }
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(2)
}

fn install(prefix: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(prefix.join("lib/pkgconfig"))?;
    let prefix = without_verbatim(prefix.canonicalize()?);
    let platform = Platform::here();
    let here = env::current_exe()?.parent().ok_or("this program is in no folder")?.to_owned();
    for (built, installed) in &platform.files {
        copy(&here.join(built), &prefix.join(installed))?;
    }
    if let Some((name, target)) = &platform.link {
        link(&prefix.join("lib").join(name), target)?;
    }
    for (path, text) in [
        ("include/trunkline.h", include_str!("../include/trunkline.h")),
        ("lib/pkgconfig/trunkline.pc", include_str!("trunkline.pc.in")),
        ("lib/cmake/trunkline/trunklineConfig.cmake", include_str!("trunklineConfig.cmake.in")),
        ("lib/cmake/trunkline/trunklineConfigVersion.cmake", include_str!("trunklineConfigVersion.cmake.in")),
    ] {
        write(&prefix.join(path), &platform.fill(text, &prefix))?;
    }
    Ok(())
}

/// The libraries of the build on this platform, and their names when installed.
struct Platform {
    files: Vec<(&'static str, String)>,
    /// The name that `-ltrunkline` looks for, and what it points to.
    link: Option<(&'static str, String)>,
    shared: String,
    import: &'static str,
    fixed: &'static str,
    soname: String,
    /// The system libraries of the static library, as pkg-config has them.
    native_libs: &'static str,
}

impl Platform {
    fn here() -> Self {
        if cfg!(all(windows, target_env = "msvc")) {
            Self::windows("trunkline.dll.lib", "trunkline.lib", "lib/trunkline.lib", "lib/trunkline_static.lib")
        } else if cfg!(windows) {
            Self::windows("libtrunkline.dll.a", "libtrunkline.a", "lib/libtrunkline.dll.a", "lib/libtrunkline.a")
        } else if cfg!(target_vendor = "apple") {
            let native = "-framework Security -framework SystemConfiguration -framework CoreFoundation -liconv -lm";
            Self::unix("libtrunkline.dylib", format!("libtrunkline.{VERSION}.dylib"), "@rpath/", native)
        } else {
            let native = "-lgcc_s -lutil -lrt -lpthread -lm -ldl";
            Self::unix("libtrunkline.so", format!("libtrunkline.so.{VERSION}"), "", native)
        }
    }

    fn unix(built: &'static str, versioned: String, soname_prefix: &str, native_libs: &'static str) -> Self {
        Self {
            files: vec![(built, format!("lib/{versioned}")), ("libtrunkline.a", "lib/libtrunkline.a".to_owned())],
            link: Some((built, versioned.clone())),
            shared: format!("lib/{versioned}"),
            import: "",
            fixed: "lib/libtrunkline.a",
            soname: format!("{soname_prefix}{versioned}"),
            native_libs,
        }
    }

    fn windows(
        built_import: &'static str,
        built_static: &'static str,
        import: &'static str,
        fixed: &'static str,
    ) -> Self {
        Self {
            files: vec![
                ("trunkline.dll", "bin/trunkline.dll".to_owned()),
                (built_import, import.to_owned()),
                (built_static, fixed.to_owned()),
            ],
            link: None,
            shared: "bin/trunkline.dll".to_owned(),
            import,
            fixed,
            soname: String::new(),
            native_libs: "-lws2_32 -luserenv -lntdll -lbcrypt -ladvapi32 -lcrypt32 -ldbghelp",
        }
    }

    fn fill(&self, template: &str, prefix: &Path) -> String {
        // Plain names, which CMake writes as the linker at hand wants them: that of MSVC knows no
        // `-l`.
        let cmake_libs = self.native_libs.replace(" -", ";-").replace("-l", "");
        template
            .replace("@PREFIX@", &prefix.display().to_string().replace('\\', "/"))
            .replace("@VERSION@", VERSION)
            .replace("@SHARED_LIBRARY@", &self.shared)
            .replace("@IMPORT_LIBRARY@", self.import)
            .replace("@STATIC_LIBRARY@", self.fixed)
            .replace("@SONAME@", &self.soname)
            .replace("@NATIVE_LIBS_CMAKE@", &cmake_libs)
            .replace("@NATIVE_LIBS@", self.native_libs)
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    replace(to, |new| fs::copy(from, new).map(drop)).map_err(|reason| {
        format!("cannot copy {} to {}: {reason}; was trunkline-c built?", from.display(), to.display()).into()
    })
}

fn write(to: &Path, text: &str) -> Result<(), Box<dyn Error>> {
    replace(to, |new| fs::write(new, text)).map_err(|reason| format!("cannot write {}: {reason}", to.display()).into())
}

/// Makes a file under another name in the same folder and renames it. Programs that run with a
/// library keep the file that they have mapped: writing over it would end them with SIGBUS.
fn replace(file: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a file in no folder"));
    };
    fs::create_dir_all(folder)?;
    let new = folder.join(format!(".{}.{}.new", name.display(), std::process::id()));
    make(&new).and_then(|()| fs::rename(&new, file)).inspect_err(|_| {
        // Absent if not even that could be made.
        let _ = fs::remove_file(&new);
    })
}

#[cfg(unix)]
fn link(link: &Path, target: &str) -> Result<(), Box<dyn Error>> {
    Ok(replace(link, |new| std::os::unix::fs::symlink(target, new))?)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &str) -> Result<(), Box<dyn Error>> {
    Ok(())
}

/// Build tools do not understand the `\\?\` of Windows.
fn without_verbatim(path: PathBuf) -> PathBuf {
    path.to_str().and_then(|path| path.strip_prefix(r"\\?\")).map(PathBuf::from).unwrap_or(path)
}
