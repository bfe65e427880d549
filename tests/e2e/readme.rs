//! The commands of README.md do what it says: a newcomer's first five minutes are tested.

use std::fs;
use std::process::{Command, Stdio};

use strata_tests::{Done, World, root, say};

use crate::PROGRAM;

/// The commands of every `console` block in order, continued lines joined.
fn console_commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or("");
        let block = block.replace("\\\n", " ");
        let typed = block.lines().filter_map(|line| line.strip_prefix("$ "));
        commands.extend(typed.map(str::to_owned));
    }
    commands
}

/// Runs one line by the shell, with `strata` being the program under test.
///
/// Without a model imports ask for hashed vectors by name; all else is as it is written.
fn run(world: &World, line: &str, has_model: bool) -> Done {
    let hashed = "case \"$1\" in import) shift; set -- import --embedder hashed \"$@\";; esac;";
    let hashed = if has_model { "" } else { hashed };
    let script = format!("strata() {{ {hashed} \"$STRATA_PROGRAM\" \"$@\"; }}\n{line}");
    let mut command = Command::new("sh");
    command
        .args(["-eu", "-c", &script])
        .current_dir(world.path("tree"))
        .env("STRATA_PROGRAM", PROGRAM)
        .env("STRATA_STORE", world.store());
    Done::of(command.stdin(Stdio::null()))
}

#[test]
fn commands_are_found() {
    let text = "# A\n```console\n$ strata import \\\n  a\nimported\n$ strata stats\n```\n```sh\nno\n```\n";
    assert_eq!(console_commands(text), ["strata import    a", "strata stats"]);
}

#[test]
fn the_commands_of_the_readme_run() {
    let text = fs::read_to_string(root().join("README.md")).expect("there is a README");
    let commands = console_commands(&text);
    assert!(commands.len() > 3, "README.md shows {commands:?}");
    let world = World::new(PROGRAM);
    let sample = "tree/tests/data/sample";
    crate::files::copy(&strata_tests::sample(), &world.path(sample));
    let has_model = crate::demo::has_model(&world);
    for line in &commands {
        assert!(line.starts_with("strata "), "a console block shows `{line}`");
        let done = run(&world, line, has_model).succeeds();
        assert!(!done.stdout.is_empty(), "{line} answers something");
    }
    let embedder = if has_model { "minilm" } else { "hashed" };
    say(&format!("README.md: {} commands run, {embedder}", commands.len()));
}
