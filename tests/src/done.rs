//! What a run of the program did: its exit code and what it said where.

use std::process::Command;

use serde_json::Value;

/// A finished run.
#[derive(Debug)]
pub struct Done {
    /// The exit code; 255 where a signal ended it.
    pub code: i32,
    /// What it answered.
    pub stdout: String,
    /// What it told people.
    pub stderr: String,
    line: String,
}

impl Done {
    /// Runs `command` to its end.
    pub fn of(command: &mut Command) -> Self {
        let line = format!("{command:?}");
        let output = command.output().expect("the program starts");
        Self {
            code: output.status.code().unwrap_or(255),
            stdout: String::from_utf8(output.stdout).expect("answers are UTF-8"),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            line,
        }
    }

    /// Checks the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code of {}\n{}\n{}", self.line, self.stdout, self.stderr);
        // An error is told, never thrown at the user.
        assert!(!self.stderr.contains("panicked at"), "{} panicked\n{}", self.line, self.stderr);
        self
    }

    /// Checks that it ended well and left nothing out.
    #[track_caller]
    pub fn succeeds(self) -> Self {
        self.exits(0)
    }

    /// Checks that it refused (exit 2), saying `part` on stderr and nothing on stdout.
    #[track_caller]
    pub fn refuses(self, part: &str) -> Self {
        let done = self.exits(2);
        assert!(done.stderr.contains(part), "{part:?} is not said by {}\n{}", done.line, done.stderr);
        assert_eq!(done.stdout, "", "a refusal answers nothing");
        done
    }

    /// The JSON values of stdout, one a line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => panic!("{}: {error} in {line}", self.line),
        };
        self.stdout.lines().map(parse).collect()
    }

    /// The one JSON value of stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        let mut values = self.json_lines();
        assert_eq!(values.len(), 1, "{} answers one value\n{}", self.line, self.stdout);
        values.remove(0)
    }
}
