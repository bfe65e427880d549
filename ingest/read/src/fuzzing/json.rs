//! JSON and bytes: our framing against `serde_json`, and mending against itself.

use std::io::{self, Read};

use crate::decode;
use crate::json::{Bad, Kind, Lines, Pull, Shape, Value, parse};

/// Arrays and objects are walked into so deep, then taken whole.
const DEPTH: usize = 6;

/// Gives the input in pieces of the lengths of `cuts`, over and over.
struct Pieces<'a> {
    bytes: &'a [u8],
    cuts: &'a [u8],
    next: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let cut = self.cuts.get(self.next % self.cuts.len().max(1)).map_or(usize::MAX, |&cut| usize::from(cut) + 1);
        self.next += 1;
        let n = cut.min(self.bytes.len()).min(into.len());
        into[..n].copy_from_slice(&self.bytes[..n]);
        self.bytes = &self.bytes[n..];
        Ok(n)
    }
}

/// Eight bytes say how the rest is cut into reads and where the bound lies.
pub fn json(data: &[u8]) {
    let Some((&[bound, ref cuts @ ..], bytes)) = data.split_first_chunk::<8>() else { return };
    let pieces = |cuts| Pieces { bytes, cuts, next: 0 };
    let bytes_max = u64::from(bound);
    for bytes_max in [bytes_max, 1 << 20] {
        let (whole, ended) = pulled(pieces(&[]), bytes_max);
        assert_eq!((&whole, &ended), (&pulled(pieces(cuts), bytes_max).0, &pulled(pieces(cuts), bytes_max).1));
        if bytes_max == 1 << 20 {
            agrees(bytes, &whole, ended.as_deref());
        }
    }
    assert_eq!(lines(pieces(&[]), bytes_max), lines(pieces(cuts), bytes_max));
    assert_eq!(lines(pieces(&[]), bytes_max).iter().map(|line| line.2).sum::<u64>(), bytes.len() as u64);
    Shape::of(bytes);
}

/// What `serde_json` takes we take, value for value.
fn agrees(bytes: &[u8], pulled: &[String], ended: Option<&str>) {
    if let Ok(value) = serde_json::from_slice::<Value<'_>>(bytes) {
        assert_eq!(ended, None, "serde_json takes it");
        assert_eq!(pulled.len(), count(&value, 0));
    }
    let mut n_replaced = 0;
    let ours = parse(bytes, &mut n_replaced, |value: &Value<'_>| serde_json::Value::from(value));
    if let Ok(theirs) = serde_json::from_slice::<serde_json::Value>(bytes) {
        assert_eq!((ours.as_ref(), n_replaced), (Ok(&theirs), 0));
    }
}

/// Every name and value that is pulled, with its place, and why it ended where it did.
fn pulled(pieces: Pieces<'_>, bytes_max: u64) -> (Vec<String>, Option<String>) {
    let mut out = Vec::new();
    let mut pull = Pull::new(Box::new(pieces), bytes_max);
    let ended = walk(&mut pull, 0, &mut out).and_then(|()| match pull.kind()? {
        None => Ok(()),
        Some(_) => Err(Bad::Syntax { offset: pull.offset(), wanted: "the end" }),
    });
    (out, ended.err().map(|bad| format!("{bad:?}")))
}

fn walk(pull: &mut Pull<'_>, depth: usize, out: &mut Vec<String>) -> Result<(), Bad> {
    let kind = pull.kind()?;
    if depth == DEPTH || !matches!(kind, Some(Kind::Array | Kind::Object)) {
        let value = pull.value()?;
        assert!(value.bytes.is_none_or(|bytes| bytes.len() as u64 == value.n_bytes));
        out.push(format!("{} {} {:?}", value.offset, value.n_bytes, value.bytes));
        return Ok(());
    }
    pull.enter()?;
    out.push(format!("{kind:?} before {}", pull.offset()));
    if kind == Some(Kind::Object) {
        while let Some(name) = pull.next_name()? {
            if name == "skip" {
                pull.skip()?;
                out.push(name);
            } else {
                walk(pull, depth + 1, out)?;
            }
        }
    } else {
        while pull.next_element()? {
            walk(pull, depth + 1, out)?;
        }
    }
    Ok(())
}

fn lines(pieces: Pieces<'_>, bytes_max: u64) -> Vec<(u64, u64, u64, Vec<u8>)> {
    let mut lines = Lines::new(pieces, bytes_max);
    let mut out = Vec::new();
    while let Ok(Some(line)) = lines.next() {
        out.push((line.n, line.offset, line.n_bytes, line.bytes));
    }
    out
}

/// How many values [`walk`] meets in a value that lies `depth` levels deep, by `serde_json`'s own parser.
fn count(value: &Value<'_>, depth: usize) -> usize {
    if depth == DEPTH {
        return 1;
    }
    let inner: usize = match value {
        Value::Array(elements) => elements.iter().map(|element| count(element, depth + 1)).sum(),
        Value::Object(object) => {
            object.iter().map(|(name, value)| if name == "skip" { 1 } else { count(value, depth + 1) }).sum()
        }
        _ => 0,
    };
    1 + inner
}

/// Any bytes as a text, and as a JSON text with escapes.
pub fn decode(data: &[u8]) {
    let mut n_replaced = 0;
    let mended = decode::mend_surrogates(data.to_vec(), &mut n_replaced);
    assert_eq!(mended.len(), data.len());
    assert_eq!(n_replaced == 0, mended == data);
    if let Ok(text) = std::str::from_utf8(data) {
        assert_eq!(n_replaced, 0, "a text has no surrogates");
        escapes(text);
    }
    match decode::decode(data.to_vec(), None) {
        Ok(decoded) => {
            assert!(!decoded.text.contains('\0'));
            let n_bad = decoded.text.matches('\u{fffd}').count() as u64;
            assert!(decoded.n_replaced <= n_bad);
            let given = std::str::from_utf8(data).map(|text| text.strip_prefix('\u{feff}').unwrap_or(text));
            if decoded.n_replaced == 0 && decoded.encoding.is_none() {
                assert_eq!(given, Ok(decoded.text.as_str()), "nothing else is changed");
            }
        }
        Err(trouble) => assert!(!trouble.reason.is_empty() && !trouble.hint.is_empty()),
    }
}

fn escapes(text: &str) {
    let (mended, n_replaced) = decode::mend_json_escapes(text);
    assert_eq!(n_replaced == 0, mended == text);
    assert_eq!(decode::mend_json_escapes(&mended), (mended.clone(), 0), "mended once is mended");
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(text) {
        assert_eq!(n_replaced, 0, "serde_json takes it");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&mended).ok(), Some(value));
    }
}
