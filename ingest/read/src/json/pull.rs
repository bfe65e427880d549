//! Walks into arrays and objects and takes records out of them, with their places.
//!
//! Knows the input only as a reader: a file, an entry of an archive. Does not know what a record means.

use std::fmt;
use std::io::{self, Read};

use super::bad::Bad;
use super::frame::Frame;

/// The first room for input; it grows to the largest record. A fuzzer meets its end at once.
const BUFFER_BYTES: usize = if cfg!(fuzzing) { 16 } else { 256 << 10 };
/// Arrays and objects that are walked into lie no deeper than this.
const DEPTH_MAX: usize = 64;

/// What a value is, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// Anything else.
    Other,
}

/// A value as it stands in the input.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    /// Where it begins, in bytes from the start of the input.
    pub offset: u64,
    /// Its bytes; `None` where it is over the bound.
    pub bytes: Option<&'a [u8]>,
    /// How many bytes it has.
    pub n_bytes: u64,
}

impl Record<'_> {
    /// Its place, for people.
    pub fn place(&self) -> String {
        format!("byte {}", self.offset)
    }
}

/// An array or object that was walked into.
#[derive(Clone, Copy, Debug)]
struct Level {
    offset: u64,
    is_object: bool,
    is_first: bool,
}

/// Pulls values out of JSON. Memory is the largest value taken, at most the bound.
pub(crate) struct Pull<'a> {
    reader: Box<dyn Read + 'a>,
    /// The input from byte `base` on: what is not yet consumed is `buffer[at..end]`.
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    base: u64,
    is_ended: bool,
    bytes_max: u64,
    levels: Vec<Level>,
}

impl fmt::Debug for Pull<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pull").field("offset", &self.offset()).field("levels", &self.levels).finish_non_exhaustive()
    }
}

type Pulled<T> = Result<T, Bad>;

impl<'a> Pull<'a> {
    /// Pulls from `reader`; a value that is taken has at most `bytes_max` bytes.
    pub fn new(reader: Box<dyn Read + 'a>, bytes_max: u64) -> Self {
        let buffer = vec![0; BUFFER_BYTES];
        Self { reader, buffer, at: 0, end: 0, base: 0, is_ended: false, bytes_max, levels: Vec::new() }
    }

    /// Where the next byte lies, from the start of the input.
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// A value that is taken has at most so many bytes.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// What comes next, or `None` at the end of the input. A byte order mark counts as space.
    pub fn kind(&mut self) -> Pulled<Option<Kind>> {
        Ok(self.peek()?.map(|byte| match byte {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            _ => Kind::Other,
        }))
    }

    /// Walks into the array or object that comes next.
    pub fn enter(&mut self) -> Pulled<()> {
        let offset = self.offset();
        let is_object = match self.peek()? {
            Some(b'{') => true,
            Some(b'[') => false,
            Some(_) => return Err(self.syntax("[ or {")),
            None => return Err(Bad::Cut { offset }),
        };
        if self.levels.len() == DEPTH_MAX {
            return Err(self.syntax("a value that is not so deep"));
        }
        self.levels.push(Level { offset: self.offset(), is_object, is_first: true });
        self.at += 1;
        Ok(())
    }

    /// Whether the array or object has one more; walks out of it where it has none.
    fn has_more(&mut self) -> Pulled<bool> {
        let next = self.peek()?;
        let here = self.offset();
        let Some(level) = self.levels.last_mut() else { return Ok(next.is_some()) };
        let is_first = std::mem::replace(&mut level.is_first, false);
        let close = if level.is_object { b'}' } else { b']' };
        match next {
            None => return Err(Bad::Cut { offset: level.offset }),
            Some(byte) if byte == close => {
                self.at += 1;
                self.levels.pop();
                return Ok(false);
            }
            Some(b',') if !is_first => self.at += 1,
            Some(_) if is_first => return Ok(true),
            Some(_) => {
                return Err(Bad::Syntax { offset: here, wanted: if close == b'}' { ", or }" } else { ", or ]" } });
            }
        }
        match self.peek()? {
            Some(byte) if byte == close => Err(self.syntax("a value after the comma")),
            _ => Ok(true),
        }
    }

    /// Whether the array has one more element, which comes next; walks out of it where it has none.
    pub fn next_element(&mut self) -> Pulled<bool> {
        self.has_more()
    }

    /// The next name in the object, whose value comes next; walks out of it where there is none.
    pub fn next_name(&mut self) -> Pulled<Option<String>> {
        if !self.has_more()? {
            return Ok(None);
        }
        if self.peek()? != Some(b'"') {
            return Err(self.syntax("a name"));
        }
        let record = self.value()?;
        let offset = record.offset;
        let name = record.bytes.and_then(|bytes| serde_json::from_slice::<String>(bytes).ok());
        let name = name.ok_or(Bad::Syntax { offset, wanted: "a name" })?;
        if self.peek()? != Some(b':') {
            return Err(self.syntax(": and a value"));
        }
        self.at += 1;
        Ok(Some(name))
    }

