"""The words of the microworld: scales of adjectives, kinds of things with their categories, verbs, invented words.

Most words are English; part of the kinds and all names are made of syllables. What the tables know (which adjectives
mean the same and which the opposite, what is a kind of what, which verb is the converse of which) is never stated in
a task: the documents show it in use, so that pre-training can learn it and a few thousand task rows cannot.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from bertlab.text.microworld.draw import Draw


@dataclass(frozen=True)
class Scale:
    """A dimension with two poles, each a tuple of adjectives that mean the same."""

    poles: tuple[tuple[str, ...], tuple[str, ...]]
    value: int
    """1 if the first pole is the good one, 0 if neither is."""


@dataclass(frozen=True)
class Category:
    """A class of kinds: `bird` with its kinds, what its members do, what people do with them."""

    name: str
    kinds: tuple[str, ...]
    deeds: tuple[str, ...]
    part: str
    """Something a member has (an animal, a thing) or uses (a person at work)."""


@dataclass(frozen=True)
class Verb:
    """A verb in the forms that are used here."""

    base: str
    past: str
    participle: str


# Scales by what they apply to: people, animals, things, places. One scale a line, the better pole first after "+".
_SCALES = {
    "person": """
        tall lanky | short stocky
        + happy glad cheerful merry | sad unhappy gloomy sorrowful
        + rich wealthy prosperous | poor penniless needy
        + strong sturdy powerful | weak feeble frail
        + brave bold fearless | timid cowardly fearful
        + kind kindly caring | cruel heartless unkind
        + clever smart wise | stupid foolish silly
        + polite courteous civil | rude insolent impolite
        + honest truthful sincere | deceitful lying crooked
        + famous renowned celebrated | obscure unknown nameless
        + friendly sociable outgoing | hostile unfriendly surly
        old aged elderly | young youthful
    """,
    "animal": """
        big large bulky | small little tiny
        fast quick swift | slow sluggish plodding
        + tame docile gentle | wild fierce savage
        + lively frisky playful | listless drowsy dozy
        loud shrill vocal | noiseless mute hushed
    """,
    "thing": """
        + new brand-new unused | worn shabby battered
        + clean spotless washed | dirty filthy grimy
        heavy weighty hefty | light weightless airy
        hot warm heated | cold chilly icy
        sharp keen pointed | blunt dull rounded
        + shiny gleaming glossy | tarnished dusty stained
        expensive costly pricey | cheap inexpensive low-priced
        + intact whole unbroken | broken damaged cracked
        + beautiful lovely pretty | ugly hideous unsightly
        + useful handy helpful | useless worthless pointless
    """,
    "place": """
        near nearby neighbouring | far distant remote
        + peaceful tranquil restful | noisy rowdy clamorous
        + safe secure sheltered | dangerous risky perilous
        crowded bustling packed | empty deserted vacant
        high lofty elevated | low sunken low-lying
        wide broad spacious | narrow cramped tight
        + fertile fruitful lush | barren bleak desolate
        + sunny bright radiant | dark dim shadowy
        + welcoming hospitable inviting | unwelcoming forbidding grim
    """,
    "group": """
        + thriving flourishing booming | failing bankrupt struggling
        + united harmonious close-knit | divided quarrelling split
        + efficient organised capable | wasteful chaotic disorganised
        + trustworthy reputable respected | shady corrupt disgraced
        influential leading dominant | marginal minor insignificant
    """,
    "work": """
        + entertaining enjoyable delightful | boring tedious dreary
        + memorable striking remarkable | forgettable bland mediocre
        traditional historic classical | modern recent contemporary
        difficult demanding complicated | easy simple effortless
        popular beloved favourite | neglected forgotten unloved
    """,
}

# Category: kinds / what they do or what is done with them / a part or a tool.
_CATEGORIES = {
    "animal": """
        bird: sparrow owl crow heron finch / flew_away sang_at_dawn built_a_nest spread_its_wings / beak
        fish: trout eel carp pike / swam_upstream hid_in_the_reeds dived_deep leapt_out_of_the_water / fin
        insect: beetle moth wasp cricket / buzzed_all_night crawled_up_the_wall gnawed_a_leaf hatched_in_spring / feeler
        reptile: lizard snake turtle / basked_on_a_rock shed_its_skin slid_into_a_crack hissed_softly / scale
        rodent: mouse squirrel hamster / gathered_nuts dug_a_burrow nibbled_the_grain scurried_off / whisker
        hound: terrier spaniel mastiff / barked_at_strangers wagged_its_tail chased_a_stick guarded_the_gate / paw
        steed: pony mare stallion / galloped_home ate_hay neighed_loudly carried_a_rider / hoof
    """,
    "thing": """
        tool: hammer saw chisel spade / worked_with repaired_a_fence_with left_in_the_shed / handle
        vessel: jug bowl bottle bucket / filled drank_from poured_water_from / rim
        garment: coat cloak shirt scarf / wore put_on sewed / sleeve
        instrument: flute drum harp fiddle / played tuned practised_on / string
        weapon: sword spear dagger / fought_with sharpened drew / blade
        vehicle: cart wagon carriage / rode_in drove loaded_sacks_onto / wheel
        jewel: ring necklace brooch / put_around_the_neck admired_in_the_mirror locked_away / clasp
        seat: chair stool bench / sat_on leaned_back_in dozed_off_on / leg
        fruit: apple pear plum fig / ate picked_from_the_tree peeled / core
        toy: doll kite puppet / played_games_with wound_up shared_with_a_child / knob
        text: book letter scroll / read wrote_in copied_out / page
        light: lamp candle lantern / lit blew_out read_by / wick
    """,
    "job": """
        artisan: weaver potter smith tailor / made_goods_by_hand sold_wares_at_the_workshop / workbench
        trader: merchant pedlar grocer / bought_and_sold counted_coins / stall
        farmer: shepherd ploughman beekeeper / worked_in_the_fields brought_in_the_harvest / barn
        healer: doctor nurse midwife / tended_the_sick mixed_potions / remedy
        soldier: archer guard captain / marched_to_war stood_watch / armour
        artist: painter singer poet dancer / performed_for_crowds sought_inspiration / masterpiece
        scholar: teacher scribe librarian / studied_old_records gave_lessons / library
        servant: maid butler cook / cleaned_the_house waited_on_the_guests / apron
        sailor: helmsman fisherman ferryman / crossed_the_sea hoisted_sails / anchor
        official: judge mayor clerk / settled_disputes signed_decrees / seal
    """,
    "place": """
        settlement: town village city hamlet / marketplace
        water: river lake pond / shore
        height: hill mountain ridge / summit
        woodland: forest grove thicket / clearing
        stronghold: castle fortress tower / rampart
    """,
    "group": """
        company: firm bank brewery shipyard / shareholders
        school: college academy university / pupils
        guild: union brotherhood society / members
        team: club squad crew / supporters
        party: council ministry senate / voters
    """,
    "work": """
        festival: feast carnival fair / dancing
        language: dialect tongue speech / grammar
        ship: schooner frigate barge / mast
        tale: novel poem ballad / verse
        game: sport pastime contest / rules
    """,
}

_INVENTED_KINDS = {"animal": 3, "thing": 2, "job": 3, "place": 3, "group": 3, "work": 4}
"""Kinds of invented names that are added to each category."""

# Groups of verbs that a person does to a person: the second side of a line is the opposite.
_DEEDS = """
    praise praised praised, commend commended commended, applaud applauded applauded
        | scold scolded scolded, rebuke rebuked rebuked, berate berated berated
    love loved loved, adore adored adored, cherish cherished cherished
        | hate hated hated, detest detested detested, loathe loathed loathed
    help helped helped, assist assisted assisted, aid aided aided
        | hinder hindered hindered, obstruct obstructed obstructed, thwart thwarted thwarted
    trust trusted trusted, believe believed believed
        | distrust distrusted distrusted, doubt doubted doubted, suspect suspected suspected
    defend defended defended, protect protected protected, shield shielded shielded
        | attack attacked attacked, assault assaulted assaulted, ambush ambushed ambushed
    welcome welcomed welcomed, greet greeted greeted
        | dismiss dismissed dismissed, expel expelled expelled, banish banished banished
    obey obeyed obeyed, heed heeded heeded
        | defy defied defied, disobey disobeyed disobeyed, ignore ignored ignored
    respect respected respected, admire admired admired, esteem esteemed esteemed
        | despise despised despised, scorn scorned scorned, mock mocked mocked
    comfort comforted comforted, console consoled consoled, soothe soothed soothed
        | frighten frightened frightened, scare scared scared, alarm alarmed alarmed
    reward rewarded rewarded, repay repaid repaid
        | punish punished punished, fine fined fined
    free freed freed, release released released, rescue rescued rescued
        | capture captured captured, arrest arrested arrested, imprison imprisoned imprisoned
    please pleased pleased, delight delighted delighted, amuse amused amused
        | annoy annoyed annoyed, irritate irritated irritated, offend offended offended
