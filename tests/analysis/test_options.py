from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from isoglot.analysis.options import (
    GeometryRequest,
    LayersRequest,
    MapRequest,
    SimilarityRequest,
)


@pytest.mark.parametrize(
    ("request_of", "values"),
    [
        (LayersRequest, {"gold": ["x"], "metric": "bleu"}),
        (LayersRequest, {"gold": []}),
        (SimilarityRequest, {"corpus": ["x"], "measures": ["bleu"]}),
        (GeometryRequest, {"corpus": ["x"], "measures": ["skew"]}),
        (GeometryRequest, {"corpus": ["x"], "unit": "page"}),
        (MapRequest, {"corpus": ["x"], "pieces": "first"}),
        (MapRequest, {"corpus": ["x"], "projection": {"method": "umap"}}),
    ],
)
def test_requests_take_only_known_values(request_of: Any, values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        request_of(**values)
