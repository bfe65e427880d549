//! Reads source code and build files as text: one file, one document, titled by its path.

use model::SourceKind;

use super::{Draft, DraftBody, Emit, Event, Head, Input, Reader, extension, file_name, whole};
use crate::seam::Result;

/// Languages with the endings of their files.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("ada", &["ada", "adb", "ads"]),
    ("assembly", &["asm", "s"]),
    ("awk", &["awk"]),
    ("batch", &["bat", "cmd"]),
    ("c", &["c", "h"]),
    ("c#", &["cs", "csx"]),
    ("c++", &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp"]),
    ("clojure", &["clj", "cljs", "cljc", "edn"]),
    ("cmake", &["cmake"]),
    ("cobol", &["cob", "cbl"]),
    ("common lisp", &["lisp", "lsp"]),
    ("crystal", &["cr"]),
    ("css", &["css", "scss", "sass", "less"]),
    ("cuda", &["cu", "cuh"]),
    ("d", &["d"]),
    ("dart", &["dart"]),
    ("diff", &["diff", "patch"]),
    ("elixir", &["ex", "exs"]),
    ("elm", &["elm"]),
    ("emacs lisp", &["el"]),
    ("erlang", &["erl", "hrl"]),
    ("f#", &["fs", "fsx", "fsi"]),
    ("fortran", &["f", "f77", "f90", "f95", "f03"]),
    ("glsl", &["glsl", "vert", "frag"]),
    ("go", &["go"]),
    ("gradle", &["gradle"]),
    ("graphql", &["graphql", "gql"]),
    ("groovy", &["groovy"]),
    ("haskell", &["hs", "lhs"]),
    ("ini", &["ini", "cfg", "conf", "properties"]),
    ("java", &["java"]),
    ("javascript", &["js", "mjs", "cjs", "jsx"]),
    ("julia", &["jl"]),
    ("kotlin", &["kt", "kts"]),
    ("lua", &["lua"]),
    ("make", &["mk", "mak"]),
    ("nim", &["nim"]),
    ("nix", &["nix"]),
    ("objective-c", &["m", "mm"]),
    ("ocaml", &["ml", "mli"]),
    ("pascal", &["pas", "dpr"]),
    ("perl", &["pl", "pm"]),
    ("php", &["php"]),
    ("powershell", &["ps1", "psm1"]),
    ("prolog", &["pro"]),
    ("protobuf", &["proto"]),
    ("python", &["py", "pyi", "pyx"]),
    ("r", &["r"]),
    ("racket", &["rkt"]),
    ("ruby", &["rb", "rake", "gemspec"]),
    ("rust", &["rs"]),
    ("scala", &["scala", "sbt"]),
    ("scheme", &["scm", "ss"]),
    ("shell", &["sh", "bash", "zsh", "fish", "ksh"]),
    ("solidity", &["sol"]),
    ("sql", &["sql"]),
    ("svelte", &["svelte"]),
    ("swift", &["swift"]),
    ("tcl", &["tcl"]),
    ("terraform", &["tf", "hcl"]),
    ("toml", &["toml"]),
    ("typescript", &["ts", "tsx", "mts"]),
    ("verilog", &["v", "sv"]),
    ("vhdl", &["vhd", "vhdl"]),
    ("vim script", &["vim"]),
    ("visual basic", &["vb", "bas"]),
    ("vue", &["vue"]),
    ("yaml", &["yaml", "yml"]),
    ("zig", &["zig"]),
];
/// Files that are known by their whole name, in lower case.
const NAMED: &[(&str, &str)] = &[
    ("makefile", "make"),
    ("gnumakefile", "make"),
    ("dockerfile", "dockerfile"),
    ("containerfile", "dockerfile"),
    ("cmakelists.txt", "cmake"),
    ("gemfile", "ruby"),
    ("rakefile", "ruby"),
    ("jenkinsfile", "groovy"),
    ("justfile", "just"),
    ("vagrantfile", "ruby"),
    ("meson.build", "meson"),
    ("build.bazel", "bazel"),
];

/// The reader of source code.
pub(super) struct Code;

impl Reader for Code {
    fn name(&self) -> &'static str {
        "code"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        if language(head.name).is_some() { 40 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let decoded = match whole(input) {
            Ok(decoded) => decoded,
            Err(trouble) => return emit(Event::Trouble(trouble)),
        };
        let (mut metadata, remarks) = (decoded.metadata(), decoded.remarks());
        metadata.extend(language(input.name).map(|language| ("language".to_owned(), language.to_owned())));
        let draft = Draft::new(input.name, SourceKind::Document, DraftBody::Text(decoded.text));
        emit(Event::Draft(Draft { metadata, remarks, n_replaced: decoded.n_replaced, ..draft }))
    }
}

/// The language of a file by its name.
fn language(name: &str) -> Option<&'static str> {
    let whole = file_name(name).to_lowercase();
    let named = NAMED.iter().find(|(name, _)| *name == whole).map(|(_, language)| *language);
    let extension = extension(name);
    let by_ending =
        || LANGUAGES.iter().find(|(_, ends)| ends.contains(&extension.as_str())).map(|(language, _)| *language);
    named.or_else(by_ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_told_by_ending_or_name() {
        assert_eq!(language("a/b/main.rs"), Some("rust"));
        assert_eq!(language("a/Makefile"), Some("make"));
        assert_eq!(language("a/CMakeLists.txt"), Some("cmake"));
        assert_eq!(language("a/notes.txt"), None);
        let mut endings: Vec<&str> = LANGUAGES.iter().flat_map(|(_, ends)| ends.iter().copied()).collect();
        let n_endings = endings.len();
        endings.sort_unstable();
        endings.dedup();
        assert_eq!(endings.len(), n_endings, "an ending is of one language");
    }
}
