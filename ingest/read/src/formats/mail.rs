//! Reads mail: mbox files, single mails, Maildir. A source is a thread.
//!
//! A folder of mails is one archive, as an mbox file is: its threads are known by all their headers
//! before the first is read. Memory is bounded by the ids of an archive and the largest thread.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::mail_box::{self, HEADER_BYTES_MAX, Stretch};
use super::mail_message::{Mail, ids, mail};
use super::mail_threads::Threads;
use super::said::{Conversation, Said, derived_key};
use super::{DraftTurn, Emit, Event, Head, Input, Reader, extension, too_large};
use crate::archive::{Backing, Part};
use crate::decode::Trouble;
use crate::files::unreadable;
use crate::seam::Result;

/// The reader of mail.
pub(super) struct Letters;

/// A mail with more bytes is left out.
const MAIL_BYTES_MAX: u64 = 64 << 20;

/// Fields by which a mail is known, in lower case.
const KNOWN: &[&str] = &[
    "from",
    "to",
    "date",
    "subject",
    "message-id",
    "received",
    "return-path",
    "mime-version",
    "content-type",
    "delivered-to",
    "reply-to",
    "in-reply-to",
    "references",
    "cc",
    "sender",
];

impl Reader for Letters {
    fn name(&self) -> &'static str {
        "mail"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        if mail_box::is_mbox(head.bytes) {
            return 96;
        }
        let fields = fields(head.bytes);
        let has = |name: &str| fields.contains(name);
        let is_sent = has("from") && ["date", "message-id", "received"].iter().any(|name| has(name));
        match extension(head.name).as_str() {
            "eml" if !fields.is_empty() => 96,
            "md" | "markdown" => 0,
            _ if is_sent && fields.len() >= 3 => 93,
            _ => 0,
        }
    }

    fn claims(&self, names: &[&str]) -> Vec<String> {
        let mut n_mails: HashMap<&str, u32> = HashMap::new();
        let mut folders = BTreeSet::new();
        for name in names {
            let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
            if let Some(outer) = maildir(name) {
                folders.insert(outer.to_owned());
            } else if extension(name) == "eml" {
                *n_mails.entry(folder).or_default() += 1;
            }
        }
        folders.extend(n_mails.into_iter().filter(|(_, n)| *n > 1).map(|(folder, _)| folder.to_owned()));
        folders.into_iter().collect()
    }

    fn takes(&self, name: &str) -> bool {
        extension(name) == "eml" || maildir(name).is_some()
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut archive = Archive::default();
        let is_one = input.parts.len() == 1;
        for part in input.parts {
            let place = if is_one { "" } else { part.name.as_str() };
            if let Err(error) = archive.list(part, place, emit)? {
                archive.is_cut = true;
                emit(Event::Trouble(Trouble { place: place.to_owned(), ..unreadable(&error) }))?;
            }
        }
        archive.emit(input, emit)
    }
}

/// The Maildir that a file of this name lies in.
fn maildir(name: &str) -> Option<&str> {
    let (folder, file) = name.rsplit_once('/')?;
    let (outer, last) = folder.rsplit_once('/').unwrap_or(("", folder));
    let (second, rest) = file.split_once('.')?;
    let is_mail = second.len() >= 6 && second.bytes().all(|byte| byte.is_ascii_digit()) && rest.contains('.');
    (is_mail && matches!(last, "cur" | "new")).then_some(outer)
}

/// The known fields of the header that a file begins with; none where it begins with something else.
fn fields(head: &[u8]) -> BTreeSet<String> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut fields = BTreeSet::new();
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        match line {
            [b' ' | b'\t', ..] if !fields.is_empty() => {}
            line if mail_box::is_blank(line) => break,
            line if mail_box::is_field(line) => {
                let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
                let name = String::from_utf8_lossy(name).to_lowercase();
                fields.extend(KNOWN.contains(&name.as_str()).then_some(name));
            }
            _ => return BTreeSet::new(),
        }
    }
    fields
}

/// Where a mail lies.
enum Place<'p> {
    /// A file of its own.
    Whole(&'p Part),
    /// In the mbox with this number.
    Stretch(usize, Stretch),
}

/// The mails of an archive, listed and not yet read.
#[derive(Default)]
struct Archive<'p> {
    boxes: Vec<Arc<Backing>>,
    /// Each mail with the number of its own id, or of the last it names.
    mails: Vec<(Place<'p>, Option<u32>)>,
    threads: Threads,
    is_cut: bool,
}

