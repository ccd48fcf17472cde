//! A field that is no number ends the command, with groups as without.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A new folder with a table in it.
fn folder(name: &str, table: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tally-{name}-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("out")).unwrap();
    std::fs::write(folder.join("week.csv"), table).unwrap();
    folder
}

fn tally(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tally"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

#[test]
fn a_line_that_cannot_be_added_is_named() {
    for (bad, line) in [("ann,many\nbob,1\n", "line 2"), ("ann,1\nbob,2\nann,\n", "line 4")] {
        let folder = folder("bad", &format!("who,hours\n{bad}"));
        let out = tally(&folder, &["hours", "week.csv", "--by", "who"]);
        assert_eq!(out.status.code(), Some(1), "{bad}");
        assert!(String::from_utf8_lossy(&out.stderr).contains(line), "{bad}");
        assert_eq!(out.stdout, b"", "{bad}");
    }
}

#[test]
fn numbers_are_added_up() {
    let folder = folder("good", "who,hours\nann,1\nann,-2.5\n");
    let out = tally(&folder, &["hours", "week.csv", "--by", "who"]);
    assert_eq!(String::from_utf8_lossy(&out.stdout), "ann -1.50\n");
    assert!(out.status.success());
}
