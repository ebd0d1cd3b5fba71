"""``python -m uaftc_lib``: the command ``uaftc``."""

from uaftc_lib.cli import app

app(prog_name="uaftc")
