//! Checks that the header declares exactly the functions of the library. `.ci/c` compares the rest of the header with a
//! newly generated one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Finds the names that follow `before` in a text, up to a bracket.
fn names(text: &str, before: &str) -> BTreeSet<String> {
    let parts = text.split(before).skip(1);
    parts.filter_map(|part| part.split_once('(')).map(|(name, _)| format!("wl_{name}")).collect()
}

#[test]
fn declares_all_functions() {
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
    assert_eq!(declared, defined, "regenerate the header: .ci/c --header");
}

/// `<stdio.h>` and `<errno.h>` define these names as macros, which expand to expressions on some systems.
#[test]
fn uses_no_names_of_c_macros() {
    let header = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("include/wireline.h")).unwrap();
    let code = header.lines().filter(|line| !line.trim_start().starts_with("//"));
    let words = code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    for word in words {
        assert!(!["stdin", "stdout", "stderr", "errno"].contains(&word), "{word}");
    }
}
