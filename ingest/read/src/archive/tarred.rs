//! The entries of a tar archive: where each lies, so that it can be read as often as asked.

use std::sync::Arc;

use super::list::Listed;
use super::{Backing, ENTRIES_MAX, Part, Place};
use crate::decode::Trouble;
use crate::files::unreadable;

/// The entries of the tar archive in `file`; where it is damaged, those before the damage.
pub(super) fn entries(file: &Arc<Backing>) -> Listed {
    let mut listed = Listed::default();
    let mut archive = match file.open() {
        Ok(opened) => tar::Archive::new(opened),
        Err(error) => {
            listed.trouble("", unreadable(&error));
            return listed;
        }
    };
    let n_file_bytes = archive_len(file);
    let entries = match archive.entries_with_seek() {
        Ok(entries) => entries,
        Err(error) => {
            listed.trouble("", damaged(&error));
            return listed;
        }
    };
    for (n_before, entry) in entries.enumerate() {
        if n_before == ENTRIES_MAX {
            listed.crowded(ENTRIES_MAX + 1);
            break;
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                listed.trouble("", damaged(&error));
                break;
            }
        };
        let kind = entry.header().entry_type();
        if kind.is_dir() || kind.is_pax_global_extensions() {
            continue;
        }
        let given = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let Some(name) = listed.admit(&given) else { continue };
        let (start, n_bytes) = (entry.raw_file_position(), entry.size());
        if !kind.is_file() && !kind.is_contiguous() {
            let what = if kind.is_symlink() || kind.is_hard_link() { "a link" } else { "neither file nor folder" };
            let hint = "import what it stands for by itself";
            listed.trouble(&name, Trouble::new("", format!("{what} in an archive, which is not followed"), hint));
        } else if start.saturating_add(n_bytes) > n_file_bytes {
            listed.trouble(&name, Trouble::new("", "the archive ends inside it", "copy or export the archive again"));
        } else {
            let place = Place::Stretch { file: Arc::clone(file), start, n_bytes };
            listed.parts.push(Part { name, n_bytes: Some(n_bytes), place });
        }
    }
    listed
}

fn archive_len(file: &Backing) -> u64 {
    file.open().and_then(|file| file.metadata()).map_or(0, |metadata| metadata.len())
}

fn damaged(error: &std::io::Error) -> Trouble {
    let hint = "copy or export it again: what stands before the damage went in";
    Trouble::new("", format!("a damaged tar archive: {error}"), hint)
}
