//! Replaces a file of another program: with a backup, and at once or not at all.

use crate::{failure::Failure, known_servers::text_of};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Added to the name of a file for its backup.
const BACKUP: &str = "trunkline-bak";

/// The backup of a file.
pub(crate) fn backup_of(path: &Path) -> PathBuf {
    beside(path, BACKUP)
}

/// Replaces a file whose text was `old` (`None`: there was none) by `new` (`None`: remove it). The
/// backup has the text before, or is removed if the file is new.
pub(crate) fn replace(path: &Path, old: Option<&str>, new: Option<&str>) -> Result<(), Failure> {
    let failed = |what: &str, error: &io::Error| {
        Failure::usage(format!("{what} {}: {error}", path.display())).tried("nothing was changed")
    };
    let now = text_of(path).map_err(|error| failed("cannot read", &error))?;
    if now.as_deref() != old {
        let message = format!("{} was changed by another program in the meantime", path.display());
        return Err(Failure::usage(message).tried("nothing was changed").hint("run the command again"));
    }
    // The link to a file stays one.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder).map_err(|error| failed("cannot make the folder of", &error))?;
    }
    let backup = backup_of(path);
    match old {
        Some(old) if new.is_some() => {
            put(&backup, old, &target).map_err(|error| failed("cannot write the backup of", &error))?;
        }
        _ => match fs::remove_file(&backup) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("cannot remove the backup of", &error));
            }
            _ => {}
        },
    }
    match new {
        Some(new) => put(&target, new, &target),
        None => fs::remove_file(&target),
    }
    .map_err(|error| failed("cannot write", &error))
}

/// Removes the backup of a file that is as it was before.
pub(crate) fn remove_backup(path: &Path) {
    let _ = fs::remove_file(backup_of(path));
}

/// Writes a file by its replacement, with the permissions of another one, if that exists.
fn put(path: &Path, text: &str, like: &Path) -> io::Result<()> {
    let new = beside(path, &format!("trunkline-{}", std::process::id()));
    let written = create(&new, like).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let ended = written.and_then(|()| fs::rename(&new, path));
    if ended.is_err() {
        let _ = fs::remove_file(&new);
    }
    ended
}

/// Creates a file that only this user can read, unless more can read the other one.
fn create(path: &Path, like: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    if let Ok(about) = fs::metadata(like) {
        file.set_permissions(about.permissions())?;
    }
    Ok(file)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}
