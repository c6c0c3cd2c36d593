"""``xla2py completion SHELL``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from .options import Command


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash:  xla2py completion bash > ~/.local/share/bash-completion/completions/xla2py
    zsh:   xla2py completion zsh > a file _xla2py in a folder of $fpath
    fish:  xla2py completion fish > ~/.config/fish/completions/xla2py.fish
    """
    completion = get_completion_class(shell)
    assert completion is not None
    root = click.get_current_context().find_root()
    program = root.info_name or "xla2py"
    click.echo(completion(root.command, {}, program, f"_{program.upper()}_COMPLETE").source())
