//! The pages of a PDF, interpreted by `hayro-interpret` in a thread of its own.
//!
//! The library is safe Rust without unsafe code, but a file made to break it may make it panic, or go round for ever.
//! A panic is caught page by page and, in that thread only, not printed. Whoever waits for a page waits a bounded time;
//! a thread that is late is asked to stop where it next draws something, and left alone if it never does. What streams
//! unpack to is bounded before (`pdf_guard`), what a page draws is bounded here.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::hayro_syntax::metadata::Metadata;
use hayro_interpret::hayro_syntax::object::DateTime;
use hayro_interpret::hayro_syntax::page::Page as PdfPage;
use hayro_interpret::hayro_syntax::{LoadPdfError, Pdf};
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, SoftMask, TransformExt, interpret_page,
};

use super::pdf_layout::{Mark, paragraphs, spelled};

/// A page is waited for so long.
const PAGE_SECONDS_MAX: u64 = 9;
/// A page has at most so many glyphs.
const GLYPHS_MAX: usize = 2_000_000;
/// A file has at most so many pages.
const PAGES_MAX: usize = 100_000;
/// Pages that are ready before they are taken.
const PAGES_READY: usize = 4;
/// The stack of the thread: objects of a PDF lie in each other, to a bound that the library sets.
const STACK_BYTES: usize = 64 << 20;
/// Units of a font in an em.
const EM_UNITS: f64 = 1000.0;

/// What is read of a page.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub text: String,
    /// Glyphs of which the file does not say what they are.
    pub n_unknown: u64,
    /// Pictures and lines.
    pub n_drawn: u64,
}

/// Why a file or page is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Password,
    Cipher,
    Invalid,
    /// Too many glyphs.
    Crowded,
    /// No time is left; no page comes after this.
    Ended,
}

enum Message {
    Opened(BTreeMap<String, String>),
    Page(Result<Page, Failure>),
    Failed(Failure),
}

/// The pages of a file, one after the other.
pub(super) struct Pages {
    messages: Receiver<Message>,
    /// What the file says of itself.
    pub metadata: BTreeMap<String, String>,
    is_ended: bool,
}

impl Pages {
    /// Opens the PDF `bytes`.
    pub fn open(bytes: Vec<u8>) -> Result<Self, Failure> {
        quiet_hook();
        let (sender, messages) = sync_channel(PAGES_READY);
        let spawned = thread::Builder::new().name("pdf".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            IS_QUIET.set(true);
            if catch_unwind(AssertUnwindSafe(|| read(bytes, &sender))).is_err() {
                let _ = sender.send(Message::Failed(Failure::Invalid));
            }
        });
        spawned.map_err(|_| Failure::Invalid)?;
        match messages.recv_timeout(Duration::from_secs(PAGE_SECONDS_MAX + 1)) {
            Ok(Message::Opened(metadata)) => Ok(Self { messages, metadata, is_ended: false }),
            Ok(Message::Failed(failure)) => Err(failure),
            Ok(Message::Page(_)) | Err(_) => Err(Failure::Ended),
        }
    }

    /// The next page, or why it is not read.
    pub fn next(&mut self) -> Option<Result<Page, Failure>> {
        if self.is_ended {
            return None;
        }
        match self.messages.recv_timeout(Duration::from_secs(PAGE_SECONDS_MAX + 1)) {
            Ok(Message::Page(page)) => Some(page),
            Ok(Message::Failed(failure)) => {
                self.is_ended = true;
                Some(Err(failure))
            }
            Ok(Message::Opened(_)) | Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                self.is_ended = true;
                None
            }
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                self.is_ended = true;
                Some(Err(Failure::Ended))
            }
        }
    }
}

thread_local! {
    /// Whether panics of this thread are not printed.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Makes the panics of quiet threads silent; those of all others go on as they did.
fn quiet_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !IS_QUIET.try_with(Cell::get).unwrap_or(false) {
                before(info);
            }
        }));
    });
}

/// Reads the file and sends what it finds, until all is read or no one takes it.
fn read(bytes: Vec<u8>, sender: &SyncSender<Message>) {
    let failure = |error| match error {
        // The library does not give the name of this type away, only what it prints.
        LoadPdfError::Decryption(error) if format!("{error:?}") == "PasswordProtected" => Failure::Password,
        LoadPdfError::Decryption(_) => Failure::Cipher,
        LoadPdfError::Invalid => Failure::Invalid,
    };
    let pdf = match Pdf::new(bytes) {
        Ok(pdf) => pdf,
        Err(error) => {
            let _ = sender.send(Message::Failed(failure(error)));
            return;
        }
    };
    if sender.send(Message::Opened(metadata(pdf.metadata()))).is_err() {
        return;
    }
    let cache = InterpreterCache::new();
    for page in pdf.pages().iter().take(PAGES_MAX) {
        let read = catch_unwind(AssertUnwindSafe(|| read_page(page, &pdf, &cache)));
        let read =
            read.unwrap_or_else(|payload| Err(payload.downcast_ref::<Failure>().copied().unwrap_or(Failure::Invalid)));
        if sender.send(Message::Page(read)).is_err() {
            return;
        }
    }
}

