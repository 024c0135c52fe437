"""Study files: every type and value is checked when the file is read, and whatever it raises is one line."""

import pytest

from bertlab.errors import BadInput
from bertlab.lab import studies

HEAD = """
from bertlab.recipe import *
from bertlab.objectives import *
from bertlab.optimizers import *
from bertlab.text.tokenizers import *
from bertlab import Features, FineTuning
from bertlab.lab.study import *
"""
WHOLE = """
study = Study(name={name}, question="?", source="me", baseline={baseline}, variants={variants},
              measurements={measurements}, published={published}, claims={claims}, notes={notes})
"""
GOOD = {
    "name": "'own'",
    "baseline": "'a'",
    "variants": "[Variant('a'), Variant('b', objective=(MaskedLM(mask_prob=0.3), NextSentence()))]",
    "measurements": "[Measurement('m', task='mnli')]",
    "published": "{}",
    "claims": "[]",
    "notes": "[]",
}


def variant(text):
    return "variants", f"[Variant('a', {text})]"


def column(text):
    return "measurements", f"[Measurement('m', {text})]"


FIELDS = [
    ("name", "3", "name is 3"),
    ("name", "''", "give it a name"),
    ("name", "'a\\nb'", "single spaces"),
    ("name", "None", "name is None"),
    ("baseline", "'c'", "baseline"),
    ("baseline", "7", "baseline is 7"),
    ("variants", "(Variant(n) for n in 'ab')", "variants"),
    ("variants", "{}", "variants"),
    ("variants", "'ab'", "variants"),
    ("variants", "None", "variants is None"),
    ("variants", "[]", "no variants"),
    ("variants", "['a']", "give Variant"),
    ("variants", "[Variant(3)]", "name is 3"),
    ("variants", "[Variant(None)]", "name is None"),
    ("variants", "[Variant('a'), Variant('a')]", "two variants"),
    (*variant("adaptation='probe'"), "'a': adaptation is 'probe'"),
    (*variant("adaptation=Features"), "'a': adaptation is"),
    (*variant("adaptation=Features(layers='top')"), "layers is 'top'"),
    (*variant("adaptation=FineTuning(bilstm=1)"), "bilstm is 1"),
    (*variant("size=2"), "'a': size is 2"),
    (*variant("size=Size(layers=0)"), "layers is 0"),
    (*variant("size=Size(layers=-1)"), "layers is -1"),
    (*variant("size=Size(heads=float('nan'))"), "heads is nan"),
    (*variant("size=Size(width=1e9)"), "width is 1000000000"),
    (*variant("size=Size(width='2')"), "width is '2'"),
    (*variant("objective={}"), "'a': objective"),
    (*variant("objective=Inputs()"), "'a': objective"),
    (*variant("objective=(MaskedLM,)"), r"'a': objective is \(MaskedLM,\): give .*MaskedLM\(\.\.\.\) or"),
    (*variant("model=type('M', (Model,), {})()"), "'a': model"),
    (*variant("objective=(MaskedLM(mask_prob=2), NextSentence())"), r"masked_lm\.mask_prob is 2"),
    (*variant("objective=(MaskedLM(corruption=Corruption(mask='1')), NextSentence())"), r"corruption\.mask is '1'"),
    (*variant("inputs=Inputs(length=-3)"), r"inputs\.length is -3"),
    (*variant("inputs=Inputs(format='prose')"), r"unknown value of inputs\.format 'prose'"),
    (*variant("schedule=Schedule(steps=1.5)"), r"schedule\.steps is 1\.5"),
    (*variant("schedule=Schedule(steps=True)"), r"schedule\.steps is True"),
    (*variant("schedule=Schedule(warmup=7)"), r"schedule\.warmup is 7"),
    (*variant("model=Model(max_positions=-7)"), r"model\.max_positions is -7"),
    (*variant("optimizer=AdamW(max_grad_norm=1e-310)"), r"optimizer\.max_grad_norm is 1e-310"),
    (*variant("tokenizer=WordPiece(given='abc')"), r"tokenizer\.given is 'abc'"),
    (*variant("fields={'corpus.heldout': '0.1'}"), r"corpus\.heldout"),
    (*variant("fields={'seed': '3'}"), "'seed'"),
    (*variant("fields={'tokenizer.given': ''}"), r"tokenizer\.given"),
    (*variant("fields={'model.depth': '3'}"), r"'model\.depth'"),
    (*variant("fields={'': ''}"), "''"),
    (*variant("fields={'model.layers': 3}"), "'a': fields"),
    (*variant("fields={3: '3'}"), "'a': fields"),
    (*variant("fields=[]"), "'a': fields"),
    (*variant("fields={'model.layers': 'many'}"), r"variant 'a'.*model\.layers is 'many'"),
    (*variant("fields={'model.layers': '0'}"), r"variant 'a'.*model\.layers is 0"),
    (*variant("fields={'masked_lm.corruption.mask': '0.5'}"), r"variant 'a'.*add up to 1"),
    (*variant("depth=3"), "depth"),
    ("measurements", "[]", "no measurements"),
    ("measurements", "None", "measurements is None"),
    ("measurements", "['m']", "give Measurement"),
    ("measurements", "(Measurement(n, task='mnli') for n in 'a')", "measurements"),
    ("measurements", "[Measurement('m', task='mnli'), Measurement('m', task='mnli')]", "two measurements"),
    (*column("task='nosuch'"), "nosuch"),
    (*column("task=3"), "'m': task is 3"),
    (*column("task=None"), "'m': task is None"),
    (*column("task='mnli', metric='bleu'"), "'bleu'"),
    (*column("task='mnli', metric=3"), "'m': metric is 3"),
    (*column("task='mnli', adaptation='probe'"), "'m': adaptation is 'probe'"),
    (*column("task='mnli', adaptation=Features()"), "'m': the feature-based approach tags words"),
    (*column("task='mnli', adaptation=FineTuning(context=True)"), "'m': context is an option of tagging"),
    (*column("task='mnli', split='dev'"), "'m': split is 'dev'"),
    (*column("metric='bleu'"), "study .* measurement 'm': it has no task: give task= too, or .*unknown metric 'bleu'"),
    (*column("task='mnli', milestones=(0,)"), "'m': milestones"),
    (*column("task='mnli', milestones=(101,)"), "'m': milestones"),
    (*column("task='mnli', milestones=(-5,)"), "'m': milestones"),
    (*column("task='mnli', milestones=('a',)"), "'m': milestones"),
    (*column("task='mnli', milestones=(50.5,)"), "'m': milestones"),
    (*column("task='mnli', milestones=()"), "'m'.*milestones"),
    (*column("task='mnli', milestones=100"), "'m': milestones is 100"),
    (*column("task='mnli', milestones=[100]"), "'m': milestones"),
    (
        *column("task=Task(kind='parsing', name='x', path='.', text=('a',))"),
        "study .* measurement 'm': unknown kind of task 'parsing'",
    ),
    (*column("task=Task(kind='tagging', name='x', path=3, text=('a',))"), "'x': path is 3"),
    (*column("task=Task(kind='tagging', name='x', path='.', text='a')"), "'x': text is 'a'"),
    (*column("task=Task(kind='tagging', name='x', path='.', text=('a', 'b'))"), "text columns"),
    (*column("task=Task(kind='tagging', name='x', path='nosuch', text=('a',))"), "nosuch"),
    (*column("task=Task(kind='tagging', name='x', path='~nosuchuser', text=('a',))"), "nosuchuser"),
    (*column("task=Task(kind='tagging', name='x', path='a' * 5000, text=('a',))"), "too long"),
    (*column("task=Task(kind='tagging', name='x', path='a\\0b', text=('a',))"), "null"),
    ("published", "'text'", "published is 'text'"),
    ("published", "[]", "published"),
    ("published", "{('a', 'm'): '84'}", "published"),
    ("published", "{('a', 'm'): float('nan')}", "published"),
    ("published", "{('a', 'm'): None}", "published"),
    ("published", "{'a': 84}", "published"),
    ("published", "{('a',): 84}", "published"),
    ("published", "{('x', 'm'): 84.0}", "published"),
    ("published", "{('a', 'x'): 84.0}", "published"),
    ("claims", "['a is better']", "give Claim"),
    ("claims", "[Claim('c', on='m')]", "compares nothing"),
    ("claims", "[Claim('c', better='a', worse='x', on='m')]", "'x'"),
    ("claims", "[Claim('c', better='a', worse='b', on='x')]", "'x'"),
    ("claims", "[Claim('c', better=3, worse='b', on='m')]", "'c': better is 3"),
    ("claims", "[Claim('c', better='a', worse='b', on='m', within=-1)]", "'c': within is -1"),
    ("claims", "[Claim('c', better='a', worse='b', on='m', within='1')]", "'c': within is '1'"),
    ("claims", "[Claim('c', better='a', worse='b', on='m', or_better=True)]", "or_better needs a margin"),
    ("claims", "[Claim('c', better='a', worse='b', on='m', at=0)]", "'c': at is 0"),
    ("claims", "[Claim('c', better='a', worse='b', on='m', at=200)]", "'c': at is 200"),
    ("notes", "'a note'", "notes is 'a note'"),
    ("notes", "[3]", "notes"),
]


