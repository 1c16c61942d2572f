//! The platforms with a Go module for their library, and how a file is recognized as one.

use anyhow::{Result, ensure};

pub(crate) struct Platform {
    /// `GOOS_GOARCH`, the ending of the module's path.
    pub(crate) name: &'static str,
    /// The name that cargo gives the library.
    pub(crate) file: &'static str,
    format: Format,
    /// The number of the processor in the file's format.
    machine: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Elf,
    MachO,
    Pe,
}

pub(crate) const PLATFORMS: [Platform; 6] = [
    Platform { name: "linux_amd64", file: "libtrunkline.so", format: Format::Elf, machine: 62 },
    Platform { name: "linux_arm64", file: "libtrunkline.so", format: Format::Elf, machine: 183 },
    Platform { name: "darwin_amd64", file: "libtrunkline.dylib", format: Format::MachO, machine: 0x0100_0007 },
    Platform { name: "darwin_arm64", file: "libtrunkline.dylib", format: Format::MachO, machine: 0x0100_000c },
    Platform { name: "windows_amd64", file: "trunkline.dll", format: Format::Pe, machine: 0x8664 },
    Platform { name: "windows_arm64", file: "trunkline.dll", format: Format::Pe, machine: 0xaa64 },
];

/// GitHub refuses files above 100 MB, and every program contains the library.
const MAX_LIBRARY_BYTES: usize = 64 << 20;

impl Platform {
    /// This machine's platform, if it is one of them.
    pub(crate) fn here() -> Option<&'static Self> {
        let system = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
        let machine = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        PLATFORMS.iter().find(|platform| platform.name == format!("{system}_{machine}"))
    }

    /// Refuses a file that is not a library of this platform and version.
    pub(super) fn check(&self, library: &[u8], version: &str) -> Result<()> {
        let found = machine_of(library);
        ensure!(found == Some((self.format, self.machine)), "it is not a library for {}", self.name);
        ensure!(
            library.len() <= MAX_LIBRARY_BYTES,
            "it has {} bytes, more than {MAX_LIBRARY_BYTES}: strip its symbols",
            library.len()
        );
        // `trunkline_version` returns this C string.
        let ended = format!("{version}\0");
        let has_version = library.windows(ended.len()).any(|bytes| bytes == ended.as_bytes());
        ensure!(has_version, "it does not have version {version}");
        Ok(())
    }
}

/// The format of a file and its processor.
fn machine_of(file: &[u8]) -> Option<(Format, u32)> {
    let half = |at: usize| file.get(at..at + 2).map(|half| u32::from(u16::from_le_bytes([half[0], half[1]])));
    let word = |at: usize| Some(half(at)? | half(at + 2)? << 16);
    if file.starts_with(b"\x7fELF") {
        return Some((Format::Elf, half(18)?));
    }
    if file.starts_with(b"\xcf\xfa\xed\xfe") {
        return Some((Format::MachO, word(4)?));
    }
    let header = word(60).filter(|_| file.starts_with(b"MZ"))? as usize;
    file.get(header..)?.starts_with(b"PE\0\0").then(|| half(header + 4).map(|machine| (Format::Pe, machine)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(name: &str) -> &'static Platform {
        PLATFORMS.iter().find(|platform| platform.name == name).unwrap()
    }

    /// The start of a file of each format, with a version.
    fn library(format: Format, machine: u32, version: &str) -> Vec<u8> {
        let mut file = vec![0; 128];
        let [first, second, third, fourth] = machine.to_le_bytes();
        let (start, at): (&[u8], usize) = match format {
            Format::Elf => (b"\x7fELF", 18),
            Format::MachO => (b"\xcf\xfa\xed\xfe", 4),
            Format::Pe => (b"MZ", 84),
        };
        file[..start.len()].copy_from_slice(start);
        if format == Format::Pe {
            file[60] = 80;
            file[80..84].copy_from_slice(b"PE\0\0");
        }
        file[at..at + 2].copy_from_slice(&[first, second]);
        if format == Format::MachO {
            file[at + 2..at + 4].copy_from_slice(&[third, fourth]);
        }
        file.extend_from_slice(format!("{version}\0").as_bytes());
        file
    }

    #[test]
    fn each_platform_accepts_its_own_library_only() {
        for of in &PLATFORMS {
            let file = library(of.format, of.machine, "1.2.3");
            for platform in &PLATFORMS {
                assert_eq!(platform.check(&file, "1.2.3").is_ok(), platform.name == of.name, "{}", platform.name);
            }
        }
    }

    #[test]
    fn another_version_a_large_file_and_a_short_one_are_refused() {
        let linux = platform("linux_amd64");
        let fault = |file: &[u8]| linux.check(file, "1.2.3").unwrap_err().to_string();
        assert_eq!(fault(&library(Format::Elf, 62, "1.2.4")), "it does not have version 1.2.3");
        let mut large = library(Format::Elf, 62, "1.2.3");
        large.resize(MAX_LIBRARY_BYTES + 1, 0);
        assert!(fault(&large).contains("strip its symbols"));
        for short in [&b""[..], b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe"] {
            assert_eq!(fault(short), "it is not a library for linux_amd64");
        }
    }
}
