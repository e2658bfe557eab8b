//! The folder of recordings: where `tap --record` writes to without a name, and where commands without a file look.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::terminal::escape;

/// The end of a recording's name.
const EXTENSION: &str = "tap";

/// The length of the time that a recording's name starts with: `20251116T015006Z`.
const TIME_LEN: usize = 16;

/// `$XDG_STATE_HOME/wireline`, or its default; on Windows `%LOCALAPPDATA%\wireline`.
fn folder() -> io::Result<PathBuf> {
    let variable = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_STATE_HOME" };
    // The specification says to ignore a relative path.
    let state = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| std::env::home_dir().map(|home| home.join(".local").join("state")));
    let state = state.ok_or_else(|| io::Error::other(format!("neither {variable} nor a home directory is known")))?;
    Ok(state.join("wireline"))
}

/// The name of a new recording in the folder, with placeholders: the time comes first, so that names sort by it.
pub(crate) fn new_name(program: &Path) -> io::Result<PathBuf> {
    let folder = folder()?;
    create(&folder)?;
    let program = program.file_stem().unwrap_or_default().to_string_lossy();
    let is_plain = |character: &char| character.is_alphanumeric() || "-_.".contains(*character);
    let program: String = program.chars().filter(is_plain).take(40).collect();
    Ok(folder.join(format!("%t-{program}-%p.{EXTENSION}")))
}

/// Creates the folder, for its owner only.
fn create(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Removes the oldest recordings in the folder beyond a count and a total size, apart from those that are being written.
/// Files with other names stay.
pub(crate) fn rotate(max_count: u64, max_size: u64) {
    // What cannot be removed now may be removed the next time.
    let Ok(recordings) = folder().and_then(|folder| all(&folder)) else { return };
    let (mut count, mut size) = (0, 0_u64);
    for Recording { path, len, .. } in recordings {
        count += 1;
        size = size.saturating_add(len);
        if (count > max_count || size > max_size) && has_recorded_name(&path) && !is_in_use(&path) {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn has_recorded_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.get(..TIME_LEN).is_some_and(|time| {
        time[8] == b'T' && time[TIME_LEN - 1] == b'Z' && time.iter().filter(|byte| byte.is_ascii_digit()).count() == 14
    })
}

fn is_in_use(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
        Err(_) => false,
    }
}

/// The newest recording in the folder, or what to tell the user.
pub(crate) fn newest() -> Result<PathBuf, String> {
    let folder = folder().map_err(|error| error.to_string())?;
    let newest = all(&folder).ok().and_then(|recordings| recordings.into_iter().next());
    newest.map(|recording| recording.path).ok_or_else(|| {
        let folder = escape(folder.as_os_str().as_encoded_bytes());
        format!("there is no recording in {folder}: name one, or make one with `wireline tap --record -- SERVER`")
    })
}

struct Recording {
    path: PathBuf,
    len: u64,
    modified: SystemTime,
}

/// The recordings in the folder, the newest first.
fn all(folder: &Path) -> io::Result<Vec<Recording>> {
    let mut recordings = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != EXTENSION) {
            continue;
        }
        // It may be gone already.
        let Ok(metadata) = path.metadata() else { continue };
        if metadata.is_file() {
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            recordings.push(Recording { path, len: metadata.len(), modified });
        }
    }
    recordings.sort_by(|a, b| (b.modified, &b.path).cmp(&(a.modified, &a.path)));
    Ok(recordings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_time_are_removed() {
        for (name, expected) in [
            ("20251116T015006Z-server-1.tap", true),
            ("20251116T015006Z.tap", true),
            ("session.tap", false),
            ("20251116-015006-my-notes.tap", false),
            ("", false),
        ] {
            assert_eq!(has_recorded_name(Path::new(name)), expected, "{name}");
        }
    }
}
