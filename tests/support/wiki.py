"""The pages of an app at another origin, at which a person begins and to which they return."""

from urllib.parse import parse_qsl

CALLBACK = "/callback"
PAGE = """<!doctype html><title>Wiki</title><h1>Wiki</h1><p>{}</p>
<form method="post" action="{}">{}<button>Begin by a form</button></form>"""
INPUT = '<input type="hidden" name="{}" value="{}">'


class Wiki:
    """The pages of an app, which keep what a browser brings.

    Attributes:
        answers: The methods and the parameters of the requests to the redirect URI.
        referrers, origins: The Referer and the Origin of each of them.
    """

    def __init__(self):
        self.answers, self.referrers, self.origins = [], [], []
        self.site_url, self.parameters = "", {}

    def __call__(self, environ, start_response):
        """Answer each request with a page that has a form."""
        text = "Welcome"
        if environ["PATH_INFO"] == CALLBACK:
            sent = environ["QUERY_STRING"]
            if environ["REQUEST_METHOD"] == "POST":
                sent = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
            self.answers.append((environ["REQUEST_METHOD"], dict(parse_qsl(sent))))
            self.referrers.append(environ.get("HTTP_REFERER", ""))
            self.origins.append(environ.get("HTTP_ORIGIN", ""))
            text = "You are back"
        inputs = "".join(INPUT.format(*each) for each in self.parameters.items())
        start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
        return [PAGE.format(text, f"{self.site_url}/auth/authorize", inputs).encode()]
