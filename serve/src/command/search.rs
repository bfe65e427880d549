//! `strata search`: the best units for a question.

use proto::v1;

use super::place::{OutArgs, PlaceArgs};
use super::{DONE, NOTHING};
use crate::print::{Out, hit};

const EXAMPLES: &str = "\
Examples:
  strata search \"why was the trip cancelled?\"
  strata search --unit turn -k 3 --source chats/friends \"who moved to Porto?\"
  strata search --server http://127.0.0.1:7077 --json \"…\"";

/// Find the best units for a question
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// Only this source, by key or id; may be repeated
    #[arg(long = "source", value_name = "KEY")]
    sources: Vec<String>,
    /// What -k counts
    #[arg(long, value_enum, default_value_t = Unit::Chunk)]
    unit: Unit,
    /// The most units to print
    #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    k: u32,
    #[command(flatten)]
    out: OutArgs,
    /// The question
    question: String,
}

/// What `-k` counts.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Unit {
    /// A topic, an exchange or a paragraph
    Chunk,
    /// One message
    Turn,
    /// Messages without a long gap
    Session,
    /// A whole conversation or document
    Source,
}

impl Unit {
    /// The wire's name for it.
    pub fn on_wire(self) -> v1::Unit {
        match self {
            Self::Chunk => v1::Unit::Chunk,
            Self::Turn => v1::Unit::Turn,
            Self::Session => v1::Unit::Session,
            Self::Source => v1::Unit::Source,
        }
    }
}

/// Asks and prints.
///
/// # Errors
/// When there is no store or server, or the question is refused.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let request = v1::SearchRequest {
        question: args.question,
        k: args.k,
        unit: args.unit.on_wire().into(),
        sources: args.sources,
        scope: args.place.scope()?,
        min_manifest_version: 0,
    };
    let answer = args.place.desk()?.search(request)?;
    let mut out = Out::new(args.out.json);
    hit::answer(&mut out, &answer)?;
    if answer.hits.is_empty() {
        crate::note!("nothing found");
        return Ok(NOTHING);
    }
    Ok(DONE)
}
