"""`roost config`: every setting, what it is, what it means and where that came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from roost.cli.options import config_option, json_option

if TYPE_CHECKING:
    from roost.daemon.config import Config
    from roost.daemon.settings_page import Setting


@click.command("config")
@click.option("--check", is_flag=True, help="Only say whether the file is right.")
@json_option("one JSON object for each setting")
@config_option
def command(check: bool, as_json: bool, config_file: str | None) -> None:
    """Show every setting, as a file that can be used: what is not set there is commented out."""
    import os

    import msgspec

    from roost.cli.configuration import read_config
    from roost.daemon.config import default_file

    config = read_config(config_file)
    if check:
        usual = default_file(os.environ)
        missing = "there is no file" if usual is None else f"there is no {usual}"
        click.echo(f"{missing}; everything is as it comes" if config.path is None else f"{config.path} is right")
    elif as_json:
        for found in json_objects(config, os.environ.get("ROOST_SOCKET")):
            click.echo(msgspec.json.encode(found).decode())
    else:
        for line in lines(config, os.environ.get("ROOST_SOCKET")):
            click.echo(line)


def json_objects(config: Config, socket: str | None) -> Iterator[dict[str, Any]]:
    for setting, value, source in _all(config, socket):
        yield {
            "key": setting.key,
            "type": setting.kind,
            "default": setting.default,
            "value": value,
            "source": source,
            "meaning": setting.meaning,
        }


def lines(config: Config, socket: str | None) -> Iterator[str]:
    """A TOML file."""
    from roost.acp.view_text import reveal
    from roost.daemon.settings_page import toml_value

    yield f"# {reveal(str(config.path)) if config.path is not None else 'There is no file; everything is as it comes.'}"
    section = ""
    for setting, value, source in _all(config, socket):
        if setting.section != section:
            section = setting.section
            yield ""
            yield f"[{section}]"
        yield f"# {setting.meaning}"
        if source == "default":
            shown = "" if value is None else f" {toml_value(value)}"
            yield f"# {setting.name} ={shown}"
        else:
            default = "nothing" if setting.default is None else toml_value(setting.default)
            yield f"{setting.name} = {toml_value(value)}  # from {reveal(source)}; default: {default}"


def _all(config: Config, socket: str | None) -> Iterator[tuple[Setting, Any, str]]:
    """Each setting with its value and where that came from; the environment wins over the file."""
    from roost.daemon.settings_page import settings

    for setting in settings(config):
        if setting.key == "daemon.socket" and socket:
            yield setting, socket, "$ROOST_SOCKET"
        else:
            yield setting, setting.value, str(config.path) if setting.given else "default"
