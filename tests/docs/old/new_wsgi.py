"""Of the same site, with the adapter."""

from django.core.wsgi import get_wsgi_application

from wsgiauth import AuthMiddleware

application = AuthMiddleware(get_wsgi_application())
