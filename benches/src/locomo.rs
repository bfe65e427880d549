//! LoCoMo's questions, and the share of their evidence that a ranking brings back.
//!
//! Source: Maharana et al., arXiv:2402.17753. Retrieval is measured, not answers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::rounded;

/// The depths at which evidence is counted.
pub const DEPTHS: [usize; 4] = [5, 10, 25, 50];

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The conversation it is about.
    pub sample: String,
    /// The words.
    pub text: String,
    /// The turns that answer it. Never empty.
    pub evidence: BTreeSet<String>,
    /// 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial.
    pub category: u64,
}

/// The questions of a file.
#[derive(Debug, Default)]
pub struct Questions {
    /// Those with evidence.
    pub asked: Vec<Question>,
    /// How many have none that is a turn of their conversation.
    pub n_left_out: usize,
}

/// Reads the questions of a LoCoMo file.
///
/// Malformed evidence is split on `;` and spaces; what then is no turn of the conversation is dropped.
///
/// # Errors
/// A sentence that says what the file lacks.
pub fn questions(text: &str) -> Result<Questions, String> {
    let samples: Vec<Value> = serde_json::from_str(text).map_err(|error| format!("not a LoCoMo file: {error}"))?;
    let mut questions = Questions::default();
    for sample in &samples {
        let id = sample["sample_id"].as_str().ok_or("a sample without sample_id")?;
        let known = turn_ids(&sample["conversation"]);
        for qa in sample["qa"].as_array().ok_or("a sample without qa")? {
            let evidence = evidence(id, &qa["evidence"], &known);
            if evidence.is_empty() {
                questions.n_left_out += 1;
                continue;
            }
            questions.asked.push(Question {
                sample: id.to_owned(),
                text: qa["question"].as_str().ok_or("a question without words")?.to_owned(),
                evidence,
                category: qa["category"].as_u64().unwrap_or(0),
            });
        }
    }
    Ok(questions)
}

fn turn_ids(conversation: &Value) -> BTreeSet<&str> {
    let sessions = conversation.as_object().into_iter().flatten().map(|(_, value)| value);
    let turns = sessions.filter_map(Value::as_array).flatten();
    turns.filter_map(|turn| turn["dia_id"].as_str()).collect()
}

/// The evidence as turn ids of the store: `sample_id/dia_id`.
fn evidence(sample: &str, given: &Value, known: &BTreeSet<&str>) -> BTreeSet<String> {
    let listed = given.as_array().into_iter().flatten().filter_map(Value::as_str);
    let ids = listed.flat_map(|ids| ids.split([';', ' ']));
    ids.filter(|id| known.contains(id)).map(|id| format!("{sample}/{id}")).collect()
}

/// Sums of recall, over all questions and by category.
#[derive(Debug, Default)]
pub struct Recall {
    by_category: BTreeMap<u64, (u32, [f64; DEPTHS.len()])>,
}

impl Recall {
    /// Counts one question: `ranked` are the turns that came back, best first.
    pub fn add(&mut self, question: &Question, ranked: &[String]) {
        let (n, sums) = self.by_category.entry(question.category).or_default();
        *n += 1;
        for (sum, depth) in sums.iter_mut().zip(DEPTHS) {
            let top: BTreeSet<&String> = ranked.iter().take(depth).collect();
            let n_found = question.evidence.iter().filter(|id| top.contains(id)).count();
            #[expect(clippy::cast_precision_loss, reason = "a handful of turns")]
            let share = n_found as f64 / question.evidence.len() as f64;
            *sum += share;
        }
    }

    /// The means, in percent: `n`, `recall@…` and the same under `by` for each category.
    pub fn report(&self) -> Map<String, Value> {
        let mut all = (0, [0.0; DEPTHS.len()]);
        let mut by = Map::new();
        for (category, (n, sums)) in &self.by_category {
            all.0 += n;
            for (total, sum) in all.1.iter_mut().zip(sums) {
                *total += sum;
            }
            by.insert(category.to_string(), Value::Object(means(*n, sums)));
        }
        let mut report = means(all.0, &all.1);
        report.insert("by".to_owned(), Value::Object(by));
        report
    }
}

fn means(n: u32, sums: &[f64; DEPTHS.len()]) -> Map<String, Value> {
    let mut means = Map::new();
    means.insert("n".to_owned(), json!(n));
    for (depth, sum) in DEPTHS.iter().zip(sums) {
        let mean = if n == 0 { 0.0 } else { 100.0 * sum / f64::from(n) };
        means.insert(format!("recall@{depth}"), json!(rounded(mean, 2)));
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"[{
        "sample_id": "one",
        "conversation": {"speaker_a": "A", "session_1": [{"dia_id": "D1:1"}, {"dia_id": "D1:2"}], "session_2": [{"dia_id": "D2:1"}]},
        "qa": [
            {"question": "who?", "evidence": ["D1:1; D2:1"], "category": 1},
            {"question": "when?", "evidence": ["D1:2", "D", "D:9:9"], "category": 2},
            {"question": "why?", "evidence": [], "category": 3},
            {"question": "how?", "evidence": ["D7:7"], "category": 3}
        ]
    }]"#;

    #[test]
    fn malformed_evidence_is_split_and_the_unknown_dropped() {
        let questions = questions(FILE).unwrap();
        assert_eq!((questions.asked.len(), questions.n_left_out), (2, 2));
        assert_eq!(questions.asked[0].evidence.len(), 2);
        assert_eq!(questions.asked[1].evidence.iter().collect::<Vec<_>>(), ["one/D1:2"]);
    }

    #[test]
    fn recall_is_the_share_of_the_evidence_within_the_depth() {
        let questions = questions(FILE).unwrap();
        let mut recall = Recall::default();
        let ranked: Vec<String> = ["1:1", "9:1", "9:2", "9:3", "9:4", "2:1"].map(|id| format!("one/D{id}")).to_vec();
        recall.add(&questions.asked[0], &ranked);
        recall.add(&questions.asked[1], &ranked);
        let report = recall.report();
        assert_eq!(report["n"], json!(2));
        assert_eq!((&report["recall@5"], &report["recall@10"]), (&json!(25.0), &json!(50.0)));
        assert_eq!(report["by"]["1"]["recall@10"], json!(100.0));
        assert_eq!(report["by"]["2"]["recall@50"], json!(0.0));
    }
}
