//! The contract between a Strata server and its clients, as generated from `strata/v1/strata.proto`.
//!
//! Knows messages and the service's shape. Does not know a store, a scope rule or a transport setting.

#![forbid(unsafe_code)]

/// Version 1 of the contract: messages, client and server of `strata.v1.MemoryService`.
#[allow(missing_docs, clippy::all, clippy::unwrap_used, clippy::large_futures)]
pub mod v1 {
    tonic::include_proto!("strata.v1");
}

/// The contract's descriptors with their imports, encoded: what reflection serves.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/strata.v1.binpb"));

/// The service's full name, as health checks ask for it.
pub const SERVICE_NAME: &str = "strata.v1.MemoryService";

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;
    use prost_types::FileDescriptorSet;

    #[test]
    fn every_answer_says_its_manifest_version() {
        let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
        let ours = set.file.iter().find(|file| file.package() == "strata.v1").unwrap();
        let service = &ours.service[0];
        assert_eq!(format!("strata.v1.{}", service.name()), SERVICE_NAME);
        for method in &service.method {
            let message = |name: &str| {
                let short = name.rsplit('.').next().unwrap();
                ours.message_type.iter().find(|m| m.name() == short).unwrap()
            };
            assert_eq!(method.input_type(), format!(".strata.v1.{}Request", method.name()));
            let request = message(method.input_type());
            assert!(request.field.iter().any(|f| f.name() == "scope"), "{} has no scope", method.name());
            let response = message(method.output_type());
            assert!(
                response.field.iter().any(|f| f.name() == "manifest_version" && f.number() == 1),
                "{} does not say its version",
                method.name()
            );
        }
    }

    #[test]
    fn every_field_and_value_is_documented() {
        let text = include_str!("../strata/v1/strata.proto");
        let mut documented = false;
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            let declares = line.ends_with(';') && line.contains('=') && !line.starts_with("syntax");
            assert!(!declares || documented, "line {}: {line}", at + 1);
            documented = line.starts_with("//");
        }
    }
}
