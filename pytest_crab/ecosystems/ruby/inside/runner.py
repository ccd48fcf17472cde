"""Oracles under RSpec and minitest: one Ruby runs their tests, and others behind them; CPython 3.6 up.

The oracle is never in the tree, and the project's own settings of both frameworks play no part. The framework is loaded
before any code of the project, and the methods of all that is there by then are compared with what they were. The tests
behind the oracle's must fail. Each line of the report begins with a key that lies in no object of Ruby's before it is
told. What code in the oracle's process can still do is in the docs. A process for each test would take twice the time.
"""

import base64
import os
import re

#: What Ruby runs. Its files are gone before a project's code runs, the key is in local variables that no block holds.
ENTRY = r"""
Class.new do
  def main(folder)
    key = File.binread("#{folder}/key")
    a, b, v = number(key, 0, 7), number(key, 7, 14), number(key, 14, 17)
    key.clear
    kind, root, place, around, gems, roots, asked = File.read("#{folder}/settings").split("\0", -1)
    source = File.read("#{folder}/oracle.rb")
    Dir.children(folder).each { |name| File.unlink("#{folder}/#{name}") }
    told = $stdout.dup
    told.sync = true
    $stdout.reopen($stderr)
    # No later method of the project's plays a part where one of these is called.
    write, leave, pid = told.method(:write).to_proc, Process.method(:exit!).to_proc, Process.method(:pid).to_proc
    own = call(&pid)
    GC.disable # until the project comes
    $LOAD_PATH.unshift(*gems.split("\n"))
    unless framework(kind)
      call(line(a, b, "lack"), &write)
      call(1, &leave)
    end
    folders = $LOAD_PATH.flat_map { |path| [path, *(File.realpath(path) if File.exist?(path))] }
    folders, features = folders.uniq.map { |path| "#{path}/".freeze }.freeze, $LOADED_FEATURES.dup.freeze
    places = [root, place, Regexp.new("\\A#{Regexp.escape(root)}/#{around}"), folders, features].freeze
    $LOAD_PATH.unshift(*roots.split("\n"))
    before, tools = look, tools_of_look
    GC.enable
    code, fault = loaded(source, place)
    rows, own_ones = fault ? [[["session", :error, fault]], []] : kind == "rspec" ? run_examples : run_cases
    # What follows asks the project's own exceptions, and only then is it looked whether this is the first process.
    rows = rows.map { |*test, error| ["test", *test, *words(error, root, place), *(said(error) if asked == "1")] }
    wires = (kind == "rspec" ? failing_examples(v) : failing_cases(v)).map { |wire, error| [wire, error&.message] }
    call(1, &leave) unless call(call(&pid), &own.method(:==))
    lie = changed_tool(tools)
    if lie
      call("#{a} #{b} altered #{lie}\n#{a} #{b} end MQ==\n", &write)
      call(1, &leave)
    end
    lines = rows.map { |row| line(a, b, *row) }
    lines += altered(before, own_ones, code, places).map { |label| line(a, b, "altered", label) }
    lines += wires.map { |wire, message| line(a, b, "wire", wire, message) }
    call(lines.join + line(a, b, "end", lines.size), &write)
    call(1, &leave)
  end

  # Call a block without a look at what its name stands for.
  def call(*given) = yield(*given)

  def number(text, from, to)
    found = 0
    while from < to
      found = found << 8 | text.getbyte(from)
      from += 1
    end
    found
  end

  def line(a, b, word, *fields)
    "#{[a, b, word, *fields.map { |field| [field.to_s[0, 2000]].pack("m0") }].join(" ")}\n"
  end

  def words(error, root, place)
    return ["", ""] unless error
    found = (error.backtrace || []).find { |each| each.start_with?("#{root}/") && !each.start_with?("#{place}:") }
    [error.class.name, found && found[root.size + 1..].slice(/\A.*?:\d+/)]
  end

  # What an exception says: a method of the project's may, so it is asked only where no verdict comes of the run.
  def said(error)
    [error&.message.to_s.strip.partition("\n\n").first] # what follows is the line of code, or words that every test has
  rescue Exception
    []
  end

  def framework(kind)
    if kind == "rspec"
      %w[rspec/core rspec/expectations rspec/mocks].each { |name| require name }
      RSpec.configuration.configure_mock_framework
      RSpec.configuration.configure_expectation_framework
      RSpec::Matchers::BuiltIn.constants.each { |name| RSpec::Matchers::BuiltIn.const_get(name) }
    else
      %w[minitest minitest/spec minitest/mock].each { |name| require name }
      Minitest.seed = 0
    end
    true
  rescue LoadError
    false
  end

  # Returns the oracle's code and what it raised.
  def loaded(source, place)
    code = RubyVM::InstructionSequence.compile(source, place, place)
    code.eval
    [code, nil]
  rescue Exception => error
    [code, error]
  end

  # --- rspec

  # Returns the outcomes, and the oracle's classes and objects.
  def run_examples
    left = RSpec.world.all_example_groups.flat_map do |group|
      group.examples.map { |one| [group, one, named([*group.parent_groups.reverse, one])] }
    end
    rows, own = [], left.map { |group, *_| group }.uniq
    own.map { |group| group.parent_groups.last }.uniq.each { |top| top.append_after { own << self } }
    until left.empty?
      error = run_groups(left)
      begun, left = left.partition { |_, one, _| one.execution_result.started_at }
      rows += begun.map { |_, one, name| [name, *ended(one.execution_result, error)] }
      break if begun.empty?
    end
    [rows, own]
  end

  # Returns what ended the examples early, such as an exit; those that are left can be run after it.
  def run_groups(tests)
    chosen = Hash.new { |_, _| [] }.compare_by_identity
    tests.each { |group, one, _| chosen[group] += [one] }
    RSpec.world.instance_variable_set(:@filtered_examples, chosen)
    RSpec.world.all_example_groups.each { |group| group.instance_variable_set(:@descendant_filtered_examples, nil) }
    tests.map { |group, *_| group.parent_groups.last }.uniq.each { |top| top.run }
    nil
  rescue Exception => error
    error
  end

  def named(path)
    said = path.map { |one| [one.metadata[:description].to_s, "line #{one.metadata[:line_number]}"] }
    said.map { |text, line| text.empty? ? line : text }.join(" > ")
  end

  def ended(result, error)
    case result.status
    when :passed then [:passed, nil]
    when :pending then [:skipped, nil]
    else [:failed, result.exception || error]
    end
  end

  def failing_examples(v)
    group = RSpec.describe("x#{v}") do
      it("raise") { raise v.to_s }
      it("eq") { expect(v).to eq(v + 1) }
      it("not") { expect(v).not_to eq(v) }
      it("truth") { expect(v == v + 1).to be_truthy }
      it("raises") { expect { v }.to raise_error(ArgumentError) }
      it("include") { expect([v]).to include(v + 1) }
    end
    RSpec.world.filtered_examples[group] = group.examples
    group.run
    group.examples.map { |one| [one.description, one.execution_result.exception] }
  end

  # --- minitest

  # Returns the outcomes, and the oracle's classes and objects.
  def run_cases
    tests = Minitest::Runnable.runnables.flat_map { |suite| suite.runnable_methods.sort.map { |name| [suite, name] } }
    own = tests.map { |suite, _| suite }.uniq
    rows = tests.map do |suite, name|
      own << (one = suite.new(name))
      faults = one.run.failures
      fault = faults.find { |each| !(Minitest::Skip === each) }
      fault = fault.error if Minitest::UnexpectedError === fault
      ["#{suite.name}##{name}", fault ? :failed : faults.empty? ? :passed : :skipped, fault]
    rescue Exception => error
      ["#{suite.name}##{name}", :failed, error]
    end
    [rows, own]
  end

  def failing_cases(v)
    suite = Class.new(Minitest::Test) do
      define_method(:test_raise) { raise v.to_s }
      define_method(:test_assert) { assert(v == v + 1) }
      define_method(:test_refute) { refute(v == v) }
      define_method(:test_equal) { assert_equal(v + 1, v) }
      define_method(:test_raises) { assert_raises(ArgumentError) { v } }
      define_method(:test_includes) { assert_includes([v], v + 1) }
      define_method(:test_must) { Minitest::Expectation.new(v, self).must_equal(v + 1) }
    end
    suite.runnable_methods.map do |name|
      [name.delete_prefix("test_"), Minitest.run_one_method(suite, name).failures[0]]
    end
  end

  # --- what names stand for

  def look
    found = {}.compare_by_identity
    apart = /\A(?:Gem|Bundler|OptionParser|RSpec::Core::Formatters)\b/
    ObjectSpace.each_object(Module) do |one|
      next if one.singleton_class? || one.name.nil? || one.name.match?(apart)
      [one, one.singleton_class].each do |each|
        found[each] = [one.name, each.ancestors.freeze, methods_of(each).freeze].freeze
      end
    end
    found.freeze
  end

  def methods_of(one)
    names = ask(one, :instance_methods, false) + ask(one, :private_instance_methods, false)
    one_of = Module.instance_method(:instance_method)
    names.to_h { |name| [name, one_of.bind_call(one, name)] }
  end

  # Ask a module itself, whatever methods of these names it has.
  def ask(one, name, *given) = Module.instance_method(name).bind_call(one, *given)

  # The methods that the comparison itself goes by, each with what tells whether it is what it was: a list that is
  # walked, and blocks that are called, without any method.
  def tools_of_look
    code = RubyVM::InstructionSequence
    used = {
      Array => %i[+ - << == [] any? drop each empty? filter_map flat_map index join map pack pop reject select size],
      Hash => %i[[] []= each key? reject to_h], String => %i[== [] + =~ delete_prefix gsub match? start_with? to_s],
      Module => %i[=== ancestors instance_method instance_methods private_instance_methods],
      Class => %i[== eql? hash name respond_to? singleton_class], Module.singleton_class => %i[=== instance_method],
      UnboundMethod => %i[== bind_call original_name], code => %i[absolute_path disasm each_child first_lineno],
      code.singleton_class => %i[of compile_file], File.singleton_class => %i[exist? file?], Regexp => %i[match?],
      Symbol => %i[to_s ==], Object => %i[class singleton_class], Proc => %i[call], Integer => %i[== +]
    }
    tools = used.flat_map do |one, names|
      names.map { |name| [name, one, one.method(:instance_method), one.instance_method(name).method(:==)] }
    end
    tools += [[Object, :Module], [Object, :File], [Object, :RubyVM], [RubyVM, :InstructionSequence]].map do |one, name|
      [name, one, one.method(:const_get), one.const_get(name).method(:equal?)]
    end
    tools.inject(nil) do |rest, (name, one, now, same)|
      [[name, ["#{one}##{name}"].pack("m0"), now.to_proc, same.to_proc].freeze, rest].freeze
    end
  end

  def changed_tool(tools)
    while tools
      (name, label, now, same), tools = tools
      return label unless call(call(name, &now), &same)
    end
  end

  def altered(before, own, code, places)
    root, place, around, folders, features = places
    later = $LOADED_FEATURES.reject { |path| features.any? { |each| each == path } }
    found = shadows(later, places)
    parts = { place => parts_of(code) }
    library = lambda do |method|
      path = path_of(method)
      path && folders.any? { |folder| path.start_with?(folder) } && comes?(method, path, parts)
    end
    theirs = lambda do |method|
      path = path_of(method)
      path && (path == place || path.match?(around)) && comes?(method, path, parts)
    end
    before.each do |one, (label, ancestors, methods)|
      label += one.singleton_class? ? "." : "#"
      now, line = methods_of(one), ask(one, :ancestors)
      methods.each do |name, method|
        found << "#{label}#{name}" unless now[name] == method || (now[name] && library.call(now[name]))
      end
      added = now.reject { |name, _| methods.key?(name) }
      next if added.empty? && line == ancestors
      news = (line - ancestors).map { |each| [each, methods_of(each)] }
      hiding(before, line, [[one, added], *news]) do |name, method|
        found << "#{label}#{name}" unless library.call(method)
      end
    end
    own.each do |one|
      label = Module === one ? one.name : one.class.name
      [*(one if Module === one), one.singleton_class].each do |each|
        line = ask(each, :ancestors)
        news = (Module === one ? line : line - ask(one.class, :ancestors)).reject { |place| before.key?(place) }
        hiding(before, line, news.map { |place| [place, methods_of(place)] }) do |name, method|
          found << "#{label}.#{name}" unless theirs.call(method) || library.call(method)
        end
      end
      next unless Module === one && one.respond_to?(:runnable_methods)
      one.runnable_methods.each do |name|
        method = ask(one, :instance_method, name)
        found << "#{label}##{name}" unless method.original_name.to_s == name && theirs.call(method)
      end
    end
    found
  end

  # Yields those methods of new places in a line of ancestors that hide one that was there before.
  def hiding(before, line, places)
    places.each do |place, names|
      hidden = line.drop(line.index(place) + 1)
      names.each do |name, method|
        yield name, method if hidden.any? { |each| before[each] && before[each][2].key?(name) }
      end
    end
  end

  def path_of(method)
    code = RubyVM::InstructionSequence.of(method)
    code && code.absolute_path
  end

  # Whether a file has a method's code, and not only its name: code can be compiled under any.
  def comes?(method, path, parts)
    code = RubyVM::InstructionSequence.of(method)
    parts[path] ||= File.file?(path) ? parts_of(RubyVM::InstructionSequence.compile_file(path)) : []
    parts[path].any? { |part| part.first_lineno == code.first_lineno && text_of(part) == text_of(code) }
  end

  # A call of super has a name once it was made.
  def text_of(code) = code.disasm.gsub(/(invokesuper +<calldata!)mid:[^,]+, /, '\1')

  def parts_of(code)
    found, left = [], [code]
    while (one = left.pop)
      found << one
      one.each_child { |part| left << part }
    end
    found
  end

  # Files of the tree that came in the place of a library's, or of a helper that is the environment's.
  def shadows(later, places)
    root, _, around, folders, = places
    tests = ["#{root}/spec", "#{root}/test"]
    own = $LOAD_PATH.map { |path| "#{path}/" }.select { |path| path.start_with?("#{root}/") }
    later.flat_map do |path|
      names = own.filter_map { |folder| path.delete_prefix(folder) if path.start_with?(folder) }
      names.filter_map do |name|
        if folders.any? { |folder| File.exist?(folder + name) } then "library:#{name}"
        elsif !path.match?(around) && tests.any? { |it| "#{it}/#{name}".match?(around) && File.exist?("#{it}/#{name}") }
          "helper:#{name}"
        end
      end
    end
  end
end.freeze.new.freeze.main(ARGV.shift)
"""
#: What the failure of each test that must fail says; ``v`` is a number that no one knew before.
WIRES = {
    "rspec": {
        "raise": "%(v)d", "eq": "expected: %(w)d", "not": "expected: value != %(v)d",
        "truth": "expected: truthy value", "raises": "expected ArgumentError but nothing was raised",
        "include": "expected [%(v)d] to include %(w)d",
    },
    "minitest": {
        "raise": "RuntimeError: %(v)d", "assert": "Expected false to be truthy",
        "refute": "Expected true to not be truthy", "equal": "Expected: %(w)d", "must": "Expected: %(w)d",
        "raises": "ArgumentError expected but nothing was raised", "includes": "Expected [%(v)d] to include %(w)d",
    },
}  # fmt: skip
#: Where each has the project's own tests, which is on Ruby's path.
FOLDERS = {"rspec": "spec", "minitest": "test"}
LACK = "%s is not in the environment: pin its gem in environment.packages, as %s:1.2.3, or in the Gemfile and its lock"
#: Files of the tree that stand around oracles, which are the environment's.
AROUND = re.compile(r"(?:spec|test)/(?:(?:.*/)?\w+_helper\.rb|support/.*)\Z")
#: Folders that these stand in, which a revision may turn into links.
ABOVE = ("spec", "test", "spec/support", "test/support")


