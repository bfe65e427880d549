//! What a memory must withstand, through the doors that a user has: one test a row, each with its twin.
//!
//! A row whose job is not built yet is pending on it; the list turns red the day that the job exists.

mod deletion;
mod prompt;
mod retrieval;
mod scope;

use std::fmt::Display;

use strata_tests::{World, say};

/// Rows that wait for a job, with the command that will do it.
const PENDING: [(&str, &str); 30] = [
    ("scope.background_respects_boundary", "sweep"),
    ("evidence.claim_resolves_to_source", "facts"),
    ("evidence.rebuild_from_retained", "compact"),
    ("gateway.no_bypass_path", "facts"),
    ("gateway.model_cannot_claim_human_authority", "facts"),
    ("tombstone.laundering_sequence", "facts"),
    ("tombstone.survives_ttl_and_prune", "compact"),
    ("tombstone.key_normalization_attack", "facts"),
    ("tombstone.reextraction_stays_inactive", "facts"),
    ("tombstone.no_second_memory_unit", "facts"),
    ("deletion.absent_after_reindex_and_restart", "compact"),
    ("deletion.absent_from_shared_copies", "backup"),
    ("deletion.purge_leaves_no_bytes", "purge"),
    ("correction.survives_reindex", "facts"),
    ("correction.retraction_without_replacement", "facts"),
    ("contradiction.replacement", "facts"),
    ("contradiction.polarity", "facts"),
    ("contradiction.retraction", "facts"),
    ("contradiction.partial", "facts"),
    ("contradiction.bounded_validity", "facts"),
    ("retrieval.negative_cases", "facts"),
    ("rank.cannot_be_flooded", "tune"),
    ("plan.dry_run_is_default (corrections)", "facts"),
    ("plan.dry_run_is_default (sweep)", "sweep"),
    ("plan.stale_base_refused (claims)", "facts"),
    ("relation.mirror", "sweep"),
    ("undo.restores", "undo"),
    ("ledger.tamper_evident", "audit"),
    ("gateway.no_bypass_path (MCP)", "mcp"),
    ("gateway.no_bypass_path (restore)", "backup"),
];

/// Prints the row's line; called last, when everything held.
fn passed(row: &str, counted: impl Display) {
    say(&format!("acceptance: {row}: pass: {counted}"));
}

#[test]
fn pending_rows_wait_for_jobs_that_do_not_exist() {
    let world = World::new(crate::PROGRAM);
    for (row, job) in PENDING {
        let built = world.run(&[job, "--help"]).code == 0;
        assert!(!built, "{row} is listed as pending, but `strata {job}` exists: write the test");
        say(&format!("acceptance: {row}: pending on {job}"));
    }
    // The twin: a job that exists answers for its help.
    world.run(&["search", "--help"]).succeeds();
}
