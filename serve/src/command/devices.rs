//! `strata devices`: what this build and this machine can compute on.

use kernels::DeviceInfo;

use super::DONE;
use super::place::OutArgs;
use crate::device::{DEVICE_VARIABLE, from_environment};
use crate::print::{Out, harmless};

const EXAMPLES: &str = "\
Examples:
  strata devices                          what is there, and what auto takes
  strata import --device cuda:0 notes/    on the first NVIDIA card, or not at all
  STRATA_DEVICE=cpu strata serve          on the processor

Communities and graphs are the same bytes on every device. Vectors differ in their last digits";

/// List the devices to compute on: built in, present, chosen
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    out: OutArgs,
}

/// Asks the drivers and prints.
///
/// # Errors
/// When stdout is gone.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let mut out = Out::new(args.out.json);
    for device in kernels::devices() {
        if out.is_json() {
            out.value(&serde_json::to_value(&device)?)?;
        } else {
            let line = line(&out, &device);
            out.line(line)?;
        }
    }
    if let Some(named) = from_environment() {
        crate::note!("{DEVICE_VARIABLE} is set: commands take {}", harmless(&named));
    }
    Ok(DONE)
}

fn line(out: &Out, device: &DeviceInfo) -> String {
    let state = match (device.built_in, device.present, device.chosen) {
        (_, true, true) => "present, auto takes it",
        (_, true, false) => "present",
        (true, false, _) => "absent",
        (false, false, _) => "not built in",
    };
    let detail = device.detail.as_ref().map(ToString::to_string);
    let said: Vec<String> = detail.into_iter().chain(device.reason.clone()).collect();
    format!("{}  {state:<22}  {}", out.bold(&format!("{:<8}", device.name)), harmless(&said.join("; ")))
}
