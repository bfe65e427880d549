//! A server process of a world: started on a free port, stopped with its value.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::World;
use crate::client::Client;

/// How long a server may take until it says where it listens.
const START_SECONDS_MAX: u64 = 60;

/// A token that the server knows.
#[derive(Clone, Debug)]
pub struct Token {
    /// What a client shows.
    pub secret: &'static str,
    /// The scopes it reaches.
    pub scopes: &'static [&'static str],
    /// `read`, `write`, `delete`, `admin`.
    pub verbs: &'static [&'static str],
}

/// A running server.
pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    pub(crate) fn start(world: &World, tokens: &[Token]) -> Self {
        let store = world.store();
        let store = store.to_string_lossy();
        let mut arguments = vec!["serve", "--store", &store, "--listen", "127.0.0.1:0"];
        let file = world.write("tokens.toml", token_file(tokens));
        let file = file.to_string_lossy();
        if !tokens.is_empty() {
            arguments.extend(["--tokens", &*file]);
        }
        let mut command = world.command(&arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let (sender, said) = mpsc::channel();
        relay(child.stdout.take(), sender.clone());
        relay(child.stderr.take(), sender);
        // From here on the process ends with this value, also by a panic.
        let mut server = Self { child, address: String::new() };
        let mut log = String::new();
        while server.address.is_empty() {
            let line = said.recv_timeout(Duration::from_secs(START_SECONDS_MAX));
            let line = line.unwrap_or_else(|_| panic!("the server does not listen:\n{log}"));
            server.address = listening(&line).unwrap_or_default();
            let _ = writeln!(log, "{line}");
        }
        server
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client without a token.
    pub fn client(&self) -> Client {
        Client::connect(&self.url(), None)
    }

    /// A client that shows `secret`.
    pub fn client_as(&self, secret: &str) -> Client {
        Client::connect(&self.url(), Some(secret))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends every line on; the pipe is read to its end, so that the server never blocks on it.
fn relay(pipe: Option<impl Read + Send + 'static>, sender: mpsc::Sender<String>) {
    let pipe = pipe.expect("the pipe was asked for");
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            // Nobody listens any more once the address is known.
            let _ = sender.send(line);
        }
    });
}

/// The address in a line such as `listening on 127.0.0.1:50051`.
fn listening(line: &str) -> Option<String> {
    let at = line.find("127.0.0.1:")?;
    let port: String = line[at + "127.0.0.1:".len()..].chars().take_while(char::is_ascii_digit).collect();
    (port != "0" && !port.is_empty()).then(|| format!("127.0.0.1:{port}"))
}

fn token_file(tokens: &[Token]) -> String {
    let mut text = String::new();
    for (idx, token) in tokens.iter().enumerate() {
        let digest: String = Sha256::digest(token.secret).iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(
            text,
            "[[token]]\nprincipal = \"tester-{idx}\"\nkind = \"human\"\nsha256 = \"{digest}\"\nscopes = {:?}\nverbs = {:?}",
            token.scopes, token.verbs
        );
    }
    text
}
