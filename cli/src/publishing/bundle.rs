//! The archive of a bundle: the same files give the same bytes on each machine.

use super::files::Packed;
use std::io::{Cursor, Write};
use zip::{CompressionMethod, DateTime, System, ZipWriter, result::ZipResult, write::SimpleFileOptions};

/// Beginnings of programs: a script, ELF, and Mach-O for one or several processors.
const PROGRAMS: [&[u8]; 4] = [b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];

/// Packs files, in this order.
///
/// # Errors
/// If there are too many or too large files for an archive.
pub(crate) fn bundle(files: &[Packed]) -> ZipResult<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for file in files {
        // Not the modes of the file system: Windows has none.
        let is_program = PROGRAMS.iter().any(|start| file.bytes.starts_with(start));
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9))
            .last_modified_time(DateTime::DEFAULT)
            .system(System::Unix)
            .unix_permissions(if is_program { 0o755 } else { 0o644 });
        archive.start_file(file.path.as_str(), options)?;
        archive.write_all(&file.bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_are_the_same_bytes() {
        let file = |path: &str, bytes: &[u8]| Packed { path: path.to_owned(), bytes: bytes.to_owned() };
        let files =
            [file("manifest.json", b"{}"), file("server/run", b"#!/bin/sh\n"), file("server/text", &[b'x'; 5000])];
        let packed = bundle(&files).unwrap();
        assert_eq!(super::super::sha256(&packed), super::super::sha256(&bundle(&files).unwrap()));
        let mut archive = zip::ZipArchive::new(Cursor::new(&packed)).unwrap();
        let mut found = Vec::new();
        for index in 0..archive.len() {
            let entry = archive.by_index(index).unwrap();
            let time = entry.last_modified().unwrap();
            found.push((entry.name().unwrap().into_owned(), entry.unix_mode().unwrap() & 0o777, time.year()));
        }
        let expected = [("manifest.json", 0o644, 1980), ("server/run", 0o755, 1980), ("server/text", 0o644, 1980)];
        assert_eq!(found, expected.map(|(name, mode, year)| (name.to_owned(), mode, year)));
    }
}