def run(host, run, program=None):
    """Run one oracle, and behind its tests some that must fail.

    With a program the project runs as another user, and the oracle reaches it by that program alone.
    """
    job, oracle = host.job, run["oracle"]
    root = host.root(program)
    env, _ = host.environment()
    env["CRAB_PROGRAM"] = program or job["tools"]["ruby"]["program"]
    spec = write(host, oracle, env, os.path.realpath(root))
    argv = [job["tools"]["ruby"]["program"], spec["entry"], os.path.dirname(spec["entry"])]
    seen = host.process(argv, env, root, run["seconds"], printed=True)
    return host.conclude(seen, lambda data, code: read(host, spec, data, code))


def put_back(host, state):
    """Put back what a state or its build changes of the files that stand around oracles."""
    tree, job = host.tree, host.job
    for path in sorted(path for path, _, _ in job["states"][state]):  # a folder, which a link may stand for, is first
        if AROUND.match(path) or path in ABOVE:
            tree.put_back(job["tree"], job["workdir"], path)
    if host.built_since is not None:
        for place in around(job["tree"]):
            tree.mend(job["tree"], job["workdir"], place, host.built_since)


def around(root):
    """Return the files and folders of a tree that stand around oracles."""
    places = [os.path.join(name, "support") for name in FOLDERS.values()]
    for name in FOLDERS.values():
        for folder, _, files in os.walk(os.path.join(root, name)):
            places += [
                os.path.relpath(os.path.join(folder, file), root) for file in files if file.endswith("_helper.rb")
            ]
    return places


