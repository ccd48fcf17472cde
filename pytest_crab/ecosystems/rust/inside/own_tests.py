"""A project's own tests under cargo, in the packages of the files that a change of the tests touches; CPython 3.6 up.

Cargo builds the targets that the files belong to, and each binary runs by itself the tests whose titles are named.
"""

import os
import re


def run(host, run):
    """Run the named tests of each package; their outcomes, with package and target before each name."""
    rust, tests = host.parts["rust_runner"], run["tests"]
    outcomes, root = [], host.job["workdir"]
    for folder in host.folders(root, tests["files"], lambda path: is_package(os.path.join(root, path))):
        own = rust.Oracle(host, dict(run, oracle={"folder": folder}))
        try:
            own.keep_settings()
            place = own.find()
            found = build(rust, own, place, tests["files"])
            if isinstance(found, dict):
                if found["ending"] != "completed":
                    return found
                outcomes += [dict(each, id=folder + ":") for each in found["tests"]]
                continue
            data, binaries = found
            env = own.run_environment(place, data)
            for target, binary in binaries:
                label = folder + " " + target
                result = launch(rust, own, place, (label, binary), env, tests["names"])
                if not host.gather(outcomes, result, label):
                    return result
        except rust.UnbuiltError as fault:
            if fault.result["ending"] != "completed":
                return fault.result
            outcomes += [dict(each, id=folder + ":") for each in fault.result["tests"]]
    return host.completed(outcomes)


def is_package(path):
    """Return whether a file is the manifest of a package, and not of a workspace alone."""
    try:
        with open(path, encoding="utf-8", errors="replace") as text:
            return os.path.basename(path) == "Cargo.toml" and re.search(r"(?m)^\s*\[package\]", text.read()) is not None
    except OSError:
        return False


def targets(place, root, files):
    """Return cargo's options for the targets of a package that files belong to; of data alone it is all of them."""
    whole = set(files)
    tests = [one for one in place["package"]["targets"] if "test" in one["kind"]]
    found = {("--test", one["name"]) for one in tests if os.path.relpath(one["src_path"], root) in whole}
    inner = {os.path.relpath(os.path.join(root, file), place["folder"]) for file in files}
    if not found:  # modules of a target, such as tests/it/cases.rs of tests/it/main.rs
        sources = [os.path.join(root, file) for file in files if file.endswith(".rs")]
        homes = {one["name"]: os.path.dirname(one["src_path"]) for one in tests}
        for source in sources:
            above = [name for name, home in homes.items() if source.startswith(home + os.sep)]
            longest = max((len(homes[name]) for name in above), default=0)
            found |= {("--test", name) for name in above if len(homes[name]) == longest}
    kinds = {kind for one in place["package"]["targets"] for kind in one["kind"]}
    inside = [("--lib",)] if kinds & {"lib", "rlib", "cdylib", "proc-macro"} else []
    inside += [("--bins",)] if "bin" in kinds else []
    if any(path.startswith("src" + os.sep) for path in inner):
        found.update(inside)
    chosen = sorted(found) or [*inside, ("--tests",)]
    return [word for option in chosen for word in option]


def build(rust, own, place, files):
    """Build the tests of a package; what cargo said and the binaries by target, or the report of a failed build.

    The lock is of the tree that has most: one that lacks a crate of it may change its own copy.
    """
    argv = [own.program, "test", "--no-run", "--message-format=json", *targets(place, own.root, files)]
    seen = own.process([*argv, *own.flags], own.env, place["folder"])
    if seen["status"] != 0:
        return own.host.conclude(seen, lambda data, _: (own.unbuilt({"file": ""}, data), None))
    binaries = []
    for one in rust.documents(seen["report"]):
        made = one.get("reason") == "compiler-artifact" and one.get("executable") and one["profile"]["test"]
        if made and one["manifest_path"] == place["manifest"]:
            binaries.append((one["target"]["name"], one["executable"]))
    return seen["report"], binaries


def launch(rust, own, place, labelled, env, names):
    """Run those tests of a binary that are named; the result. Raises UnbuiltError where it was ended."""
    label, binary = labelled
    titles = sorted({name.rpartition("::")[2].strip() for name in names} - {""})
    argv = [binary, *titles, "-Z", "unstable-options", "--format=json"]
    seen = own.process(argv, env, place["folder"])

    def read(data, _):
        outcomes, _, twice, whole = rust.told(data, own.host.TEXT)
        if not whole:
            return None, "the tests of %s came to no end of which the counts agree" % label
        told = [*outcomes.items(), *((name, "failed") for name in twice)]
        return own.host.completed(own.host.merged(("%s:%s" % (label, name), outcome) for name, outcome in told)), None

    return own.host.conclude(seen, read)
