//! What is a secret and what is none; the tokens here are made up.

use model::SourceKind;
use proptest::prelude::*;

use super::*;
use crate::seam::{Draft, DraftBody};

const GITHUB: &str = "ghp_q7Rk2Lm9Zx4Bn8Vw3Tc6Yd1Fg5Hj0Ks8Pa2E";

fn found(text: &str) -> Vec<(&str, &str)> {
    find(text).into_iter().map(|secret| (&text[secret.range], secret.kind)).collect()
}

#[test]
fn secrets_are_found() {
    let key = "k7Rk2Lm9Zx4Bn8Vw3Tc6Yd1Fg5Hj0Ks8Pa2EbQ";
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.q7Rk2Lm9Zx4Bn8Vw3Tc6Yd1F";
    let pem =
        format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "q7Rk2Lm9Zx4Bn8Vw".repeat(5));
    let cases: &[(String, &str, &str)] = &[
        (format!("it is {GITHUB}, ok"), GITHUB, "GitHub token"),
        (format!("token: {GITHUB}"), GITHUB, "GitHub token"),
        (format!("sk-ant-api03-{key}"), &format!("sk-ant-api03-{key}"), "Anthropic key"),
        (format!("sk-proj-{key}"), &format!("sk-proj-{key}"), "OpenAI key"),
        ("AKIAQ7RK2LM9ZX4BN8VW".to_owned(), "AKIAQ7RK2LM9ZX4BN8VW", "AWS access key"),
        (format!("see {jwt}."), jwt, "JWT"),
        (format!("a\n{pem}\nb"), &pem, "private key"),
        ("postgres://ana:s3cr8t!@db/x".to_owned(), "s3cr8t!", "password in an address"),
        ("password = hunter2x".to_owned(), "hunter2x", "password"),
        ("my password is hunter2x.".to_owned(), "hunter2x", "password"),
        ("Passwort: Sommer2024!".to_owned(), "Sommer2024!", "password"),
        ("mot de passe : Ete2024+x".to_owned(), "Ete2024+x", "password"),
        ("la contraseña: verano77x".to_owned(), "verano77x", "password"),
        (format!("\"api_key\": \"{key}\""), key, "key"),
        (format!("Authorization: Bearer {key}"), key, "authorization"),
        ("card 4111 1111 1111 1111 ok".to_owned(), "4111 1111 1111 1111", "card number"),
        ("5500005555555559".to_owned(), "5500005555555559", "card number"),
    ];
    for (text, value, kind) in cases {
        assert_eq!(found(text), [(*value, *kind)], "in {text:?}");
    }
}

#[test]
fn what_only_looks_like_one_is_left() {
    let lookalikes = [
        "password = os.environ[\"DB_PASSWORD1\"]",
        "password = getpass.getpass1()",
        "password = args.password2",
        "password=\"password1\"",
        "the password is required",
        "AKIAIOSFODNN7EXAMPLE",
        "commit 3f2a9c1d8e7b6a5f4c3d2e1f0a9b8c7d6e5f4a3b",
        "token: 123e4567-e89b-12d3-a456-426614174000",
        "a task-list-with-many-words-and-2-numbers-in-it-4",
        "sk-learn-is-a-library-for-machine-learning-in-python",
        "order 4111111111111112",
        "https://x.org/item/4111111111111111",
        "+4111111111111111",
        "postgres://user:password@localhost/db",
        "-----BEGIN PRIVATE KEY-----",
        "secret: the butler did it in 1987",
        "next_page_token: k7Rk2Lm9Zx4Bn8Vw3Tc6Yd1Fg5Hj",
    ];
    for text in lookalikes {
        assert_eq!(found(text), [], "in {text:?}");
    }
}

#[test]
fn a_draft_is_redacted_to_its_title_and_a_skipped_document_is_told() {
    let text = format!("My key is {GITHUB} and more");
    let title = format!("{}…", &text[..30]);
    let draft = Draft::new(title, SourceKind::Document, DraftBody::Text(text));
    let (mut allowed, mut marked, mut skipped) = (draft.clone(), draft.clone(), draft.clone());
    let github = |counts: &SecretCounts| counts.by_kind.get("GitHub token").copied();
    assert_eq!(github(&apply(Secrets::Allow, &mut allowed)), Some(1));
    assert_eq!(allowed, draft);
    assert_eq!(github(&apply(Secrets::Redact, &mut marked)), Some(1));
    assert_eq!(marked.body, DraftBody::Text("My key is [redacted: GitHub token] and more".to_owned()));
    assert_eq!(marked.title, "My key is [redacted: GitHub token]…");
    assert!(apply(Secrets::Skip, &mut skipped).is_left_out);
}

fn soup() -> impl Strategy<Value = String> {
    let pieces = [
        "password",
        "token",
        "Passwort",
        "api_key",
        "bearer ",
        " is ",
        "=",
        ": ",
        "\"",
        "'",
        "\\",
        "[",
        "]",
        "(",
        "://",
        "user:",
        "@host",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "eyJ",
        ".",
        ":AA",
        "sk-",
        GITHUB,
        "AKIAQ7RK2LM9ZX4BN8VW",
        "4111 1111 1111 1111",
        "4",
        " ",
        "-",
        "\n",
        "é",
        "语",
        "\u{202f}",
        "hunter2x",
        "k7Rk2Lm9Zx4Bn8Vw3Tc6Yd1F",
        "密码",
    ];
    proptest::collection::vec(prop::sample::select(pieces.to_vec()), 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_searched_without_panic(text in "(?s).{0,200}") {
        for secret in find(&text) {
            prop_assert!(text.get(secret.range).is_some());
        }
    }

    #[test]
    fn redaction_leaves_none_and_changes_nothing_else(text in soup()) {
        let found = find(&text);
        match redacted(&text) {
            None => prop_assert!(found.is_empty()),
            Some((after, kinds)) => {
                prop_assert!(kinds.len() >= found.len());
                prop_assert_eq!(redacted(&after), None);
                prop_assert!(after.starts_with(&text[..found[0].range.start]));
            }
        }
        let free = [" ", GITHUB, " "].concat();
        let is_kept = redacted(&text).is_some_and(|(after, _)| after.contains(&free));
        prop_assert!(!is_kept, "a token that stands free is kept");
    }
}

/// Prints what is found in a folder of real texts, and the speed: set `STRATA_SECRETS_IN` and run with --nocapture.
#[test]
fn real_texts_are_searched() {
    let Ok(folder) = std::env::var("STRATA_SECRETS_IN") else {
        eprintln!("skipped: no folder");
        return;
    };
    let (mut n_bytes, mut elapsed) = (0, std::time::Duration::ZERO);
    for file in walkdir::WalkDir::new(folder).into_iter().flatten().filter(|file| file.file_type().is_file()) {
        let Ok(text) = std::fs::read_to_string(file.path()) else { continue };
        let start = std::time::Instant::now();
        let found = find(&text);
        elapsed += start.elapsed();
        n_bytes += text.len();
        for Secret { range, kind } in found {
            let line = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
            let shown: String = text[line..range.end].chars().rev().take(110).collect();
            eprintln!("{kind}\t{}", shown.chars().rev().collect::<String>().replace('\n', " "));
        }
    }
    eprintln!("{n_bytes} bytes in {elapsed:?}");
}