impl<'p> Archive<'p> {
    /// Lists the mails of a file; what keeps it from being read is the inner error.
    fn list(&mut self, part: &'p Part, place: &str, emit: &mut Emit<'_>) -> Result<io::Result<()>> {
        let head = match part.head(HEADER_BYTES_MAX) {
            Ok(head) => head,
            Err(error) => return Ok(Err(error)),
        };
        if !mail_box::is_mbox(&head) {
            let number = self.threads.add(ids(header(&head)).iter().map(String::as_str));
            self.mails.push((Place::Whole(part), number));
            return Ok(Ok(()));
        }
        let opened = part.backing().and_then(|backing| Ok((backing.open()?, backing)));
        let (file, backing) = match opened {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        let nth = self.boxes.len();
        self.boxes.push(backing);
        let (mails, threads) = (&mut self.mails, &mut self.threads);
        let before = mail_box::split(file, &mut |stretch, header| {
            let number = threads.add(ids(header).iter().map(String::as_str));
            mails.push((Place::Stretch(nth, stretch), number));
        });
        match before {
            Err(error) => Ok(Err(error)),
            Ok(0) => Ok(Ok(())),
            Ok(n) => {
                self.is_cut = true;
                let trouble = Trouble::new(place, format!("{n} bytes before the first mail"), "remove them");
                emit(Event::Trouble(trouble)).map(Ok)
            }
        }
    }

    /// Reads the mails, thread by thread in the order of their first ones.
    fn emit(mut self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut nth_of: HashMap<u32, usize> = HashMap::new();
        let mut threads: Vec<(Option<u32>, Vec<usize>)> = Vec::new();
        for idx in 0..self.mails.len() {
            let root = self.mails[idx].1.map(|number| self.threads.root(number));
            let nth = root.map_or(threads.len(), |root| *nth_of.entry(root).or_insert(threads.len()));
            if nth == threads.len() {
                threads.push((root, Vec::new()));
            }
            threads[nth].1.push(idx);
        }
        for (root, mails) in threads {
            self.thread(root, &mails, input, emit)?;
        }
        Ok(())
    }

    fn thread(&self, root: Option<u32>, mails: &[usize], input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let key = root.map(|root| self.threads.name(root).to_owned());
        let mut chat = Conversation { key, is_cut: self.is_cut, ..Conversation::default() };
        let mut topics: HashMap<String, String> = HashMap::new();
        let mut turn_of: HashMap<String, usize> = HashMap::new();
        for idx in mails {
            let place = &self.mails[*idx].0;
            match self
                .bytes(place, input.source_bytes_max.min(MAIL_BYTES_MAX))
                .and_then(|bytes| mail(&bytes).ok_or_else(no_mail))
            {
                Ok(mail) => match mail.id.as_ref().and_then(|id| turn_of.get(id)) {
                    Some(nth) => again(mail, &mut chat.turns[*nth]),
                    None => {
                        turn_of.extend(mail.id.clone().map(|id| (id, chat.turns.len())));
                        say(mail, &mut chat, &mut topics);
                    }
                },
                Err(trouble) => {
                    chat.is_cut = true;
                    let place = self.shown(place, input);
                    emit(Event::Trouble(Trouble { place, ..trouble }))?;
                }
            }
            if chat.n_bytes > input.source_bytes_max {
                break;
            }
        }
        if chat.is_empty() {
            return Ok(());
        }
        chat.sort_by_time();
        chat.title = chat.turns.iter().find_map(|turn| topics.remove(&turn.id));
        if let (None, Some(turn)) = (&chat.key, chat.turns.first()) {
            let at = turn.said_at.map(|at| at.to_string()).unwrap_or_default();
            chat.key = Some(derived_key(&["mail", &turn.author, &at, chat.title.as_deref().unwrap_or(""), &turn.text]));
        }
        emit(chat.finish(input.name, input.source_bytes_max))
    }

    /// The bytes of a mail within the bound.
    fn bytes(&self, place: &Place<'_>, bytes_max: u64) -> std::result::Result<Vec<u8>, Trouble> {
        let open = || -> io::Result<Box<dyn Read>> {
            match place {
                Place::Whole(part) => part.open(),
                Place::Stretch(nth, stretch) => {
                    let mut file: File = self.boxes[*nth].open()?;
                    file.seek(SeekFrom::Start(stretch.start))?;
                    Ok(Box::new(file.take(stretch.end - stretch.start)))
                }
            }
        };
        let mut bytes = Vec::new();
        let read = open().and_then(|file| file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes));
        read.map_err(|error| unreadable(&error))?;
        if bytes.len() as u64 > bytes_max {
            let n_bytes = match place {
                Place::Whole(part) => part.n_bytes.unwrap_or(bytes.len() as u64),
                Place::Stretch(_, stretch) => stretch.end - stretch.start,
            };
            return Err(Trouble { hint: "take its attachments off".to_owned(), ..too_large("", n_bytes, bytes_max) });
        }
        match place {
            Place::Stretch(_, Stretch { is_plain: false, .. }) => Ok(mail_box::unescape(&bytes)),
            _ => Ok(bytes),
        }
    }

    /// A mail's place for people.
    fn shown(&self, place: &Place<'_>, input: &Input<'_>) -> String {
        match place {
            Place::Whole(_) if input.parts.len() == 1 => String::new(),
            Place::Whole(part) => part.name.clone(),
            Place::Stretch(_, stretch) => format!("byte {}", stretch.start),
        }
    }
}

