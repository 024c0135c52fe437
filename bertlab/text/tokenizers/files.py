"""A tokenizer in the files of `transformers`: tokenizer.json, vocab.txt, tokenizer_config.json.

transformers 5 writes no vocab.txt, many older checkpoints have nothing else: one of the two is enough to read, and
where both are there they have to agree. What a tokenizer does beyond BERT's WordPiece is refused, never passed over.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.recipe import Accents
from bertlab.store.files import content, kind
from bertlab.text.tokenizers.wordpiece import LONGEST_WORD, SPECIALS, STRIPPED, WordPiece

FILES = ("tokenizer.json", "vocab.txt", "tokenizer_config.json")
"""All that is read of a tokenizer."""

_MODEL = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": LONGEST_WORD,
}
_NORMALIZER = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
_SPLITTING = {"type": "BertPreTokenizer"}


def read(directory: Path) -> WordPiece:
    """The tokenizer of a checkpoint directory. `BadInput` if it has none, or one that is not BERT's WordPiece."""
    whole, plain = directory / "tokenizer.json", directory / "vocab.txt"
    if not whole.is_file() and not plain.is_file():
        raise BadInput(
            f"{directory} has neither tokenizer.json nor vocab.txt: add the tokenizer that the checkpoint was "
            "trained with"
        )
    config = directory / "tokenizer_config.json"
    settings = load_object(config) if config.exists() else {}
    lowercase = settings.get("do_lower_case")
    if lowercase is not None and not isinstance(lowercase, bool):
        raise BadInput(f"{config} has do_lower_case {shown(lowercase)}: give true or false")
    if settings.get("tokenize_chinese_chars") not in (None, True):
        raise BadInput(f"{config} leaves Chinese characters together: only BERT's splitting can be read")
    strip = settings.get("strip_accents")
    if not whole.is_file():
        lowercase = True if lowercase is None else lowercase  # BERT's own default
        return WordPiece.load(plain, lowercase, _accents(config, lowercase, strip))
    tokenizer = _from_json(whole)
    if lowercase not in (None, tokenizer.lowercase):
        raise BadInput(f"{directory}: tokenizer.json and tokenizer_config.json differ in lower-casing: correct one")
    if strip is not None and _accents(config, tokenizer.lowercase, strip) != tokenizer.accents:
        raise BadInput(f"{directory}: tokenizer.json and tokenizer_config.json differ in accents: correct one")
    if plain.is_file() and WordPiece.load(plain, tokenizer.lowercase).vocabulary != tokenizer.vocabulary:
        raise BadInput(f"{directory}: vocab.txt and tokenizer.json have other entries: remove the wrong one")
    return tokenizer


def write(directory: Path, tokenizer: WordPiece, length: int) -> None:
    """Writes a tokenizer, for inputs of at most `length` tokens, in all three files."""
    from tokenizers import AddedToken, decoders, processors

    backend = tokenizer.backend()
    backend.add_special_tokens([AddedToken(special, special=True, normalized=False) for special in SPECIALS])
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", tokenizer.cls), ("[SEP]", tokenizer.sep)],
    )
    backend.decoder = decoders.WordPiece()
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    settings = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": tokenizer.lowercase,
        "strip_accents": STRIPPED[tokenizer.accents],
        "tokenize_chinese_chars": True,
        "model_max_length": length,
        **dict(zip(names, SPECIALS, strict=True)),
    }
    (directory / "tokenizer.json").write_text(backend.to_str(pretty=True) + "\n", encoding="utf-8")
    (directory / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    tokenizer.save(directory / "vocab.txt")


def load_object(path: Path) -> dict[str, Any]:
    """The object of a JSON file of a checkpoint. `BadInput` if it is missing or holds none."""
    if kind(path, "checkpoint file") is None:
        raise BadInput(f"{path.parent} has no {path.name}: give a transformers checkpoint")
    held = content(path, "checkpoint file")
    try:
        data = json.loads(held.decode())
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} cannot be read as JSON ({error}): fetch the checkpoint again") from None
    if not isinstance(data, dict):
        raise BadInput(f"{path} is not a JSON object: give a checkpoint directory in the transformers format")
    return data


def _accents(path: Path, lowercase: bool, strip: Any) -> Accents:
    """What becomes of accents; `by-case` wherever that is what BERT does."""
    if strip is not None and not isinstance(strip, bool):
        raise BadInput(f"{path} has strip_accents {shown(strip)}: give true, false or null")
    return "by-case" if strip in (None, lowercase) else "strip" if strip else "keep"


def _from_json(path: Path) -> WordPiece:
    data = load_object(path)
    model, normalizer, splitting = (data.get(name) for name in ("model", "normalizer", "pre_tokenizer"))
    for part, found, ours in (
        ("model", model, _MODEL), ("normalizer", normalizer, _NORMALIZER), ("pre_tokenizer", splitting, _SPLITTING),
    ):  # fmt: skip
        there = found if isinstance(found, dict) else {}
        if part == "model" and "merges" not in there:
            there = {"type": "WordPiece", **there}  # older files leave it out
        other = next((name for name, value in ours.items() if there.get(name) != value), None)
        if other is not None:
            raise BadInput(
                f"{path} has a {part} with {other} {shown(there.get(other))}, BERT's is {ours[other]!r}: only "
                "WordPiece as in BERT can be read"
            )
    assert isinstance(model, dict)
    assert isinstance(normalizer, dict)
    lowercase = normalizer.get("lowercase")
    if not isinstance(lowercase, bool):
        raise BadInput(f"{path} has a normalizer with lowercase {shown(lowercase)}: give true or false")
    accents = _accents(path, lowercase, normalizer.get("strip_accents"))
    vocabulary = model.get("vocab")
    ids = vocabulary.values() if isinstance(vocabulary, dict) else ()
    if not ids or not all(type(each) is int for each in ids) or sorted(ids) != list(range(len(ids))):
        raise BadInput(f"{path} does not number its vocabulary from 0 on: save the tokenizer again")
    assert isinstance(vocabulary, dict)
    if any("\n" in piece for piece in vocabulary):
        raise BadInput(f"{path} has an entry with a line break: no text of one word gives it, take it out")
    added = data.get("added_tokens") or []
    for token in added if isinstance(added, list) else [added]:
        content = token.get("content") if isinstance(token, dict) else token
        if not isinstance(content, str) or content not in vocabulary:
            raise BadInput(
                f"{path} adds the token {shown(content)} to its vocabulary: only WordPiece as in BERT can be read"
            )
    try:
        return WordPiece(sorted(vocabulary, key=vocabulary.__getitem__), lowercase=lowercase, accents=accents)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