@pytest.mark.parametrize(("field", "text", "says"), FIELDS)
def test_a_wrong_value(refused, place, field, text, says):
    (place / "own.py").write_text(HEAD + WHOLE.format(**{**GOOD, field: text}))
    refused("ablate", "own.py", "--scale", "smoke", "--dry-run", says=says)


def test_the_study_that_these_are_made_of_is_good(call, place, capsys):
    for changes in ({}, dict([column("metric='perplexity'")])):
        (place / "own.py").write_text(HEAD + WHOLE.format(**{**GOOD, **changes}))
        assert call("ablate", "own.py", "--scale", "smoke", "--dry-run") == 0


CODE = [
    ("raise SystemExit(5)", "SystemExit"),
    ("import sys; sys.exit('bye')", "SystemExit"),
    ("import sys; sys.exit(0)", "SystemExit"),
    ("raise GeneratorExit", "GeneratorExit"),
    ("class E(BaseException): pass\nraise E('odd')", "E: odd"),
    ("class E(Exception):\n def __str__(self): raise ValueError\nraise E", "error raises too"),
    ("class E(Exception):\n def __str__(self): return 3\nraise E", "error raises too"),
    ("raise ValueError('x' * 1000000)", "ValueError"),
    ("raise ValueError('a\\nb\\x1b[31mc')", "a b"),
    ("def f(): f()\nf()", "RecursionError"),
    ("raise MemoryError", "MemoryError"),
    ("import nosuchmodule", "nosuchmodule"),
    ("open('nosuchfile')", "nosuchfile"),
    ("assert False", "AssertionError"),
    ("x = (", "SyntaxError"),
    ("x = '\\udc80", "SyntaxError"),
    ("\t x", "IndentationError"),
    ("study = None", "has no study"),
    ("study = 'masking'", "has no study"),
    ("class study: pass", "has no study"),
    ("", "has no study"),
    (HEAD + "class S(Study): pass\nstudy = S(**{})", "TypeError"),
    (HEAD + "study = Study(name='a')", "TypeError"),
    (HEAD + "study = Study", "has no study"),
]


