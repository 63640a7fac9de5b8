"""Scripts that keep the repository in shape; `make help` lists what calls them."""

import sys

# jsonschema, which nbformat needs, would build a grammar of addresses with letters of all alphabets: a second in each
# process, and no notebook has such an address.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
