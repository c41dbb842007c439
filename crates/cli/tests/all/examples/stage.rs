//! A folder in which the examples of a page run: the program, the scripts that they name, and a shell script of them.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::changes::How;
use super::{Planned, pages};
use crate::cluster::TOKENWOOD;
use crate::folder::Folder;

/// Programs of the reader's own. With `until FILE` they run until that file is there.
const READERS: [&str; 6] =
    ["backup.sh", "serve.sh", "read.sh", "train.sh", "first-half.sh", "second-half.sh"];

const READERS_SCRIPT: &str = "#!/bin/sh
[ \"$1\" != until ] || until [ -e \"$2\" ]; do command -p sleep 0.02; done
";

/// Sleeps until the page has no more to show, however busy the machine is.
const SLEEP: &str = "#!/bin/sh
until [ -e enough ]; do command -p sleep 0.02; done
";

/// A job array of Slurm, run here: what is wrapped, for each task.
const SBATCH: &str = r#"#!/bin/sh
for last in "$@"; do :; done
task=1
while [ $task -le 20 ]; do
    SLURM_ARRAY_TASK_ID=$task sh -c "$last" || exit
    task=$((task + 1))
done
"#;

/// GNU parallel, one after the other: the command for each argument after `:::`.
const PARALLEL: &str = r#"#!/bin/sh
line=
while [ "$1" != ::: ]; do
    line="$line $1"
    shift
done
shift
for each; do
    eval "$(printf '%s' "$line" | sed "s/{}/$each/g")" || exit
done
"#;

/// What the shell scripts of all pages share. What never comes ends the script: the test names the example.
const PRELUDE: &str = r#"
until_so() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 500 ] || { echo "never: $*" >&2; exit 9; }
        command -p sleep 0.02
    done
}
rows() { tokenwood locks 2> /dev/null | sed '1,/^─/d' | grep -c .; }
rows_are() { [ "$(rows)" = "$1" ]; }
more_rows() { [ "$(rows)" -gt "$1" ]; }
says() { grep -qF "$1" "$2" "$3"; }
started=
"#;

/// Puts the program and all that examples name into the folder.
pub(crate) fn set(folder: &Folder) {
    let bin = folder.0.join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(TOKENWOOD, bin.join("tokenwood")).unwrap();
    for name in ["docs", "examples"] {
        symlink(pages::root().join(name), folder.0.join(name)).unwrap();
    }
    for (name, script) in [("sleep", SLEEP), ("sbatch", SBATCH), ("parallel", PARALLEL)] {
        write_script(&bin.join(name), script);
    }
    for name in READERS {
        write_script(&folder.0.join(name), READERS_SCRIPT);
    }
}

fn write_script(path: &Path, script: &str) {
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A shell script that runs the examples in their order, and keeps what each prints and its exit code in files.
pub(crate) fn script(examples: &[Planned]) -> String {
    let mut script = PRELUDE.to_string();
    for (number, planned) in examples.iter().enumerate() {
        if !planned.is_run_here() {
            continue;
        }
        run_one(&mut script, number, planned);
        let block = |planned: &Planned| planned.example.block;
        if examples.get(number + 1).is_none_or(|next| block(next) != block(planned)) {
            script.push_str(END_OF_BLOCK);
        }
    }
    script
}

/// Everything that runs beside ends, and its exit code is known.
const END_OF_BLOCK: &str = "touch enough
for one in $started; do
    wait ${one#*:}
    echo $? > code.${one%:*}
done
wait
rm -f enough served
started=
";

fn run_one(script: &mut String, number: usize, planned: &Planned) {
    let command = &planned.command;
    let files = format!("> out.{number} 2> err.{number}");
    _ = writeln!(script, "echo {number} > begun\nsaid=err.{number}");
    for how in &planned.hows {
        if let How::After(before) = how {
            // Its errors are those of the example: they say why it fails.
            _ = writeln!(script, "{{ {before}\n}} > /dev/null 2>> before.{number}");
        }
    }
    let until = planned.hows.iter().find_map(|how| match how {
        How::UntilItSays(text) => Some(*text),
        _ => None,
    });
    if let Some(text) = until {
        _ = writeln!(
            script,
            "{{ {command} &\n}} {files}\nrunning=$!\nuntil_so says '{text}' out.{number} err.{number}"
        );
        _ = writeln!(script, "kill $running\nwait $running\necho $? > code.{number}");
    } else if command.ends_with('&') {
        _ = writeln!(script, "before=$(rows)\n{{ {command}\n}} {files}");
        _ = writeln!(script, "started=\"$started {number}:$!\"\nuntil_so more_rows $before");
    } else {
        _ = writeln!(script, "{{ {command}\n}} {files}\necho $? > code.{number}");
    }
}
