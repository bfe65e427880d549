//! Exports whose records are JSON and say what cannot be.

use super::{Both, Case, Line, Read, case, lazy};

pub fn cases() -> Vec<Case> {
    let mut cases = trees();
    cases.extend(times());
    cases.extend(chats());
    cases.extend(lines());
    cases
}

fn message(text: &str) -> String {
    format!(r#"{{"id":"m-{text}","author":{{"role":"user"}},"content":{{"content_type":"text","parts":["{text}"]}}}}"#)
}

/// A conversation of nodes `id<parent`, each with a message that says its id.
fn tree(nodes: &str, current: &str) -> String {
    let nodes: Vec<String> = nodes
        .split_whitespace()
        .map(|node| {
            let (id, parent) =
                node.split_once('<').map_or((node, "null".to_owned()), |(id, up)| (id, format!("\"{up}\"")));
            format!(r#""{id}":{{"id":"{id}","parent":{parent},"message":{},"children":[]}}"#, message(id))
        })
        .collect();
    format!(r#"[{{"conversation_id":"c","title":"t","current_node":{current},"mapping":{{{}}}}}]"#, nodes.join(","))
}

fn trees() -> Vec<Case> {
    let file = "conversations.json";
    let with = |mapping: &str| format!(r#"[{{"conversation_id":"c","current_node":"a","mapping":{mapping}}}]"#);
    let children = r#"{"a":{"id":"a","parent":null,"children":["a","a","b","gone",7,null],"message":MESSAGE}}"#;
    vec![
        case("a node that is its own parent", file, tree("a<a", "\"a\""), Read(1)),
        case("two nodes that are each other's parents", file, tree("a<b b<a", "\"a\""), Read(1)),
        case("a loop of three and a tail", file, tree("a<c b<a c<b d<c", "\"d\""), Read(1)),
        case("parents that are gone", file, tree("a<x b<y", "\"a\""), Read(1)),
        case("a current node that is gone", file, tree("a b<a", "\"gone\""), Read(1)),
        case("a current node that is a number", file, tree("a b<a", "7"), Read(1)),
        case("one id for two nodes", file, tree("a a<a b<a", "\"b\""), Read(1)),
        case("children that are nonsense", file, with(&children.replace("MESSAGE", &message("a"))), Read(1)),
        case("a mapping that is a list", file, with("[]"), Read(0)),
        case("a mapping that is null", file, with("null"), Read(0)),
        case("nodes that are null", file, with(r#"{"a":null,"b":7,"c":[]}"#), Read(0)),
        case("messages that are numbers", file, with(r#"{"a":{"id":"a","parent":null,"message":7}}"#), Read(0)),
        case(
            "parts that are numbers",
            file,
            with(&format!(
                r#"{{"a":{{"id":"a","parent":null,"message":{}}}}}"#,
                message("a").replace("\"a\"]", "7,null,{},[]]")
            )),
            Read(0),
        ),
        lazy(
            "a conversation 100,000 messages deep",
            file,
            || {
                let nodes: Vec<String> =
                    (0..100_000).map(|n| if n == 0 { "0".to_owned() } else { format!("{n}<{}", n - 1) }).collect();
                tree(&nodes.join(" "), "\"99999\"").into_bytes()
            },
            Read(1),
        ),
        lazy(
            "a message of 100,000 answers",
            file,
            || {
                let nodes: Vec<String> =
                    (0..100_000).map(|n| if n == 0 { "0".to_owned() } else { format!("{n}<0") }).collect();
                tree(&nodes.join(" "), "\"99999\"").into_bytes()
            },
            Read(1),
        ),
        lazy(
            "branches all the way down",
            file,
            || {
                let nodes: Vec<String> = (0..100_000)
                    .map(|n| if n == 0 { "0".to_owned() } else { format!("{n}<{}", (n - 1) / 2) })
                    .collect();
                tree(&nodes.join(" "), "\"7\"").into_bytes()
            },
            Read(1),
        ),
    ]
}

fn times() -> Vec<Case> {
    let at = |name: &'static str, time: &str| {
        let record =
            format!(r#"[{{"role":"user","content":"hi","timestamp":{time}}},{{"role":"user","content":"bye"}}]"#);
        case(format!("a time that is {name}"), "x.json", record, Read(1))
    };
    let slack = |name: &str, ts: &str| {
        let day = format!(r#"[{{"type":"message","user":"U1","text":"hi","ts":{ts}}}]"#);
        case(format!("a Slack moment that is {name}"), "C1.json", day, Read(1))
    };
    vec![
        at("far away", "99999999999999999"),
        at("beyond all", "1e300"),
        at("long ago", "-62135596800"),
        at("before all", "-1e18"),
        at("in the future", "\"9999-12-31T23:59:59Z\""),
        at("beyond the years", "\"99999-01-01T00:00:00Z\""),
        at("the thirteenth month", "\"2024-13-01T00:00:00Z\""),
        at("the thirtieth of February", "\"2024-02-30T00:00:00Z\""),
        at("a leap second", "\"2016-12-31T23:59:60Z\""),
        at("of an offset of 99 hours", "\"2024-01-01T00:00:00+99:00\""),
        at("a word", "\"soon\""),
        at("empty", "\"\""),
        at("a list", "[1,2]"),
        at("true", "true"),
        at("of a million digits", &format!("\"{}\"", "9".repeat(1_000_000))),
        slack("whole", "\"1714557600\""),
        slack("over the edge", "\"99999999999999999999.999999\""),
        slack("below nothing", "\"-1.5\""),
        slack("of many digits", "\"1714557600.123456789123456789\""),
        slack("nonsense", "\"a.b\""),
        slack("two dots", "\"1.2.3\""),
        slack("a number", "1714557600.000200"),
    ]
}

fn chats() -> Vec<Case> {
    let telegram =
        |messages: &str| format!(r#"{{"name":"Ana","type":"personal_chat","id":1,"messages":[{messages}]}}"#);
    let reply = |id: &str, to: &str| {
        let said = r#""type":"message","date":"2024-05-01T10:00:00","from":"Ana","from_id":"user1","text":"hi""#;
        format!(r#"{{"id":{id},"reply_to_message_id":{to},{said}}}"#)
    };
    vec![
        case("a message that answers itself", "result.json", telegram(&reply("1", "1")), Read(1)),
        case(
            "messages that answer each other",
            "result.json",
            telegram(&[reply("1", "2"), reply("2", "1")].join(",")),
            Read(1),
        ),
        case("an answer to nothing", "result.json", telegram(&reply("1", "99")), Read(1)),
        case("an id below nothing", "result.json", telegram(&reply("-1", "null")), Read(1)),
        case("an id beyond numbers", "result.json", telegram(&reply("99999999999999999999", "1")), Read(1)),
        case("two messages of one id", "result.json", telegram(&[reply("1", "2"), reply("1", "2")].join(",")), Read(1)),
    ]
}

fn lines() -> Vec<Case> {
    let line =
        |more: &str| format!("{{\"strata_chat\":1}}\n{{\"conversation\":\"a\",\"id\":\"1\",\"text\":\"hi\"{more}}}\n");
    vec![
        case("a chat that answers itself", "x.jsonl", line(r#","reply_to":"1""#), Read(1)),
        case(
            "a chat of a later format",
            "x.jsonl",
            "{\"strata_chat\":2}\n{\"conversation\":\"a\",\"text\":\"hi\"}\n",
            Both(1, "this build reads 1"),
        ),
        case(
            "a chat of no format",
            "x.jsonl",
            "{\"strata_chat\":-1}\n{\"conversation\":\"a\",\"text\":\"hi\"}\n",
            Both(1, "no whole number"),
        ),
        case("a chat with no message", "x.jsonl", "{\"strata_chat\":1}\n", Line("no message")),
        case(
            "a chat with an id of 1 MiB",
            "x.jsonl",
            line(&format!(r#","author":"{}""#, "n".repeat(1 << 20))),
            Read(1),
        ),
        case(
            "a chat with a time of no one",
            "x.jsonl",
            format!("{}{{\"conversation\":\"a\",\"text\":\"b\",\"time\":\"soon\"}}\n", line("")),
            Both(1, "RFC 3339"),
        ),
        case(
            "a chat with metadata that is a nest",
            "x.jsonl",
            line(r#","metadata":{"a":{"b":[1,{"c":null}]}}"#),
            Read(1),
        ),
        lazy(
            "a chat of 50,000 conversations",
            "x.jsonl",
            || {
                (0..50_000)
                    .map(|n| format!("{{\"conversation\":\"{n}\",\"text\":\"hi\"}}\n"))
                    .collect::<String>()
                    .into_bytes()
            },
            Read(50_000),
        ),
        lazy(
            "a chat of conversations that interleave",
            "x.jsonl",
            || {
                (0..50_000)
                    .map(|n| format!("{{\"conversation\":\"{}\",\"text\":\"hi\"}}\n", n % 7))
                    .collect::<String>()
                    .into_bytes()
            },
            Read(7),
        ),
    ]
}
