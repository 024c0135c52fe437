"""What `mkdocs build` adds to the pages: tables and the command line from bertlab itself, files from outside `docs/`.

A line that begins with `<!-- generated: NAME -->` stands for what the function NAME of `GENERATED` returns. Only
`on_files` needs mkdocs: the tests call the rest without it.
"""

import dataclasses
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUTSIDE = (
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "reports/example",
    "reports/README.md",
    "benchmarks/results.svg",
    "examples",
)
"""Files and folders outside `docs/` that the site has too, under the same paths."""
MARK = re.compile(r"<!-- generated: ([a-z]+) -->.*")
"""With what stands for it in a clone."""
AWAY = re.compile(r"\]\(\.\./((?:\.\./)*(?:examples|reports|benchmarks)/)")
"""The start of a link from `docs/` to `OUTSIDE`, one folder further away in the repository than in the site."""
INTO = re.compile(r"\]\(((?:\.\./)*)docs/")
"""The start of a link from `OUTSIDE` into `docs/`, which is the root of the site."""
FETCHED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^"'\s>]+""")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table. A `|` of code needs no backslash there, and would show it."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_outside_code(r"(\|)", str(cell)) for cell in line) + " |" for line in lines)


def commands() -> str:
    """Every command with its usage, its help and its options, from the same parser that `--help` prints."""
    import typer

    from bertlab.cli.main import app

    group: Any = typer.main.get_command(app)
    parts = []
    for name, command in group.commands.items():
        context = command.context_class(command, info_name=name)
        usage = " ".join(["bertlab", name, *command.collect_usage_pieces(context)])
        parts += [f"## {name}", f"```text\n{usage}\n```", _escaped(command.help or "")]
        parts.append(f"```bash\n{command.example}\n```" if command.example else "")
        for panel, records in command.panels(context).items():
            rows = [(f"`{written}`", _escaped(" ".join(text.split()))) for written, text in records]
            parts.append(table((panel, "meaning"), rows) if rows else "")
    return "\n\n".join(part for part in parts if part)


def studies() -> str:
    """The studies with question, source, variants and measurements."""
    from bertlab.lab import studies as known

    rows = []
    for name in known.names():
        study = known.find(name)
        measured = ", ".join(each.name for each in study.measurements)
        rows.append((f"`{name}`", study.question, study.source, len(study.variants), measured))
    return table(("study", "question", "source", "variants", "measurements"), rows)


def scales() -> str:
    """The scales: model, data and training."""
    from bertlab.lab.scales import SCALES
    from bertlab.recipe import cost

    rows = []
    for name, scale in SCALES.items():
        model, schedule = scale.recipe.model, scale.recipe.schedule
        shape = f"{model.layers} / {model.hidden} / {model.heads}, {model.positions}"
        phases = (f"{steps:,} x {schedule.batch_size:,} x {length}" for length, steps in cost.phases(scale.recipe))
        size, rate = f"{scale.recipe.tokenizer.vocabulary:,}", f"{schedule.peak_lr:g}"
        rows.append((f"`{name}`", scale.purpose, shape, size, "<br>".join(phases), rate, ", ".join(scale.corpus)))
    header = "scale", "for", "layers / width / heads, positions", "vocabulary", "steps x sequences x tokens"
    return table((*header, "peak rate", "text"), rows)


def finetuning() -> str:
    """The settings of fine-tuning, features and single tasks at each scale."""
    from bertlab.lab.scales import GROUPS, SCALES

    names = "peak_lr", "epochs", "batch_size", "max_train_examples", "max_steps", "length"
    rows: list[Sequence[object]] = []
    for name, scale in SCALES.items():
        for group in GROUPS:
            setting = getattr(scale, group)
            rows.append((f"`{name}`", f"`{group}`", *(f"{getattr(setting, field):g}" for field in names)))
        for task, fields in scale.tasks.items():
            rows.append((f"`{name}`", f"`tasks.{task}`", *(f"{fields[n]:g}" if n in fields else "" for n in names)))
    return table(("scale", "group", *(f"`{name}`" for name in names)), rows)


