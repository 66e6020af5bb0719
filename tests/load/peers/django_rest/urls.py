"""The views, and who may see the first."""

from django.http import HttpResponse
from django.urls import path
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import IsAuthenticated
from rest_framework.views import APIView
from rest_framework_simplejwt.authentication import JWTAuthentication

from tests.load.peers.django_rest.models import User


class LoginAuthentication(JWTAuthentication):
    """Refuses revoked tokens, which simplejwt does only for those that refresh others."""

    def get_user(self, validated_token):
        try:
            user = User.objects.get(session=validated_token["jti"])
        except User.DoesNotExist:
            raise AuthenticationFailed from None
        if not user.is_active or str(user.id) != validated_token["sub"]:
            raise AuthenticationFailed
        return user


class View(APIView):
    authentication_classes = (LoginAuthentication,)
    permission_classes = (IsAuthenticated,)

    def get(self, request):
        return HttpResponse(request.user.username)


class OpenView(APIView):
    authentication_classes = ()
    permission_classes = ()

    def get(self, request):
        return HttpResponse("anybody")


urlpatterns = [path("", View.as_view()), path("open", OpenView.as_view())]
