"""What the folder of a transformer says of itself, before anything of it is loaded."""

from __future__ import annotations

import json
import os
from pathlib import Path

TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")


def described(folder: str | os.PathLike) -> dict:
    """The config.json of a transformer's folder, once it is seen that a tokenizer and weights lie beside it.

    Raises
    ------
    ValueError
        If anything of these is not there, or config.json is none.
    """
    folder = Path(folder)
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "is not there"
        raise ValueError(f"{folder} {found}: give a folder that transformers' save_pretrained wrote")
    if not (folder / "config.json").is_file():
        raise ValueError(f"{folder} holds no config.json: give a folder that transformers' save_pretrained wrote")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        kind = config["model_type"]
    except (ValueError, LookupError, TypeError):
        raise ValueError(f"{folder / 'config.json'} is damaged, or names no model_type") from None
    if not any((folder / name).is_file() for name in TOKENIZERS):
        raise ValueError(
            f"{folder} holds a transformer ({kind}) without a tokenizer (none of {', '.join(TOKENIZERS)}): "
            "write it there too, tokenizer.save_pretrained"
        )
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("pytorch_model*.bin")):
        raise ValueError(f"{folder} holds no weights: neither model.safetensors nor pytorch_model.bin is there")
    return config