@pytest.mark.parametrize(("code", "says"), CODE)
def test_what_a_file_raises_is_one_line(refused, place, code, says):
    (place / "own.py").write_text(code)
    refused("ablate", "own.py", "--scale", "smoke", says=says)


@pytest.mark.parametrize("data", [b"\0", b"\xff\xfe", b"x = '\xe9'", b"\x7fELF" + bytes(100)])
def test_files_that_are_no_python(refused, place, data):
    (place / "own.py").write_bytes(data)
    refused("ablate", "own.py", says="own.py")


def test_ctrl_c_while_a_file_is_read(call, place):
    (place / "own.py").write_text("raise KeyboardInterrupt")
    assert call("ablate", "own.py") == 130


@pytest.mark.parametrize("code", ["", "try:\n while True: pass\nexcept BaseException: pass\n"])
def test_a_file_without_end_is_named(refused, place, monkeypatch, code):
    """Even if it catches the exception that ends it."""
    monkeypatch.setattr(studies, "SECONDS", 0.2)
    (place / "own.py").write_text(f"{code}while True: pass")
    refused("ablate", "own.py", says="own.py.*takes over 0.2 s of processor time")


def test_only_computing_counts_against_the_limit_and_waiting_ends_later(place, monkeypatch):
    monkeypatch.setattr(studies, "SECONDS", 0.5)
    (place / "own.py").write_text("import time\ntime.sleep(0.8)")
    with pytest.raises(BadInput, match="has no study"):
        studies.find("own.py")
    monkeypatch.setattr(studies, "MOST_SECONDS", 0.2)
    (place / "own.py").write_text("import time\nwhile True: time.sleep(9)")
    with pytest.raises(BadInput, match=r"takes over 0\.2 s to read"):
        studies.find("own.py")


def test_a_file_that_replaces_the_streams_takes_no_line_of_the_command(call, place, capsys):
    (place / "own.py").write_text(HEAD + WHOLE.format(**GOOD) + "import sys\nsys.stdout = sys.stderr = None\n")
    assert call("show", "own.py") == 0
    assert "own" in capsys.readouterr().out
