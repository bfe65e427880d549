//! The files of a store, as tests look at them and spoil them.

use std::fs;
use std::path::{Path, PathBuf};

/// All files below `folder` whose name ends in `extension`, in the order of their paths; "" for all.
pub fn below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Flips one bit in the middle of a file, whatever its permissions.
pub fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("the file is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    replace(path, &bytes);
}

/// Cuts a file to half its length.
pub fn cut(path: &Path) {
    let bytes = fs::read(path).expect("the file is there");
    replace(path, &bytes[..bytes.len() / 2]);
}

fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).expect("the file can be removed");
    fs::write(path, bytes).expect("the file can be written");
}

/// Copies a folder with all below it.
pub fn copy(from: &Path, to: &Path) {
    for file in below(from, "") {
        let target = to.join(file.strip_prefix(from).expect("it lies below"));
        fs::create_dir_all(target.parent().expect("a file has a folder")).expect("the folder can be made");
        fs::copy(&file, &target).expect("the file can be copied");
    }
}