def fields() -> str:
    """Every field of a recipe and of a fine-tuning that `--set` sets, with its default."""
    from bertlab.lab.scales import GROUPS, SCALES
    from bertlab.recipe import OPTIONS, Recipe
    from bertlab.recipe.identity import field_paths

    rows = [(f"`{path}`",) for path in field_paths(Recipe) if path not in OPTIONS]
    for group in GROUPS:
        rows += [(f"`{group}.{each.name}`",) for each in dataclasses.fields(getattr(SCALES["micro"], group))]
    return table(("field",), rows)


def tasks() -> str:
    """The tasks of the catalogue."""
    from bertlab.tasks import kinds
    from bertlab.tasks.catalog import TASKS

    rows = []
    for name, task in TASKS.items():
        source = f"`{task.hub}`" if task.hub else ("synthetic" if task.dataset == "microworld" else "a local mirror")
        counterpart = f"`{task.microworld}`" if task.microworld not in ("", name) else ""
        splits = task.evaluation + (f", {task.test}" if task.test else "")
        metrics = ", ".join(f"`{metric}`" for metric in kinds.find(task.kind).metrics_of(task, task.labels))
        rows.append((f"`{name}`", task.kind, metrics, source, splits, counterpart))
    return table(("task", "kind", "metrics", "data", "reported splits", "synthetic counterpart"), rows)


def columns() -> str:
    """The columns of the CSV files of a report."""
    from bertlab.report import tidy

    files = {
        "<study>.csv": tidy.VALUES,
        "<study>-summary.csv": tidy.SUMMARY,
        "<study>-claims.csv": tidy.CLAIMS,
        "<study>-noise.csv": tidy.NOISE,
        "agreement.csv": tidy.AGREEMENT,
    }
    rows = [(f"`{name}`", ", ".join(f"`{each}`" for each in names)) for name, names in files.items()]
    return table(("file", "columns"), rows)


def notebook() -> str:
    """The notebook as a page."""
    cells = json.loads((ROOT / "examples" / "first_study.ipynb").read_text(encoding="utf-8"))["cells"]
    texts = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    return "\n\n".join(f"```python\n{text}\n```" if kind == "code" else text for kind, text in texts)


def overview() -> str:
    """The first screen of the README: what bertlab is, and one result, without the links to its sections."""
    paragraphs = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## ")[0].split("\n\n")
    return "\n\n".join(each for each in paragraphs if "](#" not in each)


GENERATED = {
    each.__name__: each for each in (overview, commands, studies, scales, finetuning, fields, tasks, columns, notebook)
}


def _escaped(text: str) -> str:
    """Help as Markdown: outside code, `<`, `[`, `*` and `_` are themselves."""
    return _outside_code(r"([<\[*_])", text)


def _outside_code(characters: str, text: str) -> str:
    """Markdown with a backslash before these characters, except in code."""
    pieces = text.split("`")
    pieces[::2] = (re.sub(characters, r"\\\1", piece) for piece in pieces[::2])
    return "`".join(pieces)


# What mkdocs calls.


def on_files(files: Any, config: Any) -> Any:
    """Adds `OUTSIDE`."""
    from mkdocs.structure.files import File

    for name in OUTSIDE:
        place = ROOT / name
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file():
                relative = path.relative_to(ROOT).as_posix()
                files.append(File.generated(config, relative, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replaces the marks by what they stand for, and links as they hold in the repository by those of the site."""
    return INTO.sub(r"](\1", MARK.sub(lambda found: GENERATED[found[1]](), AWAY.sub(r"](\1", markdown)))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Raises `ValueError` if a page fetches anything from elsewhere."""
    found = FETCHED.search(output)
    if found:
        raise ValueError(f"{page.file.src_uri} fetches from elsewhere: {found[0]}")
    return output
