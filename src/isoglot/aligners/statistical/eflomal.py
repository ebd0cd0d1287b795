"""Run eflomal, an external program, as a separate process; none of its code is imported or copied.

Source: Östling & Tiedemann 2016 (*Efficient word alignment with Markov chain Monte Carlo*). The program is under the
GPL and is not a dependency; ``pip install eflomal`` brings ``eflomal-align``.
"""

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from isoglot.aligners.alignment import LinkTable
from isoglot.aligners.statistical.options import Symmetriser
from isoglot.aligners.symmetrise import check_symmetriser, symmetrise_table
from isoglot.core.errors import ConfigurationError
from isoglot.runs.disk import full_disk_named


class EflomalAligner:
    """Run ``eflomal-align`` on a bitext in both directions, and symmetrise the links.

    The program samples without a seed, so two runs differ a little, and it keeps no model.

    Args:
        symmetrisation: How the directions are combined.
        program: Name or path of the program.
        arguments: Further arguments of the program, as one line: ``"--null-prior 0.3"``.
    """

    def __init__(
        self,
        *,
        symmetrisation: Symmetriser = "grow-diag-final-and",
        program: str = "eflomal-align",
        arguments: str = "",
    ) -> None:
        check_symmetriser(symmetrisation)
        self.symmetrisation: Symmetriser = symmetrisation
        self.program = program
        self.arguments = ["--model", "3", "--n-samplers", "3", *shlex.split(arguments)]

    def executable(self) -> str:
        """The path of the program."""
        program = shutil.which(self.program)
        if program is None:
            raise ConfigurationError(
                f"program {self.program!r} is not installed; type `pip install eflomal`, give [[program=PATH]], or "
                "use the built-in hmm"
            )
        return program

    def table(self, source: Iterable[Sequence[str]], target: Iterable[Sequence[str]]) -> LinkTable:
        """Align sentences that are given as words; returns the symmetrised links."""
        forward, reverse = self.directions(source, target)
        return symmetrise_table(forward, reverse, self.symmetrisation)

    def directions(
        self, source: Iterable[Sequence[str]], target: Iterable[Sequence[str]]
    ) -> tuple[LinkTable, LinkTable]:
        """Align sentences that are given as words; returns the links of both directions, as (source, target)."""
        program = self.executable()
        with (
            full_disk_named(tempfile.gettempdir()),
            tempfile.TemporaryDirectory(prefix="isoglot-eflomal-") as name,
        ):
            folder = Path(name)
            for side, sentences in (("source", source), ("target", target)):
                with (folder / side).open("w", encoding="utf-8") as file:
                    # White space inside a word would shift the numbers of the words behind it.
                    for words in sentences:
                        file.write(" ".join("_".join(word.split()) or "_" for word in words) + "\n")
            files = [f"--{side}={folder / side}" for side in ("source", "target")]
            files += [f"--{side}-links={folder / side}" for side in ("forward", "reverse")]
            done = subprocess.run(
                [program, *files, *self.arguments], capture_output=True, text=True, check=False
            )
            paths = [folder / side for side in ("forward", "reverse")]
            if done.returncode or not all(path.exists() for path in paths):
                raise ConfigurationError(
                    f"{self.program} failed with exit code {done.returncode}: {done.stderr.strip()[-500:]!r}"
                )
            forward, reverse = (path.read_text(encoding="utf-8").splitlines() for path in paths)
        return LinkTable.from_pharaoh(forward), LinkTable.from_pharaoh(reverse)
