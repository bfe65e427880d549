//! Sentences to what they name: entities, dates and preferences, by rules that can be read.
//!
//! Every pattern runs in linear time and every list has a bound. An index to find by, not the memory.

mod dates;
mod entities;
mod preferences;

use std::collections::BTreeSet;

use index::model::{Role, Timestamp};
use regex::Regex;

/// So many entities a chunk keeps.
pub(crate) const ENTITIES_MAX: usize = 32;
/// So many dates a chunk keeps.
pub(crate) const DATES_MAX: usize = 32;
/// So many preferences a chunk keeps.
pub(crate) const PREFERENCES_MAX: usize = 16;

/// What a sentence or a chunk names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    /// Normalised names and quoted things, ascending.
    pub entities: Vec<String>,
    /// Half-open ISO 8601 intervals `from/to` of whole days, ascending.
    pub dates: Vec<String>,
    /// Preferences in their own words, in the order of the text.
    pub preferences: Vec<String>,
}

impl Notes {
    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty() && self.dates.is_empty() && self.preferences.is_empty()
    }
}

/// Notes what one sentence names; `said_at` is what its relative dates go by.
pub(crate) fn sentence(text: &str, role: Role, said_at: Option<Timestamp>) -> Notes {
    let day = said_at.and_then(Timestamp::to_datetime).map(|at| at.date_naive());
    // What a model or a tool says it prefers is nobody's preference.
    let is_person = matches!(role, Role::User | Role::Unknown);
    Notes {
        entities: bounded(entities::find(text), ENTITIES_MAX),
        dates: bounded(dates::find(text, day), DATES_MAX),
        preferences: if is_person { preferences::find(text) } else { Vec::new() },
    }
}

/// The notes of several sentences together, within the bounds.
pub(crate) fn together<'a>(notes: impl Iterator<Item = &'a Notes>) -> Notes {
    let (mut entities, mut dates, mut preferences) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for note in notes {
        // In the order of the text, so that what is cut off is what came last.
        take(&mut entities, &note.entities, ENTITIES_MAX);
        take(&mut dates, &note.dates, DATES_MAX);
        for preference in &note.preferences {
            if preferences.len() < PREFERENCES_MAX && !preferences.contains(preference) {
                preferences.push(preference.clone());
            }
        }
    }
    Notes { entities: entities.into_iter().collect(), dates: dates.into_iter().collect(), preferences }
}

fn take(set: &mut BTreeSet<String>, from: &[String], n_max: usize) {
    for item in from {
        if set.len() == n_max {
            return;
        }
        set.insert(item.clone());
    }
}

fn bounded(mut found: Vec<String>, n_max: usize) -> Vec<String> {
    let mut seen = BTreeSet::new();
    found.retain(|item| seen.len() < n_max && seen.insert(item.clone()));
    found.sort();
    found
}

/// Compiles a constant pattern; a bad one is our own mistake and every test meets it.
fn pattern(pattern: &'static str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use expect_test::{Expect, expect};

    use super::*;

    fn check(said_at: &str, sentences: &[&str], expected: Expect) {
        let mut out = String::new();
        for text in sentences {
            let notes = sentence(text, Role::User, said_at.parse().ok());
            writeln!(out, "{:?} {:?} {:?}", notes.entities, notes.dates, notes.preferences).unwrap();
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn dates_are_intervals_against_when_it_was_said() {
        // A Thursday.
        check(
            "2023-03-16T12:00:00Z",
            &[
                "Yesterday I ran, today I rest.",
                "We met on 2022-12-05 and in March 2021.",
                "It was three weeks ago, or last month.",
                "On July 4th, 2020 and 5 May 2019.",
                "He left last Friday, I leave tomorrow.",
                "It is due on 12/31/2024, not 5.1.2024.",
                "Since 2015 we go there, next year too.",
                "Last weekend was fun; in two days I go.",
                "My birthday is on December 24.",
                "May I ask? He may come. 2023-99-99",
            ],
            expect![[r#"
                [] ["2023-03-15/2023-03-16", "2023-03-16/2023-03-17"] []
                [] ["2021-03-01/2021-04-01", "2022-12-05/2022-12-06"] []
                [] ["2023-02-01/2023-03-01", "2023-02-23/2023-02-24"] []
                [] ["2019-05-05/2019-05-06", "2020-07-04/2020-07-05"] []
                [] ["2023-03-10/2023-03-11", "2023-03-17/2023-03-18"] []
                [] ["2024-01-05/2024-01-06", "2024-12-31/2025-01-01"] []
                [] ["2015-01-01/2016-01-01", "2024-01-01/2025-01-01"] []
                [] ["2023-03-11/2023-03-13", "2023-03-18/2023-03-19"] []
                [] ["2022-12-24/2022-12-25"] []
                [] [] []
            "#]],
        );
    }

    #[test]
    fn relative_dates_without_a_time_are_left_alone() {
        check(
            "",
            &["Yesterday, last week, May 5.", "On 2020-02-29."],
            expect![[r#"
            [] [] []
            [] ["2020-02-29/2020-03-01"] []
        "#]],
        );
    }

    #[test]
    fn entities_are_names_and_quoted_things() {
        check(
            "",
            &[
                "The other day Ana Lopez and I visited the Museum of Modern Art in New York.",
                "I read \"The Old Harbour\" because Bob's sister said so.",
                "Thanks, that's great! Anyway, I'm fine.",
                "Rust beats C++ on ARM64 said Dr. Smith.",
            ],
            expect![[r#"
                ["ana lopez", "museum of modern art", "new york"] [] []
                ["bob", "old harbour", "the old harbour"] [] []
                [] [] []
                ["arm64", "c++", "dr. smith", "rust"] [] []
            "#]],
        );
    }

    #[test]
    fn preferences_are_kept_in_their_words() {
        check(
            "",
            &[
                "Honestly, I really prefer tea over coffee in the morning.",
                "My favourite colour is green, you know.",
                "I'm a big fan of old maps.",
                "We usually go to the lake.",
                "I've been reading about birds.",
                "She prefers wine.",
            ],
            expect![[r#"
                [] [] ["I really prefer tea over coffee in the morning"]
                [] [] ["My favourite colour is green, you know"]
                [] [] ["I'm a big fan of old maps"]
                [] [] ["We usually go to the lake"]
                [] [] ["I've been reading about birds"]
                [] [] []
            "#]],
        );
    }
}
