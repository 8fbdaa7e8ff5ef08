from collections.abc import Iterator

from rewardhub import CommandCard, hookimpl


@hookimpl
def rewardhub_commands() -> Iterator[CommandCard]:
    # The module is imported when somebody calls `rewardhub example-hello`; `app` is a typer app.
    yield CommandCard(name="example-hello", target="rewardhub_example.hello:app", help="Say hello.")
