"""A rewrite pattern that does not apply says why, and its pass lets the user see it (compile.log-passes).

A pattern is a function that takes a rewriter; `rewriter.notifyMatchFailure(op, "reason")` both fails and gives the reason.
"""

import re

import tree

# Functions that may fail without a reason, as "file: function": a count. None is left.
SILENT = {}

# The only call of MLIR's greedy driver that is not in a test.
GREEDY = "tilewright/transform/RewriteGreedily.h"

FUNCTION = re.compile(r"(\w+)\((?:[^(){};]|\([^()]*\))*\b\w*Rewriter(?:Base)?\s*&\s*\w+\)[^;{}]*\{")
SILENCE = re.compile(r"\bfailure\(\)|\bsuccess\([^)]")
COMMENT = re.compile(r"//[^\n]*|\"(?:\\.|[^\"\\])*\"")


def body(text, start):
    """The text from the brace at `start` to the one that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start : at + 1]
    return text[start:]


def silent(text):
    """{function: number of failures without a reason} of a source text."""
    if "Rewriter" not in text:  # most files: the search below is slow
        return {}
    text = COMMENT.sub(lambda match: " " * len(match[0]), text)
    counts = {}
    for match in FUNCTION.finditer(text):
        found = len(SILENCE.findall(body(text, match.end() - 1)))
        if found:
            counts[match[1]] = counts.get(match[1], 0) + found
    return counts


def sources():
    for path in tree.files(".cpp", ".h"):
        name = tree.name(path)
        if name.startswith("tilewright/") and not name.endswith("Test.cpp"):
            yield name, path.read_text(encoding="utf-8")


def test_a_pattern_that_fails_gives_a_reason():
    found = {f"{name}: {function}": count for name, text in sources() for function, count in silent(text).items()}
    assert found == SILENT, 'return rewriter.notifyMatchFailure(op, "reason"), or take what is gone off the list'


def test_patterns_give_reasons():
    """The reader above finds patterns at all."""
    assert sum(text.count("notifyMatchFailure(") for _, text in sources()) > 150


def test_patterns_run_where_they_are_logged():
    callers = [name for name, text in sources() if re.search(r"\bapply\w*PatternsGreedily\(", text) and name != GREEDY]
    assert not callers, f"call rewriteGreedily() of {GREEDY} instead"


def test_the_reader_sees_what_is_silent():
    assert silent("LogicalResult f(AddOp op, PatternRewriter &rewriter) {\n  if (a) { return failure(); }\n}") == {"f": 1}
    assert silent("LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {\n  return failure(); }")
    assert silent("LogicalResult f(Op op, PatternRewriter &rewriter) { return success(changed); }") == {"f": 1}
    assert silent("template <typename T>\nLogicalResult f(T op, mlir::RewriterBase &rewriter) { return a ? b : failure(); }")
    assert not silent('LogicalResult f(Op op, PatternRewriter &rewriter) { return rewriter.notifyMatchFailure(op, "x"); }')
    assert not silent("LogicalResult f(Op op, PatternRewriter &rewriter) { return success(); } // failure()")
    assert not silent("LogicalResult f(Op op, IRMapping &mapping) { return failure(); }")
    assert not silent("LogicalResult f(Op op) { return failure(); }")
    assert not silent("LogicalResult f(Op op, PatternRewriter &rewriter);\nLogicalResult g(Op op) { return failure(); }")
