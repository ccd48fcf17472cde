use std::path::PathBuf;
use std::process::{Command, Output};

fn tally(name: &str, table: &str, arguments: &[&str]) -> Output {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("week.csv"), table).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tally"));
    command.args(arguments).current_dir(&folder).output().unwrap()
}

#[test]
fn a_column_is_added_up() {
    let out = tally("sum", "day,hours\nmon,8\ntue,7.5\n", &["hours", "week.csv"]);
    assert_eq!(String::from_utf8_lossy(&out.stdout), "15.50\n");
    assert!(out.status.success());
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    let out = tally("bad", "day,hours\nmon,8\ntue,many\n", &["hours", "week.csv"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("line 3"));
    assert_eq!(out.status.code(), Some(1));
}
