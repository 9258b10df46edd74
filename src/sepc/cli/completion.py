"""Scripts that complete commands in a shell, made from the parser: they name what it knows, and start no Python."""

from argparse import SUPPRESS, Action, ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from typing import NamedTuple


class CommandWords(NamedTuple):
    """What can follow one command.

    Attributes
    ----------
    name, about : str
    options : dict of str to str
        What each option is for.
    choices : dict of str to tuple of str
        Words that can follow an option; "" stands for words of the command itself.
    valued : tuple of str
        Options that a value follows: a file where there are no choices.
    """

    name: str
    about: str
    options: dict[str, str]
    choices: dict[str, tuple[str, ...]]
    valued: tuple[str, ...]


def command_words(parser: ArgumentParser) -> list[CommandWords]:
    """Return the commands of a parser, with their options."""
    (commands,) = (action for action in parser._actions if isinstance(action, _SubParsersAction))
    about = {action.dest: action.help or "" for action in commands._choices_actions}
    return [_words(name, about[name].replace("%%", "%"), one) for name, one in commands.choices.items()]


def _words(name: str, about: str, command: ArgumentParser) -> CommandWords:
    options: dict[str, str] = {}
    choices: dict[str, tuple[str, ...]] = {}
    valued = []
    for action in command._actions:
        if action.help == SUPPRESS:
            continue
        named = dict.fromkeys(action.option_strings, _help(action))
        options |= named
        valued += [option for option in named if action.nargs != 0]
        if action.choices:
            choices |= dict.fromkeys(named or [""], tuple(map(str, action.choices)))
    return CommandWords(name, about, options, choices, tuple(valued))


def _help(action: Action) -> str:
    return (action.help or "").replace("%%", "%").partition(";")[0].partition(" (default")[0]


def completion_script(parser: ArgumentParser, shell: str) -> str:
    """Return a script for a shell to read at its start.

    Parameters
    ----------
    parser : ArgumentParser
        Of a program with commands.
    shell : {"bash", "zsh", "fish"}
    """
    lines = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return "\n".join(lines(parser.prog, command_words(parser)))


def _bash(program: str, commands: list[CommandWords]) -> Iterator[str]:
    yield f"# bash completion of {program}; in ~/.bashrc: source <({program} completion bash)"
    yield f"_{program}() {{"
    yield '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""'
    yield '    if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'        words="{" ".join(command.name for command in commands)} --help --version"'
    yield "    else"
    yield '        case "${COMP_WORDS[1]}:$before" in'
    for command in commands:
        for option, words in command.choices.items():
            if option:
                yield f'        {command.name}:{option}) words="{" ".join(words)}" ;;'
        if command.valued:
            # Nothing to propose: the shell completes names of files.
            yield f"        {'|'.join(f'{command.name}:{option}' for option in command.valued)}) ;;"
        words = (*command.choices.get("", ()), *command.options)
        yield f'        {command.name}:*) words="{" ".join(words)}" ;;'
    yield "        esac"
    yield "    fi"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield f"complete -o default -F _{program} {program}"


def _zsh(program: str, commands: list[CommandWords]) -> Iterator[str]:
    yield f"#compdef {program}"
    yield f"# zsh completion of {program}; in ~/.zshrc, after compinit: source <({program} completion zsh)"
    yield f"_{program}() {{"
    yield "    local -a commands options"
    yield "    if (( CURRENT == 2 )); then"
    yield "        commands=("
    for command in commands:
        yield f"            {_quoted(f'{command.name}:{command.about}')}"
    yield "        )"
    yield "        _describe command commands"
    yield "        return"
    yield "    fi"
    yield "    case $words[2] in"
    for command in commands:
        yield f"    {command.name})"
        yield "        _arguments -s \\"
        for option, about in command.options.items():
            value = ":value:" + _zsh_values(command.choices.get(option, ())) if option in command.valued else ""
            text = about.replace("[", "(").replace("]", ")").replace(":", " -")
            yield f"            {_quoted(f'{option}[{text}]{value}')} \\"
        yield f"            {_quoted('*:argument:' + _zsh_values(command.choices.get('', ())))}"
        yield "        ;;"
    yield "    esac"
    yield "}"
    yield f"compdef _{program} {program}"


def _zsh_values(words: tuple[str, ...]) -> str:
    return f"({' '.join(words)})" if words else "_files"


def _fish(program: str, commands: list[CommandWords]) -> Iterator[str]:
    yield f"# fish completion of {program}: {program} completion fish > ~/.config/fish/completions/{program}.fish"
    for command in commands:
        about = _quoted(command.about)
        yield f"complete -c {program} -f -n __fish_use_subcommand -a {command.name} -d {about}"
    for command in commands:
        here = f"complete -c {program} -n '__fish_seen_subcommand_from {command.name}'"
        for option, about in command.options.items():
            name = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            words = command.choices.get(option, ())
            value = f" -x -a {_quoted(' '.join(words))}" if words else " -r" if option in command.valued else ""
            yield f"{here} {name}{value} -d {_quoted(about)}"
        if "" in command.choices:
            yield f"{here} -f -a {_quoted(' '.join(command.choices['']))}"


def _quoted(text: str) -> str:
    # All three shells put adjacent pieces together.
    return "'" + text.replace("'", "'\\''") + "'"
