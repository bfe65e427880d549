//! XML of any length, pulled element by element: names without their prefixes, text with its references resolved.
//!
//! An entity that a document declares for itself is not expanded, and nothing outside the file is ever fetched: such a
//! reference stays as it is written. Elements are not kept, so that depth costs nothing but the names of open ones.

use std::io::{self, BufRead, Read};

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8};
use quick_xml::escape::resolve_html5_entity;
use quick_xml::events::Event;
use quick_xml::{Reader, XmlVersion};

use crate::decode::Trouble;

/// So many bytes of a file are looked at for its declaration.
const DECLARATION_BYTES: usize = 256;
/// Elements lie in elements at most so deep.
const DEPTH_MAX: usize = 1_000_000;
/// What is decoded at a time.
const CHUNK_BYTES: usize = 32 << 10;

/// What is pulled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// An element begins.
    Start(Tag),
    /// The innermost open element ends; its local name.
    End(String),
    /// Text between elements.
    Text(String),
}

/// An element's beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// Its name without prefix.
    pub name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    /// The attribute `name`, whatever its prefix.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All attributes called `name` but for their prefixes.
    pub fn all<'t>(&'t self, name: &'t str) -> impl Iterator<Item = &'t str> {
        self.attributes.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Pulls nodes from a stream of XML.
pub(super) struct Xml {
    reader: Reader<Utf8>,
    scratch: Vec<u8>,
    depth: usize,
    /// A reference to an entity that the document declares for itself.
    entity: Option<String>,
}

impl Xml {
    /// Pulls from `bytes`; a tag or text has at most `event_bytes_max`.
    pub fn new(bytes: Box<dyn Read>, event_bytes_max: u64) -> io::Result<Self> {
        let mut reader = Reader::from_reader(Utf8::new(bytes, event_bytes_max)?);
        reader.config_mut().expand_empty_elements = true;
        reader.config_mut().allow_dangling_amp = true;
        Ok(Self { reader, scratch: Vec::new(), depth: 0, entity: None })
    }

    /// The next node, `None` at the end.
    ///
    /// # Errors
    /// Where the XML is broken, or longer or deeper than allowed.
    pub fn next(&mut self) -> Result<Option<Node>, Trouble> {
        loop {
            self.reader.get_mut().n_event = 0;
            self.scratch.clear();
            self.scratch.shrink_to(1 << 20);
            let at = self.reader.buffer_position();
            let event = self.reader.read_event_into(&mut self.scratch);
            let event = event.map_err(|error| broken(at, &error))?;
            match event {
                Event::Start(start) | Event::Empty(start) => {
                    self.depth += 1;
                    if self.depth > DEPTH_MAX {
                        let reason = format!("more than {DEPTH_MAX} elements in each other");
                        return Err(Trouble::new(format!("byte {at}"), reason, BROKEN_HINT));
                    }
                    let mut attributes = Vec::new();
                    for attribute in start.attributes().with_checks(false).flatten() {
                        let value = match attribute.normalized_value(XmlVersion::Explicit1_0) {
                            Ok(value) => value.into_owned(),
                            Err(_) => attribute.value.to_string(),
                        };
                        attributes.push((attribute.key.local_name().as_ref().to_owned(), value));
                    }
                    return Ok(Some(Node::Start(Tag { name: start.local_name().as_ref().to_owned(), attributes })));
                }
                Event::End(end) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Some(Node::End(end.local_name().as_ref().to_owned())));
                }
                Event::Text(text) => return Ok(Some(Node::Text(text.xml10_content().into_owned()))),
                Event::CData(text) => return Ok(Some(Node::Text(text.xml10_content().into_owned()))),
                Event::GeneralRef(reference) => {
                    if let Ok(Some(char)) = reference.resolve_char_ref() {
                        return Ok(Some(Node::Text(char.to_string())));
                    }
                    let name = reference.into_inner();
                    if let Some(text) = resolve_html5_entity(&name) {
                        return Ok(Some(Node::Text(text.to_owned())));
                    }
                    let text = format!("&{name};");
                    self.entity.get_or_insert_with(|| text.clone());
                    return Ok(Some(Node::Text(text)));
                }
                Event::Eof => return Ok(None),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }

    /// Characters replaced while decoding, as far as it was read.
    pub fn n_replaced(&self) -> u64 {
        self.reader.get_ref().n_replaced
    }

    /// What is to be said of an entity that the document declares for itself.
    pub fn entity_trouble(&self) -> Option<Trouble> {
        let entity = self.entity.as_deref()?;
        let reason = format!("{entity}: an entity of the file's own, which is not expanded; it stays as it is written");
        Some(Trouble::new("", reason, "open the file in its program and save it again"))
    }
}

const BROKEN_HINT: &str = "open the file in its program and save it again; what stands before is read";

fn broken(at: u64, error: &quick_xml::Error) -> Trouble {
    Trouble::new(format!("byte {at}"), format!("broken XML: {error}"), BROKEN_HINT)
}

/// A stream of bytes as UTF-8, by its byte order mark or XML declaration.
struct Utf8 {
    bytes: Box<dyn Read>,
    raw: Vec<u8>,
    n_raw: usize,
    is_end: bool,
    decoder: Decoder,
    out: Vec<u8>,
    at: usize,
    n_replaced: u64,
    /// Bytes of the event that is being read.
    n_event: u64,
    event_bytes_max: u64,
}

impl Utf8 {
    fn new(mut bytes: Box<dyn Read>, event_bytes_max: u64) -> io::Result<Self> {
        let mut raw = Vec::with_capacity(CHUNK_BYTES);
        bytes.by_ref().take(DECLARATION_BYTES as u64).read_to_end(&mut raw)?;
        let encoding = declared(&raw).unwrap_or(UTF_8);
        let n_raw = raw.len();
        raw.resize(CHUNK_BYTES, 0);
        let decoder = encoding.new_decoder();
        Ok(Self {
            bytes,
            raw,
            n_raw,
            is_end: false,
            decoder,
            out: Vec::new(),
            at: 0,
            n_replaced: 0,
            n_event: 0,
            event_bytes_max,
        })
    }

    fn decode(&mut self) -> io::Result<()> {
        while self.at == self.out.len() && !self.is_end {
            if self.n_raw == 0 {
                self.n_raw = loop {
                    match self.bytes.read(&mut self.raw) {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        other => break other?,
                    }
                };
                self.is_end = self.n_raw == 0;
            }
            self.out.resize(CHUNK_BYTES * 4, 0);
            let (mut n_read, mut n_written) = (0, 0);
            loop {
                // NUL may not stand in XML; a stand-in is counted with the others.
                let raw = &self.raw[n_read..self.n_raw];
                let (result, read, written, has_errors) =
                    self.decoder.decode_to_utf8(raw, &mut self.out[n_written..], self.is_end);
                n_read += read;
                n_written += written;
                self.n_replaced += u64::from(has_errors);
                if result == CoderResult::InputEmpty {
                    break;
                }
                self.out.resize(self.out.len() * 2, 0);
            }
            self.n_raw = 0;
            self.out.truncate(n_written);
            self.at = 0;
        }
        Ok(())
    }
}

impl Read for Utf8 {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(into)?;
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Utf8 {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.n_event > self.event_bytes_max {
            return Err(io::Error::other(format!("a tag or text of more than {} bytes", self.event_bytes_max)));
        }
        self.decode()?;
        Ok(&self.out[self.at..])
    }

    fn consume(&mut self, n: usize) {
        self.n_event += n as u64;
        self.at = (self.at + n).min(self.out.len());
    }
}

/// The encoding that the XML declaration at the beginning names.
fn declared(head: &[u8]) -> Option<&'static Encoding> {
    let end = head.iter().position(|&byte| byte == b'>')?;
    let declaration = std::str::from_utf8(&head[..end]).ok()?;
    let (_, rest) = declaration.strip_prefix("<?xml")?.split_once("encoding")?;
    let name = rest.split(['"', '\'']).nth(1)?;
    Encoding::for_label(name.as_bytes()).filter(|encoding| *encoding != encoding_rs::UTF_16LE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(text: &'static [u8], event_bytes_max: u64) -> (String, Option<Trouble>, Xml) {
        let mut xml = Xml::new(Box::new(text), event_bytes_max).unwrap();
        let mut out = String::new();
        let trouble = loop {
            match xml.next() {
                Ok(Some(Node::Start(tag))) => {
                    out += &format!("<{} {}>", tag.name, tag.get("a").unwrap_or("-"));
                }
                Ok(Some(Node::End(name))) => out += &format!("</{name}>"),
                Ok(Some(Node::Text(text))) => out += &text,
                Ok(None) => break None,
                Err(trouble) => break Some(trouble),
            }
        };
        (out, trouble, xml)
    }

    #[test]
    fn names_lose_their_prefix_and_references_are_resolved() {
        let (out, trouble, _) = pull(b"<w:p w:a='1 &amp; 2'>x &lt; &#x1F600;<b/><![CDATA[<&]]></w:p>", 1000);
        assert_eq!((out.as_str(), trouble), ("<p 1 & 2>x < \u{1f600}<b -></b><&</p>", None));
    }

    #[test]
    fn entities_of_its_own_are_told_and_not_expanded() {
        let text = b"<!DOCTYPE r [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'><!ENTITY c SYSTEM 'file:///x'>]><r>&b;&c;</r>";
        let (out, trouble, xml) = pull(text, 1000);
        assert_eq!((out.as_str(), trouble), ("<r ->&b;&c;</r>", None));
        assert!(xml.entity_trouble().unwrap().reason.starts_with("&b;: an entity"));
    }

    #[test]
    fn encodings_are_read_by_mark_and_declaration() {
        let (out, ..) = pull(b"<?xml version='1.0' encoding='iso-8859-1'?><r>caf\xe9</r>", 1000);
        assert_eq!(out, "<r ->caf\u{e9}</r>");
        let (out, ..) = pull(b"\xff\xfe<\0r\0>\0\xe9\0<\0/\0r\0>\0", 1000);
        assert_eq!(out, "<r ->\u{e9}</r>");
        let (out, _, xml) = pull(b"<r>caf\xe9</r>", 1000);
        assert_eq!((out.as_str(), xml.n_replaced()), ("<r ->caf\u{fffd}</r>", 1));
    }

    #[test]
    fn what_is_broken_or_too_long_is_told_with_its_place() {
        let (out, trouble, _) = pull(b"<r><p>one</p></q>", 1000);
        assert_eq!(out, "<r -><p ->one</p>");
        assert_eq!(trouble.unwrap().place, "byte 13");
        let long = format!("<r>ok<p a='{}'/></r>", "x".repeat(200_000));
        let (out, trouble, _) = pull(long.leak().as_bytes(), 1000);
        assert_eq!(out, "<r ->ok");
        assert!(trouble.unwrap().reason.contains("more than 1000 bytes"));
    }
}
