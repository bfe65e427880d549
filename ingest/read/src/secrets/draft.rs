//! What is done with the secrets of a whole draft, before anything else sees its texts.

use std::collections::BTreeMap;

use model::IdHasher;

use super::{SecretKind, Secrets, find, mark, redacted};
use crate::seam::{Draft, DraftBody, DraftTurn};

/// A shorter beginning of a secret in a cut title is not told from a word.
const CUT_CHARS_MIN: usize = 6;

/// What was found in a draft.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretCounts {
    /// How many of each kind.
    pub by_kind: BTreeMap<SecretKind, u64>,
    /// Turns that stay without their text.
    pub n_turns_left_out: u64,
    /// The whole source is to be left out.
    pub is_left_out: bool,
}

impl SecretCounts {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.by_kind.values().sum()
    }

    fn add(&mut self, kinds: &[SecretKind]) {
        for kind in kinds {
            *self.by_kind.entry(kind).or_default() += 1;
        }
    }
}

/// Finds the secrets of a draft and does with them what `secrets` says. What stands in several places of the draft, such
/// as the text and the title that is made of it, counts in each.
pub fn apply(secrets: Secrets, draft: &mut Draft) -> SecretCounts {
    let mut counts = SecretCounts::default();
    let mut work = Work { secrets, counts: &mut counts, values: Vec::new() };
    match &mut draft.body {
        DraftBody::Text(text) => {
            if work.text(text) && secrets == Secrets::Skip {
                work.counts.is_left_out = true;
            }
        }
        DraftBody::Turns(turns) => turns.iter_mut().for_each(|turn| work.turn(turn)),
    }
    work.short(&mut draft.title);
    draft.metadata.values_mut().for_each(|value| work.short(value));
    draft.remarks.iter_mut().for_each(|remark| work.short(remark));
    for id in [&mut draft.key, &mut draft.part].into_iter().flatten() {
        work.id(id);
    }
    counts
}

struct Work<'a> {
    secrets: Secrets,
    counts: &'a mut SecretCounts,
    /// The secrets of the texts: a title may hold one without the word that gave it away, or its beginning.
    values: Vec<(String, SecretKind)>,
}

impl Work<'_> {
    fn turn(&mut self, turn: &mut DraftTurn) {
        let had = self.text(&mut turn.text);
        turn.metadata.values_mut().for_each(|value| self.short(value));
        self.short(&mut turn.author);
        self.id(&mut turn.id);
        if let Some(reply_to) = &mut turn.reply_to {
            self.id(reply_to);
        }
        if had && self.secrets == Secrets::Skip {
            // It stays, so that what answers it and a second import find it.
            turn.text.clear();
            turn.metadata.insert("left_out".to_owned(), "secret".to_owned());
            self.counts.n_turns_left_out += 1;
        }
    }

    /// Whether it has a secret.
    fn text(&mut self, text: &mut String) -> bool {
        let found = find(text);
        if found.is_empty() {
            return false;
        }
        if self.secrets != Secrets::Allow {
            self.values.extend(found.iter().map(|secret| (text[secret.range.clone()].to_owned(), secret.kind)));
        }
        self.replace(text);
        true
    }

    fn replace(&mut self, text: &mut String) {
        if let Some((after, kinds)) = redacted(text) {
            self.counts.add(&kinds);
            if self.secrets != Secrets::Allow {
                *text = after;
            }
        }
    }

    /// A text that may repeat a piece of another one.
    fn short(&mut self, text: &mut String) {
        self.replace(text);
        for (value, kind) in &self.values {
            if text.contains(value.as_str()) {
                *text = text.replace(value.as_str(), &mark(kind));
            } else if let Some(stem) = text.strip_suffix('…') {
                let n = cut_bytes(stem, value);
                if n >= CUT_CHARS_MIN {
                    *text = format!("{}{}…", &stem[..stem.len() - n], mark(kind));
                }
            }
        }
    }

    /// An id cannot be a mark, or two would be one.
    fn id(&mut self, id: &mut String) {
        let found = find(id);
        if found.is_empty() {
            return;
        }
        self.counts.add(&found.iter().map(|secret| secret.kind).collect::<Vec<_>>());
        if self.secrets != Secrets::Allow {
            let digest = IdHasher::new("strata secret id v1").field(id.as_bytes()).finish();
            *id = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        }
    }
}

/// How many bytes at the end of `stem` are the beginning of `value`.
fn cut_bytes(stem: &str, value: &str) -> usize {
    let n_max = stem.len().min(value.len());
    (1..=n_max)
        .rev()
        .find(|n| value.is_char_boundary(*n) && stem.as_bytes().ends_with(&value.as_bytes()[..*n]))
        .unwrap_or(0)
}
