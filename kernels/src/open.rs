//! Finds devices, chooses among them and opens one.
//!
//! Knows which makes of cards this build has. What a card does is the business of its own folder.

use crate::cpu::{self, Cpu};
use crate::device::Card;
use crate::{Backend, Device, DeviceInfo, Error, Result};

/// What `--device` may name, best first: the order in which `auto` looks.
const KINDS: [Device; 3] = [Device::Cuda(0), Device::Metal(0), Device::Cpu];

/// How the cards of one maker are found and opened.
#[derive(Clone, Copy)]
struct Make {
    /// The cards of this machine, by number; an error says why none can be.
    cards: fn() -> Result<Vec<Card>>,
    /// Opens the card of a number that `cards` has.
    open: fn(u32) -> Result<Box<dyn Backend>>,
}

/// The maker of `device`, where this build has it.
fn make(device: Device) -> Option<Make> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(_) => Some(Make { cards: crate::cuda::cards, open: crate::cuda::open }),
        #[cfg(all(feature = "metal", target_os = "macos"))]
        Device::Metal(_) => Some(Make { cards: crate::metal::cards, open: crate::metal::open }),
        _ => None,
    }
}

/// A device that was opened by [`choose`].
pub struct Chosen {
    /// Which one it is; never [`Device::Auto`].
    pub device: Device,
    /// The open device.
    pub backend: Box<dyn Backend>,
    /// Better devices that this build has and that `auto` could not open, with the reasons.
    pub passed_over: Vec<Error>,
}

/// Opens a device by name: "auto", "cpu", "cuda:0", "metal:0".
///
/// # Errors
/// As [`choose`].
pub fn open(device: &str) -> Result<Box<dyn Backend>> {
    Ok(choose(device)?.backend)
}

/// Opens a device by name and says which one it is.
///
/// "auto" takes the best one that can be opened: the first NVIDIA card, the first Apple card, the processor. It
/// says what it passed over. Any other name is that device or an error.
///
/// # Errors
/// [`Error::Missing`] for a device that this build or machine lacks, with the reason and the way out.
pub fn choose(device: &str) -> Result<Chosen> {
    choose_among(device.parse()?, &make)
}

fn choose_among(device: Device, make: &dyn Fn(Device) -> Option<Make>) -> Result<Chosen> {
    if device != Device::Auto {
        let backend = open_one(device, make)?;
        return Ok(Chosen { device, backend, passed_over: Vec::new() });
    }
    let mut passed_over = Vec::new();
    for kind in KINDS.into_iter().filter(|&kind| make(kind).is_some()) {
        match open_one(kind, make) {
            Ok(backend) => return Ok(Chosen { device: kind, backend, passed_over }),
            Err(error) => passed_over.push(error),
        }
    }
    Ok(Chosen { device: Device::Cpu, backend: Box::new(Cpu), passed_over })
}

fn open_one(device: Device, make: &dyn Fn(Device) -> Option<Make>) -> Result<Box<dyn Backend>> {
    let number = match device {
        Device::Cpu | Device::Auto => return Ok(Box::new(Cpu)),
        Device::Cuda(number) | Device::Metal(number) => number,
    };
    let missing = |reason: String| Error::Missing { device: device.to_string(), reason };
    let make = make(device).ok_or_else(|| missing(not_built_in(device)))?;
    let cards = (make.cards)()?;
    match usize::try_from(number).ok().and_then(|number| cards.get(number)) {
        Some(Card { unusable: Some(reason), .. }) => Err(missing(reason.clone())),
        Some(_) => (make.open)(number),
        None => Err(missing(out_of_range(device, cards.len()))),
    }
}

/// Every device that this build or this machine could have, best first: each card that is there, one line for a
/// make of which there is none, and the processor.
///
/// Asks the drivers and opens no card.
pub fn devices() -> Vec<DeviceInfo> {
    list(&make)
}

fn list(make: &dyn Fn(Device) -> Option<Make>) -> Vec<DeviceInfo> {
    let mut found: Vec<DeviceInfo> = KINDS.into_iter().flat_map(|kind| list_kind(kind, make)).collect();
    // `auto` looks at the first card of each make only.
    let chosen = found.iter_mut().find(|info| info.present && KINDS.iter().any(|kind| kind.to_string() == info.name));
    if let Some(info) = chosen {
        info.chosen = true;
    }
    found
}

fn list_kind(kind: Device, make: &dyn Fn(Device) -> Option<Make>) -> Vec<DeviceInfo> {
    let absent = |built_in: bool, reason: String| DeviceInfo {
        name: kind.to_string(),
        built_in,
        present: false,
        chosen: false,
        detail: None,
        reason: Some(reason),
    };
    if kind == Device::Cpu {
        let detail = Some(cpu::traits());
        return vec![DeviceInfo { present: true, detail, reason: None, ..absent(true, String::new()) }];
    }
    let Some(make) = make(kind) else {
        return vec![absent(false, not_built_in(kind))];
    };
    match (make.cards)() {
        Ok(cards) if cards.is_empty() => vec![absent(true, out_of_range(kind, 0))],
        Ok(cards) => {
            let one = |(number, card): (usize, Card)| DeviceInfo {
                name: numbered(kind, number),
                present: card.unusable.is_none(),
                detail: Some(card.traits),
                reason: card.unusable,
                ..absent(true, String::new())
            };
            cards.into_iter().enumerate().map(one).collect()
        }
        Err(Error::Missing { reason, .. }) => vec![absent(true, reason)],
        Err(error) => vec![absent(true, error.to_string())],
    }
}

