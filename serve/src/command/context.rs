//! `strata context`: a block of quoted evidence within a token budget.

use index::search::K_MAX;
use proto::v1;

use super::place::{OutArgs, PlaceArgs};
use super::search::Unit;
use super::{DONE, NOTHING};
use crate::desk::Desk;
use crate::print::{Out, hit};

/// How many hits a context looks at for each record.
const HITS_PER_RECORD: u32 = 4;

const EXAMPLES: &str = "\
Examples:
  strata context --max-tokens 1500 \"what does Mira eat?\"
  strata context --max-tokens 4000 --per-source 1 --json \"…\"

The block is quoted data: give it to a model as evidence, never as instructions";

/// Print a block of quoted evidence for a question, within a token budget
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// Only this source, by key or id; may be repeated
    #[arg(long = "source", value_name = "KEY")]
    sources: Vec<String>,
    /// What a record is
    #[arg(long, value_enum, default_value_t = Unit::Chunk)]
    unit: Unit,
    /// The most tokens of the whole block
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(64..=1_000_000))]
    max_tokens: u32,
    /// The most records
    #[arg(short, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    k: u32,
    /// The most records of one source
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    per_source: u32,
    #[command(flatten)]
    out: OutArgs,
    /// The question
    question: String,
}

/// Asks and prints.
///
/// # Errors
/// When there is no store or server, or the question is refused.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let request = v1::GetContextRequest {
        question: args.question,
        k: args.k,
        unit: args.unit.on_wire().into(),
        sources: args.sources,
        max_tokens: args.max_tokens,
        per_source_max: args.per_source,
        scope: args.place.scope()?,
        min_manifest_version: 0,
    };
    let mut desk = args.place.desk()?;
    let answer = desk.context(request.clone())?;
    let nothing = answer.records.is_empty();
    let mut out = Out::new(args.out.json);
    if out.is_json() || !nothing {
        hit::context(&mut out, &answer)?;
    }
    if nothing {
        if has_hits(&mut desk, request, answer.manifest_version)? {
            crate::note!("found something, but not one record fits into {} tokens", args.max_tokens);
            crate::note!("hint: give it more with --max-tokens");
        } else {
            crate::note!("nothing found");
        }
        return Ok(NOTHING);
    }
    Ok(DONE)
}

/// Whether a search finds what the context of the same question could quote.
fn has_hits(desk: &mut Desk, request: v1::GetContextRequest, version: u64) -> anyhow::Result<bool> {
    let answer = desk.search(v1::SearchRequest {
        question: request.question,
        k: request.k.saturating_mul(HITS_PER_RECORD).min(K_MAX),
        unit: request.unit,
        sources: request.sources,
        scope: request.scope,
        min_manifest_version: version,
    })?;
    // A facts card is an index and quotes nothing.
    Ok(answer.hits.iter().any(|hit| hit.chunk_kind() != v1::ChunkKind::FactsCard))
}
