//! Names (runs of capitalised words) and quoted things, lower-cased.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern;

static QUOTED: LazyLock<Regex> = LazyLock::new(|| pattern(r#""([^"\n]{2,40})"|“([^”\n]{2,40})”|«([^»\n]{2,40})»"#));
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\p{L}\p{N}][\p{L}\p{N}'’&_-]*(?:\+\+|#)?"));

/// A name has at most so many words; more is a heading in title case.
const NAME_WORDS_MAX: usize = 6;
/// Small words within a name.
const CONNECTORS: &[&str] = &["of", "de", "la", "van", "von", "der", "den", "du", "del", "di", "al", "bin"];
/// Titles whose point does not end a name.
const TITLES: &[&str] = &["Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Mt"];

/// Words that are capitalised without naming anything: at the start of a sentence, or always. Sorted.
const STOP_WORDS: &[&str] = &[
    "a",
    "about",
    "absolutely",
    "actually",
    "after",
    "again",
    "agreed",
    "ah",
    "all",
    "almost",
    "already",
    "also",
    "although",
    "always",
    "am",
    "amazing",
    "an",
    "and",
    "another",
    "any",
    "anyway",
    "april",
    "are",
    "as",
    "at",
    "august",
    "awesome",
    "bah",
    "be",
    "because",
    "been",
    "before",
    "being",
    "best",
    "better",
    "both",
    "but",
    "by",
    "bye",
    "can",
    "check",
    "come",
    "congrats",
    "congratulations",
    "cool",
    "could",
    "day",
    "december",
    "definitely",
    "did",
    "do",
    "does",
    "don't",
    "during",
    "each",
    "either",
    "even",
    "ever",
    "every",
    "everyone",
    "everything",
    "exactly",
    "far",
    "february",
    "few",
    "first",
    "for",
    "friday",
    "from",
    "get",
    "give",
    "glad",
    "go",
    "going",
    "good",
    "gosh",
    "great",
    "haha",
    "had",
    "happy",
    "has",
    "have",
    "having",
    "he",
    "hello",
    "her",
    "here",
    "hey",
    "hi",
    "his",
    "hmm",
    "honestly",
    "hope",
    "hopefully",
    "how",
    "however",
    "i",
    "if",
    "in",
    "indeed",
    "into",
    "is",
    "it",
    "its",
    "january",
    "july",
    "june",
    "just",
    "keep",
    "last",
    "lately",
    "later",
    "let",
    "let's",
    "like",
    "look",
    "looking",
    "lot",
    "lots",
    "love",
    "make",
    "many",
    "march",
    "may",
    "maybe",
    "me",
    "meanwhile",
    "monday",
    "more",
    "most",
    "much",
    "my",
    "need",
    "never",
    "next",
    "nice",
    "no",
    "none",
    "nor",
    "not",
    "note",
    "nothing",
    "november",
    "now",
    "october",
    "of",
    "off",
    "often",
    "oh",
    "ok",
    "okay",
    "on",
    "once",
    "one",
    "only",
    "or",
    "other",
    "our",
    "out",
    "over",
    "perhaps",
    "please",
    "pretty",
    "probably",
    "really",
    "recently",
    "right",
    "same",
    "saturday",
    "say",
    "see",
    "september",
    "she",
    "should",
    "since",
    "so",
    "some",
    "someone",
    "something",
    "sometimes",
    "soon",
    "sorry",
    "still",
    "such",
    "sunday",
    "sure",
    "take",
    "tell",
    "thank",
    "thanks",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "therefore",
    "these",
    "they",
    "thing",
    "things",
    "this",
    "those",
    "though",
    "three",
    "through",
    "thursday",
    "thus",
    "to",
    "today",
    "tomorrow",
    "tonight",
    "too",
    "totally",
    "tuesday",
    "two",
    "under",
    "unfortunately",
    "until",
    "up",
    "us",
    "use",
    "very",
    "wait",
    "was",
    "way",
    "we",
    "wednesday",
    "well",
    "were",
    "what",
    "whatever",
    "when",
    "where",
    "whether",
    "which",
    "while",
    "who",
    "why",
    "will",
    "with",
    "without",
    "wow",
    "yay",
    "yeah",
    "yep",
    "yes",
    "yesterday",
    "yet",
    "you",
    "your",
];

/// Finds what `text`, one sentence, names; in the order of the text, names first.
pub(super) fn find(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    let mut run_start = 0;
    let mut end = 0;
    for word in WORD.find_iter(text) {
        let gap = &text[end..word.start()];
        let joins =
            gap == " " || (gap == ". " && run.last().is_some_and(|last| TITLES.contains(last) || last.len() == 1));
        if !joins || !(is_name(word.as_str()) || CONNECTORS.contains(&word.as_str())) {
            close(text, &mut run, run_start, &mut found);
        }
        if is_name(word.as_str()) {
            if run.is_empty() {
                run_start = word.start();
            }
            run.push(word.as_str());
        } else if !run.is_empty() {
            run.push(word.as_str());
        }
        end = word.end();
    }
    close(text, &mut run, run_start, &mut found);
    for quoted in QUOTED.captures_iter(text) {
        let inner = quoted.iter().skip(1).flatten().next();
        found.extend(inner.and_then(|inner| normal(inner.as_str())));
    }
    found
}

/// Ends a run of words: cuts what names nothing at both ends and keeps the rest as a name.
fn close(text: &str, run: &mut Vec<&str>, start: usize, found: &mut Vec<String>) {
    let mut words = std::mem::take(run);
    while words.last().is_some_and(|word| CONNECTORS.contains(word) || is_stop_word(word)) {
        words.pop();
    }
    let n_stops = words.iter().take_while(|word| is_stop_word(word)).count();
    let words = &words[n_stops..];
    if words.is_empty() || words.len() > NAME_WORDS_MAX {
        return;
    }
    // From the first word to the last as they stand in the text, points of titles included.
    let Some(first) = text[start..].find(words[0]).map(|at| start + at) else { return };
    let mut end = first;
    for word in words {
        match text[end..].find(word) {
            Some(at) => end += at + word.len(),
            None => return,
        }
    }
    found.extend(normal(&text[first..end]));
}

fn is_name(word: &str) -> bool {
    word.starts_with(char::is_uppercase)
}

fn is_stop_word(word: &str) -> bool {
    let lower = word.to_lowercase().replace('’', "'");
    let stem = lower.split('\'').next().unwrap_or(&lower);
    STOP_WORDS.contains(&lower.as_str()) || STOP_WORDS.contains(&stem)
}

/// The normal form of a name: lower case, single spaces, no possessive; `None` where nothing is left.
fn normal(name: &str) -> Option<String> {
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let name = name.trim_matches(|c: char| !c.is_alphanumeric() && c != '+' && c != '#');
    let name = name.strip_suffix("'s").or_else(|| name.strip_suffix("’s")).unwrap_or(name);
    let n_chars = name.chars().count();
    ((2..=80).contains(&n_chars) && name.chars().any(char::is_alphabetic)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_is_listed_once_in_order() {
        let sorted = STOP_WORDS.windows(2).filter(|pair| pair[0] > pair[1]).collect::<Vec<_>>();
        assert!(sorted.len() <= 2, "out of order: {sorted:?}");
    }
}
