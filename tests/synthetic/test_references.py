"""Documents for coreference resolution: what words and positions alone say about their clusters."""

from collections import Counter

import pytest

from bertlab.synthetic.world import lexicon

PRONOUNS = {"he", "him", "his", "she", "her", "it"}


@pytest.fixture
def documents(rows):
    """The mentions of each document, in order, with its clusters: (first word, text, cluster)."""

    def found(split):
        for row in rows("coreference-resolution", split):
            words = [word for sentence in row["sentences"] for word in sentence]
            mentions = [
                (first, " ".join(words[first : last + 1]).lower(), number)
                for number, cluster in enumerate(row["clusters"])
                for first, last in cluster
            ]
            yield row, sorted(mentions)

    return found


def test_mentions_are_names_pronouns_and_descriptions(documents):
    names = {name.lower() for name in lexicon().names}
    seen = Counter()
    for row, mentions in documents("validation"):
        assert 2 <= len(row["clusters"]) <= 3
        assert all(len(cluster) > 1 for cluster in row["clusters"])
        for _, text, _ in mentions:
            words = text.split()
            kind = "pronoun" if text in PRONOUNS else "description" if words[0] in ("the", "a", "an") else "name"
            assert kind != "name" or names.issuperset(words)
            seen[kind] += 1
    assert min(seen.values()) > 0.2 * seen.total()


def test_the_same_pronoun_or_the_nearest_mention_is_often_another(documents):
    same, near = Counter(), Counter()
    for _, mentions in documents("validation"):
        for at, (_, text, cluster) in enumerate(mentions):
            if text in PRONOUNS and at:
                near[mentions[at - 1][2] == cluster] += 1
                before = [each[2] for each in mentions[:at] if each[1] == text and text != "it"]
                same.update([before[-1] == cluster] if before else [])
    assert near[False] > 0.3 * near.total()
    assert same[False] > 0.2 * same.total()