def listed(env):
    """Return the folders of gems, and those within the tree, that the build noted."""
    try:
        with open(os.path.join(env["GEM_HOME"], "load_path"), encoding="utf-8") as file:
            found = [path for path in file.read().split("\n") if path]
    except FileNotFoundError:
        found = []
    return [path for path in found if path[0] == "/"], [path for path in found if path[0] != "/"]


def write(host, oracle, env, root):
    """Write the oracle and what runs it into a private folder; what is to be known of them."""
    job, private, kind = host.job, os.path.join(host.folder, "oracle"), oracle["runner"]
    key = os.urandom(17)
    gems, inner = listed(env)
    own = [FOLDERS[kind], "lib", *job["paths"], *inner]
    roots = "\n".join(os.path.normpath(os.path.join(root, path)) for path in own)
    place = os.path.join(root, os.path.basename(oracle["file"]))
    asked = "0" if host.printed is None else "1"
    settings = [kind, root, place, AROUND.pattern, "\n".join(gems), roots, asked]
    files = {"key": key, "settings": "\0".join(settings).encode(), "oracle.rb": oracle["source"].encode()}
    for name, data in dict(files, **{"entry.rb": ENTRY.encode()}).items():
        with open(os.path.join(private, name), "wb") as out:
            out.write(data)
    value = int.from_bytes(key[14:], "big")
    said = {wire: text % {"v": value, "w": value + 1} for wire, text in WIRES[kind].items()}
    key = "%d %d " % (int.from_bytes(key[:7], "big"), int.from_bytes(key[7:14], "big"))
    return {"entry": os.path.join(private, "entry.rb"), "key": key, "runner": kind, "wires": said}


