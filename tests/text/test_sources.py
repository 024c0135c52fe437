"""Where documents come from."""

import dataclasses
import gzip
import json

import pytest

from bertlab import hub, progress
from bertlab.errors import BadInput
from bertlab.hub import Index
from bertlab.machine import Machine
from bertlab.recipe import Source
from bertlab.text.boundaries import LONGEST, of_records
from bertlab.text.sources import documents, resolve

TEXTS = ["First document.\n\nTwo paragraphs.", "Zweites: naïve 漢字 [MASK]", "third"]


@pytest.fixture
def machine(tmp_path):
    (tmp_path / "mirror").mkdir()
    return Machine(cache=tmp_path / "cache", data=tmp_path / "mirror")


def write(path, texts=TEXTS, column="text"):
    """Writes a file of the kind that its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    if plain.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table({"id": list(range(len(texts))), column: texts}), plain)
    elif plain.suffix == ".jsonl":
        rows = [json.dumps({"id": number, column: text}) for number, text in enumerate(texts)]
        plain.write_text("\n".join(rows) + "\n", encoding="utf-8")
    else:
        plain.write_text(texts[0], encoding="utf-8")
    if plain != path:
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    return path


def read(path, machine, **options):
    return list(documents(resolve(str(path), machine=machine, **options)))


def message(path, machine, **options):
    with pytest.raises(BadInput) as caught:
        read(path, machine, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet", "txt", "txt.gz"])
def test_files_of_each_kind(tmp_path, machine, suffix):
    path = write(tmp_path / f"corpus.{suffix}")
    assert read(path, machine) == (TEXTS[:1] if "txt" in suffix else TEXTS)


def test_a_column_of_another_name(tmp_path, machine):
    for name in ("corpus.jsonl", "corpus.parquet"):
        path = write(tmp_path / name, column="body")
        assert read(path, machine, column="body") == TEXTS
        located = resolve(str(path), machine=machine, column="body")
        assert located.source.column == "body"
        assert "(it has id, body): name the column of the text so" in message(path, machine)


def test_blank_and_missing_texts_are_left_out(tmp_path, machine):
    path = tmp_path / "corpus.jsonl"
    path.write_text('\ufeff{"text": "a"}\n\n{"text": " \\n"}\n{"text": null}\n{"text": "b"}', encoding="utf-8")
    assert read(path, machine) == ["a", "b"]
    plain = tmp_path / "corpus.txt"
    plain.write_text("\ufeffa", encoding="utf-8")
    assert read(plain, machine) == ["a"]


def test_a_long_text_file_is_cut_at_blank_lines(tmp_path, machine):
    paragraph = "wörd " * 1000 + "end.\n\n"
    text = paragraph * (2 * LONGEST // len(paragraph) + 10)
    path = tmp_path / "long.txt"
    path.write_text(text, encoding="utf-8")
    found = read(path, machine)
    assert "".join(found) == text
    assert len(found) == 3
    assert all(len(each) <= LONGEST and each.endswith("end.\n\n") for each in found)


def test_a_folder_is_its_training_split_if_it_has_one(tmp_path, machine):
    folder = tmp_path / "folder"
    write(folder / "validation.jsonl", ["held"])
    write(folder / "train.jsonl.gz", ["a"])
    assert read(folder, machine) == ["a"]
    write(folder / "train-00001-of-00002.parquet", ["c"])
    write(folder / "train-00000-of-00002.parquet", ["b"])
    assert read(folder, machine) == ["b", "c", "a"]


def test_a_folder_without_splits_is_all_its_files_by_name(tmp_path, machine):
    folder = tmp_path / "folder"
    for name, text in (("b.txt", "2"), ("a.jsonl", "1"), ("c/d.txt.gz", "3"), (".hidden.txt", "no"), ("x.pdf", "no")):
        write(folder / name, [text])
    assert read(folder, machine) == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("b.txt.xz", "b.txt"), ("B.TXT", "B.txt"), ("sub/b.jsonl.zst", "sub/b.jsonl"), ("b.parquet.gz", "b.parquet")],
)
def test_a_text_of_a_folder_that_is_not_read_is_named(tmp_path, machine, name, wanted):
    write(tmp_path / "folder" / "a.txt", ["1"])
    path = tmp_path / "folder" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")
    assert message(tmp_path / "folder", machine).endswith(f"has {name}, which is not read: give it as {wanted}")


def test_a_packed_training_split_is_not_replaced_by_another_split(tmp_path, machine):
    for name in ("wiki.train.tokens.gz", "wiki.valid.tokens"):
        write(tmp_path / "folder" / name, ["1"])
    assert "has wiki.train.tokens.gz, which is not read: give it as wiki.train.tokens" in message(
        tmp_path / "folder", machine
    )


def test_a_text_that_stands_packed_beside_itself_is_read_once(tmp_path, machine):
    for name in ("a.txt.gz", "b.txt.gz", "a.txt"):
        write(tmp_path / "folder" / name, [name[0]])
    assert read(tmp_path / "folder", machine) == ["a", "b"]


def test_what_is_about_a_text_is_left(tmp_path, machine):
    for name in ("a.txt", "README.txt", "sub/LICENSE.txt", "vocab.txt"):
        write(tmp_path / "folder" / name, [name])
    located = resolve(str(tmp_path / "folder"), machine=machine)
    assert [path.name for path in located.files] == ["a.txt"]
    assert [path.name for path in located.left] == ["README.txt", "LICENSE.txt", "vocab.txt"]
    (tmp_path / "folder" / "a.txt").unlink()
    assert len(read(tmp_path / "folder", machine)) == 3, "nothing else is there"


def test_names_are_looked_up_as_paths_first_and_then_in_the_mirror(tmp_path, machine, monkeypatch):
    write(tmp_path / "mirror" / "books" / "train.jsonl", ["mirrored"])
    assert read("books", machine) == ["mirrored"]
    assert resolve("books", machine=machine).source.name == "books"
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "books" / "train.jsonl", ["here"])
    assert read("books", machine) == ["here"]


def test_a_mirror_of_a_data_set_of_lines_is_joined_to_articles(machine):
    rows = ["", " = One = \n", "", " Text . \n", "", " = Two = \n", "", " More . \n"]
    write(machine.data / "wikitext-103" / "train.parquet", rows)
    assert read("wikitext-103", machine) == ["= One =\n\nText .\n", "= Two =\n\nMore ."]
    path = str(machine.data / "wikitext-103")
    assert read(path, machine) == read("wikitext-103", machine)
    joined, alone = (resolve(each, machine=machine).source for each in (path, f"{path}/train.parquet"))
    assert (joined.lines, alone.lines) == (True, False)
    assert joined == resolve("wikitext-103", machine=machine).source != dataclasses.replace(joined, lines=False)


def test_content_ids_follow_the_content_and_nothing_else(tmp_path, machine):
    def content(name):
        return resolve(str(tmp_path / name), machine=machine).source.content

    write(tmp_path / "one" / "a.jsonl")
    write(tmp_path / "two" / "b.jsonl")
    assert content("one") == content("two") == content("one/a.jsonl")
    assert content("one").startswith("sha256:")
    write(tmp_path / "two" / "c.jsonl", ["more"])
    both = content("two")
    assert both != content("one")
    (tmp_path / "two" / "b.jsonl").rename(tmp_path / "two" / "d.jsonl")
    assert content("two") != both  # the order of the documents is another


def test_remembered_hashes_are_used_only_while_the_file_is_unchanged(tmp_path, machine):
    import os

    path = write(tmp_path / "corpus.jsonl", ["old"])
    os.utime(path, (1_000_000_000, 1_000_000_000))
    before = resolve(str(path), machine=machine).source
    index = machine.cache / "hashes.json"
    remembered = json.loads(index.read_text())
    assert list(remembered) == [str(path.resolve())]
    index.write_text(json.dumps({str(path.resolve()): [*remembered[str(path.resolve())][:4], "f" * 64]}))
    assert resolve(str(path), machine=machine).source.content == f"sha256:{'f' * 64}"
    write(path, ["new"])  # of the same size, at another time
    assert resolve(str(path), machine=machine).source.content not in (before.content, f"sha256:{'f' * 64}")
    for damage in ("{", "[]", '{"a": 1}', json.dumps({str(path.resolve()): "x"})):
        index.write_text(damage)
        assert resolve(str(path), machine=machine).source.name == "corpus.jsonl"


def test_what_two_commands_remember_at_once_is_remembered(tmp_path):
    one, other = Index(tmp_path), Index(tmp_path)
    for index, name in ((one, "a"), (other, "b")):
        index.entries[name] = name
        index.save()
    assert Index(tmp_path).entries == {"a": "a", "b": "b"}


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path):
    (tmp_path / "cache").write_text("a file")
    machine = Machine(cache=tmp_path / "cache")
    assert read(write(tmp_path / "corpus.jsonl"), machine) == TEXTS


def test_microworld_needs_nothing(machine):
    from bertlab import synthetic as microworld

    located = resolve("microworld", machine=machine)
    assert located.source == Source(name="microworld", content=f"microworld:{microworld.VERSION}")
    assert list(documents(located)) == list(microworld.documents())


def test_microworld_has_as_many_documents_as_its_name_says(machine):
    from bertlab import synthetic as microworld

    few = resolve("microworld:30", machine=machine)
    assert list(documents(few)) == list(microworld.documents(30))
    assert few.source == Source(name="microworld:30", content=f"microworld:{microworld.VERSION}/30")
    assert resolve(f"microworld:{microworld.DOCUMENTS}", machine=machine) == resolve("microworld", machine=machine)
    for name in ("microworld:0", "microworld:-1", "microworld:1e3", "microworld:"):
        with pytest.raises(BadInput, match=f"unknown corpus '{name}'"):
            resolve(name, machine=machine)


@pytest.fixture
def pushed(hub, tmp_path):
    """Pushes a data set of files to a stand-in of the Hub."""

    def push(name="some-one/a.set", card="", **texts):
        files = {
            f"{path}.parquet": write(tmp_path / "push" / f"{path}.parquet", rows).read_bytes()
            for path, rows in texts.items()
        }
        return hub.push(f"datasets/{name}", {"README.md": card.encode(), **files})

    return push


def test_a_data_set_of_the_hub_is_known_by_the_files_that_are_read(pushed, hub, machine):
    first = pushed(train=TEXTS, validation=["held"])
    located = resolve("some-one/a.set", machine=machine)
    assert list(documents(located)) == TEXTS
    assert located.dataset.commit == first
    assert located.source.name == "some-one/a.set"
    asked = [path for path in hub.asked if path.endswith("validation.parquet")]
    assert not asked, "nothing is fetched that is not read"
    for card, train, validation, same in (
        ("another card", TEXTS, ["held"], True),
        ("another card", TEXTS, ["other"], True),
        ("another card", TEXTS[:2], ["held"], False),
    ):
        commit = pushed(card=card, train=train, validation=validation)
        hub.again()
        now = resolve("some-one/a.set", machine=machine)
        assert now.dataset.commit == commit != first
        assert (now.source == located.source) is same
    then = resolve(f"some-one/a.set@{first}", machine=machine)
    assert then == located, "a revision brings back what was read"
    assert list(documents(then)) == TEXTS


def test_short_names_and_configurations_of_the_hub(pushed, hub, machine, tmp_path):
    rows = ["", " = One = \n", "", " Text . \n", "", " = Two = \n", "", " More . \n"]
    card = (
        "---\nconfigs:\n"
        "- config_name: wikitext-2-raw-v1\n  default: true\n  data_files:\n  - {split: train, path: two.parquet}\n"
        "- config_name: wikitext-103-raw-v1\n  data_files:\n  - {split: train, path: many.parquet}\n"
        "  - {split: validation, path: two.parquet}\n---\n"
    )
    commit = pushed("Salesforce/wikitext", card, two=["other"], many=rows)
    for revision in ("", "@main", f"@{commit}"):
        located = resolve(f"wikitext-103{revision}", machine=machine)
        assert located.source.name == "Salesforce/wikitext:wikitext-103-raw-v1"
        assert list(documents(located)) == ["= One =\n\nText .\n", "= Two =\n\nMore ."]
    assert read("Salesforce/wikitext", machine) == ["other"]
    assert "wikitext-4" in message("Salesforce/wikitext:wikitext-4", machine)


def test_what_was_read_once_is_read_again_without_the_hub(pushed, hub, machine):
    pushed(train=TEXTS)
    pushed("some-one/unread", train=["unread"])
    commit = pushed("some-one/other", train=["other"])
    online = resolve("some-one/a.set", machine=machine)
    assert list(documents(online)) == TEXTS
    resolve("some-one/unread", machine=machine)
    hub.offline()
    hub.asked.clear()
    assert resolve("some-one/a.set", machine=machine) == online
    assert list(documents(online)) == TEXTS
    assert "nor in its cache: connect once, or give local files" in message("some-one/unread", machine)
    assert resolve(f"some-one/a.set@{online.dataset.commit}", machine=machine) == online
    for name in ("some-one/a.set@v1", "some-one/other", f"some-one/other@{commit}"):
        assert "connect, or give local files" in message(name, machine)
    assert not hub.asked


def test_a_commit_that_is_known_is_not_asked_for_again(pushed, hub, machine):
    commit = pushed(train=TEXTS)
    located = resolve(f"some-one/a.set@{commit}", machine=machine)
    hub.again()
    hub.asked.clear()
    assert resolve(f"some-one/a.set@{commit}", machine=machine) == located
    assert not hub.asked


def test_what_the_hub_cannot_give_is_said_in_one_line(pushed, hub, machine):
    pushed(train=TEXTS)
    hub.push("datasets/some-one/script", {"script.py": b"print(1)"})
    hub.push("datasets/some-one/numbers", {"train.jsonl": b'{"text": 3}\n'})
    for name, column, words in (
        ("some-one/a.set", "body", ("no column 'body'", "id, text")),
        ("some-one/a.set", "id", ("column 'id' is 0: give a column of texts",)),
        ("some-one/a.set:other", "text", ("cannot be read", "other")),
        ("some-one/a.set@v2", "text", ("no such revision",)),
        ("some-one/absent", "text", ("some-one/absent", "is not on the Hugging Face Hub", "spelling")),
        ("some-one/script", "text", ("some-one/script", "without running a script")),
        ("some-one/numbers", "text", ("give a column of texts",)),
    ):
        said = message(name, machine, column=column)
        assert all(word in said for word in words), said


def test_articles_begin_at_titles_behind_blank_rows():
    rows = [
        "",
        " = A = \n",
        "",
        " one \n",
        " = not a title = \n",
        "",
        " = = Heading = = \n",
        " two \n",
        "",
        " = B = \n",
    ]
    assert [article.split("\n") for article in of_records(rows, "article")] == [
        [""],
        ["= A =", "", "one", "= not a title =", "", "= = Heading = =", "two", ""],
        ["= B ="],
    ]
    assert list(of_records(["= A =\nwhole", "= B =\nwhole"], "article")) == ["= A =\nwhole", "= B =\nwhole"]


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.jsonl", b'{"text": "a"}\n{"text": \n', ("a.jsonl line 2", "JSON")),
        ("a.jsonl", b'{"text": "a"}\n{"text": "\xff"}\n', ("a.jsonl line 2", "utf-8")),
        ("a.jsonl", b'["text"]\n', ("a.jsonl line 1", "object")),
        ("a.jsonl", b'{"txet": "a", "id": 1}\n', ("a.jsonl, record 1", "'text'", "txet, id", "mean 'txet'")),
        ("a.jsonl", b'{"text": 3}\n', ("a.jsonl, record 1", "is 3: give a column of texts")),
        ("a.jsonl", b"[" * 100_000, ("a.jsonl line 1", "JSON")),
        ("a.txt", b"x" * 1_048_576 + b"\xc3\xa9\xc3", ("a.txt", "UTF-8")),
        ("a.txt", "English text.".encode("utf-16-le"), ("a.txt", "UTF-8", "UTF-16")),
        ("a.txt.gz", b"not gzip", ("a.txt.gz", "gzip")),
        ("a.jsonl.gz", gzip.compress(b'{"text": "a"}\n' * 999)[:-20], ("a.jsonl.gz", "gzip")),
        ("a.parquet", b"PAR1 not parquet", ("a.parquet",)),
        ("a.pdf", b"", ("a.pdf", ".jsonl", ".parquet")),
        ("folder/a.pdf", b"", ("folder", "no file")),
    ],
    ids=range(13),
)
def test_unusable_files(tmp_path, machine, name, data, words):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    said = message(tmp_path / name.split("/")[0], machine)
    assert all(word in said for word in words)


def test_a_parquet_file_without_the_column(tmp_path, machine):
    said = message(write(tmp_path / "a.parquet", column="texts"), machine)
    assert "id, texts" in said
    assert "mean 'texts'" in said


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("microwrld", ("microwrld", "'microworld'")),
        ("wikitext", ("'wikitext-103'",)),
        ("bokos", ("'books'",)),
        ("", ("corpus ''",)),
        ("./no/such", ("./no/such", "does not exist")),
        ("/no/such/folder", ("does not exist",)),
        ("folder/no.jsonl", ("folder/no.jsonl", "does not exist")),
    ],
)
def test_unknown_corpora(machine, name, words):
    write(machine.data / "books" / "train.jsonl")
    said = message(name, machine)
    assert all(word in said for word in words)


def test_a_signal_ends_a_download_after_a_file(monkeypatch):
    def fetch(repository, commit, path):
        fetched.append(path)
        monkeypatch.setattr(progress, "_received", [2])
        return path

    fetched: list[str] = []
    monkeypatch.setattr(hub, "_fetch", fetch)
    splits = {"train": {f"{number}.parquet": "git:0" for number in range(3)}}
    with pytest.raises(progress.Interrupted):
        hub.Dataset("a/b", "a/b", "0" * 40, splits, "parquet", {}, {}).open("train", "")
    assert fetched == ["0.parquet"]


CARD = (
    "---\nconfigs:\n- config_name: old\n  data_files:\n  - {split: train, path: x/part.jsonl}\n"
    "- config_name: new\n  data_files:\n  - {split: train, path: 'y/*.jsonl'}\n"
    "  - {split: test, path: x/part.jsonl}\n---\n"
)


def test_a_clone_is_read_as_its_card_says(tmp_path, machine):
    clone = tmp_path / "clone"
    for name, text in (("x/part.jsonl", "old"), ("y/a.jsonl", "one"), ("y/b.jsonl", "two"), ("z.jsonl", "other")):
        write(clone / name, [text])
    (clone / "README.md").write_text(CARD)
    assert "has several configurations (old, new): give one, as" in message(clone, machine)
    assert "has no configuration 'other': give one of old, new" in message(f"{clone}:other", machine)
    located = resolve(f"{clone}:new", machine=machine)
    assert (located.source.name, list(documents(located))) == ("clone:new", ["one", "two"])
    assert [path.name for path in located.left] == ["part.jsonl", "z.jsonl"]
    (clone / "README.md").write_text(CARD.replace("name: new\n", "name: new\n  default: true\n"))
    assert resolve(str(clone), machine=machine).source.content == located.source.content
    for no_card in ("configs:\n", "---\nconfigs: 3\n---\n", "---\nconfigs: [\n---\n", "no\nconfigs:\n"):
        (clone / "README.md").write_text(no_card)
        assert read(clone, machine) == ["old", "one", "two", "other"]


def test_a_clone_and_the_hub_give_the_same_text(hub, machine, tmp_path):
    titles = ("harbour", "train-robbery", "train-station")
    files = {f"{name}.txt": f"About a {name}.\n\nThe end.".encode() for name in titles}
    hub.push("datasets/some-one/titles", files)
    for name, data in files.items():
        (tmp_path / "clone" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "clone" / name).write_bytes(data)
    there, here = (resolve(name, machine=machine) for name in ("some-one/titles", str(tmp_path / "clone")))
    assert "say what a document is" in message("some-one/titles", machine)
    for unit, number in (("file", 3), ("line", 6), ("blank-line", 6)):
        assert list(documents(there, unit)) == list(documents(here, unit))
        assert len(list(documents(here, unit))) == number


def test_units_that_a_type_of_file_does_not_have_are_refused(tmp_path, machine):
    for name, unit, words in (
        ("a.jsonl", "file", "corpus.documents is file, and corpus 'a.jsonl' has records: set it to record"),
        ("a.txt", "record", "corpus 'a.txt' has text files: set it to file, line, blank-line, article or babylm"),
    ):
        located = resolve(str(write(tmp_path / name)), machine=machine)
        with pytest.raises(BadInput, match=words):
            list(documents(located, unit))


@pytest.mark.parametrize("name", ["childes.train", "childes.dev", "wiki.train.tokens", "wiki.valid.raw", "x.valid"])
def test_text_files_of_babylm_and_wikitext(tmp_path, machine, name):
    write(tmp_path / "folder" / name)
    write(tmp_path / "folder" / ".cache" / "a.txt", ["hidden"])
    assert read(tmp_path / "folder", machine) == read(tmp_path / "folder" / name, machine) == TEXTS[:1]
