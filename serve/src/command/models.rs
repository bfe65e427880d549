//! `strata models`: the models of this machine.

use ingest::models::ModelInfo;

use super::DONE;
use super::place::OutArgs;
use crate::print::Out;
use crate::settings::EMBEDDER_DEFAULT;

const EXAMPLES: &str = "\
Examples:
  strata models pull            fetch the default model
  strata models list
  strata models verify minilm";

/// Fetch, list and check models
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Fetch a model and check it
    Pull {
        /// Its name
        #[arg(default_value = EMBEDDER_DEFAULT)]
        name: String,
        #[command(flatten)]
        out: OutArgs,
    },
    /// List the models of this machine
    List {
        #[command(flatten)]
        out: OutArgs,
    },
    /// Check a model's files against what was published
    Verify {
        /// Its name
        #[arg(default_value = EMBEDDER_DEFAULT)]
        name: String,
        #[command(flatten)]
        out: OutArgs,
    },
}

/// Does what was asked.
///
/// # Errors
/// When a model cannot be fetched or is not what was published.
pub fn run(args: Args) -> anyhow::Result<u8> {
    match args.what {
        What::Pull { name, out } => {
            ingest::models::pull(&name, &|line| crate::note!("{line}"))?;
            show(&mut Out::new(out.json), &ingest::models::verify(&name)?)?;
        }
        What::List { out } => {
            let mut out = Out::new(out.json);
            for model in ingest::models::list() {
                show(&mut out, &model)?;
            }
        }
        What::Verify { name, out } => {
            show(&mut Out::new(out.json), &ingest::models::verify(&name)?)?;
        }
    }
    Ok(DONE)
}

fn show(out: &mut Out, model: &ModelInfo) -> anyhow::Result<()> {
    if out.is_json() {
        return Ok(out.value(&serde_json::to_value(model)?)?);
    }
    let state = match (model.present, model.verified) {
        (false, _) => "absent",
        (true, true) => "sound",
        (true, false) => "damaged",
    };
    Ok(out.line(format!(
        "{}  {state}  {} numbers a vector, {} bytes, from {}  {}",
        out.bold(&model.name),
        model.dim,
        model.size,
        model.source,
        model.path.display(),
    ))?)
}
