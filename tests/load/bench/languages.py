"""What a page costs in another language than English, and the memory of all catalogues."""

import gc
import tracemalloc

from tests.load.bench import measure, print_table
from tests.web.pages import PAGES, REQUEST
from wsgiauth.languages import Languages
from wsgiauth.messages import _
from wsgiauth.web.pages import Pages

SHOWN = ("login.html", "account.html", "admin/user.html", "error.html")


def report(_folder):
    """Print the table."""
    memory = _memory_of_catalogues()
    pages = Pages("/auth")
    names = [each.name for each in pages.readers.languages]
    actions = {
        (template, name): _rendering(pages, template, name) for template in SHOWN for name in names
    }
    medians = measure(actions, rounds=31, calls=50)
    print("\nA page, in µs in English, and relative to that in other languages")
    print_table(
        ("", *names),
        *(
            (
                template,
                medians[template, "en"],
                *(medians[template, name] / medians[template, "en"] for name in names[1:]),
            )
            for template in SHOWN
        ),
    )
    print(f"\nAll catalogues in memory: {memory:.1f} MiB")


def _rendering(pages, template, name):
    request = {**REQUEST, "HTTP_ACCEPT_LANGUAGE": name}

    def render():
        pages.render(request, PAGES[template])

    return render


def _memory_of_catalogues():
    """Return the memory that they take once each has been used, in MiB."""
    gc.collect()
    tracemalloc.start()
    for language in Languages():
        language.say(_("Log in"))
    gc.collect()
    used, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used / 2**20
