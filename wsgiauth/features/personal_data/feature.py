"""The declaration of the feature `personal_data`: see `wsgiauth.feature`."""

from wsgiauth.extend import Command, Feature
from wsgiauth.features.personal_data.data import Data
from wsgiauth.features.personal_data.file import DATA_EXPORTED

FEATURE = Feature(
    name="personal_data",
    commands={
        "personal-data": Command(
            "wsgiauth.features.personal_data.commands",
            "print everything that is stored about a user, as one JSON document",
        )
    },
    urls={"/data": Data()},
    openapi="wsgiauth.features.personal_data.openapi",
    events=(DATA_EXPORTED,),
)