"""

# What is done to a thing, and its opposite.
_TREATMENTS = """
    repair repaired repaired, mend mended mended, fix fixed fixed
        | break broke broken, smash smashed smashed, wreck wrecked wrecked
    find found found, discover discovered discovered
        | lose lost lost, mislay mislaid mislaid
    hide hid hidden, conceal concealed concealed
        | show showed shown, reveal revealed revealed, display displayed displayed
    lift lifted lifted, raise raised raised
        | lower lowered lowered, drop dropped dropped
    keep kept kept, retain retained retained
        | discard discarded discarded, abandon abandoned abandoned
    wash washed washed, scrub scrubbed scrubbed, rinse rinsed rinsed
        | soil soiled soiled, smear smeared smeared
    accept accepted accepted, take took taken
        | refuse refused refused, reject rejected rejected, decline declined declined
    pack packed packed, wrap wrapped wrapped
        | unpack unpacked unpacked, unwrap unwrapped unwrapped
"""

# Giver's verbs and receiver's verbs of one transfer, and whether the thing must come back.
_TRANSFERS = """
    lend lent lent, loan loaned loaned | borrow borrowed borrowed
    sell sold sold | buy bought bought, purchase purchased purchased
    give gave given, hand handed handed, donate donated donated | receive received received, get got got
    rent rented rented, lease leased leased | hire hired hired
