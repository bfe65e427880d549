//! A Python client that knows only the server's address.

use std::path::Path;
use std::process::Command;

use strata_clients::{PrivateServer, python_with};

#[test]
fn a_python_client_finds_its_way_by_reflection() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let python = match python_with(cache, &here.join("requirements.txt")) {
        Ok(python) => python,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let server = PrivateServer::start().unwrap();
    let output = Command::new(python)
        .arg(here.join("check.py"))
        .arg(&server.address)
        .env_remove("http_proxy")
        .env_remove("https_proxy")
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    print!("{stdout}");
}
