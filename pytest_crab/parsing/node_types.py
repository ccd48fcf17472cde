"""The names by which grammars call alike things: each group has those of every language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

#: Conditions with a branch.
IFS = ("if_statement", "if_expression", "if")
RAISING = ("raise_statement", "throw_statement", "throw_expression")
#: What ends the way through a block: a guard has nothing else in it.
LEAVING = (
    *RAISING, "return_statement", "continue_statement", "break_statement", "return_expression", "continue_expression",
    "break_expression", "return", "next", "break",
)  # fmt: skip
HANDLERS = ("except_clause", "catch_clause", "rescue")
FINALLY = ("finally_clause", "ensure")
#: Branches of which there are several side by side.
BRANCHES = (
    "elif_clause", "else_if_clause", "elsif", "case_clause", "expression_case", "type_case", "communication_case",
    "switch_case", "switch_block_statement_group", "switch_rule", "case_statement", "match_arm", "when", *HANDLERS,
)  # fmt: skip
#: Those that need no other of their kind.
FURTHER_BRANCHES = ("elif_clause", "else_if_clause", "elsif")
#: Nodes that hold statements.
BLOCKS = (
    "block", "statement_block", "compound_statement", "constructor_body", "statement_list", "body_statement", "then",
    "do_block", "module", "program", "source_file", "translation_unit", "class_body", "declaration_list",
    "field_declaration_list",
)  # fmt: skip
#: Those of a whole file.
FILES = ("module", "program", "source_file", "translation_unit")
LOOPS = ("for_statement", "while_statement")
FUNCTIONS = (
    "function_definition", "function_declaration", "method_definition", "method_declaration", "function_item",
    "constructor_declaration", "method", "singleton_method",
)  # fmt: skip
#: What declares a type, beside classes.
TYPES = (
    "type_declaration", "struct_item", "enum_item", "trait_item", "interface_declaration", "enum_declaration",
    "enum_specifier", "trait_declaration", "record_declaration",
)  # fmt: skip
#: Functions without a name of their own.
NAMELESS = ("arrow_function", "function_expression")
#: What declares further names, beside functions, classes and types.
DECLARATIONS = (
    "type_spec", "type_alias", "type_alias_declaration", "type_item", "type_definition", "alias_declaration",
    "union_specifier", "annotation_type_declaration", "module", "mod_item", "namespace_definition", "declaration",
    "field_declaration", "field_definition", "public_field_definition", "property_signature", "method_signature",
    "method_elem", "function_signature_item", "variable_declarator", "const_spec", "var_spec", "const_item",
    "static_item", "const_element", "property_element", "enumerator", "enum_constant", "enum_variant", "enum_case",
    "enum_body", "enum_assignment", "preproc_def", "preproc_function_def", "macro_definition",
)  # fmt: skip
CLASSES = ("class_definition", "class_declaration", "class_specifier", "struct_specifier", "impl_item", "class")
AWAITS = ("await", "await_expression")
CALLS = (
    "call", "call_expression", "method_invocation", "function_call_expression", "member_call_expression",
    "scoped_call_expression",
)  # fmt: skip
ARGUMENTS = ("argument_list", "arguments")
ASSIGNMENTS = ("assignment", "assignment_expression", "assignment_statement")
#: Changes of a value that was there.
CHANGES = (
    "augmented_assignment", "augmented_assignment_expression", "compound_assignment_expr", "operator_assignment",
    "update_expression", "inc_statement", "dec_statement",
)  # fmt: skip
#: Statements that no other node holds.
BARE = ("assignment_statement", "inc_statement", "dec_statement", "send_statement")
#: The same in blocks of languages whose statements are expressions.
BARE_EXPRESSIONS = ("call", "assignment", "operator_assignment")
EXPRESSION_BLOCKS = ("body_statement", "then", "do_block")
#: An entry or an attribute: what is there without it too.
PLACES = (
    "attribute", "subscript", "member_expression", "subscript_expression", "field_expression", "field_access",
    "array_access", "index_expression", "selector_expression", "member_access_expression", "element_reference",
    "instance_variable", "pointer_expression",
)  # fmt: skip
#: Names and what is reached from them.
PLAIN = ("identifier", "variable_name", *PLACES, *CALLS, "scoped_identifier")
#: Parents in which a sign is an operator, and not a bracket, a star or a part of a loop's head; as parts of names.
OPERATIONS = (
    "comparison", "boolean", "binary", "augmented_assignment", "compound_assignment", "assignment_expression",
    "assignment_statement", "operator_assignment",
)  # fmt: skip
JOINED = ("boolean_operator", "binary_expression", "binary")
SUMS = ("binary_operator", "binary_expression", "binary")
COMPARISONS = ("comparison_operator", "binary_expression", "binary")
DENIED = ("not_operator", "unary_expression", "unary_op_expression", "unary")
CHOICES = ("conditional_expression", "ternary_expression", "conditional")
NUMBERS = ("integer", "number", "int_literal", "integer_literal", "number_literal", "decimal_integer_literal")
STATEMENTS = (
    "expression_statement", "raise_statement", "throw_statement", "break_statement", "continue_statement",
    "assert_statement", *BARE,
)  # fmt: skip
COLLECTIONS = (
    "tuple", "list", "set", "dictionary", "array", "object", "array_initializer", "initializer_list", "literal_value",
    "array_expression", "array_creation_expression", "hash",
)  # fmt: skip
#: Nodes around a condition that only hold its brackets.
WRAPPED = ("parenthesized_expression", "condition_clause", "parenthesized_statements")
#: Parents of what is a value, and no condition.
VALUES = (
    *ASSIGNMENTS, "variable_declarator", "let_declaration", "init_declarator", "short_var_declaration",
    "expression_list", "keyword_argument", "argument", *ARGUMENTS,
)  # fmt: skip
SPREAD = (
    "list_splat",
    "dictionary_splat",
    "spread_element",
    "variadic_argument",
    "variadic_unpacking",
    "splat_argument",
)
#: What does not run; as parts of names.
NOT_CODE = ("comment", "string", "type", "import", "decorator", "annotation", "attribute_item")


def inner(node: Node) -> Node:
    """Return the expression of a statement that is nothing more, else the node itself."""
    if node.type == "expression_statement" and len(node.named_children) == 1:
        return node.named_children[0]
    return node


def outer(node: Node) -> Node:
    """Return the statement that is nothing more than this expression, else the node itself."""
    parent = node.parent
    return parent if parent is not None and parent.type == "expression_statement" else node


def declared(node: Node) -> list[Node]:
    """Return what the declarators of a node lead to: its names in C and C++; the node itself where it has none."""
    inside = node.children_by_field_name("declarator")
    if node.type in ("reference_declarator", "parenthesized_declarator"):
        inside = node.named_children[-1:]
    return [end for one in inside for end in declared(one)] if inside else [node]


def names_of(node: Node) -> list[Node]:
    """Return the nodes of the names that a declaration, or an assignment of a constant or an attribute, gives."""
    if node.type in ASSIGNMENTS:
        left = node.child_by_field_name("left")
        found = left if left is None or left.type == "constant" else left.child_by_field_name("property")
        return [] if found is None else [found]
    if node.type == "const_element":
        return node.named_children[:1]
    return [
        name
        for end in declared(node)
        for name in end.children_by_field_name("name")
        or end.children_by_field_name("property")
        or ([] if end == node or end.named_children else [end])
    ]


def statements(block: Node) -> list[Node]:
    """Return the statements of a block."""
    own = [one for one in block.named_children if "comment" not in one.type]
    return statements(own[0]) if len(own) == 1 and own[0].type == "statement_list" else own


def called(call: Node) -> Node | None:
    """Return the name or expression that a call calls, with its object where that is one node."""
    return next(filter(None, map(call.child_by_field_name, ("function", "name", "method"))), None)


def object_of(node: Node) -> Node | None:
    """Return the object that an attribute or a method is of."""
    return next(
        filter(None, map(node.child_by_field_name, ("object", "operand", "value", "receiver", "argument"))), None
    )