fn numbered(kind: Device, number: usize) -> String {
    let kind = kind.to_string();
    let make = kind.split(':').next().unwrap_or_default();
    format!("{make}:{number}")
}

fn not_built_in(device: Device) -> String {
    match device {
        Device::Metal(_) if !cfg!(target_os = "macos") => "Apple cards are driven on macOS only".to_owned(),
        Device::Metal(_) => "this build has no Apple cards: build it with --features metal".to_owned(),
        _ => "this build has no NVIDIA cards: build it with --features cuda".to_owned(),
    }
}

fn out_of_range(device: Device, n_cards: usize) -> String {
    let names: Vec<String> = (0..n_cards).map(|number| numbered(device, number)).collect();
    match names.as_slice() {
        [] => "this machine has no such card".to_owned(),
        [one] => format!("this machine has one such card: {one}"),
        _ => format!("this machine has {n_cards} such cards: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Traits;

    fn card(unusable: Option<&str>) -> Card {
        let traits = Traits { title: "card".to_owned(), ..Traits::default() };
        Card { traits, unusable: unusable.map(str::to_owned) }
    }

    fn opens(_: u32) -> Result<Box<dyn Backend>> {
        Ok(Box::new(Cpu))
    }

    fn fails(_: u32) -> Result<Box<dyn Backend>> {
        Err(Error::Compute { reason: "in use".to_owned() })
    }

    fn two_cards() -> Result<Vec<Card>> {
        Ok(vec![card(None), card(Some("too old"))])
    }

    fn old_card() -> Result<Vec<Card>> {
        Ok(vec![card(Some("too old"))])
    }

    fn no_driver() -> Result<Vec<Card>> {
        Err(Error::Missing { device: "cuda:0".to_owned(), reason: "no driver".to_owned() })
    }

    fn no_card() -> Result<Vec<Card>> {
        Ok(Vec::new())
    }

    fn with(make: Make) -> impl Fn(Device) -> Option<Make> {
        move |device| matches!(device, Device::Cuda(_)).then_some(make)
    }

    fn refused(device: Device, make: &dyn Fn(Device) -> Option<Make>) -> String {
        choose_among(device, make).err().expect("refused").to_string()
    }

    #[test]
    fn auto_takes_the_card_that_opens() {
        let make = with(Make { cards: two_cards, open: opens });
        let chosen = choose_among(Device::Auto, &make).expect("a card");
        assert_eq!((chosen.device, chosen.passed_over.len()), (Device::Cuda(0), 0));
        let named = choose_among(Device::Cpu, &make).expect("the processor");
        assert_eq!(named.device, Device::Cpu);
    }

    #[test]
    fn auto_falls_to_the_processor_and_says_why() {
        let cases: [(Make, &str); 4] = [
            (Make { cards: no_driver, open: opens }, "no driver"),
            (Make { cards: no_card, open: opens }, "no such card"),
            (Make { cards: old_card, open: opens }, "too old"),
            (Make { cards: two_cards, open: fails }, "in use"),
        ];
        for (make, why) in cases {
            let chosen = choose_among(Device::Auto, &with(make)).expect("the processor");
            assert_eq!(chosen.device, Device::Cpu);
            assert_eq!(chosen.passed_over.len(), 1, "{why}");
            assert!(chosen.passed_over[0].to_string().contains(why), "{}", chosen.passed_over[0]);
            assert!(refused(Device::Cuda(0), &with(make)).contains(why), "a card that was named is no wish");
        }
        let chosen = choose_among(Device::Auto, &|_| None).expect("the processor");
        assert_eq!((chosen.device, chosen.passed_over.len()), (Device::Cpu, 0), "what is not built in is not missed");
    }

    #[test]
    fn a_card_that_is_not_there_is_refused_by_number() {
        let make = with(Make { cards: two_cards, open: opens });
        assert!(refused(Device::Cuda(2), &make).contains("2 such cards: cuda:0, cuda:1"));
        assert!(refused(Device::Cuda(1), &make).contains("too old"));
        assert!(refused(Device::Cuda(0), &|_| None).contains("--features cuda"));
        assert!(refused(Device::Metal(0), &make).contains("Apple cards"));
    }

    #[test]
    fn the_list_says_what_is_there_and_what_auto_takes() {
        let line = |info: &DeviceInfo| format!("{} {} {} {}", info.name, info.built_in, info.present, info.chosen);
        let lines = |make: &dyn Fn(Device) -> Option<Make>| list(make).iter().map(line).collect::<Vec<_>>();
        assert_eq!(
            lines(&with(Make { cards: two_cards, open: opens })),
            ["cuda:0 true true true", "cuda:1 true false false", "metal:0 false false false", "cpu true true false"]
        );
        assert_eq!(
            lines(&with(Make { cards: no_driver, open: opens })),
            ["cuda:0 true false false", "metal:0 false false false", "cpu true true true"]
        );
        assert_eq!(lines(&|_| None), ["cuda:0 false false false", "metal:0 false false false", "cpu true true true"]);
        for info in list(&with(Make { cards: old_card, open: opens })) {
            assert_eq!(info.reason.is_some(), !info.present, "{}", info.name);
        }
    }
}
