"""Examples of what pages show of providers."""

from wsgiauth.web.pages import ProviderButton

PROVIDERS = (
    ProviderButton("google", "Google", "/auth/oidc/google"),
    ProviderButton("staff", "the staff account", "/auth/oidc/staff"),
)
