"""The declaration of the feature `personal_data`: see `wsgiauth.feature`."""

from wsgiauth.feature import Feature
from wsgiauth.features.personal_data.data import Data
from wsgiauth.features.personal_data.file import DATA_EXPORTED
from wsgiauth.features.personal_data.records import TABLES

FEATURE = Feature(
    name="personal_data",
    urls={"/data": Data()},
    openapi="wsgiauth.features.personal_data.openapi",
    events=(DATA_EXPORTED,),
    personal_data=TABLES,
)