    /// Nothing more may come.
    pub fn ended(&mut self) -> Pulled<()> {
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(Bad::Behind { offset: self.offset() }),
        }
    }

    /// Takes the value that comes next, whole. One over the bound is passed over and has no bytes.
    pub fn value(&mut self) -> Pulled<Record<'_>> {
        let Some(first) = self.peek()? else { return Err(Bad::Cut { offset: self.offset() }) };
        if matches!(first, b',' | b':' | b']' | b'}') {
            return Err(self.syntax("a value"));
        }
        let offset = self.offset();
        let mut frame = Frame::before(first);
        let mut n_scanned = 0;
        loop {
            let found = frame.scan(&self.buffer[self.at + n_scanned..self.end]);
            let n_bytes = n_scanned + found.unwrap_or(self.end - self.at - n_scanned);
            if n_bytes as u64 > self.bytes_max {
                let n_bytes = if found.is_some() { n_bytes as u64 } else { self.pass(frame, offset)? };
                if found.is_some() {
                    self.at += n_bytes as usize;
                }
                return Ok(Record { offset, bytes: None, n_bytes });
            }
            n_scanned = n_bytes;
            if found.is_some() || !self.more()? {
                if found.is_none() && !matches!(frame, Frame::Word) {
                    return Err(Bad::Cut { offset });
                }
                let start = self.at;
                self.at += n_scanned;
                return Ok(Record { offset, bytes: Some(&self.buffer[start..self.at]), n_bytes: n_scanned as u64 });
            }
        }
    }

    /// Passes over the value that comes next, however long it is.
    pub fn skip(&mut self) -> Pulled<()> {
        let bytes_max = std::mem::replace(&mut self.bytes_max, 0);
        let skipped = self.value().map(|_| ());
        self.bytes_max = bytes_max;
        skipped
    }

    /// Takes the value that comes next, or says that it is over the bound.
    pub fn bounded(&mut self) -> Pulled<(u64, &[u8])> {
        let bytes_max = self.bytes_max;
        let record = self.value()?;
        let (offset, n_bytes) = (record.offset, record.n_bytes);
        match record.bytes {
            Some(bytes) => Ok((offset, bytes)),
            None => Err(Bad::Large { offset, n_bytes, bytes_max }),
        }
    }

    /// Reads on to the end of a value that all of the buffer belongs to; its length.
    fn pass(&mut self, mut frame: Frame, offset: u64) -> Pulled<u64> {
        loop {
            self.at = self.end;
            if !self.more()? {
                return match frame {
                    Frame::Word => Ok(self.offset() - offset),
                    _ => Err(Bad::Cut { offset }),
                };
            }
            if let Some(n) = frame.scan(&self.buffer[self.at..self.end]) {
                self.at += n;
                return Ok(self.offset() - offset);
            }
        }
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Pulled<Option<u8>> {
        if self.offset() == 0 {
            while self.end < 3 && self.more()? {}
            if self.buffer[..self.end].starts_with(b"\xef\xbb\xbf") {
                self.at = 3;
            }
        }
        loop {
            while self.at < self.end {
                match self.buffer[self.at] {
                    b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                    byte => return Ok(Some(byte)),
                }
            }
            if !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Reads more input behind what is not consumed; whether there was any.
    fn more(&mut self) -> Pulled<bool> {
        if self.is_ended {
            return Ok(false);
        }
        if self.at > 0 {
            self.buffer.copy_within(self.at..self.end, 0);
            self.base += self.at as u64;
            self.end -= self.at;
            self.at = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(n) => {
                    self.end += n;
                    self.is_ended = n == 0;
                    return Ok(n > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn syntax(&self, wanted: &'static str) -> Bad {
        Bad::Syntax { offset: self.offset(), wanted }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives the input in pieces of the lengths of `cuts`, over and over.
    struct Pieces<'a> {
        bytes: &'a [u8],
        cuts: Vec<usize>,
        next: usize,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.cuts[self.next % self.cuts.len()].min(self.bytes.len()).min(into.len());
            self.next += 1;
            into[..n].copy_from_slice(&self.bytes[..n]);
            self.bytes = &self.bytes[n..];
            Ok(n)
        }
    }

    /// The records of an array, or of an object's values, and how it ended.
    fn records(bytes: &[u8], cuts: &[usize], bytes_max: u64) -> (Vec<String>, Option<String>) {
        let mut out = Vec::new();
        let pieces = Pieces { bytes, cuts: cuts.to_vec(), next: 0 };
        let mut pull = Pull::new(Box::new(pieces), bytes_max);
        let ended = walk(&mut pull, &mut out).err();
        (out, ended.map(|bad| format!("{} {}", bad.trouble().place, bad.trouble().reason)))
    }

    fn walk(pull: &mut Pull<'_>, out: &mut Vec<String>) -> Pulled<()> {
        let is_object = pull.kind()? == Some(Kind::Object);
        pull.enter()?;
        loop {
            if is_object {
                match pull.next_name()? {
                    Some(name) if name == "skip" => {
                        pull.skip()?;
                        continue;
                    }
                    Some(name) => out.push(name),
                    None => return Ok(()),
                }
            } else if !pull.next_element()? {
                return Ok(());
            }
            let record = pull.value()?;
            let text = record.bytes.map_or("(large)".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned());
            out.push(format!("{} {} {text}", record.offset, record.n_bytes));
        }
    }

    fn check(json: &str, records_expected: &[&str], ended: Option<&str>) {
        let (found, end) = records(json.as_bytes(), &[usize::MAX], 20);
        assert_eq!(found, records_expected, "{json}");
        assert_eq!(end.as_deref(), ended, "{json}");
    }

    #[test]
    fn records_come_with_their_places() {
        check("\u{feff} [1, {\"a\":[\"]\"]} ,\"x\" ]", &["5 1 1", "8 11 {\"a\":[\"]\"]}", "21 3 \"x\""], None);
        check("{\"a\":1,\"skip\":[1,2,3,4,5,6,7,8,9,10],\"b\":{}}", &["a", "5 1 1", "b", "41 2 {}"], None);
        check("[]", &[], None);
    }

    #[test]
    fn what_stands_before_the_damage_goes_in() {
        check("[1,{\"a\":", &["1 1 1"], Some("byte 3 the file ends inside what begins here"));
        check("[1", &["1 1 1"], Some("byte 0 the file ends inside what begins here"));
        check("[1,]", &["1 1 1"], Some("byte 3 not JSON: a value after the comma should stand here"));
        check("[1 2]", &["1 1 1"], Some("byte 3 not JSON: , or ] should stand here"));
        check("{\"a\" 1}", &[], Some("byte 5 not JSON: : and a value should stand here"));
        check("[,1]", &[], Some("byte 1 not JSON: a value should stand here"));
        check("x", &[], Some("byte 0 not JSON: [ or { should stand here"));
        check("", &[], Some("byte 0 the file ends inside what begins here"));
    }

    #[test]
    fn a_record_over_the_bound_is_passed_over_and_the_next_is_taken() {
        let long = format!("[1,\"{}\",2]", "x".repeat(1 << 20));
        let (found, end) = records(long.as_bytes(), &[1000], 20);
        assert_eq!(found, ["1 1 1", "3 1048578 (large)", "1048582 1 2"]);
        assert_eq!(end, None);
    }

    #[test]
    fn a_gigabyte_deep_nest_needs_no_stack() {
        let deep = format!("[{}1{}]", "[".repeat(100_000), "]".repeat(100_000));
        let (found, end) = records(deep.as_bytes(), &[777], 1 << 20);
        assert_eq!((found.len(), end), (1, None));
    }

    /// JSON with every kind of value, strings with brackets, quotes and escapes.
    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<i32>().prop_map(serde_json::Value::from),
            "[a-c\\[\\]{}\",:\\\\ é🙂\n]{0,12}".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
                proptest::collection::btree_map("[a-c\"\\\\]{0,3}", inner, 0..5)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn every_record_is_taken_as_serde_sees_it(
            values in proptest::collection::vec(json(), 0..6),
            cuts in proptest::collection::vec(1..40_usize, 1..8),
            is_pretty in any::<bool>(),
        ) {
            let array = serde_json::Value::from(values.clone());
            let text = if is_pretty { serde_json::to_string_pretty(&array) } else { serde_json::to_string(&array) };
            let (found, end) = records(text.unwrap().as_bytes(), &cuts, 1 << 20);
            prop_assert_eq!(end, None);
            let found: Vec<serde_json::Value> = found
                .iter()
                .map(|record| serde_json::from_str(record.splitn(3, ' ').nth(2).unwrap()).unwrap())
                .collect();
            prop_assert_eq!(found, values);
        }

        #[test]
        fn the_cuts_of_the_input_change_nothing(
            bytes in "[\\[{]([\\[\\]{}\",:\\\\a1 ]|\"a\":){0,40}",
            cuts in proptest::collection::vec(1..9_usize, 1..8),
            bytes_max in 0..12_u64,
        ) {
            prop_assert_eq!(
                records(bytes.as_bytes(), &cuts, bytes_max),
                records(bytes.as_bytes(), &[usize::MAX], bytes_max)
            );
        }

        #[test]
        fn any_bytes_are_pulled_without_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            cuts in proptest::collection::vec(1..9_usize, 1..4),
        ) {
            let _ = records(&bytes, &cuts, 50);
        }
    }
}
