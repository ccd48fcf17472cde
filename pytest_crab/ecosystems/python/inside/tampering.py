"""Finds what revised code has replaced: in Python, in pytest, in what the oracle uses, and in the oracle's own module.

What is replaced is told by its label alone, and the host compares the labels with those at the reference. It works
from CPython 3.6 up, and at the end of a session only: what is put back by then is not seen.
"""

import ast
import builtins
import functools
import importlib
import importlib.machinery
import os
import sys
import types
from operator import attrgetter, is_

#: What says by itself which module it was made in.
MADE = (type, types.FunctionType, types.BuiltinFunctionType)
#: What stands around a function in a class, and can be given another one in place.
WRAPPERS = (staticmethod, classmethod, property)
METHODS = (types.MethodType, *WRAPPERS)
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, type(str.join), *WRAPPERS)
#: What can be given to a function in place; defaults by name are a mapping, whose values can be replaced as well.
PARTS = tuple(map(attrgetter, ("__code__", "__defaults__", "__kwdefaults__")))
SELECTED = {
    "sys": ("exit", "settrace", "setprofile", "_getframe", "exc_info"),
    "os": ("_exit", "fork", "kill", "write", "read", "waitpid", "abort"),
    "io": ("open", "StringIO", "BytesIO", "TextIOWrapper"),
    "json": ("dump", "dumps", "load", "loads"),
}
KEPT = {"pytest", "_pytest", "pluggy"}
#: What oracles use beside Python and pytest: whole packages are compared, as they are before the project is imported.
LIBRARIES = ("hypothesis", "mock")
#: The fields of hypothesis's default settings that decide what is tried.
SETTINGS = ("max_examples", "phases", "deadline", "derandomize", "stateful_step_count", "suppress_health_check")
#: What Python's documentation lets a program set, so that no right fix is held against it.
SETTABLE = {
    "logging.Formatter.converter", "logging._logRecordFactory", "logging._loggerClass",
    "ssl._create_default_https_context", "threading.excepthook", "warnings._showwarnmsg_impl",
    "warnings.formatwarning", "warnings.showwarning",
}  # fmt: skip
#: Modules that do something when they are imported.
LOUD = {"antigravity", "idlelib", "this", "tkinter", "turtle", "turtledemo"}


def watched_places():
    """Return (module, names or None for all) for every module of Python and pytest that must not be replaced in."""
    for name, module in list(sys.modules.items()):
        if module is not None and name.partition(".")[0] in {*KEPT, "unittest"}:
            yield module, None
    yield builtins, None
    yield sys.modules["json.encoder"], None  # writes the report
    for name, names in SELECTED.items():
        yield sys.modules[name], names


def code_of(value):
    """Return the code that a function, method or property runs, None for all else."""
    function = function_of(value)
    return None if function is None else function.__code__


def function_of(value):
    """Return the function that a method or property calls, or the function itself; None for all else."""
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, (types.MethodType, staticmethod, classmethod)):
        value = value.__func__
    return value if isinstance(value, types.FunctionType) else None


def made_of(value):
    """Return what decides what a function does: its code, its defaults, and the functions that it closes over."""
    function = function_of(value)
    if function is None:
        return ()
    named = function.__kwdefaults__ or {}
    parts = [function.__code__, *(function.__defaults__ or ()), *(named[name] for name in sorted(named))]
    return (*parts, *filter(None, map(closed_over, function.__closure__ or ())))


def closed_over(cell):
    """Return the function in a cell, None for all else, since other contents may change as it works."""
    try:
        return cell.cell_contents if isinstance(cell.cell_contents, types.FunctionType) else None
    except ValueError:  # it is empty
        return None


def snapshot(places):
    """Return (label's beginning, space, what can be called there by name) for modules and their classes."""
    spaces = []
    for module, names in places:
        before, space = module.__name__ + ".", vars(module)
        found = {name: value for name, value in list(space.items()) if callable(value)}
        found = found if names is None else {name: found[name] for name in names if name in found}
        spaces.append((before, space, found))
        for name, value in found.items():
            if isinstance(value, type) and value.__module__ == module.__name__:
                inner = {inner: item for inner, item in list(vars(value).items()) if isinstance(item, FUNCTIONS)}
                spaces.append((before + name + ".", vars(value), inner))
    return spaces


def imported(modules):
    """Return what an import of these modules by their names gives, as ``snapshot`` does."""
    return [("", sys.modules, dict(modules))]


