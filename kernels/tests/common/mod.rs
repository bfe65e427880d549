//! What the suites over all devices share.

use kernels::{Backend, CsrGraph, Partition, open};

/// Every device that is built in and present; says which are not.
pub fn backends() -> Vec<Box<dyn Backend>> {
    let mut found = Vec::new();
    for device in ["cpu", "cuda:0", "metal:0"] {
        match open(device) {
            Ok(backend) => found.push(backend),
            Err(error) => {
                println!("skipped: {error}");
                let required = std::env::var("REQUIRE_DEVICE").unwrap_or_default();
                assert!(required.is_empty() || !device.starts_with(&required), "{device} is required");
            }
        }
    }
    found
}

/// Each community is in one piece.
pub fn assert_connected(graph: &CsrGraph, partition: &Partition) {
    let mut seen = vec![false; graph.n()];
    let mut n_components = 0;
    for first in 0..graph.n() {
        if seen[first] {
            continue;
        }
        n_components += 1;
        seen[first] = true;
        let mut open = vec![first];
        while let Some(node) = open.pop() {
            for (other, _) in graph.edges(node) {
                let other = other as usize;
                if !seen[other] && partition.labels[other] == partition.labels[node] {
                    seen[other] = true;
                    open.push(other);
                }
            }
        }
    }
    assert_eq!(n_components, partition.n_communities(), "a community is in pieces");
}
