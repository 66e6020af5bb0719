OWN = ("/auth/oauth/", "/auth/userinfo", "/auth/jwks.json", "/.well-known/")  # of wsgiauth


class Cors:
    """Lets pages of other origins send requests and read the answers, without cookies."""

    def __init__(self, app, origins):
        self.app = app
        self.origins = frozenset(origins)

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"].startswith(OWN):  # browsers refuse a header that is sent twice
            return self.app(environ, start_response)
        origin = environ.get("HTTP_ORIGIN")
        headers = [("Vary", "Origin")]
        if origin in self.origins:
            headers.append(("Access-Control-Allow-Origin", origin))
            headers.append(("Access-Control-Expose-Headers", "Retry-After"))
            if environ["REQUEST_METHOD"] == "OPTIONS":
                headers.append(("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE"))
                headers.append(("Access-Control-Allow-Headers", "Authorization, Content-Type"))
                headers.append(("Access-Control-Max-Age", "600"))  # seconds
                start_response("204 No Content", headers)
                return []

        def start(status, own, exc_info=None):
            return start_response(status, [*own, *headers], exc_info)

        return self.app(environ, start)
