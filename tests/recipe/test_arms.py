"""Arms of a tagged union: their JSON, their ids, and how `--set` reaches them."""

import json
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest

from bertlab.errors import BadInput
from bertlab.objectives import MaskedLM
from bertlab.recipe import Loss, Recipe
from bertlab.recipe.identity import canonical, field_paths, load, set_fields, to_canonical
from bertlab.recipe.ranges import SHARE, Arm, Checked, FieldError, arms


class Shape(Arm):
    """An axis."""


@dataclass(frozen=True, kw_only=True)
class Border(Checked, group="border"):
    """A group within an arm."""

    width: int = 1


@dataclass(frozen=True, kw_only=True)
class Circle(Shape):
    """One arm."""

    kind: ClassVar[str] = "circle"
    radius: Annotated[float, SHARE] = 0.5
    border: Border = Border()


@dataclass(frozen=True, kw_only=True)
class Square(Shape):
    """Another."""

    kind: ClassVar[str] = "square"
    side: int = 2


@dataclass(frozen=True, kw_only=True)
class Drawing(Checked, group="drawing"):
    """Holds one arm, and several."""

    ground: Shape = Square()
    shapes: tuple[Shape, ...] = (Circle(),)


def test_json_names_each_arm_by_its_kind_and_leaves_defaults_out():
    made = Drawing(ground=Circle(), shapes=(Square(side=3), Circle(border=Border(width=2))))
    assert canonical(Drawing()) == "{}"
    assert to_canonical(made) == {
        "ground": {"kind": "circle"},
        "shapes": [{"kind": "square", "side": 3}, {"kind": "circle", "border": {"width": 2}}],
    }
    assert load(Drawing, json.loads(json.dumps(to_canonical(made)))) == made
    usual = Drawing(ground=Square(side=3))
    assert to_canonical(usual) == {"ground": {"side": 3}}, "the kind is that of the field's default"
    assert load(Drawing, to_canonical(usual)) == usual


def test_an_arm_that_is_defined_later_is_read_by_its_kind():
    @dataclass(frozen=True, kw_only=True)
    class Star(Shape):
        kind: ClassVar[str] = "star"
        points: int = 5

    made = Drawing(shapes=(Star(points=6),))
    assert load(Drawing, to_canonical(made)) == made
    assert set_fields(made, {"star.points": "7"}).shapes == (Star(points=7),)


@dataclass(frozen=True, kw_only=True)
class Pattern(Shape):
    """An arm whose field holds anything."""

    kind: ClassVar[str] = "pattern"
    of: object = None


@pytest.mark.parametrize("value", [len, {1}, float("nan"), (1, [float("inf")]), {"x": Shape}, Border])
def test_a_field_holds_what_json_holds(value):
    with pytest.raises(FieldError, match=r"pattern\.of is .*, which an id cannot hold: give finite numbers, texts"):
        Pattern(of=value)


@pytest.mark.parametrize("value", [None, True, "x", 2.5, (1, ["x"]), {"x": (1,)}, Border(width=2)])
def test_what_json_holds_has_an_id(value):
    assert canonical(Pattern(of=value))


def test_a_class_without_a_kind_of_its_own_is_no_arm():
    class Oval(Circle):
        pass

    with pytest.raises(FieldError, match="make Oval a dataclass with a kind of its own"):
        Drawing(ground=Oval())
    assert load(Drawing, {"ground": {"kind": "circle"}}).ground == Circle()


def test_no_file_replaces_an_arm_of_the_package():
    @dataclass(frozen=True, kw_only=True)
    class Mine(MaskedLM):
        kind: ClassVar[str] = "masked_lm"

    assert arms(Loss)["masked_lm"] is MaskedLM
    both = "Mine and bertlab's MaskedLM are both of the kind 'masked_lm': set another one in Mine"
    with pytest.raises(FieldError, match=both):
        Recipe(objective=(Mine(),))


def test_each_mistake_in_the_class_of_an_arm_is_named():
    class Plain(Circle):
        kind: ClassVar[str] = "plain"

    @dataclass(frozen=True, kw_only=True)
    class Nameless(Circle):
        pass

    @dataclass(frozen=True, kw_only=True)
    class First(Circle):
        kind: ClassVar[str] = "twice"

    @dataclass(frozen=True, kw_only=True)
    class Second(Circle):
        kind: ClassVar[str] = "twice"

    for made, problem in (
        (Plain, r"Plain is no dataclass: write @dataclass\(frozen=True, kw_only=True\) above the class"),
        (Nameless, r"Nameless has no kind of its own: set kind: ClassVar\[str\] in the class"),
        (First, "First and Second are both of the kind 'twice': set another one in First"),
    ):
        with pytest.raises(FieldError, match=problem):
            Drawing(ground=made())
    assert Drawing(ground=Second())


