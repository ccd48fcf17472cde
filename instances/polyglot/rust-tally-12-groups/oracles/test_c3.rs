//! What the program takes is in its help.

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
fn the_help_has_every_option() {
    let folder = folder("help", "");
    for asked in ["--help", "-h"] {
        let out = tally(&folder, &[asked]);
        let help = String::from_utf8(out.stdout).unwrap();
        assert!(out.status.success());
        for option in ["--split", "--by", "--help"] {
            assert!(help.contains(option), "{option} is not in {help}");
        }
    }
}
