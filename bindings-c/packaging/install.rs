//! `trunkline-c-install --prefix DIR`: puts the libraries that lie beside this program, the
//! headers, the pkg-config file and the CMake configuration under a prefix.

use std::error::Error;
use std::path::{Component, Path, PathBuf};
use std::{env, fs, io};

const USAGE: &str = "usage: trunkline-c-install --prefix DIR [--libdir DIR] [--includedir DIR]

  --prefix DIR      the root of the installation, such as /usr/local
  --libdir DIR      the folder of the libraries, absolute or under the prefix (lib)
  --includedir DIR  the folder of the headers, absolute or under the prefix (include)

The environment variable DESTDIR is put before all of them, but not written into any file: for packages.
First build the libraries: cargo build --release -p trunkline-c (or without --release).";
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return;
    }
    let destdir = env::var_os("DESTDIR").filter(|destdir| !destdir.is_empty()).map(PathBuf::from);
    let done = Places::given(&arguments, destdir).and_then(|places| install(&places));
    if let Err(reason) = done {
        eprintln!("trunkline-c-install: {reason}");
        std::process::exit(2)
    }
}

/// The folders of the installation: as programs will see them, and where they are written.
struct Places {
    prefix: PathBuf,
    libdir: PathBuf,
    includedir: PathBuf,
    destdir: Option<PathBuf>,
}

impl Places {
    fn given(arguments: &[String], destdir: Option<PathBuf>) -> Result<Self, Box<dyn Error>> {
        let (mut prefix, mut libdir, mut includedir) = (None, None, None);
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            let place = match name {
                "--prefix" => &mut prefix,
                "--libdir" => &mut libdir,
                "--includedir" => &mut includedir,
                _ => return Err(format!("unknown argument {argument:?}\n{USAGE}").into()),
            };
            let value = value.or_else(|| rest.next().cloned()).filter(|value| !value.is_empty());
            *place = Some(PathBuf::from(value.ok_or_else(|| format!("{name} needs a folder\n{USAGE}"))?));
        }
        let prefix = prefix.ok_or_else(|| format!("--prefix is missing\n{USAGE}"))?;
        // Where nothing stands yet, a package is staged: the prefix is that of another machine.
        let prefix = match destdir {
            Some(_) if prefix.is_absolute() => prefix,
            Some(_) => return Err("with DESTDIR, the prefix must be absolute".into()),
            None => {
                make_folder(&prefix)?;
                without_verbatim(prefix.canonicalize()?)
            }
        };
        let under = |given: Option<PathBuf>, usual: &str| prefix.join(given.unwrap_or_else(|| usual.into()));
        Ok(Self { libdir: under(libdir, "lib"), includedir: under(includedir, "include"), prefix, destdir })
    }

    /// The folder that is written for one of the installation.
    fn written(&self, folder: &Path) -> PathBuf {
        let Some(destdir) = &self.destdir else { return folder.to_owned() };
        let parts = folder.components().filter(|part| matches!(part, Component::Normal(_)));
        destdir.join(parts.collect::<PathBuf>())
    }
}

