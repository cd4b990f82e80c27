"""Machines side by side as a page of one table, which works offline and with hundreds of rows."""

from collections.abc import Sequence

from ...questions.machines import MeasuredMachine
from ...texts import printable
from ..machines import ABOUT, FEW, about, columns, count, spelt
from .frame import environment, policy, script, stylesheet


def page(machines: Sequence[MeasuredMachine]) -> str:
    """All variants in one table; a script shows the chosen ones."""
    best = columns(machines)
    names = [*best, *(name for name in columns(machines, every=True) if name not in best)]
    others = f"#machines:not(.every) tr>:nth-child(n+{len(ABOUT) + len(best) + 1})"
    style = f"{stylesheet()}{others}{{display:none}}"
    code = script("machines.js")
    # Microseconds to four digits, for the script.
    rows = [(about(one), [spelt(one, name, "{:.4g}".format) for name in names]) for one in machines]
    html: str = (
        environment()
        .get_template("machines.html")
        .render(
            about=ABOUT,
            names=names,
            best=len(best),
            rows=rows,
            few=FEW,
            count=count(machines),
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
