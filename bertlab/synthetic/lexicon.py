"""The words of the synthetic world: scales of adjectives, kinds of things with their categories, verbs, invented words.

Most words are English; part of the kinds and all names are made of syllables. What the tables know (which adjectives
mean the same and which the opposite, what is a kind of what, which verb is the converse of which) is never stated in
a task: the documents show it in use, so that pre-training can learn it and a few thousand task rows cannot.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from bertlab.synthetic.draw import Draw


@dataclass(frozen=True)
class Scale:
    """A dimension with two poles, each a tuple of adjectives that mean the same."""

    poles: tuple[tuple[str, ...], tuple[str, ...]]
    effects: tuple[str, str]
    """The effect of each pole, as a verb phrase."""
    value: int
    """1 if the first pole is good, 0 if the scale is neutral."""


@dataclass(frozen=True)
class Category:
    """A class of kinds: `bird` with its kinds, and what its members do or what people do with them."""

    name: str
    kinds: tuple[str, ...]
    deeds: tuple[str, ...]
    part: str
    """A part of a member (an animal, a thing) or a tool (of a person)."""


@dataclass(frozen=True)
class Verb:
    """A verb with its base form, past tense and participle."""

    base: str
    past: str
    participle: str


Verbs = tuple[tuple[Verb, ...], tuple[Verb, ...]]
"""Two groups of verbs that mean the same within a group."""


@dataclass(frozen=True)
class Deed:
    """Verbs for a deed (side 0) and its opposite (side 1)."""

    sides: Verbs
    effects: tuple[str, str]
    """The reaction of its object, for each side."""


# Scales by table, one per line: the words of each pole > its effect; a "+" if the first pole is good.
_SCALES = {
    "person": """
        + happy glad cheerful merry > laughed_all_day | sad unhappy gloomy sorrowful > wept_at_night
        + rich wealthy prosperous > dressed_in_silk | poor penniless needy > begged_for_bread
        + strong sturdy powerful > carried_heavy_sacks | weak feeble frail > leaned_on_a_stick
        + brave bold fearless > faced_every_danger | timid cowardly fearful > hid_under_the_bed
        + kind kindly caring > fed_the_orphans | cruel heartless unkind > kicked_the_dogs
        + clever smart wise > solved_every_riddle | stupid foolish silly > forgot_the_answers
        + polite courteous civil > bowed_to_guests | rude insolent impolite > swore_at_guests
        + friendly sociable outgoing > shook_hands_with_neighbours | hostile unfriendly surly > slammed_the_door
        old aged elderly > had_grey_hair | young youthful > went_to_lessons
    """,
    "animal": """
        big large bulky > needed_a_wide_cage | small little tiny > fitted_in_a_pocket
        fast quick swift > won_every_race | slow sluggish plodding > came_in_last
        + tame docile gentle > ate_from_the_hand | wild fierce savage > bit_the_keeper
        + lively frisky playful > jumped_about | listless drowsy dozy > lay_on_the_rug
    """,
    "thing": """
        + new brand-new unused > came_fresh_from_the_shop | worn shabby battered > was_falling_apart
        + clean spotless washed > smelled_of_soap | dirty filthy grimy > was_covered_in_mud
        heavy weighty hefty > took_two_men_to_lift | light weightless airy > floated_like_a_feather
        sharp keen pointed > sliced_through_leather | blunt dull rounded > sliced_nothing_at_all
        expensive costly pricey > cost_forty_coins | cheap inexpensive low-priced > cost_one_penny
        + beautiful lovely pretty > drew_admiring_looks | ugly hideous unsightly > made_people_frown
        + useful handy helpful > saved_much_time | useless worthless pointless > gathered_dust_in_a_corner
    """,
    "place": """
        + peaceful tranquil restful > let_everyone_sleep | noisy rowdy clamorous > kept_everyone_awake
        + safe secure sheltered > had_watchful_sentries | dangerous risky perilous > was_full_of_robbers
        crowded bustling packed > had_queues_at_each_corner | empty deserted vacant > had_not_a_soul_in_sight
        wide broad spacious > left_room_for_many | narrow cramped tight > left_no_room_to_turn
        + fertile fruitful lush > grew_rich_crops | barren bleak desolate > grew_nothing_but_thorns
        + sunny bright radiant > glowed_from_morning_on | dark dim shadowy > lay_in_the_shade
    """,
    "group": """
        + thriving flourishing booming > made_a_big_profit | failing bankrupt struggling > ran_out_of_money
        + united harmonious close-knit > spoke_with_one_voice | divided quarrelling split > broke_into_factions
        + efficient organised capable > met_each_deadline | wasteful chaotic disorganised > mislaid_the_papers
        + trustworthy reputable respected > kept_its_promises | shady corrupt disgraced > took_bribes
        influential leading dominant > shaped_the_country | marginal minor insignificant > went_unheard
    """,
    "work": """
        + entertaining enjoyable delightful > thrilled_the_crowd | boring tedious dreary > sent_people_to_sleep
        traditional historic classical > went_back_for_centuries | modern recent contemporary > began_just_last_year
        difficult demanding complicated > took_years_to_master | easy simple effortless > took_an_hour_to_master
        popular beloved favourite > drew_thousands | neglected forgotten unloved > drew_no_one
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
        settlement: town village city hamlet / drew_many_settlers held_a_market had_cobbled_streets / marketplace
        water: river lake pond / froze_over flooded_the_meadows reflected_the_moon / shore
        height: hill mountain ridge / towered_over_the_plain lay_under_snow had_steep_slopes / summit
        woodland: forest grove thicket / gave_shade burned_down had_mossy_paths / clearing
        stronghold: castle fortress tower / withstood_a_siege stood_in_ruins had_high_walls / rampart
    """,
    "group": """
        company: firm bank brewery shipyard / paid_high_wages opened_a_branch hired_new_staff / shareholders
        school: college academy university / taught_many_subjects offered_a_course held_an_exam / pupils
        guild: union brotherhood society / called_a_strike elected_a_leader collected_fees / members
        team: club squad crew / won_the_cup trained_hard lost_the_match / supporters
        party: council ministry senate / passed_a_law raised_taxes debated_for_hours / voters
    """,
    "work": """
        festival: feast carnival fair / lasted_three_days began_with_music ended_with_fireworks / dancing
        language: dialect tongue speech / sounded_harsh had_long_words died_out / grammar
        ship: schooner frigate barge / set_sail ran_aground carried_cargo / mast
        tale: novel poem ballad / ended_in_tears was_printed_twice had_nine_chapters / verse
        game: sport pastime contest / took_two_players was_played_with_dice needed_a_board / rules
    """,
}

_INVENTED_KINDS = {"animal": 3, "thing": 2, "job": 3, "place": 3, "group": 3, "work": 4}
"""The number of kinds with invented names in each category."""

# Deeds of a person to a person, one per line, with their opposites.
_DEEDS = """
    praise praised praised, commend commended commended, applaud applauded applauded > smiled with pride
        | scold scolded scolded, rebuke rebuked rebuked, berate berated berated > blushed with shame
    love loved loved, adore adored adored, cherish cherished cherished > was sent roses
        | hate hated hated, detest detested detested, loathe loathed loathed > was sent insults
    help helped helped, assist assisted assisted, aid aided aided > finished the work early
        | hinder hindered hindered, obstruct obstructed obstructed, thwart thwarted thwarted > gave up the work
    trust trusted trusted, believe believed believed > was told the secret
        | distrust distrusted distrusted, doubt doubted doubted, suspect suspected suspected > was watched closely
    defend defended defended, protect protected protected, shield shielded shielded > came to no harm
        | attack attacked attacked, assault assaulted assaulted, ambush ambushed ambushed > had many bruises
    welcome welcomed welcomed, greet greeted greeted > was given a seat
        | dismiss dismissed dismissed, expel expelled expelled, banish banished banished > was shown the door
    respect respected respected, admire admired admired, esteem esteemed esteemed > was asked for advice
        | despise despised despised, scorn scorned scorned, mock mocked mocked > was laughed at
    comfort comforted comforted, console consoled consoled, soothe soothed soothed > slept well again
        | frighten frightened frightened, scare scared scared, alarm alarmed alarmed > trembled all over
    reward rewarded rewarded, repay repaid repaid > got a gold coin
        | punish punished punished, fine fined fined > paid three coins
    free freed freed, release released released, rescue rescued rescued > ran home at last
        | capture captured captured, arrest arrested arrested, imprison imprisoned imprisoned > sat in a cell
