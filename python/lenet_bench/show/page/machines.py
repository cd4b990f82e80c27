"""Machines side by side as a page of one table, which works offline and with hundreds of rows."""

from collections.abc import Sequence

from ...questions.machines import MeasuredMachine
from ...results.statistics import FEWEST_STARTS
from ...texts import printable
from ..machines import ABOUT, FEW, about, columns
from .frame import environment, policy, script, stylesheet


def page(machines: Sequence[MeasuredMachine]) -> str:
    """All variants in one table; a script shows the chosen ones."""
    best = columns(machines)
    names = [*best, *(name for name in columns(machines, every=True) if name not in best)]
    others = f"#machines:not(.every) tr>:nth-child(n+{len(ABOUT) + len(best) + 1})"
    style = f"{stylesheet()}{others}{{display:none}}"
    code = script("machines.js")
    rows = [(about(one), [_cell(one, name) for name in names]) for one in machines]
    html: str = (
        environment()
        .get_template("machines.html")
        .render(
            facts=ABOUT,
            names=names,
            best=len(best),
            rows=rows,
            few=FEW,
            choices=[
                (title, place, sorted({cells[place] for cells, _ in rows}))
                for place, title in enumerate(ABOUT)
                if title in ("machine", "GPU", "version")
            ],
            style=style,
            script=code,
            policy=policy(style, code),
        )
    )
    return printable(html)


def _cell(one: MeasuredMachine, name: str) -> str:
    """Microseconds to four digits, for the script; a star where there are few starts."""
    found = one.times.get(name)
    if found is None:
        return ""
    return f"{float(f'{found.us:.4g}'):g}{'*' if found.starts < FEWEST_STARTS else ''}"
