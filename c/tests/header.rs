//! The header declares the functions that the library has. Whether it does so in the right words, `.ci/c` checks by making
//! it anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names that follow `before` in a text, up to a bracket.
fn names(text: &str, before: &str) -> BTreeSet<String> {
    let parts = text.split(before).skip(1);
    parts.filter_map(|part| part.split_once('(')).map(|(name, _)| format!("wl_{name}")).collect()
}

#[test]
fn declares_what_there_is() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut defined = BTreeSet::new();
    for file in fs::read_dir(package.join("src")).unwrap() {
        defined.extend(names(&fs::read_to_string(file.unwrap().path()).unwrap(), "extern \"C\" fn wl_"));
    }
    let header = fs::read_to_string(package.join("include/wireline.h")).unwrap();
    let code: String =
        header.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect();
    let declared: BTreeSet<String> = code
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '(')
        .filter_map(|word| word.split_once('('))
        .map(|(name, _)| name.to_owned())
        .filter(|name| name.starts_with("wl_"))
        .collect();
    assert!(defined.len() > 50, "{}", defined.len());
    assert_eq!(declared, defined, "make the header anew: .ci/c --header");
}

/// `<stdio.h>` and `<errno.h>` define these as macros, of which some systems make expressions.
#[test]
fn names_nothing_like_a_macro_of_c() {
    let header = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("include/wireline.h")).unwrap();
    let code = header.lines().filter(|line| !line.trim_start().starts_with("//"));
    let words = code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    for word in words {
        assert!(!["stdin", "stdout", "stderr", "errno"].contains(&word), "{word}");
    }
}