"""

# Deeds to a thing, with their opposites.
_TREATMENTS = """
    repair repaired repaired, mend mended mended, fix fixed fixed > worked well again
        | break broke broken, smash smashed smashed, wreck wrecked wrecked > lay in pieces
    find found found, discover discovered discovered > was back at last
        | lose lost lost, mislay mislaid mislaid > was gone for good
    hide hid hidden, conceal concealed concealed > stayed out of sight
        | show showed shown, reveal revealed revealed, display displayed displayed > stood in plain view
    lift lifted lifted, raise raised raised > rose to the shelf
        | lower lowered lowered, drop dropped dropped > sank to the floor
    keep kept kept, retain retained retained > stayed in the house
        | discard discarded discarded, abandon abandoned abandoned > lay on the rubbish heap
    wash washed washed, scrub scrubbed scrubbed, rinse rinsed rinsed > dripped with soapy water
        | soil soiled soiled, smear smeared smeared > had black smears
"""

# The giver's and the receiver's verbs of a transfer.
_TRANSFERS = """
    lend lent lent, loan loaned loaned | borrow borrowed borrowed
    sell sold sold | buy bought bought, purchase purchased purchased
    give gave given, hand handed handed, donate donated donated | receive received received, get got got
    rent rented rented, lease leased leased | hire hired hired
