//! What someone says they prefer, in their own words: five families of wording.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern;

/// A preference is cut at so many bytes.
const PREFERENCE_BYTES_MAX: usize = 160;
/// So many preferences a sentence keeps.
const A_SENTENCE_MAX: usize = 4;

static FAMILIES: LazyLock<[Regex; 5]> = LazyLock::new(|| {
    [
        // What I do: prefer, like, chose, switched to …
        pattern(
            r"(?i)\b(?:i|we)(?:'d|’d)?(?: (?:really|much|just|also|still|do|don't|don’t|would|truly|absolutely|never|now)){0,2} (?:prefer(?:red)?|like[d]?|love[d]?|enjoy(?:ed)?|adore|hate[d]?|dislike[d]?|can't stand|can’t stand|want(?:ed)?|need(?:ed)?|use|chose|picked|recommend|switched to|started using|stopped using|avoid)\b",
        ),
        // What is mine: my favourite …
        pattern(
            r"(?i)\b(?:my|our)(?: (?:all-time|personal|own|new|current))? (?:favou?rites?|preferred|go-to|usual|regular|default|preference)\b",
        ),
        // What I am: a fan of, into …
        pattern(
            r"(?i)\b(?:i|we)(?:'m|’m|'re|’re| am| are)(?: (?:a|an|really|so|very|big|huge|not|pretty|totally)){0,3} (?:fans? of|into|interested in|passionate about|obsessed with|addicted to|allergic to|keen on|fond of|vegan|vegetarian)\b",
        ),
        // What I usually do.
        pattern(r"(?i)\b(?:i|we) (?:always|usually|typically|normally|generally|never|often|rarely) [a-z]+"),
        // What I took up.
        pattern(
            r"(?i)\b(?:i|we)(?:'ve been|’ve been| have been| started| began) (?:using|reading|watching|playing|eating|drinking|wearing|going to|listening to|learning|practi[cs]ing)\b",
        ),
    ]
});

/// Finds the preferences stated in `text`, one sentence; each to the end of its clause.
pub(super) fn find(text: &str) -> Vec<String> {
    let mut starts: Vec<usize> = FAMILIES.iter().flat_map(|family| family.find_iter(text).map(|m| m.start())).collect();
    starts.sort_unstable();
    let mut found: Vec<String> = Vec::new();
    let mut end = 0;
    for start in starts {
        if start < end || found.len() == A_SENTENCE_MAX {
            continue;
        }
        let clause = clause(&text[start..]);
        end = start + clause.len();
        found.push(clause.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    found
}

fn clause(text: &str) -> &str {
    let end = text.find(['.', '!', '?', ';']).unwrap_or(text.len());
    let mut end = end.min(PREFERENCE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].trim_end()
}
