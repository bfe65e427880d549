//! What a model wants before a question and before a passage.
//!
//! The first of these that says anything: `strata.json` in the folder (`query_prompt`, `passage_prompt`);
//! `prompts` in `config_sentence_transformers.json` (`query`; `passage` or `document`); the rule of a family that is
//! known to leave its prompts to its README, by the folder's name, the hub's name for it, or `_name_or_path`.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use super::folder::read_optional;
use crate::Result;

/// The prompts of a model; empty where it wants none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Prompts {
    pub query: String,
    pub passage: String,
}

/// A family, the word in its names, the words of which one must be there too, and its prompts.
///
/// Sources: Wang et al., arXiv:2212.03533 (E5); Xiao et al., arXiv:2309.07597 (BGE).
const FAMILIES: [(&str, &[&str], &str, &str); 3] = [
    ("e5", &["small", "base", "large"], "query: ", "passage: "),
    ("bge", &["en"], "Represent this sentence for searching relevant passages: ", ""),
    ("bge", &["zh"], "为这个句子生成表示以用于检索相关文章：", ""),
];

/// Reads the prompts of the model in `folder`, whose real path is `canonical`.
///
/// # Errors
/// [`crate::Error::Model`] for a file that is not what it should be.
pub(super) fn read(folder: &Path, canonical: &Path, name_or_path: &str) -> Result<Prompts> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Ours {
        #[serde(default)]
        query_prompt: String,
        #[serde(default)]
        passage_prompt: String,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Theirs {
        prompts: HashMap<String, String>,
    }
    if let Some(ours) = read_optional::<Ours>(&folder.join("strata.json"))? {
        return Ok(Prompts { query: ours.query_prompt, passage: ours.passage_prompt });
    }
    let theirs: Theirs = read_optional(&folder.join("config_sentence_transformers.json"))?.unwrap_or_default();
    let first = |names: &[&str]| names.iter().find_map(|&name| theirs.prompts.get(name)).cloned().unwrap_or_default();
    let said = Prompts { query: first(&["query"]), passage: first(&["passage", "document"]) };
    // Newer versions write empty prompts where a model's maker said nothing.
    if said != Prompts::default() {
        return Ok(said);
    }
    let hub = canonical.components().filter_map(|part| part.as_os_str().to_str()).rev();
    let hub = hub.take(3).find(|part| part.starts_with("models--"));
    let own = canonical.file_name().and_then(|name| name.to_str());
    let names = [own, hub, Some(name_or_path)];
    Ok(names.into_iter().flatten().find_map(by_family).unwrap_or_default())
}

fn by_family(name: &str) -> Option<Prompts> {
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let found = FAMILIES
        .iter()
        .find(|(family, others, ..)| words.contains(family) && others.iter().any(|other| words.contains(other)));
    found.map(|(.., query, passage)| Prompts { query: (*query).to_owned(), passage: (*passage).to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_known_by_whole_words() {
        for name in ["e5-small-v2", "intfloat/e5-base", "models--intfloat--e5-large-v2"] {
            assert_eq!(by_family(name).map(|prompts| prompts.passage), Some("passage: ".to_owned()), "{name}");
        }
        let bge = by_family("BAAI_bge-small-en").expect("bge");
        assert!(bge.query.starts_with("Represent") && bge.passage.is_empty());
        for name in ["minilm", "bge-m3", "whale5-small", "gte-small", "e5", ""] {
            assert_eq!(by_family(name), None, "{name}");
        }
    }
}
