"""Records as programs exchange them: fields, and what each record holds."""

try:
    import msgspec as msgspec
except ImportError:
    raise ImportError("pip install 'coincide[fusion]': records, and the engine of fusion, need msgspec") from None
