"""Views that need a recent proof, or a second factor."""

from django.http import HttpResponse
from django.utils.decorators import method_decorator
from django.views import View

from wsgiauth.contrib.django import login_required, permission_required


@permission_required("books.lend", fresh=True)
def lend_all(request):
    return HttpResponse("Lent")


@method_decorator(login_required(second_factor=True), name="dispatch")
class Fines(View):
    def get(self, request):
        return HttpResponse("None")
