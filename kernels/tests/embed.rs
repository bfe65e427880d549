//! Embedders against their contract, and the model against sentence-transformers.

use std::path::PathBuf;

use kernels::{Embedder, Error, Role, embed_whole, hashed, open_model};
use serde::Deserialize;

/// The weights that `tests/data/minilm.json` was made with.
const MINILM: &str = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";

fn model() -> Option<Box<dyn Embedder>> {
    let said = std::env::var_os("STRATA_MODEL").map(PathBuf::from);
    let usual = || directories::BaseDirs::new().map(|dirs| dirs.data_dir().join("strata/models/minilm"));
    let folder = said.or_else(usual).filter(|folder| folder.join("model.safetensors").exists());
    if folder.is_none() {
        println!("skipped: no model");
    }
    folder.map(|folder| open_model(&folder, "cpu").expect("a usable model"))
}

fn embedders() -> Vec<Box<dyn Embedder>> {
    std::iter::once(hashed()).chain(model()).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[derive(Deserialize)]
struct Fixture {
    texts: Vec<String>,
    vectors: Vec<Vec<f32>>,
}

#[test]
fn vectors_equal_those_of_sentence_transformers() {
    let Some(model) = model() else { return };
    if model.id().digest != MINILM {
        println!("skipped: another model");
        return;
    }
    let json = include_str!("data/minilm.json");
    let fixture: Fixture = serde_json::from_str(json).expect("fixture");
    let texts: Vec<&str> = fixture.texts.iter().map(String::as_str).collect();
    let vectors = model.embed(&texts, Role::Passage).expect("they fit");
    assert_eq!((vectors.n(), vectors.dim()), (24, 384));
    let mut worst = 1.0_f32;
    for (row, (text, want)) in texts.iter().zip(&fixture.vectors).enumerate() {
        let same = cosine(vectors.row(row), want);
        assert!(same >= 0.9999, "{same} {text}");
        let apart = vectors.row(row).iter().zip(want).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f32::max) < 2e-4, "{text}");
        worst = worst.min(same);
    }
    println!("lowest cosine with sentence-transformers: {worst:.7}");
}

#[test]
fn the_identity_says_what_the_vectors_depend_on() {
    let Some(model) = model() else { return };
    let id = model.id();
    assert_eq!((id.dim, id.window, id.pooling.as_str()), (384, 256, "mean"));
    assert_eq!(id.digest.len(), 64);
    assert_eq!(hashed().id().digest, "hashed-v1");
}

#[test]
fn a_vector_is_the_same_bits_alone_and_in_any_company() {
    let texts: Vec<String> = (0..40).map(|n| format!("note {n}: {}", "go on ".repeat(n))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let backwards: Vec<&str> = texts.iter().rev().copied().collect();
    for embedder in embedders() {
        let together = embedder.embed(&texts, Role::Passage).expect("they fit");
        let reversed = embedder.embed(&backwards, Role::Passage).expect("they fit");
        for (row, &text) in texts.iter().enumerate() {
            assert_eq!(together.row(row), reversed.row(texts.len() - 1 - row));
            if row % 13 == 0 {
                let alone = embedder.embed(&[text], Role::Passage).expect("it fits");
                assert_eq!(together.row(row), alone.row(0));
            }
            assert!((cosine(together.row(row), together.row(row)) - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn no_text_and_empty_texts_are_embedded() {
    for embedder in embedders() {
        assert_eq!(embedder.embed(&[], Role::Query).expect("nothing").n(), 0);
        let vectors = embedder.embed(&["", " \n", "\u{0}"], Role::Query).expect("they fit");
        assert_eq!(vectors.n(), 3);
        assert!(embedder.fit("").is_empty());
    }
}

#[test]
fn a_text_beyond_the_window_is_refused_and_named() {
    let long = "word ".repeat(400);
    for embedder in embedders() {
        let error = embedder.embed(&["short", &long], Role::Passage).expect_err("too long");
        match error {
            Error::TooLong { text_idx, n_tokens, window } => {
                assert_eq!((text_idx, n_tokens, window), (1, 402, 256));
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn fitted_ranges_cover_the_text_and_can_be_embedded() {
    let texts = [
        "word ".repeat(1_000),
        "x".repeat(3_000),
        "日本語のとても長い文。".repeat(100),
        "한국어".repeat(300),
        "a,b;c-".repeat(500),
        format!("  start {} end\n\n", "é".repeat(700)),
        "\u{200b}".repeat(2_000),
        "[SEP] [UNK] [CLS]".repeat(90),
        "🎉".repeat(600),
        format!("https://example.org/{}", "ab/cd?ef=".repeat(90)),
    ];
    for embedder in embedders() {
        for text in &texts {
            let fitted = embedder.fit(text);
            let mut at = 0;
            for part in &fitted {
                assert_eq!(part.range.start, at);
                at = part.range.end;
                assert_eq!(part.count, embedder.count(&text[part.range.clone()]));
            }
            assert_eq!(at, text.len());
            let n_tokens: u32 = fitted.iter().map(|part| part.count.n_tokens).sum();
            assert_eq!(n_tokens, embedder.count(text).n_tokens);
            let parts: Vec<&str> = fitted.iter().map(|part| &text[part.range.clone()]).collect();
            let ends = [parts[0], parts[parts.len() - 1]];
            embedder.embed(&ends, Role::Passage).expect("every part fits");
        }
    }
}

#[test]
fn a_long_unbroken_run_is_counted_truly() {
    let Some(model) = model() else { return };
    let count = model.count(&"abcdefghij".repeat(100));
    assert!(count.n_tokens > 200 && count.n_unknown == 0, "{count:?}");
    let count = model.count(&"각".repeat(90));
    assert!(count.n_tokens >= 90 && count.n_unknown == 0, "{count:?}");
    assert_eq!(model.count("one 🎉 two").n_unknown, 1);
    assert_eq!(model.count("it's fine").n_tokens, 4);
}

#[test]
fn a_whole_text_of_any_length_is_one_unit_vector() {
    let long = format!("{} The ferry leaves at noon.", "We counted the nets. ".repeat(300));
    for embedder in embedders() {
        let whole = embed_whole(embedder.as_ref(), &long, Role::Query).expect("any length");
        assert!((cosine(&whole, &whole) - 1.0).abs() < 1e-5);
        let short = embed_whole(embedder.as_ref(), "nets", Role::Query).expect("short");
        assert_eq!(short, embedder.embed(&["nets"], Role::Query).expect("short").row(0));
    }
}

#[test]
fn a_folder_without_a_model_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().expect("folder");
    let said = |folder: &std::path::Path| match open_model(folder, "cpu") {
        Ok(_) => panic!("no model there"),
        Err(error) => error.to_string(),
    };
    assert!(said(folder.path()).contains("config.json"));
    std::fs::write(folder.path().join("config.json"), "{").expect("writable");
    assert!(said(folder.path()).contains("not usable"));
}
