"""Every supported Python matches possessive repeats and atomic groups in the same way.

Python 3.11.0 to 3.11.3 mis-execute those whose last pass fails half-way, see
https://github.com/python/cpython/issues/100061: the characters of that pass are lost.
"""

import functools
import importlib
import json
import random
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import interpreters
from tests.test_layers import MODULES

POSSESSIVE_OR_ATOMIC = re.compile(r"[*+?}]\+|\(\?>")
FIND_ALL = """
import json, re, sys

def spans(pattern, flags, is_bytes, text):
    if is_bytes:
        pattern, text = pattern.encode("latin-1"), text.encode("latin-1")
    return [match.regs for match in re.compile(pattern, flags).finditer(text)]

json.dump([spans(*search) for search in json.load(sys.stdin)], sys.stdout)
"""


def matches(pattern, flags):
    plain = re.sub(r"(?<=[*+?}])\+", "", pattern).replace("(?>", "(?:")
    plain = re.compile(plain, flags)
    texts = []

    @settings(deadline=None, max_examples=8, database=None, derandomize=True)
    @given(text=st.from_regex(plain, alphabet=st.characters(max_codepoint=255)))
    def collect(text):
        texts.append(text)

    collect()
    return texts


@functools.cache
def searches():
    """Return searches in random texts: a pattern, its flags, whether it is bytes, and the text."""
    chance = random.Random("patterns")
    found = []
    for name in MODULES:
        for value in vars(importlib.import_module(name)).values():
            if not isinstance(value, re.Pattern):
                continue
            is_bytes = isinstance(value.pattern, bytes)
            pattern = value.pattern.decode("latin-1") if is_bytes else value.pattern
            if POSSESSIVE_OR_ATOMIC.search(pattern):
                flags = int(value.flags & ~re.UNICODE)
                words = re.findall(r"[\w<!/-]{2,}", pattern)
                parts = [*sorted(set(pattern)), *"\n\t a", *words, *matches(pattern, flags)]
                lengths = (chance.randint(1, 9) for _ in range(1000))
                texts = ("".join(chance.choices(parts, k=length)) for length in lengths)
                found += [(pattern, flags, is_bytes, text) for text in texts]
    return found


def run(command, searches):
    process = subprocess.run(
        [command, "-c", FIND_ALL], input=json.dumps(searches), capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@pytest.mark.parametrize("python", interpreters().values(), ids=interpreters())
def test_another_python_finds_the_same(python):
    tried = searches()
    assert tried
    differences = {
        search[0]: search[3]
        for search, here, there in zip(
            tried, run(sys.executable, tried), run(python, tried), strict=True
        )
        if here != there
    }
    assert differences == {}