fn read_page<'a>(page: &PdfPage<'a>, pdf: &'a Pdf, cache: &InterpreterCache<'a>) -> Result<Page, Failure> {
    let (width, height) = page.render_dimensions();
    let bounds = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
    let transform = page.initial_transform(true).to_kurbo();
    let mut context = Context::new(transform, bounds, cache, pdf.xref(), InterpreterSettings::default());
    let until = Instant::now() + Duration::from_secs(PAGE_SECONDS_MAX);
    let mut device = Gather { marks: Vec::new(), n_unknown: 0, n_drawn: 0, until };
    interpret_page(page, &mut context, &mut device);
    let Gather { marks, n_unknown, n_drawn, .. } = device;
    Ok(Page { text: paragraphs(&marks), n_unknown, n_drawn })
}

/// Gathers the glyphs of a page.
struct Gather {
    marks: Vec<Mark>,
    n_unknown: u64,
    n_drawn: u64,
    until: Instant,
}

impl Gather {
    /// Leaves the page where it takes too long. Unwinding is the one way out of the library's loop.
    fn tick(&self) {
        if Instant::now() > self.until {
            resume_unwind(Box::new(Failure::Ended));
        }
        if self.marks.len() > GLYPHS_MAX {
            resume_unwind(Box::new(Failure::Crowded));
        }
    }

    fn mark(&mut self, glyph: &Glyph<'_>, place: Affine, mode: WritingMode) {
        let origin = place * Point::ZERO;
        let along = place * Point::new(EM_UNITS, 0.0) - origin;
        let up = place * Point::new(0.0, EM_UNITS) - origin;
        let (em, size) = (along.hypot(), up.hypot());
        if !(origin.x.is_finite() && origin.y.is_finite() && em.is_finite() && size.is_finite()) || size <= 0.0 {
            return;
        }
        let advance = match glyph {
            Glyph::Outline(glyph) => glyph.advance_width(),
            Glyph::Type3(glyph) => glyph.advance_width(),
        };
        let width = advance.map_or(em / 2.0, |units| f64::from(units) / EM_UNITS * em);
        let said = match glyph.as_unicode() {
            Some(BfString::Char(char)) => spelled(char.encode_utf8(&mut [0; 4])),
            Some(BfString::String(text)) => spelled(&text),
            None if matches!(glyph.char_code(), 0 | 32) => " ".to_owned(),
            None => {
                self.n_unknown += 1;
                "\u{fffd}".to_owned()
            }
        };
        let (turn, x, y, width) = match mode {
            WritingMode::Vertical => (1, origin.y, -origin.x, size),
            WritingMode::Horizontal if along.x.abs() >= along.y.abs() && along.x >= 0.0 => {
                (0, origin.x, origin.y, width)
            }
            WritingMode::Horizontal if along.x.abs() >= along.y.abs() => (2, -origin.x, -origin.y, width),
            WritingMode::Horizontal if along.y > 0.0 => (1, origin.y, -origin.x, width),
            WritingMode::Horizontal => (3, -origin.y, origin.x, width),
        };
        self.marks.push(Mark { text: said, x, y, width, size, turn });
    }
}

impl<'a> Device<'a> for Gather {
    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {
        self.n_drawn += 1;
        self.tick();
    }

    fn push_clip_path(&mut self, _: &ClipPath) {
        self.tick();
    }

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {
        self.tick();
    }

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        self.tick();
        for glyph in run.glyphs() {
            self.mark(glyph, props.transform * glyph.transform(), run.writing_mode());
        }
    }

    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {
        self.n_drawn += 1;
        self.tick();
    }

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}

fn metadata(metadata: &Metadata) -> BTreeMap<String, String> {
    let texts = [
        ("title", &metadata.title),
        ("author", &metadata.author),
        ("subject", &metadata.subject),
        ("keywords", &metadata.keywords),
    ];
    let texts = texts.into_iter().filter_map(|(name, bytes)| Some((name, pdf_string(bytes.as_deref()?))));
    let dates = [("created", &metadata.creation_date), ("modified", &metadata.modification_date)];
    let dates = dates.into_iter().filter_map(|(name, date)| Some((name, iso(date.as_ref()?))));
    texts.chain(dates).filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name.to_owned(), text)).collect()
}

/// A string of a PDF: UTF-16 or UTF-8 by its mark, else nearly Latin-1.
fn pdf_string(bytes: &[u8]) -> String {
    let text = match bytes {
        [0xfe, 0xff, rest @ ..] => encoding_rs::UTF_16BE.decode(rest).0,
        [0xff, 0xfe, rest @ ..] => encoding_rs::UTF_16LE.decode(rest).0,
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        bytes => encoding_rs::WINDOWS_1252.decode(bytes).0,
    };
    let text: String = text.chars().filter(|char| !char.is_control() || char.is_whitespace()).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn iso(date: &DateTime) -> String {
    let DateTime { year, month, day, hour, minute, second, utc_offset_hour, utc_offset_minute } = date;
    let sign = if *utc_offset_hour < 0 { '-' } else { '+' };
    let hours = utc_offset_hour.unsigned_abs();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{sign}{hours:02}:{utc_offset_minute:02}")
}