class Held:
    """Spaces as ``snapshot`` gives them, held with all that decides what their functions do.

    Each run looks at thousands of these, so what all have in common is compared without a call for each.
    """

    def __init__(self, spaces):
        self.spaces = spaces
        held = {id(value): value for _, _, found in spaces for value in found.values()}
        self.wrappers = [(value, function_of(value)) for value in held.values() if isinstance(value, METHODS)]
        held.update((id(function), function) for _, function in self.wrappers)
        functions = [value for value in held.values() if type(value) is types.FunctionType]
        self.parts = [(part, {function: part(function) for function in functions}) for part in PARTS]
        self.deep = [(each, made_of(each)) for each in functions if each.__kwdefaults__ or each.__closure__]

    def altered(self):
        """Return the labels of what is no longer what it was; additions are none of them."""
        changed = {id(one) for one, made in self.deep if list(map(id, made_of(one))) != list(map(id, made))}
        for part, given in self.parts:
            if not all(map(is_, map(part, given), given.values())):
                changed.update(id(one) for one, was in given.items() if part(one) is not was)
        wrappers = self.wrappers
        changed.update(id(one) for one, was in wrappers if function_of(one) is not was or id(was) in changed)
        labels = set()
        for before, space, found in self.spaces:
            if changed or not all(map(is_, map(space.get, found), found.values())):
                now = found.items()
                labels.update(before + name for name, was in now if space.get(name) is not was or id(was) in changed)
        return labels - SETTABLE


def shape_of(owner):
    """Return what decides where the names of a module or class are looked up: its own class, and its bases."""
    return type(owner), type.__dict__["__bases__"].__get__(owner) if isinstance(owner, type) else ()


def spaces_of(places):
    """Return (label, owner, its shape, space, its names, what they would hide) for whole modules and their classes."""
    found = []
    for module in [module for module, names in places if names is None]:
        space = vars(module)
        found.append((module.__name__, module, shape_of(module), space, set(space), [vars(builtins)]))
        for name, value in list(space.items()):
            if isinstance(value, type) and value.__module__ == module.__name__:
                label, behind = "%s.%s" % (module.__name__, name), [vars(base) for base in value.__mro__[1:]]
                found.append((label, value, shape_of(value), vars(value), set(vars(value)), behind))
    return found


def find_hidden(before):
    """Return the labels of functions that were added in front of one of the same name, and of what looks elsewhere."""
    found = set()
    for label, owner, shape, space, names, behind in before:
        if shape_of(owner) != shape:
            found.add(label)
        for name in () if names.issuperset(space) else set(space) - names:
            if isinstance(space[name], FUNCTIONS) and any(name in other for other in behind):
                found.add("%s.%s" % (label, name))
    return found


