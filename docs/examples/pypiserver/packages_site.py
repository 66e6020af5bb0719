"""pypiserver for users who can install, or install and publish."""

import pypiserver
from webob.dec import wsgify

from wsgiauth import AuthMiddleware, permission_required

index = pypiserver.app(
    roots=["packages"], authenticate=[], password_file=".", disable_fallback=True
)
publish = permission_required("packages.publish")(index)


@wsgify
def site(request):
    response = request.get_response(index if request.method in ("GET", "HEAD") else publish)
    response.headers["Content-Security-Policy"] = "sandbox allow-downloads"
    return response


application = AuthMiddleware(site, require="packages.install")