# --- reading ---------------------------------------------------------------------------------------------------------


def read(host, spec, data, code):
    """Return the report of a run, or None and what is wrong with it."""
    try:
        *lines, rest = data.decode("ascii").split("\n")
        told = [unpacked(line[len(spec["key"]) :]) for line in lines if line.startswith(spec["key"])]
        if rest or not told or len(told) < len(lines):
            return None, "the report is not well-formed" if data else "the process ended without a report"
        if told == [["lack"]]:
            return {"fault": LACK % (spec["runner"], spec["runner"])}, None
        return understood(host, spec, told, code)
    except (ValueError, IndexError):
        return None, "the report is not well-formed"


def unpacked(line):
    """Return the word of a line and what it says. Raises ValueError."""
    word, *fields = line.split(" ")
    return [word] + [base64.b64decode(field, validate=True).decode("utf-8", "replace") for field in fields]


def understood(host, spec, told, code):
    """Return the report of what was told line by line, or None and what is wrong. Raises ValueError, IndexError."""
    if told[-1] != ["end", str(len(told) - 1)] or code != 1:
        return None, "the process ended without a report"
    tests = [outcome(host, *fields) for word, *fields in told if word == "test"]
    wires = {fields[0]: fields[1] for word, *fields in told if word == "wire"}
    whole = sorted(wires) == sorted(spec["wires"])
    whole = whole and all(said in wires[wire] for wire, said in spec["wires"].items())
    altered = [fields[0] for word, *fields in told if word == "altered"]
    used = {}
    for test in tests:
        used[test["id"]] = used.get(test["id"], 0) + 1
        test["id"] += " #%d" % used[test["id"]] if used[test["id"]] > 1 else ""
    return host.completed(tests, whole, altered), None


def outcome(host, name, word, exception, where, message=""):
    """Return the outcome of one test; the name of its exception is without the modules around it.

    The test's own is cut so that a number behind it stays.
    """
    exception = exception.rpartition("::")[2]
    host.quote(name[: host.TEST - 8], message)
    return {"id": name[: host.TEST - 8], "outcome": word, "exception": exception or None, "where": where or None}
