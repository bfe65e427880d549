//! Writes archives byte by byte, so that each field can be a lie.

use std::io::Write;

/// An entry of a ZIP archive; what is `None` is the truth.
#[derive(Clone, Default)]
pub struct Entry {
    pub name: Vec<u8>,
    pub packed: Vec<u8>,
    pub method: u16,
    pub flags: u16,
    pub crc: u32,
    pub n_bytes: u32,
    pub n_packed: Option<u32>,
    pub offset: Option<u32>,
    pub external: u32,
    pub extra: Vec<u8>,
    pub local_name: Option<Vec<u8>>,
}

/// An entry stored as it is.
pub fn stored(name: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Entry {
    let bytes = bytes.as_ref();
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    Entry {
        name: name.as_ref().to_vec(),
        packed: bytes.to_vec(),
        crc: crc.sum(),
        n_bytes: bytes.len() as u32,
        ..Entry::default()
    }
}

/// An entry that is deflated.
pub fn deflated(name: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Entry {
    let entry = stored(name, bytes);
    let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    deflate.write_all(&entry.packed).unwrap();
    Entry { packed: deflate.finish().unwrap(), method: 8, ..entry }
}

fn put(out: &mut Vec<u8>, fields: &[(u64, usize)]) {
    fields.iter().for_each(|(value, n)| out.extend(&value.to_le_bytes()[..*n]));
}

fn header(entry: &Entry, name: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let n_packed = entry.n_packed.unwrap_or(entry.packed.len() as u32);
    put(&mut out, &[(20, 2), (entry.flags.into(), 2), (entry.method.into(), 2), (0, 2), (0x5821, 2)]);
    put(&mut out, &[(entry.crc.into(), 4), (n_packed.into(), 4), (entry.n_bytes.into(), 4)]);
    put(&mut out, &[(name.len() as u64, 2), (entry.extra.len() as u64, 2)]);
    out
}

/// A ZIP archive's parts: entries, directory, end.
pub struct Zip {
    pub entries: Vec<u8>,
    pub directory: Vec<u8>,
    pub n_entries: u64,
}

/// The parts of a ZIP archive of `entries`.
pub fn zip_parts(entries: &[Entry]) -> Zip {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = entry.offset.unwrap_or(out.len() as u32);
        if entry.offset.is_none() {
            let name = entry.local_name.as_ref().unwrap_or(&entry.name);
            out.extend(b"PK\x03\x04");
            out.extend(header(entry, name));
            out.extend(name);
            out.extend(&entry.extra);
            out.extend(&entry.packed);
        }
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(header(entry, &entry.name));
        put(&mut directory, &[(0, 2), (0, 2), (0, 2), (entry.external.into(), 4), (offset.into(), 4)]);
        directory.extend(&entry.name);
        directory.extend(&entry.extra);
    }
    Zip { entries: out, directory, n_entries: entries.len() as u64 }
}

/// The end of a ZIP archive that claims these figures.
pub fn zip_end(n_entries: u64, n_directory: u64, at: u64, comment: &[u8]) -> Vec<u8> {
    let mut out = b"PK\x05\x06\0\0\0\0".to_vec();
    put(&mut out, &[(n_entries, 2), (n_entries, 2), (n_directory, 4), (at, 4), (comment.len() as u64, 2)]);
    out.extend(comment);
    out
}

/// A zip64 end and its locator, for a directory at `at`.
pub fn zip64_end(n_entries: u64, n_directory: u64, at: u64, end_at: u64) -> Vec<u8> {
    let mut out = b"PK\x06\x06".to_vec();
    put(&mut out, &[(44, 8), (45, 2), (45, 2), (0, 4), (0, 4), (n_entries, 8), (n_entries, 8)]);
    put(&mut out, &[(n_directory, 8), (at, 8)]);
    out.extend(b"PK\x06\x07\0\0\0\0");
    put(&mut out, &[(end_at, 8), (1, 4)]);
    out
}

/// A ZIP archive that says of itself what is true.
pub fn zip(entries: &[Entry]) -> Vec<u8> {
    let Zip { entries, directory, n_entries } = zip_parts(entries);
    let end = zip_end(n_entries, directory.len() as u64, entries.len() as u64, b"");
    [entries, directory, end].concat()
}

/// One header of a tar archive, of GNU's kind.
pub fn tar_header(name: &[u8], kind: u8, size: &[u8], link: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    let mut field = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    field(0, &name[..name.len().min(100)]);
    field(100, b"0000644\0");
    field(108, b"0000000\0");
    field(116, b"0000000\0");
    field(124, &size[..size.len().min(12)]);
    field(136, b"00000000000\0");
    field(148, b"        ");
    field(156, &[kind]);
    field(157, &link[..link.len().min(100)]);
    field(257, b"ustar  \0");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// An entry of a tar archive of any kind.
pub fn tar_entry(name: &[u8], kind: u8, bytes: &[u8]) -> Vec<u8> {
    let size = format!("{:011o}\0", bytes.len());
    let padding = bytes.len().next_multiple_of(512) - bytes.len();
    [tar_header(name, kind, size.as_bytes(), b"/etc/passwd"), bytes.to_vec(), vec![0; padding]].concat()
}

/// A tar archive of these entries.
pub fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    [entries.concat(), vec![0; 1024]].concat()
}

/// A pax record with its length.
pub fn pax(name: &str, value: &[u8]) -> Vec<u8> {
    let n = name.len() + value.len() + 3;
    let n_digits = (1..).find(|digits| (n + digits).to_string().len() == *digits).unwrap();
    [format!("{} {name}=", n + n_digits).as_bytes(), value, b"\n"].concat()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}
