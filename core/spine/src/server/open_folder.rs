//! Reads folders entry by entry, from one open folder to the next. No link is followed, even if
//! another process replaces a name with a link in the meantime.
//!
//! The standard library has no such calls for Windows; there, a name is checked and then opened.

#[cfg(unix)]
mod system {
    use super::entry::EntryKind;
    use rustix::{
        fs::{AtFlags, Dir, FileType, Mode, OFlags, open, openat, statat},
        io::Errno,
    };
    use std::{
        ffi::OsString,
        fs::File,
        io,
        os::{fd::OwnedFd, unix::ffi::OsStringExt},
        path::Path,
    };

    /// An open folder.
    pub(crate) struct OpenFolder(OwnedFd);

    const FOLDER_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    /// A pipe that has replaced a file must not block the thread.
    const FILE_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

    /// The error if a name has been replaced, for example a folder by a link or file.
    fn exchanged(error: Errno) -> io::Error {
        match error {
            Errno::LOOP | Errno::MLINK | Errno::NOTDIR => io::ErrorKind::NotFound.into(),
            error => error.into(),
        }
    }

    impl OpenFolder {
        /// Opens the folder at a path, which may contain links.
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(open(path, FOLDER_FLAGS, Mode::empty())?))
        }

        /// The names in the folder.
        pub(crate) fn names(&self) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
            let names = Dir::read_from(&self.0)?.map(|entry| {
                let name = entry.map_err(io::Error::from)?.file_name().to_bytes().to_vec();
                Ok(OsString::from_vec(name))
            });
            Ok(names.filter(|name| !matches!(name, Ok(name) if name == "." || name == "..")))
        }

        pub(crate) fn kind(&self, name: &str) -> io::Result<EntryKind> {
            let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(match FileType::from_raw_mode(found.st_mode) {
                FileType::Directory => EntryKind::Folder,
                FileType::RegularFile => EntryKind::File(found.st_size.try_into().unwrap_or(0)),
                FileType::Symlink => EntryKind::Link,
                _ => EntryKind::Other,
            })
        }

        pub(crate) fn folder(&self, name: &str) -> io::Result<Self> {
            Ok(Self(openat(&self.0, name, FOLDER_FLAGS.union(OFlags::NOFOLLOW), Mode::empty()).map_err(exchanged)?))
        }

        pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
            let opened = openat(&self.0, name, FILE_FLAGS.union(OFlags::NOFOLLOW), Mode::empty());
            Ok(opened.map_err(exchanged)?.into())
        }
    }
}

#[cfg(not(unix))]
mod system {
    use super::entry::EntryKind;
    use std::{
        ffi::OsString,
        fs::{self, File},
        io,
        path::{Path, PathBuf},
    };

    /// A folder by its path.
    pub(crate) struct OpenFolder(PathBuf);

    impl OpenFolder {
        /// Opens the folder at a path, which may contain links.
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(path.to_owned()))
        }

        /// The names in the folder.
        pub(crate) fn names(&self) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
            Ok(fs::read_dir(&self.0)?.map(|entry| Ok(entry?.file_name())))
        }

        pub(crate) fn kind(&self, name: &str) -> io::Result<EntryKind> {
            let found = fs::symlink_metadata(self.0.join(name))?;
            Ok(match found.file_type() {
                kind if kind.is_dir() => EntryKind::Folder,
                kind if kind.is_file() => EntryKind::File(found.len()),
                kind if kind.is_symlink() => EntryKind::Link,
                _ => EntryKind::Other,
            })
        }

        pub(crate) fn folder(&self, name: &str) -> io::Result<Self> {
            match self.kind(name)? {
                EntryKind::Folder => Ok(Self(self.0.join(name))),
                _ => Err(io::ErrorKind::NotFound.into()),
            }
        }

        pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
            File::open(self.0.join(name))
        }
    }
}

pub(crate) use entry::EntryKind;
use std::{fs::File, io};
pub(crate) use system::OpenFolder;

mod entry {
    /// The kind of an entry in a folder.
    pub(crate) enum EntryKind {
        Folder,
        /// A regular file with its size.
        File(u64),
        Link,
        /// A pipe, a device or a socket.
        Other,
    }
}

impl OpenFolder {
    /// Opens a regular file in the folder.
    pub(crate) fn file(&self, name: &str) -> io::Result<File> {
        if let EntryKind::File(_) = self.kind(name)? {
            let file = self.open_file(name)?;
            // The file may have been replaced by now.
            if file.metadata()?.is_file() {
                return Ok(file);
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }
}
