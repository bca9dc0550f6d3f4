"""Stateful, pure translators between ACP v1 and v2. v1 lives here and nowhere further in."""