fn install(places: &Places) -> Result<(), Box<dyn Error>> {
    let platform = Platform::here();
    let here = env::current_exe()?.parent().ok_or("this program is in no folder")?.to_owned();
    let (libdir, includedir) = (places.written(&places.libdir), places.written(&places.includedir));
    for (built, installed) in &platform.files {
        let to = match installed.strip_prefix("lib/") {
            Some(library) => libdir.join(library),
            None => places.written(&places.prefix).join(installed),
        };
        copy(&here.join(built), &to)?;
    }
    if let Some((name, target)) = &platform.link {
        link(&libdir.join(name), target)?;
    }
    for (path, text) in [
        (includedir.join("trunkline.h"), include_str!("../include/trunkline.h")),
        (includedir.join("trunkline.hpp"), include_str!("../include/trunkline.hpp")),
        (libdir.join("pkgconfig/trunkline.pc"), include_str!("trunkline.pc.in")),
        (libdir.join("cmake/trunkline/trunklineConfig.cmake"), include_str!("trunklineConfig.cmake.in")),
        (libdir.join("cmake/trunkline/trunklineConfigVersion.cmake"), include_str!("trunklineConfigVersion.cmake.in")),
    ] {
        write(&path, &platform.fill(text, places))?;
    }
    let shared = places.written(&places.prefix).join("share/trunkline");
    write(&shared.join("valgrind.supp"), include_str!("valgrind.supp"))?;
    let licences = places.written(&places.prefix).join("share/licenses/trunkline");
    write(&licences.join("LICENSE-MIT"), include_str!("../../LICENSE-MIT"))?;
    write(&licences.join("LICENSE-APACHE"), include_str!("../../LICENSE-APACHE"))
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
            // Without libgcc_s: compilers add it themselves, or with `-static` libgcc_eh.
            let native = "-lutil -lrt -lpthread -lm -ldl";
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

    fn fill(&self, template: &str, places: &Places) -> String {
        // Plain names, which CMake writes as the linker at hand wants them: that of MSVC knows no
        // `-l`.
        let cmake_libs = self.native_libs.replace(" -", ";-").replace("-l", "");
        let Places { prefix, libdir, includedir, .. } = places;
        let shown = |path: &Path| path.display().to_string().replace('\\', "/");
        // Relative to the prefix where they are under it, so that it can be moved.
        let under = |folder: &Path, root: &str| match folder.strip_prefix(prefix) {
            Ok(inside) => format!("{root}/{}", shown(inside)),
            Err(_) => shown(folder),
        };
        let library = |file: &str| match file.strip_prefix("lib/") {
            Some(library) => format!("{}/{library}", under(libdir, "${_trunkline_prefix}")),
            None => format!("${{_trunkline_prefix}}/{file}"),
        };
        let depth = libdir.join("cmake/trunkline");
        let depth = depth.strip_prefix(prefix).map(|inside| "../".repeat(inside.components().count()));
        template
            .replace("@PREFIX@", &shown(prefix))
            .replace("@LIBDIR@", &under(libdir, "${prefix}"))
            .replace("@INCLUDEDIR@", &under(includedir, "${prefix}"))
            .replace(
                "@PREFIX_FROM_CMAKE@",
                &depth.map_or_else(
                    |_| shown(prefix),
                    |up| format!("${{CMAKE_CURRENT_LIST_DIR}}/{}", up.trim_end_matches('/')),
                ),
            )
            .replace("@INCLUDEDIR_CMAKE@", &under(includedir, "${_trunkline_prefix}"))
            .replace("@VERSION@", VERSION)
            .replace("@SHARED_LIBRARY@", &library(&self.shared))
            .replace("@IMPORT_LIBRARY@", &library(self.import))
            .replace("@STATIC_LIBRARY@", &library(self.fixed))
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
    make_folder(folder)?;
    let new = folder.join(format!(".{}.{}.new", name.display(), std::process::id()));
    make(&new).and_then(|()| readable(&new)).and_then(|()| fs::rename(&new, file)).inspect_err(|_| {
        // Absent if not even that could be made.
        let _ = fs::remove_file(&new);
    })
}

/// Makes a folder that all users can enter, whatever the mask of this process.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        make_folder(parent)?;
    }
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.and_then(|()| set_mode(folder, 0o755)),
    }
}

/// Makes a file readable for all users; a link has no mode of its own.
fn readable(file: &Path) -> io::Result<()> {
    if file.is_symlink() {
        return Ok(());
    }
    let runs = file.extension().is_some_and(|extension| extension == "so" || extension == "dylib")
        || file.file_name().is_some_and(|name| name.to_string_lossy().contains(".so."));
    set_mode(file, if runs { 0o755 } else { 0o644 })
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
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