def codes_of(source, path):
    """Return every code object that the oracle's source compiles to."""
    try:
        left = [compile(source, path, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return set()
    found = set()
    while left:
        code = left.pop()
        found.add(code)
        left.extend(item for item in code.co_consts if isinstance(item, types.CodeType))
    return found


def provides(root, name):
    """Return True if an import root holds a module of this name: the oracle then means it, not pytest's own copy."""
    found = importlib.machinery.PathFinder.find_spec(name, [root])
    return found is not None and found.loader is not None and found.origin is not None


def lies_in(path, folders):
    """Return True if a path is below one of the folders."""
    return any(path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


class Names:
    """The names in an oracle's source, which is read and not run.

    ``imports`` is (module, name or None, what it is bound to) for each import; ``single`` holds what is bound by one
    import only, and ``functions`` its own functions that nothing decorates and that are no tests: those are held
    against their source when they run.
    """

    def __init__(self, source):
        self.imports, self.functions, self.bound = [], set(), set()
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            tree = ast.Module(body=[])
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self.imports += [(one.name, None, one.asname or one.name.partition(".")[0]) for one in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                bound = [(one.name, one.asname or one.name) for one in node.names]
                self.imports += [(node.module, name, place) for name, place in bound]
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.bound.add(node.name)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self.bound.add(node.id)
        bound = [place for _, _, place in self.imports]
        self.bound.update(bound)
        self.single = {place for place in bound if bound.count(place) == 1}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.decorator_list and not node.name.startswith("test"):
                self.functions.add(node.name)


class Uses:
    """The parts of Python, of libraries and of itself that one oracle uses, as they are before the project is imported.

    It is made while no path of the project is in place. ``roots`` are the project's import roots.
    """

    def __init__(self, source, roots, stdlib):
        self.stdlib = [path for path in stdlib if path]
        self.roots = sorted({*roots, *map(os.path.realpath, roots)})
        self.names, self.known = Names(source), {}
        tops = {module.partition(".")[0] for module, _, _ in self.names.imports}
        provided = {top for top in tops if any(provides(root, top) for root in roots)}
        self.own = {top for top in provided if top not in sys.modules or not self.is_standard(top)}
        loaded = set(sys.modules)
        modules = self.load()
        self.loaded = {name.partition(".")[0] for name in set(sys.modules) - loaded}
        self.bound = dict(self.bindings(modules))
        places = list(self.places(modules))
        self.held = Held(snapshot(places) + imported(modules))
        self.spaces = spaces_of(places)
        self.settings = settings()

    def is_standard(self, top):
        """Return True if a name is that of a module of Python's own library."""
        if top not in self.known:
            found = top in sys.builtin_module_names or importlib.machinery.PathFinder.find_spec(top, self.stdlib)
            origin = getattr(found, "origin", None) or ""
            self.known[top] = bool(found) and "-packages" not in origin and not (found is not True and not origin)
        return self.known[top]

    def load(self):
        """Import what the oracle imports of Python and of LIBRARIES; these modules by their names."""
        modules = {}
        for module, name, _ in self.names.imports:
            top = module.partition(".")[0]
            if top in self.own or top in KEPT or top in LOUD or not (top in LIBRARIES or self.is_standard(top)):
                continue
            for path in (module, "%s.%s" % (module, name)):
                if path != module and (name is None or hasattr(sys.modules.get(module), name)):
                    continue
                try:
                    importlib.import_module(path)
                    modules[path] = sys.modules[path]
                except Exception:  # noqa: BLE001, S112 - another system's or version's: the oracle will see to that
                    continue
        return modules

    def bindings(self, modules):
        """Yield (name, value) for what the oracle binds to a module of these, or to what can be called in one."""
        for module, name, bound in self.names.imports:
            if module not in modules or bound not in self.names.single:
                continue
            if name is None:
                yield bound, modules[module] if bound != module.partition(".")[0] else sys.modules[bound]
                continue
            value = vars(modules[module]).get(name)
            if callable(value) or isinstance(value, types.ModuleType):
                yield bound, value

    def places(self, modules):
        """Yield (module, None) for these modules, those of Python that they import from, and all of each library."""
        found = dict(modules)
        for name, module in modules.items():
            top = name.partition(".")[0]
            if top in LIBRARIES:
                found.update((known, one) for known, one in list(sys.modules.items()) if known.partition(".")[0] == top)
                continue
            for value in list(vars(module).values()):
                origin = value.__name__ if isinstance(value, types.ModuleType) else None
                if isinstance(value, MADE):
                    origin = value.__module__
                if isinstance(origin, str) and origin in sys.modules and self.is_standard(origin.partition(".")[0]):
                    found[origin] = sys.modules[origin]
        for name, module in found.items():
            if name not in ("sys", "builtins", "__main__") and isinstance(module, types.ModuleType):
                yield module, None

    def replaced(self, module, codes):
        """Return the labels of what was replaced since; ``module`` is the oracle's own, None if none of it ran."""
        found = self.held.altered() | find_hidden(self.spaces)
        now = settings() if self.settings else None
        found.update("hypothesis.settings." + name for name in now or () if now[name] != self.settings[name])
        hidden = [top for top in self.own if self.is_standard(top) or top in LIBRARIES]
        found.update("import:" + top for top in hidden if self.is_of_project(sys.modules.get(top)))
        found.update(self.foreign_parts())
        if module is not None:
            found.update("oracle." + name for name in self.rebound(vars(module), codes))
        return found

    def rebound(self, space, codes):
        """Yield the oracle's own functions that run other code, and what it imports, or Python has, that is hidden."""
        if space.get("__builtins__") not in (builtins, vars(builtins)):
            yield "__builtins__"
        if "*" in self.names.bound:  # what that brings is not told by the source
            return
        for name in self.names.functions - {bound for _, _, bound in self.names.imports}:
            if name in space and code_of(space[name]) not in codes:
                yield name
        for name, value in self.bound.items():
            if name in space and space[name] is not value:
                yield name
        for name in set(space) & set(vars(builtins)) - self.names.bound:
            if isinstance(space[name], FUNCTIONS):
                yield name

    def foreign_parts(self):
        """Yield the labels of what code of the project has put into another library that the oracle imports."""
        for name in {module for module, _, _ in self.names.imports}:
            module, top = sys.modules.get(name), name.partition(".")[0]
            if not isinstance(module, types.ModuleType) or top in self.own or top in KEPT or self.is_standard(top):
                continue
            for before, _, found in snapshot([(module, None)]):
                yield from (before + inner for inner, value in found.items() if self.is_foreign(value))

    def is_foreign(self, value):
        """Return True if a function or class comes from a file of the project, as far as it tells."""
        while isinstance(value, functools.partial):
            value = value.func
        if not isinstance(value, (types.MethodType, staticmethod, classmethod, *MADE)):
            return False
        code = code_of(value)
        if isinstance(code, types.CodeType) and lies_in(code.co_filename, self.roots):
            return True
        name = getattr(getattr(value, "__func__", value), "__module__", None)
        return self.is_of_project(sys.modules.get(name) if isinstance(name, str) else None)

    def is_of_project(self, module):
        """Return True if a module was loaded from a file of the project."""
        file = vars(module).get("__file__") if isinstance(module, types.ModuleType) else None
        return isinstance(file, str) and lies_in(file, self.roots)


def settings():
    """Return hypothesis's default settings, None where it is not imported."""
    module = sys.modules.get("hypothesis")
    default = getattr(getattr(module, "settings", None), "default", None)
    return None if default is None else {name: repr(getattr(default, name, None)) for name in SETTINGS}