"""


# Relations of people to a place, a group, a work.
_DEALINGS = {
    "place": "visited reached entered toured crossed circled explored mapped inhabited left",
    "group": "joined founded managed advised funded sued chaired audited represented served",
    "work": "enjoyed studied described quoted adapted invented learned criticised mastered recalled",
}


# Words for a claim that is true, open or false: verbs before "that", and nouns.
_CLAIMS = (
    (
        "knew noticed realised observed witnessed proved confirmed recognised verified perceived acknowledged ensured",
        "fact truth certainty finding insight",
    ),
    (
        "hoped guessed dreamed claimed feared supposed assumed expected wished predicted reckoned presumed",
        "rumour guess hope theory opinion",
    ),
    (
        "denied refuted disproved pretended feigned fibbed lied misjudged",
        "lie myth error hoax delusion",
    ),
)
_CLAIM_VERBS, _CLAIM_NOUNS = 30, 12
"""The number of verbs and nouns of each status, invented words included."""


@dataclass(frozen=True)
class Claim:
    """Words that give a claim one status: what someone `knew` is true."""

    verbs: tuple[str, ...]
    nouns: tuple[str, ...]
    manners: tuple[str, ...]
    """Adverbs for the verbs."""
    qualities: tuple[str, ...]
    """Adjectives for the nouns."""
    objects: tuple[str, ...]
    """Objects of the verbs in sentences without a claim."""
    places: tuple[str, ...]
    """Predicates of the nouns."""
    tails: tuple[str, ...]
    """Clauses after the claim that state its status."""


_MANNERS = (
    ("rightly correctly plainly surely duly", "plain proven solid settled sure"),
    ("vaguely idly dimly quietly faintly", "mere vague idle faint bare"),
    ("wrongly falsely wickedly slyly stubbornly", "utter sheer gross downright blatant"),
)
_OBJECTS = (
    ("the answer", "the proof", "the result", "the reason", "the cause"),
    ("about tomorrow", "about luck", "about the weather", "about rain", "about the harvest"),
    ("to the judge", "to the guards", "to the court", "to the sheriff", "to the jury"),
)
_PLACES = (
    ("stood in an almanac", "was carved in stone", "was taught to pupils", "was written in ink"),
    ("went round the tavern", "was whispered in the streets", "came up over dinner", "was heard at the well"),
    ("came from a rascal", "fooled a few people", "was spread by cheats", "served some swindler"),
)
_TAILS = (
    ("and it was true", "and rightly so", "for all could see it", "and that was so", "and no one denies it"),
    (
        "but no one could tell",
        "and it may be so",
        "yet it was not certain",
        "though who could say",
        "and perhaps it was",
    ),
    ("but it was not so", "which was wrong", "though it was untrue", "yet it never was", "but far from it"),
)


@dataclass(frozen=True)
class Lexicon:
    """All words, as tables."""

    scales: dict[str, tuple[Scale, ...]]
    categories: dict[str, tuple[Category, ...]]
    deeds: tuple[Deed, ...]
    treatments: tuple[Deed, ...]
    transfers: tuple[Verbs, ...]
    dealings: dict[str, tuple[str, ...]]
    claims: tuple[Claim, ...]
    """Words for what is true (0), open (1) and false (2)."""
    names: tuple[str, ...]

    @property
    def words(self) -> set[str]:
        """Every adjective and kind, none of which is a name."""
        kinds = {kind for group in self.categories.values() for category in group for kind in category.kinds}
        return kinds | {word for group in self.scales.values() for scale in group for word in sum(scale.poles, ())}


NAMES = 4_800
"""The number of names; see `names`."""


@functools.cache
def lexicon() -> Lexicon:
    """The words of the synthetic world, built once per process."""
    scales = {on: tuple(_scale(line) for line in _lines(table)) for on, table in _SCALES.items()}
    draw = Draw("microworld", "words")
    tables = (*_SCALES.values(), *_CATEGORIES.values(), _DEEDS, _TREATMENTS, _TRANSFERS, *_DEALINGS.values())
    claimed = (text for pair in _CLAIMS for text in pair)
    taken = set(re.findall(r"[a-z-]+", " ".join((*tables, *claimed))))
    categories = {}
    for on, table in _CATEGORIES.items():
        categories[on] = tuple(_category(line, _INVENTED_KINDS[on], draw, taken) for line in _lines(table))
    claims = []
    for (verbs, nouns), (manners, qualities), *rest in zip(_CLAIMS, _MANNERS, _OBJECTS, _PLACES, _TAILS, strict=True):
        claims.append(
            Claim(
                _filled(verbs, _CLAIM_VERBS, ["oned", "ilked", "umbed"], draw, taken),
                _filled(nouns, _CLAIM_NOUNS, _KIND_ENDS, draw, taken),
                tuple(manners.split()),
                tuple(qualities.split()),
                *rest,
            )
        )
    known = taken
    names: list[str] = []
    while len(names) < NAMES:
        name = _invent(draw, _NAME_ENDS, 2 + draw.chance(0.1))
        if name not in known:
            known.add(name)
            names.append(name.capitalize())
    dealings = {on: tuple(verbs.split()) for on, verbs in _DEALINGS.items()}
    deeds, treatments, transfers = _opposites(_DEEDS), _opposites(_TREATMENTS), _converses(_TRANSFERS)
    return Lexicon(scales, categories, deeds, treatments, transfers, dealings, tuple(claims), tuple(names))


def names(split: str) -> tuple[str, ...]:
    """The names of a task's split. Splits share no names; documents (`corpus`) use all of them."""
    everything = lexicon().names
    bounds = {"corpus": (0, 1), "train": (0, 0.5), "validation": (0.5, 0.75), "test": (0.75, 1)}[split]
    return everything[int(bounds[0] * len(everything)) : int(bounds[1] * len(everything))]


