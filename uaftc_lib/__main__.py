"""``python -m uaftc_lib``: the command ``uaftc``."""

from uaftc_lib.cli import app

if __name__ == "__main__":
    app(prog_name="uaftc")
