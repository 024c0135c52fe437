"""Writes what matplotlib has drawn as a small SVG: paths, circles and text, with coordinates to a tenth of a point.

Matplotlib's own file gives each mark an element with its own style and draws text as shapes: it is ten times as large.
"""

import html
import re
from collections.abc import Iterator
from itertools import groupby, pairwise
from xml.etree import ElementTree

_SPACE = "http://www.w3.org/2000/svg"
_FONT = "'DejaVu Sans',Verdana,sans-serif"
"""Matplotlib measures text with DejaVu Sans; Verdana, which most other systems have, is as wide."""
_DEFAULTS = {"fill": "none", "stroke-linejoin": "round", "stroke-linecap": "butt"}
_KNOWN = {**_DEFAULTS, "stroke-dashoffset": "0", "text-anchor": "start", "font-family": "'DejaVu Sans', sans-serif"}
Mark = tuple[str, str, str]
"""A tag, the attributes that it shares with marks of its style, and its own: path data, or the rest of an element."""


def compact(svg: str, prefix: str) -> str:
    """`svg` of matplotlib with ids that start with `prefix`, and without its style sheet, names and comments.

    Marks of one style next to each other are one element. Text comes last, above all else.
    """
    root = ElementTree.fromstring(svg)
    boxes = {clip.get("id", ""): clip[0] for clip in root.iter(f"{{{_SPACE}}}clipPath")}
    ids = {f"url(#{name})": f"{prefix}-{number}" for number, name in enumerate(boxes)}
    symbols = {f"#{path.get('id')}": path for path in root.iter(f"{{{_SPACE}}}path")}
    marks = sorted(_marks(root, symbols, ids, {}), key=lambda mark: (mark[0] == "text", mark[0] == "text" and mark[1]))
    size = {key: root.get(key, "") for key in ("width", "height", "viewBox")}
    lines = [f"<svg{_attributes({'xmlns': _SPACE, **size, **_DEFAULTS, 'font-family': _FONT})}>"]
    for name, box in boxes.items():
        position = {key: _number(float(box.get(key, 0))) for key in ("x", "y", "width", "height")}
        lines.append(f'<clipPath id="{ids[f"url(#{name})"]}"><rect{_attributes(position)}/></clipPath>')
    return "\n".join([*lines, *_elements(marks), "</svg>\n"])


def _marks(
    element: ElementTree.Element, symbols: dict[str, ElementTree.Element], ids: dict[str, str], style: dict[str, str]
) -> Iterator[Mark]:
    """What an element draws, in the order of drawing."""
    tag = element.tag.removeprefix(f"{{{_SPACE}}}")
    style = style | _style(element)
    if clip := element.get("clip-path"):
        style["clip-path"] = f"url(#{ids[clip]})"
    if tag in ("svg", "g"):
        for child in element:
            yield from _marks(child, symbols, ids, style)
    elif tag == "use":
        symbol = symbols[element.get("{http://www.w3.org/1999/xlink}href", "")]
        yield _shape(symbol, style | _style(symbol), float(element.get("x", 0)), float(element.get("y", 0)))
    elif tag == "path" and style.keys() & {"fill", "stroke"}:
        yield _shape(element, style)
    elif tag == "text":
        yield tag, _attributes(style), _text(element)


def _style(element: ElementTree.Element) -> dict[str, str]:
    """The properties of an element that are not the default."""
    properties = dict(re.findall(r"([\w-]+): ([^;]+)", element.get("style", "")))
    return {key: properties[key] for key in sorted(properties) if _KNOWN.get(key) != properties[key]}


def _shape(path: ElementTree.Element, style: dict[str, str], right: float = 0.0, down: float = 0.0) -> Mark:
    """A path, moved; a circle, the only shape of these figures with curves, as one."""
    data = path.get("d", "")
    if "C" in data:
        where = {"cx": _number(right), "cy": _number(down), "r": f"{float(data.split()[2]):.3g}"}
        return "circle", _attributes(style), f"{_attributes(where)}/>"
    lines = []
    for line in data.split("M")[1:]:
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", line)]
        points = [(_tenths(x + right), _tenths(y + down)) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        steps = ((after[0] - before[0], after[1] - before[1]) for before, after in pairwise(points))
        moves = "".join(f" {x / 10:g} {y / 10:g}" for x, y in steps if x or y).replace(" -", "-").lstrip()
        lines.append(f"M{points[0][0] / 10:g} {points[0][1] / 10:g}l{moves or '0 0'}{'z' if 'z' in line else ''}")
    if "z" not in data:
        style = {key: value for key, value in style.items() if key != "fill"}  # a line, which has no inside
    return "path", _attributes(style), "".join(lines)


def _text(element: ElementTree.Element) -> str:
    """Where a text is and what it says."""
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", element.get("transform", ""))]
    if "x" in element.attrib:  # rotated about its own place
        turn, x, y = numbers
    else:
        x, y, turn = [*numbers, 0.0][:3]
    where = {"x": _number(x), "y": _number(y)}
    if turn:
        where = {"transform": f"translate({where['x']} {where['y']})rotate({turn:g})"}
    return f"{_attributes(where)}>{html.escape(element.text or '')}</text>"


def _elements(marks: list[Mark]) -> Iterator[str]:
    """Marks as elements. Lines of one style are one path; shapes that are filled stay apart, as they may overlap."""
    for (tag, style), group in groupby(marks, key=lambda mark: mark[:2]):
        shapes = [mark[2] for mark in group]
        if tag == "path":
            shapes = [f' d="{data}"/>' for data in (shapes if " fill=" in style else ["".join(shapes)])]
        if len(shapes) == 1:
            yield f"<{tag}{style}{shapes[0]}"
        else:
            yield f"<g{style}>{''.join(f'<{tag}{shape}' for shape in shapes)}</g>"


def _attributes(values: dict[str, str]) -> str:
    return "".join(f' {key}="{value}"' for key, value in values.items())


def _tenths(value: float) -> int:
    return round(10 * value)


def _number(value: float) -> str:
    return f"{_tenths(value) / 10:g}"