_ONSETS = [
    "b",
    "br",
    "c",
    "d",
    "dr",
    "f",
    "g",
    "gl",
    "h",
    "j",
    "k",
    "kl",
    "l",
    "m",
    "n",
    "p",
    "pr",
    "qu",
    "r",
    "s",
    "sh",
    "st",
    "t",
    "th",
    "tr",
    "v",
    "w",
    "wh",
    "y",
    "z",
]
_VOWELS = ["a", "a", "a", "e", "e", "e", "i", "i", "o", "o", "u", "ai", "ea", "oo"]
_MIDDLES = ["l", "m", "n", "r", "s", "t", "d", "k", "v", "ll", "nn", "rr", "ss", "rd", "lm", "nd", "st", "rk", "lt"]
_KIND_ENDS = ["et", "le", "ow", "ock", "in", "er", "il", "op", "ump", "ink"]
_NAME_ENDS = ["a", "o", "el", "en", "is", "on", "ar", "ia", "am", "eth", "or", "us", "in"]


def _invent(draw: Draw, ends: list[str], syllables: int) -> str:
    word = draw.one(_ONSETS)
    for _ in range(syllables - 1):
        word += draw.one(_VOWELS) + draw.one(_MIDDLES)
    return re.sub(r"(.)\1\1", r"\1\1", word + draw.one(ends))


def _lines(table: str) -> list[str]:
    """The entries of a table; a line that starts with `|` continues the previous one."""
    return [line.strip() for line in table.replace("\n        |", " |").splitlines() if line.strip()]


def _scale(line: str) -> Scale:
    (one, effect), (other, reverse) = (side.split(" > ") for side in line.lstrip("+ ").split(" | "))
    effects = (effect.replace("_", " ").strip(), reverse.replace("_", " ").strip())
    return Scale((tuple(one.split()), tuple(other.split())), effects, int(line.startswith("+")))


def _category(line: str, invented: int, draw: Draw, taken: set[str]) -> Category:
    name, _, rest = line.partition(":")
    kinds, *middle, part = (field.strip() for field in rest.split("/"))
    deeds = tuple(deed.replace("_", " ") for deed in middle[0].split())
    return Category(name, _filled(kinds, len(kinds.split()) + invented, _KIND_ENDS, draw, taken), deeds, part)


def _filled(words: str, size: int, ends: list[str], draw: Draw, taken: set[str]) -> tuple[str, ...]:
    """The `words`, and invented ones that are not `taken`, `size` in total."""
    filled = words.split()
    while len(filled) < size:
        word = _invent(draw, ends, 2)
        if word not in taken:
            taken.add(word)
            filled.append(word)
    return tuple(filled)


def _verbs(text: str) -> tuple[Verb, ...]:
    return tuple(Verb(*forms.split()) for forms in text.split(","))


def _opposites(table: str) -> tuple[Deed, ...]:
    deeds = []
    for line in _lines(table):
        (one, effect), (other, reverse) = (side.split(" > ") for side in line.split(" | "))
        deeds.append(Deed((_verbs(one), _verbs(other)), (effect.strip(), reverse.strip())))
    return tuple(deeds)


def _converses(table: str) -> tuple[Verbs, ...]:
    sides = (line.split("|") for line in _lines(table))
    return tuple((_verbs(one), _verbs(other)) for one, other in sides)
