"""Tasks as fields of steps, and the files that a task reads from outside the study."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from isoglot.core.errors import ConfigurationError
from isoglot.recipe.document import VARIABLE, expand, unset_in
from isoglot.studies.inputs import Input, outside
from isoglot.tasks import build_task, task_class


class TaskSpec(BaseModel):
    """A task with its data, as a field of steps. The names of the fields enter the hash of those steps."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: str  # the task's name, as in `StudyTask`
    data: list[str]
    options: dict[str, Any] = {}

    def build(self) -> Any:
        """Make the task, and refuse an unknown name, wrong options or data of the wrong form."""
        return build_task(self.kind, self.data, **self.options)

    def code(self) -> list[Any]:
        """Return the task's class."""
        return [task_class(self.kind)]


def data_files(task: TaskSpec, languages: Sequence[str], split: str, studies: str) -> Iterator[Input]:
    """Yield the files from outside that one split of a task reads, language by language.

    A data specification is an entry of the task's ``data``: a folder, a file, or a template such as
    ``pos/{language}.{split}.conllu``.

    1. The files of a language are those that its data specifications find, in their order.
    2. A language without any file yields its specifications as missing inputs: ``pos/de.test.conllu``.
    3. Rule 2 does not hold if other steps of the study make part of the data: they may make that language.

    ``studies``: Folder of all studies; data in it come from steps.
    """
    from isoglot.formats.labelled.sources import DataSource  # noqa: PLC0415

    specs = DataSource(task.data).of_split(split)
    specs_outside = [entry.path for entry in outside(specs, studies)]
    # Equal specifications are one.
    steps_make_data = len(specs_outside) < len(set(specs))
    for language in languages:
        has_files = False
        # For rule 2: each specification as a missing input.
        as_missing: list[Input] = []
        for spec in specs_outside:
            files, problem = _files_at(spec, task, language, split)
            has_files = has_files or bool(files)
            for file in files:
                yield Input(file, there=True)  # 1
            as_missing.append(Input(problem or _of_language(spec, language, split), there=False))
        if not has_files and not steps_make_data:  # 2, 3
            yield from as_missing


def _files_at(spec: str, task: TaskSpec, language: str, split: str) -> tuple[list[str], str]:
    """Return the files that a task finds at one of its data specifications, or why it finds none there.

    Variables stay in the names. ``${ISOGLOT_CORPORA}/pos`` in German has the file
    ``${ISOGLOT_CORPORA}/pos/de.test.conllu``, or the reason ``${ISOGLOT_CORPORA}/pos: no test data for 'de'``.

    A file or a template, ``pos/{language}.{split}.conllu``, has no reason: its name alone says what is missing.
    """
    from isoglot.tasks.base import locations_of  # noqa: PLC0415

    # `${DATA}/pos` is no template: only braces that are not those of a variable make one.
    is_template = "{" in VARIABLE.sub("", spec)
    is_folder = not is_template and not Path(spec).suffix
    problem = f"{spec}: no {split} data for {language!r}" if is_folder else ""
    if unset_in(spec):
        return [], problem
    path = expand(spec)
    try:
        locations = locations_of(task.model_copy(update={"data": [path]}).build(), language, split)
    except ConfigurationError as error:
        # "PATH has 2 test files of 'fr' (...); give ..." says more than "no test data for 'fr'".
        if str(error).startswith(f"{path} has "):
            reason = str(error).partition(";")[0].removeprefix(path)
            problem = f"{spec}{reason}"
        return [], problem
    if is_template:
        return [_of_language(spec, language, split)], ""
    if not locations:
        return [], ""
    # Put the variables back: /data/pos/de.test.conllu is ${DATA}/pos/de.test.conllu.
    below = [location.path for location in locations if location.path.startswith(path)]
    files = [spec + file.removeprefix(path) for file in below]
    # Data that lie elsewhere, such as on the hub, are named by the specification itself.
    return files or [spec], ""


def _of_language(spec: str, language: str, split: str) -> str:
    """Fill a template in: ``pos/{language}.{split}.conllu`` becomes ``pos/de.test.conllu``."""
    return spec.replace("{language}", language).replace("{split}", split)
