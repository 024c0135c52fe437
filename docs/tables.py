"""Fills the tables of the documentation from bertlab itself.

`python docs/tables.py` rewrites those that changed and names their pages; with `--check` it only names them, and exits
with 1 if there are any. A page has a table between a line `<!-- generated: NAME -->`, with the NAME of a function of
`GENERATED`, and a line `<!-- end -->`.
"""

import dataclasses
import html
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(<!-- generated: ([a-z0-9]+) -->\n).*?(<!-- end -->)", re.S)


OTHERS_OF_T5 = {
    3: "Examples of what every objective reads and writes; `bertlab audit objectives` tests batches.",
    14: "The final models on test sets, beside the best of others: published values in the report of `t5`.",
    16: "Every task of every row: the published values where a study measures a task by itself.",
}
"""The tables of Raffel et al. (2020) that have no study of their own."""


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table. A `|` of code is written as HTML, the only form that the site and code hosts both show."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(str(cell)) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    whole = re.sub(r"`([^`]*\|[^`]*)`", lambda code: f"<code>{html.escape(code[1], quote=False)}</code>", text)
    return whole.replace("|", "&#124;")


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


def t5() -> str:
    """The tables of T5's paper, each with its study and the committed results of it."""
    from bertlab.lab import studies

    by_name = {name: studies.find(name) for name in studies.names()}
    cards = {path.parent.name: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("reports/*/README.md"))}
    rows: list[Sequence[object]] = []
    for number in range(1, 17):
        if number in OTHERS_OF_T5:
            rows.append((number, OTHERS_OF_T5[number], "", ""))
            continue
        (name,) = (name for name, study in by_name.items() if study.source == f"Raffel et al. 2020, Table {number}")
        stores = [
            f"[`{store}/`](../../reports/README.md)" for store, card in cards.items() if f"\n## {name}: scale " in card
        ]
        rows.append((number, by_name[name].question, f"`bertlab ablate {name}`", ", ".join(stores) or "none"))
    return table(("table", "what it asks", "command", "committed results"), rows)


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
    """Every field of a recipe and of a fine-tuning that `--set` sets, by the group before its last dot."""
    from bertlab.lab.scales import GROUPS, SCALES
    from bertlab.recipe import OPTIONS, Recipe
    from bertlab.recipe.identity import field_paths

    paths = [path for path in field_paths(Recipe) if path not in OPTIONS]
    groups: dict[str, list[str]] = {}
    for path in paths:
        group, _, name = path.rpartition(".")
        groups.setdefault(group, []).append(name)
    rows = [(f"`{group}`" if group else "", names) for group, names in groups.items()]
    settings: dict[tuple[str, ...], list[str]] = {}
    for group in GROUPS:
        names = tuple(field.name for field in dataclasses.fields(getattr(SCALES["micro"], group)))
        settings.setdefault(names, []).append(f"`{group}`")
    rows += [(", ".join(same), [*names]) for names, same in settings.items()]
    return table(("group", "fields"), [(group, ", ".join(f"`{name}`" for name in names)) for group, names in rows])


def tasks() -> str:
    """The tasks of the catalogue."""
    from bertlab.tasks import kinds
    from bertlab.tasks.catalog import TASKS
    from bertlab.tasks.kinds.scoring import of_all_examples

    rows = []
    for name, task in TASKS.items():
        local = "its tasks" if kinds.find(task.kind).parts(task) else "a local mirror"
        source = f"`{task.hub}`" if task.hub else ("synthetic" if task.dataset == "microworld" else local)
        counterpart = f"`{task.microworld}`" if task.microworld not in ("", name) else ""
        splits = task.evaluation + (f", {task.test}" if task.test else "")
        metrics = of_all_examples(kinds.find(task.kind).metrics_of(task, task.labels))
        named = ", ".join(f"`{metric}`" for metric in metrics)
        rows.append((f"`{name}`", task.kind, named, source, splits, counterpart))
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


GENERATED = {
    function.__name__: function
    for function in (commands, studies, t5, scales, finetuning, fields, tasks, columns, notebook)
}


def _escaped(text: str) -> str:
    """Help as Markdown: outside code, `<`, `[`, `*` and `_` are themselves."""
    pieces = text.split("`")
    pieces[::2] = (re.sub(r"([<\[*_])", r"\\\1", piece) for piece in pieces[::2])
    return "`".join(pieces)


def filled(page: str) -> str:
    """A page with its blocks as bertlab has them now."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{GENERATED[block[2]]()}\n\n{block[3]}", page)


if __name__ == "__main__":
    stale = {}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        page = path.read_text(encoding="utf-8")
        if filled(page) != page:
            stale[path] = filled(page)
    for path, page in stale.items():
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
        if "--check" not in sys.argv:
            path.write_text(page, encoding="utf-8")
    sys.exit(1 if stale and "--check" in sys.argv else 0)
