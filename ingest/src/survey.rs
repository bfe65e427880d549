//! What a rehearsal says of an archive: whose words, from when to when, and how long it would take.

use std::collections::HashMap;

use index::model::Timestamp;
use kernels::{Embedder, Role};
use read::{Draft, DraftBody, Form};
use serde::Serialize;

use crate::report::share;
use crate::split;
use crate::store::seconds_between;

/// So many authors are told apart; what others say is counted under no name.
const AUTHORS_MAX: usize = 100_000;
/// So many authors are named.
const NAMED_MAX: usize = 20;
/// Text that is split to learn how long its sentences are.
const SAMPLE_BYTES: usize = 512 << 10;
/// At most so much of one text is taken for it.
const PIECE_BYTES: usize = 2 << 10;
/// Sentences that are embedded to learn how fast that is.
const SAMPLE_SENTENCES: usize = 128;

/// An author and how much they say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Author {
    /// As the archive names them.
    pub name: String,
    /// Their turns.
    pub turns: u64,
}

/// What an archive holds, as far as it would be taken in.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Survey {
    /// Bytes of text.
    pub text_bytes: u64,
    /// The earliest time that a turn has.
    pub first: Option<String>,
    /// The latest.
    pub last: Option<String>,
    /// Turns whose time is not known.
    pub untimed: u64,
    /// Those who say most, the first first.
    pub authors: Vec<Author>,
    /// How many authors there are.
    pub n_authors: u64,
    /// Sentences that would be stored, estimated from a sample.
    pub sentences: u64,
    /// Seconds that embedding them would take here, estimated from a sample; the rest of an import adds to it.
    pub seconds: f64,
}

/// Gathers a survey, draft by draft.
#[derive(Debug, Default)]
pub(crate) struct Surveyor {
    n_bytes: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    n_untimed: u64,
    authors: HashMap<String, u64>,
    sample: Vec<(String, Form)>,
    sample_bytes: usize,
    /// Every so many texts one is taken into the sample.
    stride: u64,
    n_texts: u64,
}

impl Surveyor {
    /// Takes one source.
    pub fn take(&mut self, draft: &Draft) {
        match &draft.body {
            DraftBody::Text(text) => self.text(text, draft.form),
            DraftBody::Turns(turns) => {
                for turn in turns {
                    self.text(&turn.text, Form::Plain);
                    match turn.said_at {
                        None => self.n_untimed += 1,
                        Some(at) => {
                            self.first = Some(self.first.map_or(at, |first| first.min(at)));
                            self.last = Some(self.last.map_or(at, |last| last.max(at)));
                        }
                    }
                    self.author(&turn.author);
                }
            }
        }
    }

    fn author(&mut self, name: &str) {
        if name.is_empty() {
            return;
        }
        if let Some(n) = self.authors.get_mut(name) {
            *n += 1;
        } else if self.authors.len() < AUTHORS_MAX {
            self.authors.insert(name.to_owned(), 1);
        }
    }

    fn text(&mut self, text: &str, form: Form) {
        self.n_bytes += text.len() as u64;
        self.n_texts += 1;
        self.stride = self.stride.max(1);
        if !self.n_texts.is_multiple_of(self.stride) || text.is_empty() {
            return;
        }
        let piece = &text[..text.floor_char_boundary(PIECE_BYTES)];
        self.sample.push((piece.to_owned(), form));
        self.sample_bytes += piece.len();
        if self.sample_bytes > SAMPLE_BYTES {
            // Half of it makes room for what is still to come.
            let mut idx = 0;
            self.sample.retain(|_| {
                idx += 1;
                idx % 2 == 0
            });
            self.sample_bytes = self.sample.iter().map(|(piece, _)| piece.len()).sum();
            self.stride *= 2;
        }
    }

    /// What was found; `now` is the clock, for the time that the sample takes.
    ///
    /// # Errors
    /// The model's.
    pub fn finish(self, embedder: &dyn Embedder, now: &dyn Fn() -> Timestamp) -> kernels::Result<Survey> {
        let mut n_sentences = 0_u64;
        let mut texts: Vec<&str> = Vec::new();
        for (piece, form) in &self.sample {
            for sentence in split::sentences(piece, *form, embedder) {
                n_sentences += 1;
                if texts.len() < SAMPLE_SENTENCES {
                    texts.push(&piece[sentence.range]);
                }
            }
        }
        let sentences = scaled(n_sentences, self.n_bytes, self.sample_bytes as u64);
        let mut seconds = 0.0;
        if !texts.is_empty() {
            let started = now();
            embedder.embed(&texts, Role::Passage)?;
            seconds = seconds_between(started, now()) * share(sentences, texts.len() as u64);
        }
        let n_authors = self.authors.len() as u64;
        let mut authors: Vec<Author> = self.authors.into_iter().map(|(name, turns)| Author { name, turns }).collect();
        authors.sort_by(|a, b| b.turns.cmp(&a.turns).then_with(|| a.name.cmp(&b.name)));
        authors.truncate(NAMED_MAX);
        Ok(Survey {
            text_bytes: self.n_bytes,
            first: self.first.map(|at| at.to_string()),
            last: self.last.map(|at| at.to_string()),
            untimed: self.n_untimed,
            authors,
            n_authors,
            sentences,
            seconds,
        })
    }
}

/// `n · whole / part`, 0 where there is no part.
fn scaled(n: u64, whole: u64, part: u64) -> u64 {
    let scaled = u128::from(n) * u128::from(whole) / u128::from(part.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
