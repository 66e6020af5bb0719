"""The applications that commands import, as WSGI servers do."""

import importlib
import sys

from wsgiauth.console.command import CommandError
from wsgiauth.exceptions import WsgiAuthError


def import_application(path: str) -> object:
    """Import `module:name`, as WSGI servers do; a `module` alone returns the module.

    An exception of its code is the cause of the CommandError, except a WsgiAuthError, which is
    raised as it is: the application refused its settings.
    """
    module_name, _, name = path.partition(":")
    sys.path.insert(0, "")  # the current folder, which `python -m` adds, and a script does not
    try:
        module = importlib.import_module(module_name)
    except WsgiAuthError:
        raise
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and _is_within(module_name, error.name):
            advice = "run this command in the folder of the application"
            if module_name.endswith(".py"):
                advice = f"name the module {module_name.removesuffix('.py')!r}, without .py"
            raise CommandError(f"there is no module {module_name!r}; {advice}") from None
        reason = f"{type(error).__name__}: {error}"
        raise CommandError(f"{module_name!r} cannot be imported: {reason}") from error
    finally:
        sys.path.remove("")
    if name and not hasattr(module, name):
        raise CommandError(
            f"{module_name!r} has no {name!r}; name its WSGI application, as in"
            f" {module_name}:application"
        )
    return getattr(module, name) if name else module


def _is_within(module_name: str, missing: str | None) -> bool:
    """Return whether the missing module is this one or one of its packages."""
    return f"{module_name}.".startswith(f"{missing}.")
