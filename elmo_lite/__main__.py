"""``python -m elmo_lite``: the same program as ``elmo-lite``, for machines without make."""

from .cli import main

raise SystemExit(main())