@pytest.mark.parametrize("data", [{"kind": "squre"}, {"kind": 3}, {"kind": ""}])
def test_an_unknown_kind_is_refused(data):
    with pytest.raises(BadInput, match="unknown shape"):
        load(Drawing, {"ground": data})


def test_a_field_holds_arms_of_its_axis_and_each_kind_once():
    with pytest.raises(FieldError, match=r"drawing\.ground is .*give Circle\(\.\.\.\) or Square\(\.\.\.\)"):
        Drawing(ground=Border())
    with pytest.raises(FieldError, match="make Shape a dataclass with a kind of its own"):
        Drawing(ground=Shape())
    with pytest.raises(FieldError, match=r"drawing\.shapes is .*give \(x,\) or \(x, y\), each of them Circle"):
        Drawing(shapes=Circle())
    with pytest.raises(FieldError, match="each kind once"):
        Drawing(shapes=(Circle(), Circle(radius=0.2)))
    with pytest.raises(FieldError, match=r"circle\.radius is 2"):
        Circle(radius=2)


def test_assignments_reach_the_arm_that_is_there():
    made = Drawing(shapes=(Square(), Circle()))
    found = set_fields(made, {"circle.border.width": "3", "circle.radius": "0.25", "ground.side": "7"})
    assert found.shapes == (Square(), Circle(radius=0.25, border=Border(width=3)))
    assert found.ground == Square(side=7)


def test_assignments_choose_arms_and_keep_those_that_are_there():
    made = Drawing(shapes=(Circle(radius=0.1),))
    assert set_fields(made, {"shapes": "square,circle"}).shapes == (Square(), Circle(radius=0.1))
    assert set_fields(made, {"square.side": "4", "shapes": "square"}).shapes == (Square(side=4),)
    assert set_fields(made, {"ground.radius": "0.3", "ground": "circle"}).ground == Circle(radius=0.3)


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("shapes", "circle,sqare", "unknown value of shapes 'sqare': did you mean 'square'"),
        ("shapes", "circle,circle", "each kind once"),
        ("square.side", "3", r"square\.side has no effect: shapes is circle"),
        ("circle.radus", "0.3", r"did you mean 'circle\.radius'"),
        ("circle.radius", "3", r"circle\.radius is 3"),
        ("hexagon.side", "3", "unknown field"),
        ("circle", "3", "unknown field"),
    ],
)
def test_a_wrong_assignment_says_what_to_do(path, text, message):
    with pytest.raises(BadInput, match=message):
        set_fields(Drawing(), {path: text})


def test_the_fields_of_all_arms_have_paths():
    assert {"shapes", "circle.border.width", "square.side", "ground", "ground.side"} <= {*field_paths(Drawing)}


class Tool(Arm):
    """An axis with methods of all sorts."""

    @classmethod
    def made(cls):
        """A tool."""
        return cls()

    @property
    def weight(self):
        """Its weight."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Box(Checked, group="box"):
    """Holds one tool."""

    tool: Tool


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("made", "Bare.made has to be a class method: write @classmethod above it"),
        ("weight", "Bare.weight has to be a property: write @property above it"),
    ],
)
def test_an_arm_whose_method_lacks_the_decorator_of_its_axis_is_refused(method, says):
    bare = dataclass(frozen=True, kw_only=True)(type("Bare", (Tool,), {"kind": "bare", method: lambda self: 2.0}))
    with pytest.raises(BadInput, match=f"tool is .*: {says}"):
        Box(tool=bare())
    constant = dataclass(frozen=True, kw_only=True)(type("Constant", (Tool,), {"kind": "constant", "weight": 2.0}))
    assert Box(tool=constant()).tool.weight == 2.0


def test_a_loss_without_the_name_of_its_head_is_refused(monkeypatch):
    monkeypatch.setattr(MaskedLM, "head", "")
    with pytest.raises(BadInput, match=r"loss MaskedLM has no head: set head: ClassVar\[str\], its name in the model"):
        MaskedLM()