fn no_mail() -> Trouble {
    Trouble::new("", "no mail: neither a sender nor a text", "import it as text with --format text")
}

/// The header at the beginning of `head`.
fn header(head: &[u8]) -> &[u8] {
    let mut n = 0;
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        n += line.len();
        if mail_box::is_blank(line) {
            break;
        }
    }
    &head[..n]
}

/// Takes a further copy of a mail, as of another folder: its labels are added, and its words where there are more.
fn again(mail: Mail, turn: &mut DraftTurn) {
    let labels = [turn.metadata.remove("labels"), mail.metadata.get("labels").cloned()];
    let labels: BTreeSet<&str> = labels.iter().flatten().flat_map(|labels| labels.lines()).collect();
    let labels = labels.into_iter().collect::<Vec<_>>().join("\n");
    if mail.text.len() > turn.text.len() {
        turn.text = mail.text;
        turn.metadata = mail.metadata;
    }
    if !labels.is_empty() {
        turn.metadata.insert("labels".to_owned(), labels);
    }
}

fn say(mail: Mail, chat: &mut Conversation, topics: &mut HashMap<String, String>) {
    chat.n_replaced += mail.n_replaced;
    chat.n_bytes += mail.metadata.values().map(|value| value.len() as u64).sum::<u64>();
    let id = chat.say(Said {
        id: mail.id.as_deref(),
        author: &mail.author,
        at: mail.at.map(|(at, _)| at),
        is_inferred: mail.at.is_some_and(|(_, is_inferred)| is_inferred),
        reply_to: mail.reply_to,
        text: &mail.text,
        metadata: mail.metadata,
        ..Said::default()
    });
    if let Some(topic) = mail.topic {
        topics.entry(id).or_insert(topic);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seam::{Draft, DraftBody};

    #[test]
    fn a_mail_is_told_from_other_text() {
        let sure = |text: &str, name: &str| Letters.recognises(&Head::new(text.as_bytes(), name));
        let mail = "Received: by x\n\tfor y\nFrom: Ana <a@example.org>\nDate: Mon, 1 Jun 2026 10:00:00 +0000\n\nhi\n";
        assert!(sure(mail, "a") > 0);
        assert!(sure(&format!("From a@example.org Mon Jun  1 10:00:00 2026\n{mail}"), "Inbox") > 0);
        assert!(sure("Subject: hi\n\nho", "a.eml") > 0);
        assert_eq!(sure("Subject: hi\n\nho", "a.txt"), 0);
        assert_eq!(sure("Ana: hi\nFrom: there\nDate: no\nnot a field\n", "a.txt"), 0);
        assert_eq!(sure("From here on\nit: goes", "a.txt"), 0);
        assert_eq!(sure("words", "a.eml"), 0);
    }

    #[test]
    fn a_mail_in_two_folders_is_one_turn_with_the_labels_of_both() {
        let copy = |label: &str| {
            format!(
                "From a@example.org Mon Jun  1 10:00:00 2026\nFrom: a\nMessage-ID: <1@x>\n\
                 X-Gmail-Labels: {label}\n\nhi\n\n"
            )
        };
        let other = copy("Inbox").replace("<1@x>", "<2@x>\nIn-Reply-To: <1@x>");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.mbox");
        let text = copy("Inbox,Work") + &copy("Sent") + &other;
        std::fs::write(&path, &text).unwrap();
        let parts = [Part::file("all.mbox", &path, text.len() as u64)];
        let input = Input::new(&parts, "all.mbox", 1 << 20);
        let mut found = Vec::new();
        let mut take = |event: Event| {
            if let Event::Draft(Draft { body: DraftBody::Turns(turns), .. }) = event {
                found.extend(turns.into_iter().map(|turn| (turn.id, turn.metadata["labels"].clone())));
            }
            Ok(())
        };
        Letters.read(&input, &mut take).unwrap();
        let expected = [("1@x", "Inbox\nSent\nWork"), ("2@x", "Inbox")];
        assert_eq!(found, expected.map(|(id, labels)| (id.to_owned(), labels.to_owned())));
    }

    #[test]
    fn folders_of_mails_are_claimed() {
        let names = ["a/cur/1717236000.M1P2.host!2,S", "b/new/1717236000.M1P2.host", "c/x.eml", "c/y.eml", "d/z.eml"];
        assert_eq!(Letters.claims(&names), ["a", "b", "c"]);
        assert_eq!(Letters.claims(&["new/notes.md", "cur/20260101.md", "z.eml"]), Vec::<String>::new());
        assert_eq!(Letters.claims(&["cur/1717236000.1_2.host"]), [""]);
        assert!(Letters.takes("cur/1717236000.1_2.host") && !Letters.takes("notes.md"));
    }
}
