//! Devices as a user sees them: the list, the flag, the variable, and the words where one is missing.

use serde_json::Value;

use crate::program::{Place, Server, ran, said, strata};

fn listed() -> Vec<Value> {
    let (code, stdout, _) = ran(&["devices", "--json"]);
    assert_eq!(code, 0);
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(device: &'a Value, field: &str) -> &'a str {
    device[field].as_str().unwrap_or_default()
}

/// The name of the device that `auto` takes.
fn chosen() -> String {
    let devices = listed();
    let chosen: Vec<&Value> = devices.iter().filter(|device| device["chosen"] == true).collect();
    assert_eq!(chosen.len(), 1, "{devices:?}");
    text(chosen[0], "name").to_owned()
}

#[test]
fn the_list_says_what_is_there_and_why_the_rest_is_not() {
    let devices = listed();
    for kind in ["cuda:", "metal:", "cpu"] {
        assert!(devices.iter().any(|device| text(device, "name").starts_with(kind)), "{kind} in {devices:?}");
    }
    for device in &devices {
        assert_eq!(device["present"] == true, text(device, "reason").is_empty(), "{device}");
        assert!(device["present"] == false || !text(&device["detail"], "title").is_empty(), "{device}");
        assert!(device["built_in"] == true || device["present"] == false, "{device}");
    }
    let cpu = devices.last().unwrap();
    assert_eq!((text(cpu, "name"), &cpu["present"]), ("cpu", &Value::Bool(true)));
    assert!(cpu["detail"]["threads"].as_u64() >= Some(1) && !text(&cpu["detail"], "vector_unit").is_empty(), "{cpu}");
}

#[test]
fn people_read_one_line_a_device() {
    let (code, stdout, stderr) = ran(&["devices"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_eq!(stdout.lines().count(), listed().len(), "{stdout}");
    let taken: Vec<&str> = stdout.lines().filter(|line| line.contains("auto takes it")).collect();
    assert_eq!(taken.len(), 1, "{stdout}");
    assert!(taken[0].starts_with(&chosen()), "{stdout}");
    let output = strata(&["devices"]).env("STRATA_DEVICE", "cpu").output().unwrap();
    assert!(said(&output).2.contains("commands take cpu"), "the variable is told");
}

#[test]
fn a_device_that_is_missing_is_refused_with_its_reason() {
    let place = Place::new();
    let (fresh, notes) = (place.path("fresh"), place.path("notes"));
    let import = ["import", "--store", &fresh, "--embedder", "hashed", &notes, "--device"];
    let mut missing = vec![("cuda:99".to_owned(), String::new()), ("metal:99".to_owned(), String::new())];
    let absent = listed().into_iter().filter(|device| device["present"] == false);
    missing.extend(absent.map(|device| (text(&device, "name").to_owned(), text(&device, "reason").to_owned())));
    for (name, reason) in missing {
        let (code, stdout, stderr) = ran(&[&import, &[name.as_str()] as &[&str]].concat());
        assert_eq!((code, stdout.as_str()), (2, ""), "{name}: {stderr}");
        assert!(stderr.contains(&format!("device {name} is not available: {reason}")), "{stderr}");
        assert!(stderr.contains("hint: strata devices") && !stderr.contains("panicked"), "{stderr}");
    }
    for name in ["abacus", "cpu:1", "cuda:x", ""] {
        let (code, _, stderr) = ran(&[&import, &[name] as &[&str]].concat());
        assert_eq!(code, 2, "{name:?}: {stderr}");
        assert!(stderr.contains("devices are auto, cpu, cuda:0, metal:0"), "{stderr}");
    }
    assert!(!std::path::Path::new(&fresh).exists(), "a device that is missing leaves no store");
    let (code, stdout, _) = ran(&[&import, &["cpu", "--json"] as &[&str]].concat());
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, text(&report, "device")), (0, "cpu"));
}

#[test]
fn auto_takes_the_best_and_says_which() {
    let place = Place::new();
    let (fresh, notes) = (place.path("fresh"), place.path("notes"));
    let (code, stdout, stderr) = ran(&["import", "--store", &fresh, "--embedder", "hashed", &notes]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains(&format!("files on {}:", chosen())), "{stdout}");
    // A card that this build could use and does not find is told; one that is not built in is not missed.
    for device in listed().iter().filter(|device| device["built_in"] == true && text(device, "name").ends_with(":0")) {
        let line = format!("device {} is not available: {}; taking", text(device, "name"), text(device, "reason"));
        assert_eq!(stderr.contains(&line), device["present"] == false, "{stderr}");
    }
}

#[test]
fn a_flag_says_more_than_the_variable() {
    let place = Place::new();
    let (store, notes) = (place.store(), place.path("notes"));
    let with = |variable: &str, args: &[&str]| said(&strata(args).env("STRATA_DEVICE", variable).output().unwrap());
    let search = ["search", "--store", &store, "whitefly"];
    let import = ["import", "--store", &store, "--embedder", "hashed", &notes];
    for args in [&search as &[&str], &import] {
        let (code, _, stderr) = with("abacus", args);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains("abacus"), "{stderr}");
        let (code, _, stderr) = with("abacus", &[args, &["--device", "cpu"]].concat());
        assert_eq!(code, 0, "{stderr}");
    }
    assert_eq!(with("", &search).0, 0, "an empty variable is none");
    // What embeds nothing here needs no device.
    assert_eq!(with("abacus", &["stats", "--store", &store]).0, 0);
    let server = Server::with(&store, &["--device", "cpu"]);
    assert_eq!(with("abacus", &["search", "--server", &server.url, "whitefly"]).0, 0);
}

#[test]
fn a_server_names_its_device() {
    let place = Place::new();
    assert_eq!(Server::with(&place.store(), &["--device", "cpu"]).device, "cpu");
    assert_eq!(Server::with(&place.store(), &[]).device, chosen());
}
