"""The URLs below /auth. What they share is in `forms`.

A new URL is a file with a subclass of `forms.endpoint.Endpoint` or, for a form, of `forms.Form`,
and a line in `app.ROUTES`.
"""