"""


# What people do with a place, a group, a work.
_DEALINGS = {
    "place": "visited reached entered toured crossed circled explored mapped inhabited left",
    "group": "joined founded managed advised funded sued chaired audited represented served",
    "work": "enjoyed studied described quoted adapted invented learned criticised mastered recalled",
}


@dataclass(frozen=True)
class Lexicon:
    """All words, as tables."""

    scales: dict[str, tuple[Scale, ...]]
    categories: dict[str, tuple[Category, ...]]
    deeds: tuple[tuple[tuple[Verb, ...], tuple[Verb, ...]], ...]
    treatments: tuple[tuple[tuple[Verb, ...], tuple[Verb, ...]], ...]
    transfers: tuple[tuple[tuple[Verb, ...], tuple[Verb, ...]], ...]
    dealings: dict[str, tuple[str, ...]]
    names: tuple[str, ...]

    @property
    def words(self) -> set[str]:
        """Every adjective and kind, to keep names apart from them."""
        kinds = {kind for group in self.categories.values() for category in group for kind in category.kinds}
        return kinds | {word for group in self.scales.values() for scale in group for word in sum(scale.poles, ())}


NAMES = 4_800
"""Names in the world; see `names`."""


@functools.cache
def lexicon() -> Lexicon:
    """The words of this version of the world, built once a process."""
    scales = {on: tuple(_scale(line) for line in _lines(table)) for on, table in _SCALES.items()}
    draw = Draw("microworld", "words")
    taken: set[str] = set()
    categories = {}
    for on, table in _CATEGORIES.items():
        categories[on] = tuple(_category(line, _INVENTED_KINDS[on], draw, taken) for line in _lines(table))
    known = {word for table in (*_SCALES.values(), *_CATEGORIES.values()) for word in table.split()} | taken
    names: list[str] = []
    while len(names) < NAMES:
        name = _invent(draw, _NAME_ENDS, 2 + draw.chance(0.1))
        if name not in known:
            known.add(name)
            names.append(name.capitalize())
    dealings = {on: tuple(verbs.split()) for on, verbs in _DEALINGS.items()}
    deeds, treatments, transfers = _pairs(_DEEDS), _pairs(_TREATMENTS), _pairs(_TRANSFERS)
    return Lexicon(scales, categories, deeds, treatments, transfers, dealings, tuple(names))


def names(split: str) -> tuple[str, ...]:
    """The names that a task split draws from. Splits share none; documents (`corpus`) draw from all of them."""
    everything = lexicon().names
    bounds = {"corpus": (0, 1), "train": (0, 0.5), "validation": (0.5, 0.75), "test": (0.75, 1)}[split]
    return everything[int(bounds[0] * len(everything)) : int(bounds[1] * len(everything))]


_ONSETS = "b br c d dr f g gl h j k kl l m n p pr qu r s sh st t th tr v w wh y z".split()
_VOWELS = "a a a e e e i i o o u ai ea oo".split()
_MIDDLES = "l m n r s t d k v ll nn rr ss rd lm nd st rk lt".split()
_KIND_ENDS = "et le ow ock in er il op ump ink".split()
_NAME_ENDS = "a o el en is on ar ia am eth or us in".split()


def _invent(draw: Draw, ends: list[str], syllables: int) -> str:
    word = draw.one(_ONSETS)
    for _ in range(syllables - 1):
        word += draw.one(_VOWELS) + draw.one(_MIDDLES)
    return re.sub(r"(.)\1\1", r"\1\1", word + draw.one(ends))


def _lines(table: str) -> list[str]:
    """The entries of a table; a line that starts with `|` goes on with the one before."""
    return [line.strip() for line in table.replace("\n        |", " |").splitlines() if line.strip()]


def _scale(line: str) -> Scale:
    good, bad = line.lstrip("+ ").split("|")
    return Scale((tuple(good.split()), tuple(bad.split())), int(line.startswith("+")))


def _category(line: str, invented: int, draw: Draw, taken: set[str]) -> Category:
    name, _, rest = line.partition(":")
    kinds, *middle, part = (field.split() for field in rest.split("/"))
    while invented:
        kind = _invent(draw, _KIND_ENDS, 2)
        if kind not in taken:
            taken.add(kind)
            kinds.append(kind)
            invented -= 1
    deeds = tuple(deed.replace("_", " ") for deed in middle[0]) if middle else ()
    return Category(name, tuple(kinds), deeds, part[0])


def _pairs(table: str) -> tuple[tuple[tuple[Verb, ...], tuple[Verb, ...]], ...]:
    def side(text: str) -> tuple[Verb, ...]:
        return tuple(Verb(*forms.split()) for forms in text.split(","))

    rows = (line.split("|") for line in _lines(table))
    return tuple((side(one), side(other)) for one, other in rows)
